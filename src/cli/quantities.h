// SPDX-License-Identifier: Apache-2.0
// Quantities as people write and read them: sizes (4G), intervals (400it, 60s), counts
// (24,413,481), durations. Pure; local.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stratalog::cli {

// "90s", "5m", "24h", "3d" in seconds.
Result<double> parse_duration(std::string_view text);

// "4G", "512M", "1.5GiB", "65536". K, M, G, T are powers of 1024. InvalidArgument with what was
// expected.
Result<std::uint64_t> parse_size(std::string_view text);

// A number of threads from 1 to 1,024, or "auto": `cores`.
Result<int> parse_jobs(std::string_view text, int cores);

// How often a checkpoint is written; 0: not by this measure.
struct Interval {
  std::uint64_t iterations = 0;
  double seconds = 0;
  bool is_automatic = false;  // "auto": by what checkpoints cost and how often the machine fails
  double most_share = 0;  // "2%": as often as costs so much of the run; of 1
};

// "auto", "2%", "400it", "60s", "5m", "1h", or two measures: "400it,60s", "400it,auto". At most one
// of each measure over all texts; "auto" and a percentage are intervals in time.
Result<Interval> parse_intervals(const std::vector<std::string>& texts);

std::string format_count(std::uint64_t count);  // 24,413,481
std::string format_short_count(double count);  // 24.4 M
std::string format_size(std::uint64_t size_bytes);  // 312.4 MiB
std::string format_duration(double seconds);  // 320 us, 4.2 ms, 0.42 s, 31.0 s, 5:07

}  // namespace stratalog::cli
