// SPDX-License-Identifier: Apache-2.0
// LiveView: keeps a few lines at the bottom of a terminal up to date with ANSI escapes, redrawn in
// place at most ten times a second; lines about finished strata stay above them. Into a pipe it
// writes nothing but (if wanted) those lines. Rank 0 only; local; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/progress_view.h"

namespace stratalog::cli {

enum class LiveViewStyle : std::uint8_t {
  kRedraw,  // a terminal
  kLines,  // one line for each finished stratum
  kSilent,
};

struct LiveViewSink {
  std::function<void(std::string_view)> write;
  std::function<double()> now_seconds;  // any steady clock
  std::function<std::size_t()> width;  // columns
};

class LiveView {
 public:
  LiveView(LiveViewStyle style, ViewLabels labels, LiveViewSink sink)
      : style_(style), view_(std::move(labels)), sink_(std::move(sink)) {}

  void update(const datalog::Progress& progress);
  // A line of the log, above the view. Written in every style.
  void notice(std::string_view line);
  // Takes the view away. Later calls do nothing until the next update.
  void finish();

 private:
  void erase();
  void draw();
  void put_line(std::string_view line);

  LiveViewStyle style_;
  ProgressView view_;
  LiveViewSink sink_;
  std::size_t lines_shown_ = 0;
  bool has_drawn_ = false;
  double last_drawn_ = 0;
};

// Standard error: its width, whether it is a terminal, and whether it shows UTF-8. With the
// environment variable STRATALOG_TERMINAL=COLUMNS a launcher that sits between says that there is a
// terminal behind the pipe.
struct TerminalTraits {
  bool is_terminal = false;
  std::size_t columns = 80;
  Glyphs glyphs = Glyphs::kAscii;
};
TerminalTraits standard_error_traits();
LiveViewSink standard_error_sink();

}  // namespace stratalog::cli
