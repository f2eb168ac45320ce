// SPDX-License-Identifier: Apache-2.0
// Images of sets: where a step binds the elements of a row's set only for the next one to find a
// set under each, which is carried on, as in `sg(x, y) :- edge(a, x), sg(a, b), edge(b, y).` from
// `sg(b, a)` on. The elements become no bindings: what lies under them is looked up at once, and
// short sets are united at once, as the head, or the next search, would have to do with each of
// them. It is the composition of relations row by row. See pipeline.h.
#include <algorithm>
#include <array>

#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {
namespace {

// Sets with so many elements on the average go on by themselves: what is spared is looking at each
// of them, not at their elements.
constexpr std::uint64_t kShortImage = 16;
// So many elements are looked up together.
constexpr std::size_t kLookedUpTogether = 256;

}  // namespace

// Where step `s` + 1 finds one set under each element that step `s` binds, and nobody else asks for
// the element.
void Pipeline::prepare_image(std::size_t s) {
  Stage& stage = *stages_[s];
  if (s + 1 == stages_.size() || stage.step->columns.empty() || stage.repeats || stage.guard)
    return;
  const Stage& next = *stages_[s + 1];
  const StepSource& read = next.source;
  const ColumnUse& last = stage.step->columns.back();
  if (!next.binds_sets || read.index == nullptr || read.equivalence != nullptr ||
      read.swept != nullptr || last.role != ColumnRole::kBind || !definition_.release_sets ||
      definition_.counts || definition_.tagged)
    return;
  const std::vector<VariableId>& left = next.step->live_after;
  const std::uint32_t width = next.step->prefix_length;
  const auto is_outside = [&](std::uint32_t place) { return place >= width; };
  if (std::ranges::find(left, last.variable) != left.end() ||
      std::ranges::any_of(read.owner_places, is_outside))
    return;
  std::optional<std::uint32_t> place;
  for (std::uint32_t i = 0; i < width; ++i) {
    const ColumnUse& use = next.step->columns[i];
    if (use.role != ColumnRole::kMatchVariable || use.variable != last.variable) continue;
    if (place) return;
    place = i;
  }
  stage.image_place = place;
}

// Not before ranks that share the work have parted, nor where one witness of a binding is enough.
bool Pipeline::takes_image(std::size_t s) const {
  const bool has_own =
      share_.by == ShareBy::kNothing || (share_.by != ShareBy::kUndecided && share_.at <= s);
  return stages_[s]->image_place && !witnessed_ && has_own;
}

// The non-empty sets under `cells`, in a row of whose keys these take their place.
void Pipeline::find_images(Stage& next, std::span<Cell> key, std::uint32_t place,
                           std::span<const Cell> cells) const {
  const StepSource& source = next.source;
  const auto index_under = [&](Cell cell) -> const Index& {
    key[place] = cell;
    return source.index_for([&](std::uint32_t at) { return key[at]; });
  };
  next.images.clear();
  if (is_far(*source.index)) {
    const auto length = static_cast<std::uint32_t>(key.size());
    for (const Cell cell : cells) index_under(cell).prefetch_under(length, key.data());
    for (const Cell cell : cells) index_under(cell).prefetch_found_under(length, key.data());
  }
  for (const Cell cell : cells) {
    const Index& index = index_under(cell);
    const RowId row = index.find_row(key.data());
    if (row == Index::kNoRow) continue;
    const IntSet& set = index.total(row);
    if (!set.empty()) next.images.push_back(&set);
  }
}

Status Pipeline::bind_image(std::size_t s, const Batch& in, std::uint32_t in_row,
                            std::uint32_t first, const SetView& view) {
  Stage& stage = *stages_[s];
  Stage& next = *stages_[s + 1];
  if (!next.has_room) make_room(next);
  has_passed_on_ = true;
  // The binding without an element, where the next one would stand.
  const std::uint32_t row = append(stage, in, in_row);
  bind_prefix(stage, first, 1);
  std::array<Cell, kMaxArity> parts;
  const std::span<Cell> key = std::span(parts).first(next.step->prefix_length);
  for (std::uint32_t i = 0; i < key.size(); ++i)
    if (i != *stage.image_place) key[i] = expected(next.step->columns[i], stage.out, row);
  std::array<Cell, kLookedUpTogether> gathered;
  std::size_t count = 0;
  Status status;
  walk_set(view, [&](Cell cell) {
    gathered[count++] = cell;
    if (count < gathered.size()) return;
    count = 0;
    if (status.is_ok()) status = pass_images(s, key, gathered);
  });
  return status.is_ok() ? pass_images(s, key, std::span(gathered).first(count)) : status;
}

// For the binding that stands behind the last one of step `s`.
Status Pipeline::pass_images(std::size_t s, std::span<Cell> key, std::span<const Cell> cells) {
  const Stage& stage = *stages_[s];
  Stage& next = *stages_[s + 1];
  find_images(next, key, *stage.image_place, cells);
  std::uint64_t elements = 0;
  for (const IntSet* set : next.images) elements += set->size();
  if (next.images.size() > 1 && elements <= kShortImage * next.images.size()) {
    STRATALOG_RETURN_IF_ERROR(make_room_for_union(s + 1));
    for (const IntSet* set : next.images) definition_.scratch->add(*set);
    next.images.assign(1, take_union(next));
  }
  for (const IntSet* set : next.images) {
    next.out.sets[append(next, stage.out, stage.out.rows)] = set;
    if (++next.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s + 1));
  }
  return {};
}

}  // namespace stratalog::datalog
