// SPDX-License-Identifier: Apache-2.0
// Guards of a Pipeline: where the step after a search or scan only asks whether a tuple is there,
// the search asks it itself before it makes a binding, as long as most are refused. A refused
// binding then costs a look-up, not also a row of a batch that is written and read. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {
namespace {

// A guard is judged by so many answers at a time, and tried again after so many bindings without.
constexpr std::uint32_t kJudgedAnswers = 256;
constexpr std::uint32_t kUnguardedBindings = 1U << 14;

}  // namespace

// Where each column that the next step looks for comes from. None where it cannot be asked by one
// row of an index.
void Pipeline::prepare_guard(Stage& stage, const Stage& next) const {
  const bool reads_rows = stage.step->kind == StepKind::kSearch ||
                          stage.step->kind == StepKind::kScan ||
                          stage.step->kind == StepKind::kScanDelta;
  const Step& asked = *next.step;
  if (!reads_rows || stage.source.index == nullptr || stage.source.swept != nullptr ||
      next.source.index == nullptr || next.source.swept != nullptr)
    return;
  const std::size_t length = asked.prefix_length;
  if (length == 0 || length < next.source.index->prefix_width()) return;
  const auto& places = next.source.owner_places;
  if (asked.columns.back().role == ColumnRole::kCarry ||
      std::ranges::any_of(places, [&](std::uint32_t place) { return place >= length; }))
    return;
  const auto& columns = stage.step->columns;
  Guard guard;
  guard.next = &next;
  for (std::size_t i = 0; i < length; ++i) {
    const ColumnUse& use = asked.columns[i];
    if (use.role == ColumnRole::kMatchConstant) {
      guard.parts.push_back(
          {.from = KnownCell::From::kConstant, .at = definition_.constants[use.constant]});
      continue;
    }
    if (use.role != ColumnRole::kMatchVariable) return;
    const KnownCell& part = guard.parts.emplace_back(known_cell(stage, use.variable));
    if (part.from != KnownCell::From::kBound) continue;
    guard.asks_last |= part.at + 1 == columns.size();
    guard.asks_bound = true;
  }
  if (guard.asks_bound) stage.guard = std::move(guard);
}

bool Pipeline::is_guarding(Stage& stage) {
  if (!stage.guard || stage.is_common) return false;
  Guard& guard = *stage.guard;
  if (guard.unguarded > 0) {
    --guard.unguarded;
    return false;
  }
  if (guard.answers < kJudgedAnswers) return true;
  const bool refuses_most = 2 * guard.refused > guard.answers;
  guard.answers = guard.refused = 0;
  if (!refuses_most) guard.unguarded = kUnguardedBindings;
  return refuses_most;
}

bool Pipeline::is_admitted(Stage& stage, const Batch& in, std::uint32_t in_row) const {
  Guard& guard = *stage.guard;
  const Stage& next = *guard.next;
  std::array<Cell, kMaxArity> key;
  for (std::size_t i = 0; i < guard.parts.size(); ++i)
    key[i] = cell_of(guard.parts[i], stage, in, in_row);
  const Index& index = next.source.index_for([&](std::uint32_t place) { return key[place]; });
  const bool there = guard.parts.size() == index.prefix_width() ? index.has_row(key.data())
                                                                : index.contains(key.data());
  const bool admitted = there == (next.step->kind == StepKind::kExists);
  ++guard.answers;
  guard.refused += admitted ? 0 : 1;
  return admitted;
}

}  // namespace stratalog::datalog
