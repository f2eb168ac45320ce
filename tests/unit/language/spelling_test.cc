// SPDX-License-Identifier: Apache-2.0
// Tests of spelling.h: how far words are apart, and which known word a misspelt one was meant to
// be.
#include "datalog/language/spelling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stratalog::datalog::language {
namespace {

TEST(EditDistance, CountsSlips) {
  EXPECT_EQ(edit_distance("edge", "edge"), 0U);
  EXPECT_EQ(edit_distance("edge", "edges"), 1U);
  EXPECT_EQ(edit_distance("edge", "edg"), 1U);
  EXPECT_EQ(edit_distance("edge", "edgy"), 1U);
  EXPECT_EQ(edit_distance("cspa", "cpsa"), 1U);  // neighbours swapped
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
}

TEST(EditDistance, LongNamesAreComparedByEqualityOnly) {
  const std::string name(65, 'a');
  EXPECT_EQ(edit_distance(name, name), 0U);
  EXPECT_GT(edit_distance(name, name + "b"), 64U);
  EXPECT_EQ(edit_distance(std::string(64, 'a'), std::string(63, 'a')), 1U);
}

TEST(Suggest, TakesTheNearestAndTheFirstAmongEquals) {
  const std::vector<std::string> names{"path", "edge", "edges", "node"};
  EXPECT_EQ(suggest("edgr", names), "did you mean `edge`?");
  EXPECT_EQ(suggest("EDGE", names), "did you mean `edge`?");
  EXPECT_EQ(suggest("edgs", names), "did you mean `edge`?");
  EXPECT_EQ(suggest("nod", names), "did you mean `node`?");
}

TEST(Suggest, IsSilentWhenNothingIsNear) {
  const std::vector<std::string> names{"path", "edge", "x"};
  EXPECT_EQ(suggest("relation", names), "");
  EXPECT_EQ(suggest("y", names), "");  // every letter is one slip from every other
  EXPECT_EQ(suggest("edge", {}), "");
  EXPECT_EQ(suggest("path", names), "");  // the name itself is no advice
}

}  // namespace
}  // namespace stratalog::datalog::language
