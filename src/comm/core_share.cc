// SPDX-License-Identifier: Apache-2.0
#include "comm/core_share.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <vector>

#include "base/allowed_cores.h"

namespace stratalog {
namespace {

constexpr std::size_t kWordBits = 64;

struct SharedCores {
  CoreSet cores = {};
  std::uint32_t ranks = 0;
};

bool overlap(const CoreSet& a, const CoreSet& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}

std::uint32_t count(const CoreSet& set) {
  int bits = 0;
  for (const std::uint64_t word : set) bits += std::popcount(word);
  return static_cast<std::uint32_t>(bits);
}

// A rank joins all shares that it overlaps, which thereby become one.
void add_rank(const CoreSet& cores, std::vector<SharedCores>& shares) {
  SharedCores joined{.cores = cores, .ranks = 1};
  for (std::size_t i = 0; i < shares.size();) {
    if (!overlap(shares[i].cores, cores)) {
      ++i;
      continue;
    }
    for (std::size_t w = 0; w < cores.size(); ++w) joined.cores[w] |= shares[i].cores[w];
    joined.ranks += shares[i].ranks;
    shares[i] = shares.back();
    shares.pop_back();
  }
  shares.push_back(joined);
}

}  // namespace

CoreShare tightest_share(std::span<const CoreSet> cores_of_rank,
                         std::span<const int> node_of_rank) {
  std::map<int, std::vector<SharedCores>> nodes;
  for (std::size_t r = 0; r < cores_of_rank.size(); ++r)
    add_rank(cores_of_rank[r], nodes[node_of_rank.empty() ? 0 : node_of_rank[r]]);
  CoreShare tightest;
  bool is_first = true;
  for (const auto& [node, shares] : nodes)
    for (const SharedCores& share : shares) {
      const CoreShare found{.cores = count(share.cores), .ranks = share.ranks};
      const auto spare = [](const CoreShare& s) {
        return static_cast<std::int64_t>(s.cores) - static_cast<std::int64_t>(s.ranks);
      };
      // Of equals the larger one, so that the order of ranks does not matter.
      const bool is_tighter = spare(found) < spare(tightest) ||
                              (spare(found) == spare(tightest) && found.ranks > tightest.ranks);
      if (is_first || is_tighter) tightest = found;
      is_first = false;
    }
  return tightest;
}

CoreSet allowed_cores() {
  CoreSet set = {};
  cpu_set_t allowed;
  static_assert(sizeof(allowed) == sizeof(set));
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (std::size_t core = 0; core < set.size() * kWordBits; ++core)
      if (CPU_ISSET(core, &allowed))
        set[core / kWordBits] |= std::uint64_t{1} << (core % kWordBits);
    if (count(set) != 0) return set;
  }
  // The machine has more cores than the set: as many of them as there is room for.
  const std::size_t cores = std::min<std::size_t>(allowed_core_count(), set.size() * kWordBits);
  for (std::size_t core = 0; core < cores; ++core)
    set[core / kWordBits] |= std::uint64_t{1} << (core % kWordBits);
  return set;
}

Result<CoreShare> gather_core_share(Comm& comm, std::span<const int> node_of_rank) {
  const CoreSet mine = allowed_cores();
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(std::as_bytes(std::span(mine))));
  std::vector<CoreSet> sets(static_cast<std::size_t>(comm.size()));
  if (all.data.size() != sets.size() * sizeof(CoreSet))
    return Status::internal("sets of cores of odd length");
  std::memcpy(sets.data(), all.data.data(), all.data.size());
  return tightest_share(sets, node_of_rank);
}

}  // namespace stratalog
