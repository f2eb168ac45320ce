// SPDX-License-Identifier: Apache-2.0
// EqualArguments: the same verdict on all ranks, which names what differs or whose error it is.
#include "api/equal_arguments.h"

#include <gtest/gtest.h>

#include <functional>

namespace stratalog {
namespace {

// The verdict that all ranks get.
Status verdict_of(int ranks, const std::function<Status(int rank, EqualArguments&)>& fill) {
  std::vector<Status> verdicts(static_cast<std::size_t>(ranks));
  const Status played = sim_run(ranks, [&](Comm& comm) -> Status {
    EqualArguments arguments(comm);
    const Status mine = fill(comm.rank(), arguments);
    verdicts[static_cast<std::size_t>(comm.rank())] = arguments.check(mine);
    return {};
  });
  EXPECT_TRUE(played.is_ok()) << played.message();
  for (const Status& verdict : verdicts) EXPECT_EQ(verdict.to_string(), verdicts[0].to_string());
  return verdicts[0];
}

TEST(EqualArguments, AreWellWhereAllAreEqual) {
  for (const int ranks : {1, 2, 5}) {
    const Status verdict = verdict_of(ranks, [](int /*rank*/, EqualArguments& arguments) {
      arguments.add("colour", "red");
      arguments.add("words", std::vector<std::string>{"a", "b"});
      return Status::ok();
    });
    EXPECT_TRUE(verdict.is_ok()) << verdict.to_string();
  }
}

TEST(EqualArguments, NameTheFirstThatDiffersAndTheLowestRank) {
  const Status verdict = verdict_of(5, [](int rank, EqualArguments& arguments) {
    arguments.add("name", "same");
    arguments.add("colour", rank == 0 || rank == 3 ? "red" : "blue");
    arguments.add("size", rank == 1 ? "large" : "small");
    return rank == 2 ? Status::no_space("full") : Status::ok();
  });
  EXPECT_EQ(verdict.code(), StatusCode::kRanksDisagree);
  EXPECT_NE(verdict.message().find("rank 1 gave another colour than rank 0"), std::string::npos)
      << verdict.message();
}

TEST(EqualArguments, TellListsApartByWhereWordsEnd) {
  const Status verdict = verdict_of(2, [](int rank, EqualArguments& arguments) {
    arguments.add("words", rank == 0 ? std::vector<std::string>{"ab", "c"}
                                     : std::vector<std::string>{"a", "bc"});
    return Status::ok();
  });
  EXPECT_EQ(verdict.code(), StatusCode::kRanksDisagree);
}

TEST(EqualArguments, AnErrorOfOneRankIsThatOfAll) {
  const Status verdict = verdict_of(3, [](int rank, EqualArguments& arguments) {
    arguments.add("colour", "red");
    return rank == 2 ? Status::not_found("no such file") : Status::ok();
  });
  EXPECT_EQ(verdict.code(), StatusCode::kNotFound);
  EXPECT_EQ(verdict.message(), "rank 2: no such file");
}

// Also where it has given nothing that could be compared.
TEST(EqualArguments, ARefusalOfOneRankIsThatOfAll) {
  const auto fill = [](int rank, EqualArguments& arguments) {
    arguments.add("text", rank == 1 ? "" : "the text");
    return rank == 2 ? Status::corruption("an error beside it") : Status::ok();
  };
  for (const int ranks : {1, 2, 3, 7}) {
    const int last = ranks - 1;
    const Status played = sim_run(ranks, [&](Comm& comm) {
      EqualArguments arguments(comm);
      const Status mine = fill(comm.rank(), arguments);
      const Status verdict = comm.rank() == last
                                 ? arguments.refuse(Status::invalid_argument("no text here"))
                                 : arguments.check(mine);
      EXPECT_EQ(verdict.code(), StatusCode::kInvalidArgument) << verdict.to_string();
      EXPECT_NE(verdict.message().find("no text here"), std::string::npos) << verdict.to_string();
      return Status::ok();
    });
    EXPECT_TRUE(played.is_ok()) << played.to_string();
  }
}

TEST(EqualArguments, OneRankHasItsOwnWord) {
  const Status verdict = verdict_of(1, [](int /*rank*/, EqualArguments& arguments) {
    arguments.add("colour", "red");
    return Status::invalid_argument("wrong");
  });
  EXPECT_EQ(verdict.message(), "wrong");
}

}  // namespace
}  // namespace stratalog
