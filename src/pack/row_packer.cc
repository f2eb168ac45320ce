// SPDX-License-Identifier: Apache-2.0
#include "pack/row_packer.h"

#include <fmt/format.h>

namespace stratalog {

Status GroupCollector::add_row(const std::uint64_t* row) {
  bool same = !elements_.empty() && elements_.size() < kMaxElements;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::uint64_t value = row[order_[i]];
    if (value > 0xFFFFFFFFULL)
      return Status::corruption(
          fmt::format("column {} holds {}, which is no cell", order_[i], value));
    if (i + 1 < order_.size()) same = same && prefix_[i] == value;
  }
  const auto last = static_cast<Cell>(row[order_.back()]);
  if (!same || last <= elements_.back()) {
    STRATALOG_RETURN_IF_ERROR(flush());
    for (std::size_t i = 0; i < prefix_.size(); ++i) prefix_[i] = static_cast<Cell>(row[order_[i]]);
  }
  elements_.push_back(last);
  return Status::ok();
}

Status GroupCollector::flush() {
  if (elements_.empty()) return Status::ok();
  SetView set;
  set.values = elements_;
  set.count = elements_.size();
  const Status status = visit_({.prefix = prefix_, .set = set});
  elements_.clear();
  return status;
}

}  // namespace stratalog
