// SPDX-License-Identifier: Apache-2.0
#include "bench/rank_share.h"

#include <array>

namespace stratalog {
namespace {

constexpr std::array<RankShare, 4> kShares = {RankShare::kBalanced, RankShare::kOneGiant,
                                              RankShare::kHalfEmpty, RankShare::kPowerLaw};

std::uint64_t weight_of(int rank, int ranks, RankShare share) {
  const auto others = static_cast<std::uint64_t>(ranks - 1);
  switch (share) {
    case RankShare::kOneGiant:
      return rank == ranks / 2 && others > 0 ? 15 * others : 1;
    case RankShare::kHalfEmpty:
      return rank % 2 == 0 ? 1 : 0;
    case RankShare::kPowerLaw:
      return (std::uint64_t{1} << 32U) / (static_cast<std::uint64_t>(rank) + 1);
    default:
      return 1;
  }
}

}  // namespace

std::string_view share_name(RankShare share) {
  switch (share) {
    case RankShare::kOneGiant:
      return "one-giant";
    case RankShare::kHalfEmpty:
      return "half-empty";
    case RankShare::kPowerLaw:
      return "power-law";
    default:
      return "balanced";
  }
}

std::optional<RankShare> parse_share(std::string_view name) {
  for (const RankShare share : kShares)
    if (share_name(share) == name) return share;
  return std::nullopt;
}

std::span<const RankShare> all_shares() { return kShares; }

std::vector<std::uint64_t> deal_rows(std::uint64_t rows, int ranks, RankShare share) {
  std::uint64_t sum = 0;
  for (int r = 0; r < ranks; ++r) sum += weight_of(r, ranks, share);
  // Rank r gets what lies between two cuts, so that nothing is lost to rounding.
  std::vector<std::uint64_t> dealt(static_cast<std::size_t>(ranks));
  std::uint64_t weights = 0;
  std::uint64_t cut = 0;
  for (int r = 0; r < ranks; ++r) {
    weights += weight_of(r, ranks, share);
    const auto next =
        static_cast<std::uint64_t>(static_cast<unsigned __int128>(rows) * weights / sum);
    dealt[static_cast<std::size_t>(r)] = next - cut;
    cut = next;
  }
  return dealt;
}

}  // namespace stratalog
