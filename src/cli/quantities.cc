// SPDX-License-Identifier: Apache-2.0
#include "cli/quantities.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/readable_size.h"

namespace stratalog::cli {

namespace {

constexpr int kMaxThreads = 1024;  // of -j

struct NumberAndUnit {
  double number = 0;
  std::string_view unit;
};

// A decimal number without sign or exponent, and what follows it.
bool split_number(std::string_view text, NumberAndUnit& split) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string_view digits = text.substr(0, end);
  if (digits.empty()) return false;
  const char* const last = digits.end();
  const auto parsed = std::from_chars(digits.begin(), last, split.number, std::chars_format::fixed);
  split.unit = end == std::string_view::npos ? std::string_view() : text.substr(end);
  return parsed.ec == std::errc() && parsed.ptr == last;
}

Status bad_interval(std::string_view text) {
  return Status::invalid_argument(
      fmt::format("'{}' is not an interval; write a number of rounds (400it), a time (60s, 5m, 1h, "
                  "auto) or a part of the run (2%), or rounds and one of the others (400it,60s)",
                  text));
}

// Seconds in one unit of time; 0 if it is none.
double seconds_in(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  return unit == "d" ? 86400 : 0;
}

Status add_interval(std::string_view text, Interval& interval) {
  if (text == "auto") {
    interval.is_automatic = true;
    return Status::ok();
  }
  NumberAndUnit split;
  if (!split_number(text, split) || split.number <= 0) return bad_interval(text);
  if (split.unit == "it") {
    if (split.number != std::floor(split.number) || split.number > 1e15) return bad_interval(text);
    if (interval.iterations != 0) {
      return Status::invalid_argument(
          fmt::format("'{}': an interval in rounds is given twice", text));
    }
    interval.iterations = static_cast<std::uint64_t>(split.number);
    return Status::ok();
  }
  if (split.unit == "%") {
    if (split.number <= 0 || split.number >= 100)
      return Status::invalid_argument(
          fmt::format("'{}' is no part of a run that checkpoints can take; write, say, 2%", text));
    if (interval.most_share != 0)
      return Status::invalid_argument(fmt::format("'{}': a part of the run is given twice", text));
    interval.most_share = split.number / 100;
    return Status::ok();
  }
  const double scale = seconds_in(split.unit);
  if (scale == 0) return bad_interval(text);
  if (interval.seconds != 0) {
    return Status::invalid_argument(fmt::format("'{}': an interval in time is given twice", text));
  }
  interval.seconds = split.number * scale;
  return Status::ok();
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const Status bad = Status::invalid_argument(
      fmt::format("'{}' is not a size; write a number with K, M, G or T, such as 4G", text));
  NumberAndUnit split;
  if (!split_number(text, split)) return bad;
  std::string_view unit = split.unit;
  for (const std::string_view tail : {"iB", "B"}) {
    if (unit.ends_with(tail)) {
      unit.remove_suffix(tail.size());
      break;
    }
  }
  constexpr std::string_view kLetters = "KMGT";
  double scale = 1;
  if (unit.size() == 1) {
    const std::size_t power = kLetters.find(unit[0] == 'k' ? 'K' : unit[0]);
    if (power == std::string_view::npos) return bad;
    scale = std::ldexp(1.0, static_cast<int>(10 * (power + 1)));
  } else if (!unit.empty()) {
    return bad;
  }
  const double size = split.number * scale;
  if (size < 1 || size > 9e18) return bad;
  return static_cast<std::uint64_t>(size);
}

Result<int> parse_jobs(std::string_view text, int cores) {
  if (text == "auto") return cores;
  int jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (error != std::errc{} || end != text.data() + text.size() || jobs < 1 || jobs > kMaxThreads)
    return Status::invalid_argument(
        fmt::format("'{}' is no number of threads; write 1 to {}, or auto for one on each core",
                    text, kMaxThreads));
  return jobs;
}

Result<Interval> parse_intervals(const std::vector<std::string>& texts) {
  Interval interval;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    while (true) {
      const std::size_t comma = rest.find(',');
      STRATALOG_RETURN_IF_ERROR(add_interval(rest.substr(0, comma), interval));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  const int in_time = static_cast<int>(interval.is_automatic) +
                      static_cast<int>(interval.seconds != 0) +
                      static_cast<int>(interval.most_share != 0);
  if (in_time > 1)
    return Status::invalid_argument(
        "more than one interval in time is given; choose from 60s, 2% (of the run) and auto");
  return interval;
}

Result<double> parse_duration(std::string_view text) {
  NumberAndUnit split;
  if (split_number(text, split) && split.number > 0 && seconds_in(split.unit) > 0)
    return split.number * seconds_in(split.unit);
  return Status::invalid_argument(
      fmt::format("'{}' is not a length of time; write 90s, 30m, 24h or 3d", text));
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string format_short_count(double count) {
  constexpr std::array<const char*, 5> kUnits = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (count >= 999.5 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", count)
                   : fmt::format("{:.{}f}{}", count, count < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string format_size(std::uint64_t size_bytes) { return readable_size(size_bytes); }

std::string format_duration(double seconds) {
  if (!(seconds > 0)) seconds = 0;
  if (seconds > 0 && seconds < 0.001) return fmt::format("{:.0f} us", std::ceil(seconds * 1e6));
  if (seconds > 0 && seconds < 0.01) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 99.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace stratalog::cli
