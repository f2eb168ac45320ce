// SPDX-License-Identifier: Apache-2.0
#include "bench/growing_relation.h"

#include <algorithm>
#include <vector>

#include "model/multiset_hash.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kRunElements = 8;
constexpr std::uint64_t kRunsPerRound = 16;

// Which runs of a group belong to the part.
class RunDealer {
 public:
  RunDealer(std::span<const std::uint64_t> sizes, std::size_t at, GrownPart part)
      : sizes_(sizes), at_(at), part_(part) {}

  bool takes(std::uint64_t group, std::uint64_t run) const {
    const std::uint64_t chance = splitmix64((group << 24U) ^ run);
    const std::uint64_t place = (chance >> 8U) % sizes_.back();
    const auto step = static_cast<std::size_t>(
        std::upper_bound(sizes_.begin(), sizes_.end(), place) - sizes_.begin());
    if (part_ == GrownPart::kTotal) return step <= at_;
    return step == at_ && (part_ == GrownPart::kGrowth || chance % kRunsPerRound == 0);
  }

 private:
  std::span<const std::uint64_t> sizes_;
  std::size_t at_;
  GrownPart part_;
};

}  // namespace

HeldRelation grow(const HeldRelation& last, std::span<const std::uint64_t> sizes, std::size_t at,
                  GrownPart part) {
  const bool is_round = part == GrownPart::kLastRound;
  HeldRelation grown(last.name(), is_round ? RelationVersion::kDelta : last.version(),
                     last.column_order());
  const RunDealer dealer(sizes, at, part);
  std::vector<Cell> values;
  std::uint64_t group_number = 0;
  // The visitor never fails.
  (void)last.for_each_group([&](const TupleGroup& group) {
    values.clear();
    std::uint64_t element = 0;
    bool taken = false;
    walk_set(group.set, [&](Cell cell) {
      if (element % kRunElements == 0) taken = dealer.takes(group_number, element / kRunElements);
      ++element;
      if (taken) values.push_back(cell);
    });
    ++group_number;
    if (!values.empty()) grown.add_array(group.prefix, values);
    return Status::ok();
  });
  return grown;
}

}  // namespace stratalog
