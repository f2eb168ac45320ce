// SPDX-License-Identifier: Apache-2.0
// or_no_space: the exception becomes a Status or the error of a Result; what is returned stays.
#include "base/memory_end.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace stratalog {
namespace {

TEST(MemoryEnd, WantOfMemoryIsAStatus) {
  const Status ended = or_no_space("none for tuples", []() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(ended.code(), StatusCode::kNoSpace);
  EXPECT_EQ(ended.message(), "none for tuples");
  const auto result =
      or_no_space("none", []() -> Result<int> { throw std::bad_array_new_length(); });
  EXPECT_EQ(result.status().code(), StatusCode::kNoSpace);
}

TEST(MemoryEnd, WhatWorkReturnsStays) {
  EXPECT_TRUE(or_no_space("", [] { return Status::ok(); }).is_ok());
  EXPECT_EQ(or_no_space("", [] { return Status::cancelled("by hand"); }).message(), "by hand");
  EXPECT_EQ(or_no_space("", []() -> Result<int> { return 7; }).value(), 7);
}

}  // namespace
}  // namespace stratalog
