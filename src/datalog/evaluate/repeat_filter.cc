// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/repeat_filter.h"

#include <utility>

namespace stratalog::datalog {
namespace {

// Fewer rows have little to repeat.
constexpr std::uint32_t kWorthALook = 32;
// No more bindings are kept in mind.
constexpr std::uint32_t kMostSeen = 1U << 20;

}  // namespace

bool RepeatFilter::is_repeated(const Batch& batch, std::uint32_t row) {
  std::size_t k = 0;
  for (const VariableId v : variables_) key_[k++] = batch.columns[v][row];
  if (k < key_.size()) {
    const IntSet* const set = batch.sets[row];
    if (set != nullptr && set->size() != 1) return false;
    key_[k] = set == nullptr ? Cell{0} : first_of(set->view());
  }
  if (seen_->size() >= kMostSeen) return seen_->find(key_.data()) != PrefixMap::kAbsent;
  const std::uint32_t known = seen_->size();
  return seen_->find_or_add(key_.data()) < known;
}

void RepeatFilter::keep(Batch& batch, std::uint32_t from, std::uint32_t to) const {
  if (from == to) return;
  for (const VariableId v : variables_) batch.columns[v][to] = batch.columns[v][from];
  if (!batch.sets.empty()) batch.sets[to] = batch.sets[from];
}

void RepeatFilter::filter(Batch& batch) {
  if (!seen_ && batch.rows < kWorthALook) return;
  if (watch_.rests()) return;
  if (!seen_) {
    key_.resize(variables_.size() + (batch.sets.empty() ? 0 : 1));
    seen_.emplace(static_cast<std::uint32_t>(key_.size()));
  }
  std::uint32_t kept = 0;
  for (std::uint32_t row = 0; row < batch.rows; ++row)
    if (!is_repeated(batch, row)) keep(batch, row, kept++);
  const std::uint32_t rows = std::exchange(batch.rows, kept);
  if (!watch_.is_worth_it(rows, rows - kept)) seen_.reset();
}

void RepeatFilter::forget() { seen_.reset(); }

}  // namespace stratalog::datalog
