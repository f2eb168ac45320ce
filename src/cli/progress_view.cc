// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/quantities.h"
#include "datalog/made_relations.h"

namespace stratalog::cli {

namespace {

constexpr std::size_t kSparklineColumns = 32;
constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kLetters = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};

std::string_view phase_name(datalog::Phase phase) {
  switch (phase) {
    case datalog::Phase::kLoading:
      return "reading facts";
    case datalog::Phase::kRestoring:
      return "restoring a checkpoint";
    case datalog::Phase::kEvaluating:
      return "evaluating";
    case datalog::Phase::kCheckpointing:
      return "writing a checkpoint";
    case datalog::Phase::kOutput:
      return "writing output";
  }
  return "";
}

}  // namespace

std::string sparkline(const std::vector<std::uint64_t>& values, std::size_t width, Glyphs glyphs) {
  if (values.empty() || width == 0) return {};
  const std::size_t columns = std::min(width, values.size());
  std::vector<std::uint64_t> peaks(columns, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t& peak = peaks[i * columns / values.size()];
    peak = std::max(peak, values[i]);
  }
  const auto top = std::sqrt(static_cast<double>(*std::max_element(peaks.begin(), peaks.end())));
  const auto& table = glyphs == Glyphs::kUnicode ? kBlocks : kLetters;
  std::string bars;
  for (const std::uint64_t peak : peaks) {
    const double height = peak == 0 ? 0 : std::sqrt(static_cast<double>(peak)) / top;
    bars += table[static_cast<std::size_t>(std::ceil(height * 8))];
  }
  return bars;
}

std::string clip_columns(std::string_view text, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (starts && columns++ == width) return std::string(text.substr(0, at));
  }
  return std::string(text);
}

std::string ProgressView::update(const datalog::Progress& progress) {
  if (progress.phase == datalog::Phase::kCheckpointing) {  // says nothing but that
    now_.phase = progress.phase;
    return {};
  }
  std::string ended;
  const bool evaluates = progress.phase == datalog::Phase::kEvaluating;
  if (has_stratum_ && (!evaluates || progress.stratum != now_.stratum)) {
    ended = stratum_line();
    has_stratum_ = false;
  }
  if (evaluates && !has_stratum_) {
    has_stratum_ = true;
    phase_began_ = progress.elapsed_seconds;
    fraction_began_ = std::max(0.0, progress.fraction);
    tuples_began_ = progress.total_tuples;
    speed_ = 0;
    rounds_.clear();
  } else if (evaluates) {
    const double passed = progress.elapsed_seconds - now_.elapsed_seconds;
    if (passed > 0 && progress.total_tuples >= now_.total_tuples) {
      const double speed = static_cast<double>(progress.total_tuples - now_.total_tuples) / passed;
      // An average over about the last second.
      const double weight = std::min(1.0, passed);
      speed_ = speed_ == 0 ? speed : speed_ * (1 - weight) + speed * weight;
    }
    if (progress.fraction < now_.fraction) {  // a new sweep
      phase_began_ = progress.elapsed_seconds;
      fraction_began_ = std::max(0.0, progress.fraction);
    }
  }
  if (has_stratum_ && progress.iteration > 0 &&
      (rounds_.empty() || progress.iteration != now_.iteration)) {
    rounds_.push_back(progress.new_tuples);
  }
  now_ = progress;
  return ended;
}

std::string ProgressView::finish() {
  std::string line = has_stratum_ ? stratum_line() : std::string();
  has_stratum_ = false;
  return line;
}

// In a sweep over blocks of pivots rank 0 knows its own part only, so the number is an estimate.
std::string ProgressView::tuples_text() const {
  if (now_.fraction < 0) return fmt::format("{} tuples", format_count(now_.total_tuples));
  return fmt::format("about {} tuples", format_short_count(static_cast<double>(now_.total_tuples)));
}

std::string ProgressView::stratum_line() const {
  std::string line = fmt::format("stratum {}/{}  {}: {}", now_.stratum + 1, now_.strata,
                                 datalog::shown_relations(now_.relations), tuples_text());
  // Such a sweep has no rounds of the whole, either.
  if (now_.iteration > 1 && now_.fraction < 0)
    line += fmt::format(", {} rounds", format_count(now_.iteration));
  return line + fmt::format(", {}", format_duration(now_.stratum_seconds));
}

std::string ProgressView::speed_text() const {
  return speed_ > 0 ? fmt::format("   {} tuples/s", format_short_count(speed_)) : std::string();
}

// Of an even share, the fullest rank holds so many times as much.
std::string ProgressView::share_text() const {
  if (now_.largest_share < 0 || labels_.ranks < 2) return {};
  return fmt::format("   fullest rank {:.2f} x even", now_.largest_share * labels_.ranks);
}

std::string ProgressView::checkpoint_text() const {
  if (now_.checkpoints == 0)
    return labels_.takes_checkpoints ? "no checkpoint yet" : "no checkpoints (--checkpoint)";
  const double share =
      now_.elapsed_seconds > 0 ? 100 * now_.checkpoint_seconds / now_.elapsed_seconds : 0;
  return fmt::format("{} checkpoint{}, {:.1f} % of the time", now_.checkpoints,
                     now_.checkpoints == 1 ? "" : "s", share);
}

std::string ProgressView::remaining_text() const {
  if (now_.fraction < 0) return {};
  const double done = now_.fraction - fraction_began_;
  std::string text = fmt::format("   {:.0f} % done", 100 * now_.fraction);
  const double passed = now_.elapsed_seconds - phase_began_;
  if (done > 0.01 && passed > 0.5) {
    text += fmt::format(", about {} left", format_duration(passed * (1 - now_.fraction) / done));
  }
  return text;
}

std::vector<std::string> ProgressView::render(std::size_t width) const {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}  on {} rank{}   {}   {}", labels_.program, labels_.ranks,
                              labels_.ranks == 1 ? "" : "s", format_duration(now_.elapsed_seconds),
                              phase_name(now_.phase)));
  if (has_stratum_) {
    lines.push_back(fmt::format("  stratum {}/{}  {}{}", now_.stratum + 1, now_.strata,
                                datalog::shown_relations(now_.relations), remaining_text()));
    std::string round = fmt::format("  round {:<6} +{:<11}", format_count(now_.iteration),
                                    format_count(now_.new_tuples));
    lines.push_back(round + " " + sparkline(rounds_, kSparklineColumns, labels_.glyphs));
    lines.push_back(fmt::format("  {}{}{}", tuples_text(), speed_text(), share_text()));
    if (!now_.busiest_rule.empty())
      lines.push_back(
          fmt::format("  most time {:.0f} %: {}", 100 * now_.busiest_share, now_.busiest_rule));
  }
  const std::string sent = now_.exchanged_bytes > 0
                               ? fmt::format("   exchanged {}", format_size(now_.exchanged_bytes))
                               : std::string();
  lines.push_back(
      fmt::format("  memory {}{}   {}", format_size(now_.memory_bytes), sent, checkpoint_text()));
  for (std::string& line : lines) line = clip_columns(line, width);
  return lines;
}

}  // namespace stratalog::cli
