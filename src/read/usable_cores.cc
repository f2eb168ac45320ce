// SPDX-License-Identifier: Apache-2.0
#include "read/usable_cores.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#include "base/allowed_cores.h"

namespace stratalog {
namespace {

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const std::span<const char> digits(text);
  const char* end = std::to_address(digits.end());
  const auto [stopped, error] = std::from_chars(std::to_address(digits.begin()), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

// The group of version 2 that this process is in; its line begins with "0::".
std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return "/";
}

}  // namespace

std::optional<std::uint64_t> cores_of_quota(std::string_view cpu_max) {
  while (!cpu_max.empty() && cpu_max.back() == '\n') cpu_max.remove_suffix(1);
  const std::size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto granted = whole_number(cpu_max.substr(0, space));
  const auto period = whole_number(cpu_max.substr(space + 1));
  if (!granted || !period || *granted == 0 || *period == 0) return std::nullopt;
  return (*granted - 1) / *period + 1;
}

std::optional<std::uint64_t> cores_of_group(const std::filesystem::path& root,
                                            std::string_view path) {
  std::optional<std::uint64_t> tightest;
  // Groups above the container's own are not there to see: ".." in a path leads nowhere.
  std::filesystem::path group = std::filesystem::path(path).relative_path();
  while (true) {
    std::ifstream limit(root / group / "cpu.max");
    std::string line;
    if (limit && std::getline(limit, line))
      if (const auto cores = cores_of_quota(line))
        tightest = std::min(tightest.value_or(*cores), *cores);
    if (group.empty()) return tightest;
    group = group.parent_path();
  }
}

std::uint32_t usable_cores() {
  const std::uint64_t cores = allowed_core_count();
  const auto granted = cores_of_group("/sys/fs/cgroup", own_group());
  return static_cast<std::uint32_t>(granted ? std::min(cores, *granted) : cores);
}

}  // namespace stratalog
