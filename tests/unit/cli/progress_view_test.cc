// SPDX-License-Identifier: Apache-2.0
// The live view: what it says, that it redraws in place, and that it is quiet where it should be.
#include "cli/live_view.h"

#include <gtest/gtest.h>

#include <string>

namespace stratalog::cli {
namespace {

datalog::Progress round_of(std::uint32_t stratum, std::uint64_t iteration, std::uint64_t fresh,
                           std::uint64_t total, double elapsed) {
  datalog::Progress progress;
  progress.phase = datalog::Phase::kEvaluating;
  progress.stratum = stratum;
  progress.strata = 3;
  progress.relations = "path";
  progress.iteration = iteration;
  progress.new_tuples = fresh;
  progress.total_tuples = total;
  progress.elapsed_seconds = progress.stratum_seconds = elapsed;
  return progress;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Sparkline, ScalesToTheLargest) {
  EXPECT_EQ(sparkline({}, 8, Glyphs::kAscii), "");
  EXPECT_EQ(sparkline({1, 2, 3}, 0, Glyphs::kAscii), "");
  EXPECT_EQ(sparkline({0, 0}, 8, Glyphs::kAscii), "  ");
  EXPECT_EQ(sparkline({0, 100, 25}, 8, Glyphs::kAscii), " @=");
  EXPECT_EQ(sparkline({1, 1000000000}, 8, Glyphs::kAscii), ".@") << "a thin tail stays visible";
  EXPECT_EQ(sparkline({100}, 8, Glyphs::kUnicode), "█");
}

TEST(Sparkline, KeepsPeaksWhenItIsNarrow) {
  std::vector<std::uint64_t> values(1000, 1);
  values[501] = 1000000;
  const std::string bars = sparkline(values, 10, Glyphs::kAscii);
  EXPECT_EQ(bars.size(), 10U);
  EXPECT_EQ(bars[5], '@');
}

TEST(ClipColumns, CountsCharactersNotBytes) {
  EXPECT_EQ(clip_columns("abc", 2), "ab");
  EXPECT_EQ(clip_columns("abc", 3), "abc");
  EXPECT_EQ(clip_columns("▁▂▃", 2), "▁▂");
  EXPECT_EQ(clip_columns("", 0), "");
}

TEST(ProgressView, ShowsRoundTotalsSpeedAndCheckpoints) {
  ProgressView view({.program = "tc.dl", .ranks = 2, .glyphs = Glyphs::kAscii});
  EXPECT_EQ(view.update(round_of(1, 1, 1000, 1000, 1)), "");
  datalog::Progress later = round_of(1, 2, 2000000, 2001000, 2);
  later.memory_bytes = 3U << 20U;
  later.checkpoints = 2;
  later.checkpoint_seconds = 0.5;
  EXPECT_EQ(view.update(later), "");
  const std::string text = joined(view.render(100));
  for (const char* part :
       {"tc.dl  on 2 ranks", "stratum 2/3  path", "round 2", "+2,000,000", "2,001,000 tuples",
        "2.0 M tuples/s", "memory 3.0 MiB", "2 checkpoints, 25.0 % of the time"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  for (const std::string& line : view.render(20)) EXPECT_LE(line.size(), 20U);
}

TEST(ProgressView, EstimatesTheRestOnlyWhereAFractionIsKnown) {
  ProgressView view({.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii});
  view.update(round_of(0, 1, 1, 1, 1));
  EXPECT_EQ(joined(view.render(100)).find("left"), std::string::npos);
  datalog::Progress start = round_of(0, 2, 1, 1, 10);
  start.fraction = 0;
  view.update(start);
  datalog::Progress quarter = round_of(0, 2, 1, 1, 15);
  quarter.fraction = 0.25;
  view.update(quarter);
  const std::string text = joined(view.render(100));
  EXPECT_NE(text.find("25 % done, about "), std::string::npos) << text;
  EXPECT_NE(text.find("about 1 tuples"), std::string::npos) << "an estimate is called one\n"
                                                            << text;
}

TEST(ProgressView, ACheckpointLeavesTheNumbersInPlace) {
  ProgressView view({.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii});
  view.update(round_of(1, 3, 5, 77, 2));
  datalog::Progress saving;
  saving.phase = datalog::Phase::kCheckpointing;
  EXPECT_EQ(view.update(saving), "");
  const std::string text = joined(view.render(100));
  EXPECT_NE(text.find("writing a checkpoint"), std::string::npos) << text;
  EXPECT_NE(text.find("77 tuples"), std::string::npos) << text;
}

TEST(ProgressView, WhereNoneAreAskedForNoCheckpointIsAwaited) {
  ViewLabels labels{.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii};
  ProgressView waiting(labels);
  waiting.update(round_of(1, 3, 5, 77, 2));
  EXPECT_NE(joined(waiting.render(100)).find("no checkpoint yet"), std::string::npos);
  labels.takes_checkpoints = false;
  ProgressView without(labels);
  without.update(round_of(1, 3, 5, 77, 2));
  const std::string text = joined(without.render(100));
  EXPECT_EQ(text.find("yet"), std::string::npos) << text;
  EXPECT_NE(text.find("no checkpoints (--checkpoint)"), std::string::npos) << text;
}

TEST(ProgressView, SaysOnceThatAStratumEnded) {
  ProgressView view({.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii});
  // One that has no rounds tells of itself when it has ended.
  datalog::Progress once = round_of(0, 0, 0, 7, 1.5);
  once.stratum_seconds = 1.25;
  view.update(once);
  const std::string first = view.update(round_of(1, 1, 5, 5, 1.5));
  EXPECT_EQ(first, "stratum 1/3  path: 7 tuples, 1.25 s");
  datalog::Progress last = round_of(1, 46, 5, 24413481, 3.5);
  last.stratum_seconds = 2;
  view.update(last);
  EXPECT_EQ(view.finish(), "stratum 2/3  path: 24,413,481 tuples, 46 rounds, 2.00 s");
  EXPECT_EQ(view.finish(), "");
}

struct FakeTerminal {
  std::string text;
  double now = 0;
  LiveViewSink sink() {
    return {.write = [this](std::string_view piece) { text += piece; },
            .now_seconds = [this] { return now; },
            .width = [] { return std::size_t{80}; }};
  }
};

TEST(LiveView, RedrawsInPlaceAtMostTenTimesASecond) {
  FakeTerminal terminal;
  LiveView view(LiveViewStyle::kRedraw, {.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii},
                terminal.sink());
  view.update(round_of(0, 1, 1, 1, 0));
  EXPECT_EQ(terminal.text.find("\x1b["), terminal.text.find("\x1b[K"))
      << "the first drawing moves no cursor";
  const std::size_t once = terminal.text.size();
  terminal.now = 0.05;
  view.update(round_of(0, 2, 1, 2, 0.05));
  EXPECT_EQ(terminal.text.size(), once) << "too early";
  terminal.now = 0.11;
  view.update(round_of(0, 3, 1, 3, 0.11));
  EXPECT_EQ(terminal.text.substr(once, 5), "\x1b[5A\r") << "five lines up";
  view.finish();
  EXPECT_NE(terminal.text.find("\x1b[5A\r\x1b[J"), std::string::npos);
  EXPECT_TRUE(terminal.text.ends_with("stratum 1/3  path: 3 tuples, 3 rounds, 0.11 s\n"));
}

TEST(LiveView, NoticesStayAboveTheView) {
  FakeTerminal terminal;
  LiveView view(LiveViewStyle::kRedraw, {.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii},
                terminal.sink());
  view.update(round_of(0, 1, 1, 1, 0));
  terminal.text.clear();
  view.notice("skipped gen-1");
  EXPECT_TRUE(terminal.text.starts_with("\x1b[5A\r\x1b[Jskipped gen-1\n")) << terminal.text;
}

TEST(LiveView, LinesForAPipeAndNothingWhenSilent) {
  FakeTerminal pipe;
  LiveView lines(LiveViewStyle::kLines, {.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii},
                 pipe.sink());
  lines.update(round_of(0, 1, 1, 1, 0));
  datalog::Progress second = round_of(1, 1, 1, 1, 1);
  second.stratum_seconds = 0.75;
  lines.update(second);
  lines.finish();
  EXPECT_EQ(pipe.text,
            "stratum 1/3  path: 1 tuples, 0.00 s\nstratum 2/3  path: 1 tuples, "
            "0.75 s\n");
  FakeTerminal nowhere;
  LiveView silent(LiveViewStyle::kSilent, {.program = "p", .ranks = 1, .glyphs = Glyphs::kAscii},
                  nowhere.sink());
  silent.update(round_of(0, 1, 1, 1, 0));
  silent.finish();
  EXPECT_EQ(nowhere.text, "");
}

}  // namespace
}  // namespace stratalog::cli
