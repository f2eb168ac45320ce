// SPDX-License-Identifier: Apache-2.0
// How many cores this program may keep busy: those that its thread may run on
// (base/allowed_cores.h), and no more than its control group grants time for (a container's
// `--cpus`). The number of cores of the machine is neither. Local.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace stratalog {

// At least one. Reads the state of the calling thread and a few small files.
std::uint32_t usable_cores();

// Cores' worth of time that a file `cpu.max` of control groups (version 2) grants, rounded up:
// "150000 100000" is 2. Nothing if there is no limit or the text is none of such a file. Pure.
std::optional<std::uint64_t> cores_of_quota(std::string_view cpu_max);

// The tightest limit on the way from group `path` ("/a/b", as /proc/self/cgroup names it) up to
// `root`, where the groups are mounted. Nothing if none is found.
std::optional<std::uint64_t> cores_of_group(const std::filesystem::path& root,
                                            std::string_view path);

}  // namespace stratalog
