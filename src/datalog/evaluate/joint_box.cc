// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/joint_box.h"

#include <algorithm>

#include "model/set_walk.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {
namespace {

// So many sets of one owner are united before more come.
constexpr std::size_t kMostBoxSets = 1U << 20;
// Sets up to this size go as tuples.
constexpr std::uint64_t kBoxedAsTuples = 3;
// Also those that could be borrowed, if tuples are no wider: they are quickly sorted, and take less
// than as rows. Of wider ones the same prefixes coming again cost less.
constexpr std::size_t kNarrow = 3;
// So many tuples are taken from a box at once.
constexpr std::size_t kTakenAtOnce = 1U << 16;
// Vectors that are larger after a round give their memory back.
constexpr std::size_t kKeptBoxCells = 1U << 18;

template <typename Word>
void give_back(WordBuffer<Word>& words) {
  if (words.capacity() > kKeptBoxCells)
    words.release();
  else
    words.clear();
}

}  // namespace

JointBox::JointBox(const Shard& shard, int ranks, const BestCells* best)
    : order_(shard.primary_index().order().begin(), shard.primary_index().order().end()),
      best_(best),
      parts_(static_cast<std::size_t>(ranks)) {
  // Each rank fills a box with a part for each.
  const QueueLimit limit(static_cast<std::uint32_t>(order_.size()), parts_.size() * parts_.size());
  for (Part& part : parts_) part.limit = limit;
  for (const std::uint32_t column : shard.placement.columns) {
    const auto at = std::find(order_.begin(), order_.end(), column) - order_.begin();
    key_places_.push_back(static_cast<std::uint32_t>(at));
    key_in_prefix_ &= static_cast<std::size_t>(at) + 1 < order_.size();
  }
}

void JointBox::add_set(std::span<const Cell> prefix, const IntSet* set) {
  if (set->size() <= kBoxedAsTuples && order_.size() <= kNarrow)
    return add_view(prefix, set->view());
  Part& part = parts_[owner_of_key(prefix)];
  part.prefixes.append(prefix);
  part.sets.append(set);
  ++added_;
}

void JointBox::add_view(std::span<const Cell> prefix, const SetView& set) {
  if (set.count <= kBoxedAsTuples) {
    Cell* to = parts_[owner_of_key(prefix)].tuples.extend(set.count * order_.size());
    added_ += set.count * order_.size();
    walk_set(set, [&](Cell cell) {
      for (const Cell known : prefix) *to++ = known;
      *to++ = cell;
    });
    return;
  }
  held_sets_.emplace_back().assign(set);
  held_bytes_ += held_sets_.back().heap_bytes();
  add_set(prefix, &held_sets_.back());
}

void JointBox::add_each(std::span<Cell> tuple, std::uint32_t at, const SetView& set) {
  if (std::ranges::find(key_places_, at) != key_places_.end()) {
    walk_set(set, [&](Cell cell) {
      tuple[at] = cell;
      add(tuple);
    });
    return;
  }
  // All have one owner.
  const std::size_t arity = tuple.size();
  Cell* to = parts_[owner_of_key(tuple)].tuples.extend(set.count * arity);
  added_ += set.count * arity;
  walk_set(set, [&](Cell cell) {
    tuple[at] = cell;
    for (std::size_t i = 0; i < arity; ++i) to[i] = tuple[i];
    to += arity;
  });
}

bool JointBox::is_large() const {
  return held_bytes_ >= kMostHeldBytes || std::ranges::any_of(parts_, [&](const Part& part) {
           return part.limit.is_reached(part.tuples.size() / order_.size()) ||
                  part.sets.size() >= kMostBoxSets;
         });
}

void JointBox::shorten(SetAccumulator& scratch) {
  const auto arity = static_cast<std::uint32_t>(order_.size());
  for (Part& part : parts_) {
    if (part.limit.is_reached(part.tuples.size() / arity) &&
        !part.limit.let_wait(part.tuples, arity))
      unite(part, scratch);
  }
  if (is_large()) unite_parts(scratch);
}

// All parts at once, as sets that were made on the way may belong to any.
void JointBox::unite_parts(SetAccumulator& scratch) {
  for (Part& part : parts_) unite(part, scratch);
  held_sets_.clear();
  held_bytes_ = 0;
}

void JointBox::unite(Part& part, SetAccumulator& scratch) {
  if (!part.united) part.united = std::make_unique<Index>(order_, std::vector<std::uint32_t>{});
  Index& united = *part.united;
  united.keep_best(best_);
  const std::size_t arity = order_.size();
  if (!united.take_over(part.tuples)) united.queue_tuples(part.tuples.words());
  for (std::size_t s = 0; s < part.sets.size(); ++s)
    united.queue_set(part.prefixes.words().data() + (s * (arity - 1)), part.sets.words()[s]);
  united.unite_queued(scratch, Freshness::kNew);
  part.tuples.clear();
  part.prefixes.clear();
  part.sets.clear();
}

void JointBox::take(int owner, Index& into, SetAccumulator& scratch, Freshness freshness) {
  Part& part = parts_[static_cast<std::size_t>(owner)];
  const std::size_t arity = order_.size();
  const auto bound_queue = [&] { into.bound_queue(scratch, freshness); };
  const bool is_large = part.tuples.capacity() > kKeptBoxCells;
  if (is_large && into.take_over(part.tuples)) bound_queue();
  for (std::span<const Cell> left = part.tuples.words(); !left.empty();) {
    const std::size_t cells = std::min(left.size(), kTakenAtOnce * arity);
    into.queue_tuples(left.first(cells));
    left = left.subspan(cells);
    bound_queue();
  }
  give_back(part.tuples);  // they are there twice now
  for (std::size_t s = 0; s < part.sets.size(); ++s) {
    into.queue_set(part.prefixes.words().data() + (s * (arity - 1)), part.sets.words()[s]);
    bound_queue();
  }
  if (!part.united) return;
  for (const DeltaRow& row : part.united->next_delta()) {
    into.queue_set(part.united->prefix(row.row).data(), &row.cells);
    bound_queue();
  }
}

void JointBox::clear() {
  for (Part& part : parts_) {
    give_back(part.tuples);
    give_back(part.prefixes);
    give_back(part.sets);
    part.united.reset();
  }
  held_sets_.clear();
  held_bytes_ = 0;
}

std::uint64_t JointBox::held_bytes() const {
  std::uint64_t bytes = held_bytes_;
  for (const Part& part : parts_) {
    bytes += (part.tuples.size() + part.prefixes.size()) * sizeof(Cell);
    bytes += part.sets.size() * sizeof(const IntSet*);
    if (part.united) bytes += part.united->heap_bytes();
  }
  return bytes;
}

}  // namespace stratalog::datalog
