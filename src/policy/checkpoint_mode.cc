// SPDX-License-Identifier: Apache-2.0
#include "policy/checkpoint_mode.h"

#include <algorithm>
#include <array>

namespace stratalog {
namespace {

struct ModeRow {
  CheckpointMode mode;
  std::string_view name;
  CheckpointMode format;
};

constexpr std::array kModeTable = {
    ModeRow{CheckpointMode::kFilePerProcess, "fpp", CheckpointMode::kFilePerProcess},
    ModeRow{CheckpointMode::kShared, "shared", CheckpointMode::kShared},
    ModeRow{CheckpointMode::kHdf5, "hdf5", CheckpointMode::kHdf5},
    ModeRow{CheckpointMode::kSharedOpt, "shared-opt", CheckpointMode::kShared},
    ModeRow{CheckpointMode::kHdf5Opt, "hdf5-opt", CheckpointMode::kHdf5},
    ModeRow{CheckpointMode::kHdf5Direct, "hdf5-direct", CheckpointMode::kHdf5},
    ModeRow{CheckpointMode::kHdf5Streams, "hdf5-streams", CheckpointMode::kHdf5Streams},
    ModeRow{CheckpointMode::kHdf5Auto, "hdf5-auto", CheckpointMode::kHdf5},
    ModeRow{CheckpointMode::kAuto, "auto", CheckpointMode::kAuto},
};

const ModeRow& row_of(CheckpointMode mode) {
  return *std::find_if(kModeTable.begin(), kModeTable.end(),
                       [&](const ModeRow& row) { return row.mode == mode; });
}

}  // namespace

std::string_view mode_name(CheckpointMode mode) { return row_of(mode).name; }

std::optional<CheckpointMode> parse_mode(std::string_view name) {
  for (const ModeRow& row : kModeTable)
    if (row.name == name) return row.mode;
  return std::nullopt;
}

std::span<const CheckpointMode> all_modes() {
  static constexpr auto kModes = [] {
    std::array<CheckpointMode, kModeTable.size()> modes{};
    for (std::size_t i = 0; i < kModeTable.size(); ++i) modes[i] = kModeTable[i].mode;
    return modes;
  }();
  return kModes;
}

CheckpointMode format_of(CheckpointMode mode) { return row_of(mode).format; }

}  // namespace stratalog
