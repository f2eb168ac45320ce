// SPDX-License-Identifier: Apache-2.0
// ProgressView: what a person sees while a program runs. It remembers the rounds of the current
// stratum and turns the engine's Progress into a few lines of text. It neither prints nor knows the
// time: the live view (live_view.h) does. Local; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/evaluate/engine.h"

namespace stratalog::cli {

enum class Glyphs : std::uint8_t { kUnicode, kAscii };

// A row of bars of at most `width` characters, each the largest of its share of `values`; heights
// go by the square root, so that a thin tail stays visible. Empty for no values.
std::string sparkline(const std::vector<std::uint64_t>& values, std::size_t width, Glyphs glyphs);

struct ViewLabels {
  std::string program;
  int ranks = 1;
  Glyphs glyphs = Glyphs::kAscii;
  bool takes_checkpoints = true;
};

class ProgressView {
 public:
  explicit ProgressView(ViewLabels labels) : labels_(std::move(labels)) {}

  // Takes the news in. Returns the line about a stratum that ended with it, else nothing; without a
  // newline.
  std::string update(const datalog::Progress& progress);
  // The line about the stratum that was running when the program ended.
  std::string finish();
  // The lines to show now, each at most `width` columns, without newlines.
  std::vector<std::string> render(std::size_t width) const;

 private:
  std::string stratum_line() const;
  std::string tuples_text() const;
  std::string speed_text() const;
  std::string checkpoint_text() const;
  std::string remaining_text() const;
  std::string share_text() const;

  ViewLabels labels_;
  datalog::Progress now_;
  bool has_stratum_ = false;
  double phase_began_ = 0;  // elapsed seconds at which the stratum's known fraction began
  double fraction_began_ = 0;  // the fraction at that time
  std::uint64_t tuples_began_ = 0;
  double speed_ = 0;  // tuples/s, smoothed
  std::vector<std::uint64_t> rounds_;
};

// `text` cut to `width` columns; counts a UTF-8 sequence as one column.
std::string clip_columns(std::string_view text, std::size_t width);

}  // namespace stratalog::cli
