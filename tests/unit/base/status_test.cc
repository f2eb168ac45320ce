// SPDX-License-Identifier: Apache-2.0
// Status: codes, messages, copies, context and the early-return macro.
#include "base/status.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace stratalog {
namespace {

TEST(Status, TheDefaultIsOkAndCostsOnePointer) {
  const Status status;
  EXPECT_TRUE(status.is_ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_TRUE(status.message().empty());
  EXPECT_EQ(status.to_string(), "OK");
  EXPECT_EQ(sizeof(Status), sizeof(void*));
}

TEST(Status, AnErrorCarriesCodeAndMessage) {
  const Status status = Status::no_space("file x: disk full");
  EXPECT_FALSE(status.is_ok());
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_EQ(status.message(), "file x: disk full");
  EXPECT_EQ(status.to_string(), "NoSpace: file x: disk full");
}

TEST(Status, EveryFactoryMakesItsOwnNamedCode) {
  const std::pair<Status, StatusCode> cases[] = {
      {Status::cancelled("m"), StatusCode::kCancelled},
      {Status::not_found("m"), StatusCode::kNotFound},
      {Status::already_exists("m"), StatusCode::kAlreadyExists},
      {Status::invalid_argument("m"), StatusCode::kInvalidArgument},
      {Status::not_supported("m"), StatusCode::kNotSupported},
      {Status::no_space("m"), StatusCode::kNoSpace},
      {Status::io_error("m"), StatusCode::kIoError},
      {Status::corruption("m"), StatusCode::kCorruption},
      {Status::ranks_disagree("m"), StatusCode::kRanksDisagree},
      {Status::internal("m"), StatusCode::kInternal},
  };
  std::set<std::string_view> names{status_code_name(StatusCode::kOk)};
  for (const auto& [status, code] : cases) {
    EXPECT_EQ(status.code(), code);
    EXPECT_TRUE(names.insert(status_code_name(code)).second) << status.to_string();
    EXPECT_NE(status_code_name(code), "Unknown");
  }
}

TEST(Status, AnOkCodeWithAMessageIsStillOk) {
  const Status status(StatusCode::kOk, "ignored");
  EXPECT_TRUE(status.is_ok());
  EXPECT_TRUE(status.message().empty());
}

TEST(Status, CopiesAreIndependentAndMovesLeaveOk) {
  Status original = Status::io_error("one");
  Status copy = original;
  original = Status::corruption("two");
  EXPECT_EQ(copy.to_string(), "IoError: one");
  EXPECT_EQ(original.to_string(), "Corruption: two");
  const Status& alias = copy;
  copy = alias;  // self-assignment
  EXPECT_EQ(copy.to_string(), "IoError: one");
  const Status moved = std::move(copy);
  EXPECT_EQ(moved.to_string(), "IoError: one");
  original = Status::ok();
  EXPECT_TRUE(original.is_ok());
}

TEST(Status, ContextGoesInFrontAndOkStaysOk) {
  EXPECT_EQ(Status::io_error("short write").with_context("file a").to_string(),
            "IoError: file a: short write");
  EXPECT_TRUE(Status::ok().with_context("file a").is_ok());
}

Status first_error(const Status& a, const Status& b, int& reached) {
  STRATALOG_RETURN_IF_ERROR(a);
  ++reached;
  STRATALOG_RETURN_IF_ERROR(b);
  ++reached;
  return Status::ok();
}

TEST(Status, ReturnIfErrorStopsAtTheFirstError) {
  int reached = 0;
  EXPECT_EQ(first_error(Status::ok(), Status::internal("b"), reached).message(), "b");
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(first_error(Status::internal("a"), Status::internal("b"), reached).message(), "a");
  EXPECT_EQ(reached, 1);
  EXPECT_TRUE(first_error(Status::ok(), Status::ok(), reached).is_ok());
  EXPECT_EQ(reached, 3);
}

TEST(Status, CodesAreOrderedFromHarmlessToSevere) {
  EXPECT_LT(StatusCode::kOk, StatusCode::kCancelled);
  EXPECT_LT(StatusCode::kIoError, StatusCode::kCorruption);
  EXPECT_LT(StatusCode::kCorruption, StatusCode::kRanksDisagree);
  EXPECT_LT(StatusCode::kRanksDisagree, StatusCode::kInternal);
}

}  // namespace
}  // namespace stratalog
