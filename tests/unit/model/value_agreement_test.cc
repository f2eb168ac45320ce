// SPDX-License-Identifier: Apache-2.0
// Agreement on new values: the same ids at any number of ranks, whoever met a value, few values or
// many.
#include "model/value_agreement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

std::string value_text(std::uint64_t i) {
  return fmt::format("v{}{}", splitmix64(i) % 1000003, std::string(i % 7, 'x'));
}

// Deals values 0..count-1 to ranks with overlaps, agrees, and checks each rank's remapping; rank
// 0's texts go to `out`.
void agree_on_values(int ranks, AddressSpace space, std::uint64_t count,
                     std::vector<std::string>& out, std::vector<std::uint64_t>& wides_out) {
  const auto run = [&](Comm& comm) -> Status {
    ValueDictionary shared;
    shared.encode_symbol("constant");
    NewValues mine(shared);
    std::vector<std::string> texts;
    std::vector<Cell> cells;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto owner = static_cast<int>(i % static_cast<std::uint64_t>(comm.size()));
      if (owner != comm.rank() && i % 3 != 0) continue;  // every third value is met by all
      texts.push_back(value_text(i));
      cells.push_back(mine.symbol(texts.back()));
      mine.number((1ULL << 40) + (splitmix64(i) >> 20));
    }
    const Cell constant = mine.symbol("constant");
    STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                               agree_on_new_values(comm, shared, mine));
    EXPECT_EQ(remapping.symbol(constant), 0U);
    EXPECT_EQ(mine.symbols().size(), 0U);
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (shared.text(remapping.symbol(cells[i])) != texts[i])
        return Status::internal("wrong text for " + texts[i]);
    if (comm.rank() == 0) {
      out.clear();
      for (Cell id = 0; id < shared.symbols().size(); ++id) out.emplace_back(shared.text(id));
      wides_out.assign(shared.wides().values().begin(), shared.wides().values().end());
    }
    return comm.barrier();  // tables may be those of all
  };
  const Status status = sim_run(ranks, run, space);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
}

TEST(ValueAgreement, IdsDoNotDependOnTheNumberOfRanks) {
  for (const std::uint64_t count :
       {1U, 2U, 50U, 40000U}) {  // the last one is too large for the short way
    std::set<std::string> distinct;
    for (std::uint64_t i = 0; i < count; ++i) distinct.insert(value_text(i));
    std::vector<std::string> expected = {"constant"};
    expected.insert(expected.end(), distinct.begin(), distinct.end());
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
      for (const int ranks : {1, 2, 3, 4, 7}) {
        std::vector<std::string> texts;
        std::vector<std::uint64_t> wides;
        agree_on_values(ranks, space, count, texts, wides);
        EXPECT_EQ(texts, expected) << ranks << " ranks, " << count << " values";
        EXPECT_TRUE(std::is_sorted(wides.begin(), wides.end()));
        EXPECT_EQ(std::adjacent_find(wides.begin(), wides.end()), wides.end());
        EXPECT_FALSE(wides.empty());
      }
  }
}

TEST(ValueAgreement, NothingNewLeavesTheDictionaryAlone) {
  const Status status = sim_run(3, [&](Comm& comm) -> Status {
    ValueDictionary shared;
    shared.encode_symbol("a");
    NewValues mine(shared);
    mine.symbol("a");
    mine.number(17);
    STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                               agree_on_new_values(comm, shared, mine));
    EXPECT_TRUE(remapping.empty());
    EXPECT_EQ(shared.size(), (DictionarySize{.symbols = 1, .wides = 0}));
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(ValueAgreement, OneRankAloneMayHaveNews) {
  for (const bool many : {false, true}) {
    const Status status = sim_run(4, [&](Comm& comm) -> Status {
      ValueDictionary shared;
      NewValues mine(shared);
      const int count = many ? 50000 : 3;
      if (comm.rank() == 2)
        for (int i = 0; i < count; ++i) mine.symbol("symbol" + std::to_string(i));
      STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                                 agree_on_new_values(comm, shared, mine));
      EXPECT_EQ(remapping.empty(), comm.rank() != 2);
      EXPECT_EQ(shared.symbols().size(), static_cast<std::uint64_t>(count));
      EXPECT_EQ(shared.text(1), "symbol1");
      EXPECT_EQ(shared.text(2), many ? "symbol10" : "symbol2");
      return Status::ok();
    });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
}

TEST(ValueAgreement, RoundsAppend) {
  const auto comm = make_self_comm();
  ValueDictionary shared;
  NewValues mine(shared);
  mine.symbol("m");
  ASSERT_TRUE(agree_on_new_values(*comm, shared, mine).is_ok());
  mine.symbol("z");
  mine.symbol("a");
  mine.symbol("m");
  ASSERT_TRUE(agree_on_new_values(*comm, shared, mine).is_ok());
  EXPECT_EQ(shared.symbols().size(), 3U);
  EXPECT_EQ(shared.text(0), "m");
  EXPECT_EQ(shared.text(1), "a");
  EXPECT_EQ(shared.text(2), "z");
}

}  // namespace
}  // namespace stratalog
