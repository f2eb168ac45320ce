// SPDX-License-Identifier: Apache-2.0
// Agreement on what was read: the ids that one reader would have given, at any number of ranks,
// whether they share memory or send messages, few values or many.
#include "model/ordered_agreement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/multiset_hash.h"
#include "unit/model/dictionary_contents.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kParts = 3;

// What stands at a place of a part; texts come again, in the same part and in others.
std::string text_at(std::uint64_t part, std::uint64_t at, std::uint64_t length) {
  const std::uint64_t value = splitmix64((part * 1000003) + at) % (length + 1);
  return fmt::format("v{}{}", value, std::string(value % 5, 'x'));
}

std::uint64_t number_at(std::uint64_t part, std::uint64_t at, std::uint64_t length) {
  return (1ULL << 40) + (splitmix64((part * 7919) + at) % (length + 1));
}

DictionaryContents read_alone(std::uint64_t length) {
  ValueDictionary dictionary;
  dictionary.encode_symbol("constant");
  NewValues values = NewValues::of_only_rank(dictionary);
  for (std::uint64_t part = 0; part < kParts; ++part)
    for (std::uint64_t at = 0; at < length; ++at) {
      EXPECT_FALSE(is_provisional_symbol(values.symbol(text_at(part, at, length))));
      values.number(number_at(part, at, length));
    }
  EXPECT_EQ(values.size(), DictionarySize{});
  return contents_of(dictionary);
}

// Each rank reads its stretch of each part; the second part is the last rank's alone.
Status read_share(Comm& comm, std::uint64_t length, DictionaryContents& ids) {
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  ValueDictionary dictionary;
  dictionary.encode_symbol("constant");
  NewValues values(dictionary);
  std::vector<DictionarySize> ends;
  std::vector<std::pair<std::string, Cell>> symbols;
  std::vector<std::pair<std::uint64_t, Cell>> numbers;
  for (std::uint64_t part = 0; part < kParts; ++part) {
    const bool is_whole = part == 1;
    const std::uint64_t from = is_whole ? (rank + 1 == ranks ? 0 : length) : length * rank / ranks;
    const std::uint64_t to = is_whole ? length : length * (rank + 1) / ranks;
    for (std::uint64_t at = from; at < to; ++at) {
      symbols.emplace_back(text_at(part, at, length), 0);
      symbols.back().second = values.symbol(symbols.back().first);
      numbers.emplace_back(number_at(part, at, length), 0);
      numbers.back().second = values.number(numbers.back().first);
    }
    ends.push_back(values.size());
  }
  const Cell constant = values.symbol("constant");
  STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                             agree_on_values_in_order(comm, dictionary, values, ends));
  EXPECT_EQ(remapping.symbol(constant), 0U);
  EXPECT_EQ(values.size(), DictionarySize{});
  for (const auto& [text, cell] : symbols)
    if (dictionary.text(remapping.symbol(cell)) != text) return Status::internal("not " + text);
  for (const auto& [bits, cell] : numbers)
    if (dictionary.decode(remapping.number(cell)) != bits) return Status::internal("number");
  ids = contents_of(dictionary);
  std::uint64_t bytes = 0;
  for (const std::string& text : ids.symbols) bytes += text.size();
  EXPECT_EQ(dictionary.symbols().text_bytes(), bytes);
  return Status::ok();
}

TEST(OrderedAgreement, IdsAreThoseOfOneReader) {
  for (const std::uint64_t length : {0U, 1U, 2U, 60U, 30000U}) {
    const DictionaryContents expected = read_alone(length);
    EXPECT_EQ(expected.symbols.front(), "constant");
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
      for (const int ranks : {1, 2, 3, 4, 7}) {
        std::vector<DictionaryContents> found(static_cast<std::size_t>(ranks));
        const Status status = sim_run(
            ranks,
            [&](Comm& comm) {
              return read_share(comm, length, found[static_cast<std::size_t>(comm.rank())]);
            },
            space);
        EXPECT_TRUE(status.is_ok()) << status.to_string();
        for (const DictionaryContents& ids : found)
          EXPECT_TRUE(ids == expected) << ranks << " ranks, " << length << " values";
      }
  }
}

// The value that splitmix64 makes `hash` of.
std::uint64_t with_hash(std::uint64_t hash) {
  const auto without_shift = [](std::uint64_t x, unsigned by) {
    std::uint64_t found = x;
    for (unsigned bits = by; bits < 64; bits += by) found = x ^ (found >> by);
    return found;
  };
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t found = odd;
    for (int i = 0; i < 6; ++i) found *= 2 - (odd * found);
    return found;
  };
  std::uint64_t x = without_shift(hash, 31) * inverse(0x94D049BB133111EBULL);
  x = without_shift(x, 27) * inverse(0xBF58476D1CE4E5B9ULL);
  return without_shift(x, 30) - 0x9E3779B97F4A7C15ULL;
}

// What names their places in tables is the same for many, and some of them are the last ones.
TEST(OrderedAgreement, NumbersThatHaveOnePlace) {
  const auto number = [](std::uint64_t i) {
    const std::uint64_t tag = i % 4 == 0 ? 0xFFFFFFFFU : (i % 61) << 24U;
    return with_hash((tag << 32U) | (splitmix64(i) & 0xFFFFFFFFU));
  };
  ASSERT_EQ(splitmix64(number(3)) >> 32U, 3U << 24U);
  constexpr std::uint64_t kNumbers = 3000;
  std::vector<std::uint64_t> expected;
  expected.reserve(kNumbers);
  for (std::uint64_t i = 0; i < kNumbers; ++i) expected.push_back(number(i));
  for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
    for (const int ranks : {1, 2, 3, 7}) {
      const auto run = [&](Comm& comm) {
        const auto rank = static_cast<std::uint64_t>(comm.rank());
        const auto size = static_cast<std::uint64_t>(comm.size());
        ValueDictionary dictionary;
        NewValues values(dictionary);
        // Each some of the one before's, too.
        const std::uint64_t from = kNumbers * rank / size;
        const std::uint64_t to = kNumbers * (rank + 1) / size;
        for (std::uint64_t i = from - std::min<std::uint64_t>(from, 400); i < to; ++i)
          values.number(number(i));
        const std::vector<DictionarySize> ends = {values.size()};
        const auto agreed = agree_on_values_in_order(comm, dictionary, values, ends);
        STRATALOG_RETURN_IF_ERROR(agreed.status());
        EXPECT_EQ(contents_of(dictionary).wides, expected) << ranks << " ranks";
        for (std::uint32_t id = 0; id < kNumbers; ++id)
          EXPECT_EQ(dictionary.wides().find(expected[id]), id);
        return comm.barrier();
      };
      EXPECT_TRUE(sim_run(ranks, run, space).is_ok());
    }
}

}  // namespace
}  // namespace stratalog
