// SPDX-License-Identifier: Apache-2.0
// Steps of a Pipeline behind which nothing is new but whether anything comes, as in
// `later(i) :- val(i, g, v), val(_, g, w), v < w.` and `ok() :- a(x), b(y), x < y.`, and tuples
// that are subsumed, no matter by which: the first witness is enough. See pipeline.h.
#include <algorithm>
#include <numeric>

#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/partial_functors.h"

namespace stratalog::datalog {
namespace {

// Fewer are all looked at as quickly.
constexpr std::uint64_t kWorthStopping = kRowsOfAPart / 2;

constexpr std::uint64_t kWordCells = 64;  // of a bitmap

bool lists_rows(const Step& step) {
  return step.kind == StepKind::kScan || step.kind == StepKind::kSearch ||
         step.kind == StepKind::kScanDelta;
}

// Whether some elements of a carried set may pass and others may not.
bool looks_into_sets(const Step& step) {
  return step.filters_carried || std::ranges::any_of(step.columns, [](const ColumnUse& use) {
           return use.role == ColumnRole::kCarry;
         });
}

// Not only restricts sets that come to it.
bool binds_sets(const Step& step) { return lists_rows(step) && looks_into_sets(step); }

}  // namespace

void Pipeline::prepare_witness() {
  if (!definition_.ends_rule || definition_.counts || definition_.tagged) return;
  for (std::size_t s = 0; s < stages_.size() && !witnessed_; ++s) {
    const Stage& stage = *stages_[s];
    if (lists_rows(*stage.step) && !stage.step->columns.empty() && stage.source.index != nullptr &&
        stage.source.swept == nullptr && asks_for_witness(s) && comes_at_once_from(s))
      witnessed_ = s;
  }
  if (witnessed_)
    stages_[*witnessed_]->sees_one_by_one =
        std::ranges::any_of(definition_.steps.subspan(*witnessed_), looks_into_sets);
}

bool Pipeline::asks_for_witness(std::size_t s) const {
  const Stage& stage = *stages_[s];
  if (definition_.witness) return stage.step->literal == definition_.witness->literal;
  return definition_.rule->role == RuleRole::kDerives &&
         std::ranges::all_of(definition_.steps.back().live_after, [&](VariableId v) {
           return std::ranges::find(stage.arriving, v) != stage.arriving.end();
         });
}

// Whether no later step keeps bindings for a while, or may fail: an error must not depend on where
// a search ends.
bool Pipeline::comes_at_once_from(std::size_t s) const {
  // A set that is bound here or later is as new as what any variable is bound to.
  if (std::ranges::any_of(definition_.steps.subspan(s), binds_sets)) return false;
  for (std::size_t t = s + 1; t < stages_.size(); ++t) {
    const Step& step = definition_.steps[t];
    const Literal& literal = (*definition_.body)[step.literal];
    const bool is_read = reads_relation(step) && stages_[t]->source.swept == nullptr;
    const bool is_computed = (step.kind == StepKind::kFilter || step.kind == StepKind::kAssign) &&
                             literal.record_use == RecordUse::kValue &&
                             !searches_text(literal.comparison) && cannot_fail(literal.left) &&
                             cannot_fail(literal.right);
    if (!is_read && !is_computed) return false;
  }
  return true;
}

bool Pipeline::stops_early(std::size_t s, std::uint64_t found, const Batch& in,
                           std::uint32_t in_row) const {
  if (witnessed_ != s || found < kWorthStopping) return false;
  // Elements of a set may have other witnesses than it has.
  const Stage& stage = *stages_[s];
  if (stage.sees_one_by_one && (stage.united != nullptr || in.sets[in_row]->size() != 1))
    return false;
  // Where ranks part here or later, they go the same way until then.
  return share_.by == ShareBy::kNothing || (share_.by == ShareBy::kBindings && share_.at <= s) ||
         (share_.by == ShareBy::kRows && share_.at < s);
}

// Whether all that leaves this step is one binding, as often as it has witnesses so far.
bool Pipeline::wants_one(std::size_t s) const {
  return s + 1 == stages_.size() && witnessed_ && stages_[*witnessed_]->is_looking &&
         !definition_.witness;
}

// From one part to the next, so that all are met and the first ones lie far apart.
std::uint64_t Pipeline::stride_through(Stage& stage, std::uint64_t parts) {
  if (stage.stride_of == parts) return stage.stride;
  stage.stride_of = parts;
  stage.stride = std::max<std::uint64_t>(parts * 5 / 8, 1);
  while (std::gcd(stage.stride, parts) > 1) ++stage.stride;
  return stage.stride;
}

Status Pipeline::flush_from(std::size_t s) {
  for (; s < stages_.size(); ++s) STRATALOG_RETURN_IF_ERROR(flush(s));
  return {};
}

// Of one row's set. Elements near the end of a part may be bound twice.
Status Pipeline::bind_until_found(std::size_t s, const Batch& in, std::uint32_t in_row,
                                  std::uint32_t first, const SetView& view) {
  const bool is_array = view.kind == SetKind::kArray;
  const std::uint64_t lowest = is_array ? view.values.front() : view.base;
  const std::uint64_t highest =
      is_array ? view.values.back() : lowest + (kWordCells * view.words.size()) - 1;
  const std::uint64_t cells = highest - lowest + 1;
  const std::uint64_t parts = std::clamp<std::uint64_t>(view.count / kRowsOfAPart, 1, cells);
  const std::uint64_t width = (cells + parts - 1) / parts;
  return visit_until_found(s, (cells + width - 1) / width, [&](std::uint64_t part) {
    const std::uint64_t begin = lowest + (part * width);
    const std::uint64_t end = std::min(begin + width - 1, highest);
    return bind_each(
        s, in, in_row, first,
        part_around(view, {.lowest = static_cast<Cell>(begin), .highest = static_cast<Cell>(end)}));
  });
}

}  // namespace stratalog::datalog
