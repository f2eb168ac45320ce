// SPDX-License-Identifier: Apache-2.0
// How a benchmark's rows are dealt over ranks: evenly, or as uneven as relations get when keys are
// skewed (HDF5-OPT 3.2; RA-checkpoint II.B says why). Integer arithmetic only, the same on every
// rank. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace stratalog {

enum class RankShare : std::uint8_t {
  kBalanced,  // "balanced": equal, up to one row
  kOneGiant,  // "one-giant": the middle rank holds 15/16
  kHalfEmpty,  // "half-empty": odd ranks hold nothing
  kPowerLaw,  // "power-law": rank r holds a share of 1 / (r + 1)
};

std::string_view share_name(RankShare share);
std::optional<RankShare> parse_share(std::string_view name);
std::span<const RankShare> all_shares();

// Rows of each rank; their sum is `rows`. One rank holds everything whatever the share. O(ranks).
std::vector<std::uint64_t> deal_rows(std::uint64_t rows, int ranks, RankShare share);

}  // namespace stratalog
