// SPDX-License-Identifier: Apache-2.0
#include "relation/equivalence.h"

#include <algorithm>
#include <utility>

namespace stratalog {
namespace {

std::uint64_t square(std::uint64_t n) { return n * n; }

}  // namespace

Equivalence::ElementId Equivalence::element(Cell cell) {
  const ElementId id = ids_.find_or_add(&cell);
  if (id == parents_.size()) {
    parents_.push_back(id);
    sizes_.push_back(1);
    next_.push_back(id);
    class_of_.push_back(kNoClass);
    has_changed_.push_back(false);
    note_change(id);
  }
  return id;
}

Equivalence::ElementId Equivalence::root(ElementId id) {
  while (parents_[id] != id) {
    parents_[id] = parents_[parents_[id]];
    id = parents_[id];
  }
  return id;
}

void Equivalence::note_change(ElementId root) {
  if (has_changed_[root]) return;
  has_changed_[root] = true;
  changes_.push_back(root);
}

bool Equivalence::unite(Cell a, Cell b) {
  const std::size_t known = parents_.size();
  ElementId first = element(a);
  ElementId second = element(b);
  const bool has_new_element = parents_.size() != known;
  first = root(first);
  second = root(second);
  if (first != second) {
    if (sizes_[first] < sizes_[second]) std::swap(first, second);
    parents_[second] = first;
    sizes_[first] += sizes_[second];
    std::swap(next_[first], next_[second]);  // one ring out of two
    note_change(first);
  } else if (!has_new_element) {
    return false;
  }
  news_.push_back({.first = a, .second = b});
  return true;
}

std::vector<Equivalence::Pair> Equivalence::take_news() { return std::exchange(news_, {}); }

void Equivalence::advance(DeltaUse use) {
  forget_delta();
  for (const ElementId id : changes_) {
    const ElementId at = root(id);
    if (has_changed_[at]) conclude(at, use);
    has_changed_[id] = has_changed_[at] = false;
  }
  changes_.clear();
  if (changes_.capacity() * 4 > parents_.size()) changes_.shrink_to_fit();
}

void Equivalence::forget_delta() {
  delta_.clear();
  delta_pairs_ = 0;
  for (const ClassId id : changed_) classes_[id].is_changed = false;
  changed_.clear();
}

Equivalence::ClassId Equivalence::free_class() {
  if (free_classes_.empty()) {
    classes_.emplace_back();
    return static_cast<ClassId>(classes_.size() - 1);
  }
  const ClassId free = free_classes_.back();
  free_classes_.pop_back();
  return free;
}

// Makes the new class of a ring and says which pairs are new.
void Equivalence::conclude(ElementId root, DeltaUse use) {
  std::vector<Cell> cells;
  cells.reserve(sizes_[root]);
  std::vector<Cell> fresh_cells;
  std::vector<ClassId> former;
  ElementId at = root;
  do {
    const Cell cell = ids_.key(at)[0];
    cells.push_back(cell);
    const ClassId id = class_of_[at];
    if (id == kNoClass) {
      fresh_cells.push_back(cell);
    } else if (!std::exchange(classes_[id].is_met, true)) {
      former.push_back(id);
    }
    at = next_[at];
  } while (at != root);
  std::sort(cells.begin(), cells.end());
  auto whole = std::make_unique<IntSet>();
  whole->assign_sorted(cells);

  const std::uint64_t before = pairs_;
  std::vector<Cell> others;
  for (const ClassId id : former) {
    DeltaBlock block;
    block.left = std::move(*classes_[id].members);
    set_bytes_ -= block.left.heap_bytes();
    pairs_ -= square(block.left.size());
    classes_[id] = {};
    free_classes_.push_back(id);
    // Pairs inside of the former class are known. At most one class holds more than half of the new
    // one; for the others it costs less to say them again than to keep a set for each.
    if (use == DeltaUse::kForgotten) continue;
    block.right = whole.get();
    if (block.left.size() * 2 > whole->size()) {
      others.clear();
      for (const Cell cell : cells)
        if (!block.left.contains(cell)) others.push_back(cell);
      block.own_right = std::make_unique<IntSet>();
      block.own_right->assign_sorted(others);
      block.right = block.own_right.get();
    }
    delta_.push_back(std::move(block));
  }
  pairs_ += square(whole->size());
  delta_pairs_ += pairs_ - before;

  const ClassId target = free_class();
  do {
    class_of_[at] = target;
    at = next_[at];
  } while (at != root);
  classed_ += fresh_cells.size();
  set_bytes_ += whole->heap_bytes();
  const bool keeps_delta = use == DeltaUse::kKept;
  if (keeps_delta && !fresh_cells.empty()) {
    std::sort(fresh_cells.begin(), fresh_cells.end());
    DeltaBlock& block = delta_.emplace_back();
    block.left.assign_sorted(fresh_cells);
    block.right = whole.get();
    block.is_fresh = true;
  }
  classes_[target] = {.members = std::move(whole), .is_changed = keeps_delta};
  if (keeps_delta) changed_.push_back(target);
}

const IntSet* Equivalence::class_of(Cell cell) const {
  const ElementId id = ids_.find(&cell);
  if (id == PrefixMap::kAbsent || class_of_[id] == kNoClass) return nullptr;
  return classes_[class_of_[id]].members.get();
}

bool Equivalence::contains(Cell a, Cell b) const {
  const ElementId first = ids_.find(&a);
  const ElementId second = ids_.find(&b);
  return first != PrefixMap::kAbsent && second != PrefixMap::kAbsent &&
         class_of_[first] != kNoClass && class_of_[first] == class_of_[second];
}

std::uint64_t Equivalence::heap_bytes() const {
  return ids_.heap_bytes() + (parents_.capacity() * 16) + (changes_.capacity() * 4) +
         (news_.capacity() * sizeof(Pair)) +
         (classes_.capacity() * (sizeof(Class) + sizeof(IntSet))) + set_bytes_;
}

}  // namespace stratalog
