// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/ranked_lists.h"

#include <algorithm>

namespace stratalog::datalog {

RankedList::RankedList(std::vector<RankedPart> parts) : parts_(std::move(parts)) {
  std::ranges::sort(parts_, {}, &RankedPart::place);
  for (RankedPart& ranked : parts_) {
    const FoldedPart before = all_;
    all_ += ranked.part;
    ranked.part = before;
  }
}

// Sums wrap around, so that differences are those of what was added.
FoldedPart RankedList::between(std::span<const PlaceRange> ranges) const {
  FoldedPart found;
  const auto before = [&](auto at) { return at == parts_.end() ? all_ : at->part; };
  for (const PlaceRange& range : ranges) {
    const auto from = std::ranges::lower_bound(parts_, range.first, {}, &RankedPart::place);
    const auto to =
        std::ranges::upper_bound(from, parts_.end(), range.last, {}, &RankedPart::place);
    found.count += before(to).count - before(from).count;
    found.bits += before(to).bits - before(from).bits;
  }
  return found;
}

}  // namespace stratalog::datalog
