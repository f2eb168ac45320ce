// SPDX-License-Identifier: Apache-2.0
#include "cli/live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

namespace stratalog::cli {

namespace {

constexpr double kRedrawSeconds = 0.1;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::size_t columns_of_terminal() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  const long told =
      std::strtol(std::string(environment("STRATALOG_TERMINAL")).c_str(), nullptr, 10);
  return told >= 20 && told <= 1000 ? static_cast<std::size_t>(told) : 80;
}

}  // namespace

void LiveView::put_line(std::string_view line) { sink_.write(fmt::format("{}\n", line)); }

void LiveView::erase() {
  if (lines_shown_ == 0) return;
  // Up to the first line of the view, then clear from there to the end of the screen.
  sink_.write(fmt::format("\x1b[{}A\r\x1b[J", lines_shown_));
  lines_shown_ = 0;
}

void LiveView::draw() {
  const std::vector<std::string> lines = view_.render(sink_.width() - 1);
  std::string text;
  if (lines_shown_ > 0) text += fmt::format("\x1b[{}A\r", lines_shown_);
  for (const std::string& line : lines) text += line + "\x1b[K\n";
  if (lines.size() < lines_shown_) text += "\x1b[J";
  sink_.write(text);
  lines_shown_ = lines.size();
  has_drawn_ = true;
  last_drawn_ = sink_.now_seconds();
}

void LiveView::update(const datalog::Progress& progress) {
  const std::string ended = view_.update(progress);
  if (style_ == LiveViewStyle::kSilent) return;
  if (!ended.empty()) {
    erase();
    put_line(ended);
  }
  if (style_ != LiveViewStyle::kRedraw) return;
  if (has_drawn_ && ended.empty() && sink_.now_seconds() - last_drawn_ < kRedrawSeconds) return;
  draw();
}

void LiveView::notice(std::string_view line) {
  erase();
  put_line(line);
  if (style_ == LiveViewStyle::kRedraw && has_drawn_) draw();
}

void LiveView::finish() {
  const std::string ended = view_.finish();
  erase();
  if (style_ != LiveViewStyle::kSilent && !ended.empty()) put_line(ended);
  has_drawn_ = false;
}

TerminalTraits standard_error_traits() {
  TerminalTraits traits;
  traits.is_terminal = (isatty(STDERR_FILENO) != 0 && environment("TERM") != "dumb") ||
                       !environment("STRATALOG_TERMINAL").empty();
  traits.columns = columns_of_terminal();
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    const bool is_utf8 = value.find("UTF-8") != std::string_view::npos ||
                         value.find("utf8") != std::string_view::npos;
    traits.glyphs = is_utf8 ? Glyphs::kUnicode : Glyphs::kAscii;
    break;
  }
  return traits;
}

LiveViewSink standard_error_sink() {
  return {.write =
              [](std::string_view text) {
                while (!text.empty()) {
                  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
                  if (written <= 0) return;  // a view that cannot be shown is no reason to stop
                  text.remove_prefix(static_cast<std::size_t>(written));
                }
              },
          .now_seconds =
              [] {
                return std::chrono::duration<double>(
                           std::chrono::steady_clock::now().time_since_epoch())
                    .count();
              },
          .width = columns_of_terminal};
}

}  // namespace stratalog::cli
