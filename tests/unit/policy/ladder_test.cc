// SPDX-License-Identifier: Apache-2.0
// The text of --hdf5-opt: every combination of steps survives a round trip, and what is not a step
// is refused with a list.
#include "policy/ladder.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

TEST(Ladder, EveryCombinationIsReadAsItWasPrinted) {
  for (std::uint32_t bits = 0; bits < (1U << kLadderSteps); ++bits) {
    LadderChoice choice;
    for (const StepRow& row : ladder_steps())
      if (((bits >> static_cast<int>(row.step)) & 1U) != 0) choice.take(row.step);
    for (const DetailRow& row : printed_details())
      if (choice.takes(row.step) && (bits * 2654435761U >> static_cast<int>(row.detail)) % 2 == 0)
        choice.print(row.detail);
    const auto again = parse_ladder(ladder_text(choice));
    ASSERT_TRUE(again.is_ok()) << ladder_text(choice);
    EXPECT_TRUE(again.value() == choice) << ladder_text(choice);
  }
}

TEST(Ladder, WordsMeanWhatTheySay) {
  const auto parse = [](const char* text) { return parse_ladder(text).value(); };
  EXPECT_TRUE(parse("all") == LadderChoice::all());
  EXPECT_TRUE(parse("none") == LadderChoice::none());
  EXPECT_TRUE(parse("O1,O2,O3,O4,O5,O6,O7") == LadderChoice::all());
  const LadderChoice sieve = parse("O1,printed:sieve");
  EXPECT_TRUE(sieve.takes(LadderStep::kTinyGather));
  EXPECT_TRUE(sieve.takes(LadderStep::kTuning));
  EXPECT_FALSE(sieve.takes(LadderStep::kHints));
  EXPECT_TRUE(sieve.as_printed(PrintedDetail::kSieveBuffer));
  EXPECT_FALSE(sieve.as_printed(PrintedDetail::kCacheCall));
  const LadderChoice printed = parse("printed");
  for (const StepRow& row : ladder_steps()) EXPECT_TRUE(printed.takes(row.step));
  for (const DetailRow& row : printed_details()) EXPECT_TRUE(printed.as_printed(row.detail));
  const LadderChoice hints = parse("printed:O5");
  EXPECT_TRUE(hints.as_printed(PrintedDetail::kZeroAggregators));
  EXPECT_TRUE(hints.as_printed(PrintedDetail::kNoIndependentWrites));
  EXPECT_FALSE(hints.as_printed(PrintedDetail::kSieveBuffer));
}

TEST(Ladder, NoneStandsAlone) {
  for (const char* text : {"all,none", "none,all", "printed:O3,none", "none,none"})
    EXPECT_FALSE(parse_ladder(text).is_ok()) << text;
}

TEST(Ladder, OtherWordsAreRefusedByName) {
  for (const char* text : {"", "O8", "o1", "O1,", "O1 ,O2", "printed:", "printed:O9", "all,x"}) {
    const auto parsed = parse_ladder(text);
    ASSERT_FALSE(parsed.is_ok()) << text;
    EXPECT_NE(parsed.status().message().find("O1 to O7"), std::string::npos);
    EXPECT_NE(parsed.status().message().find("printed:no-indep-rw"), std::string::npos);
  }
}

}  // namespace
}  // namespace stratalog
