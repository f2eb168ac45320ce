// SPDX-License-Identifier: Apache-2.0
// Order of texts: that of std::string_view, whatever bytes they hold and however long they are
// alike.
#include "model/text_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

void expect_sorted_as_strings(const std::vector<std::string>& owned) {
  std::vector<std::string_view> texts(owned.begin(), owned.end());
  std::vector<std::uint64_t> expected(texts.size());
  std::iota(expected.begin(), expected.end(), 0U);
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return texts[a] < texts[b]; });
  EXPECT_EQ(order_of_texts(texts), expected);
  sort_texts(texts);
  EXPECT_TRUE(std::is_sorted(texts.begin(), texts.end()));
  EXPECT_EQ(texts.size(), owned.size());
}

TEST(TextOrder, NothingAndOne) {
  expect_sorted_as_strings({});
  expect_sorted_as_strings({"one"});
}

TEST(TextOrder, EndsAndZeroBytesAreNotTheSame) {
  std::vector<std::string> texts;
  for (std::size_t length = 0; length < 20; ++length) {
    texts.emplace_back(length, '\0');
    texts.push_back("12345678" + std::string(length, '\0'));
    texts.push_back("12345678" + std::string(length, '\0') + "a");
  }
  expect_sorted_as_strings(texts);
}

TEST(TextOrder, BytesAboveSevenBitsComeLast) {
  std::vector<std::string> texts;
  for (int byte = 255; byte >= 0; --byte)
    texts.emplace_back(1 + (byte % 3), static_cast<char>(byte));
  expect_sorted_as_strings(texts);
}

TEST(TextOrder, EqualOnesKeepTheirOrder) {
  std::vector<std::string> texts;
  texts.reserve(300);
  for (int i = 0; i < 300; ++i) texts.push_back("a name that many have " + std::to_string(i % 7));
  expect_sorted_as_strings(texts);
}

TEST(TextOrder, RandomTextsWithLongBeginningsAlike) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<std::string> texts;
    std::uint64_t state = seed;
    const auto next = [&] { return state = splitmix64(state); };
    const std::string beginning(next() % 40, 'p');
    for (std::uint64_t i = 0; i < 1000; ++i) {
      std::string text = next() % 4 == 0 ? std::string() : beginning;
      for (std::uint64_t length = next() % 20; length > 0; --length)
        text.push_back(static_cast<char>(next() % (seed % 2 == 0 ? 3U : 256U)));
      texts.push_back(std::move(text));
    }
    expect_sorted_as_strings(texts);
  }
}

TEST(TextOrder, TextsThatAreEqualForAMegabyte) {
  const std::string beginning(1U << 20U, 'm');
  std::vector<std::string> texts;
  for (int i = 12; i > 0; --i) texts.push_back(beginning + std::to_string(i));
  expect_sorted_as_strings(texts);
}

}  // namespace
}  // namespace stratalog
