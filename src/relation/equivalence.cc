// SPDX-License-Identifier: Apache-2.0
#include "relation/equivalence.h"

#include <algorithm>
#include <utility>

namespace stratalog {
namespace {

void append(const IntSet& set, std::vector<Cell>& cells) {
  set.walk([&](Cell cell) { cells.push_back(cell); });
}

std::uint64_t square(std::uint64_t n) { return n * n; }

}  // namespace

Equivalence::ElementId Equivalence::element(Cell cell) {
  const ElementId id = ids_.find_or_add(&cell);
  if (id == parents_.size()) {
    parents_.push_back(id);
    sizes_.push_back(1);
    class_of_.push_back(kNoClass);
    gatherings_[id].fresh.push_back(id);
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

Equivalence::Gathering& Equivalence::gathering_of(ElementId at) {
  const auto [entry, is_new] = gatherings_.try_emplace(at);
  if (is_new) entry->second.classes.push_back(class_of_[at]);
  return entry->second;
}

bool Equivalence::unite(Cell a, Cell b) {
  const std::size_t known = parents_.size();
  ElementId first = element(a);
  ElementId second = element(b);
  const bool has_new_element = parents_.size() != known;
  first = root(first);
  second = root(second);
  if (first != second) {
    Gathering taken = std::move(gathering_of(second));
    gatherings_.erase(second);
    Gathering& kept = gathering_of(first);
    if (kept.classes.size() + kept.fresh.size() < taken.classes.size() + taken.fresh.size())
      std::swap(kept, taken);
    kept.classes.insert(kept.classes.end(), taken.classes.begin(), taken.classes.end());
    kept.fresh.insert(kept.fresh.end(), taken.fresh.begin(), taken.fresh.end());
    if (sizes_[first] < sizes_[second]) {
      auto node = gatherings_.extract(first);
      node.key() = second;
      gatherings_.insert(std::move(node));
      std::swap(first, second);
    }
    parents_[second] = first;
    sizes_[first] += sizes_[second];
  } else if (!has_new_element) {
    return false;
  }
  news_.push_back({.first = a, .second = b});
  return true;
}

std::vector<Equivalence::Pair> Equivalence::take_news() { return std::exchange(news_, {}); }

void Equivalence::advance() {
  forget_delta();
  for (const auto& [at, gathering] : gatherings_) conclude(gathering);
  gatherings_.clear();
}

void Equivalence::forget_delta() {
  delta_.clear();
  delta_pairs_ = 0;
  for (const ClassId id : changed_) classes_[id].is_changed = false;
  changed_.clear();
}

// Makes the new class and says which pairs are new.
void Equivalence::conclude(const Gathering& gathering) {
  std::vector<Cell> cells;
  cells.reserve(gathering.fresh.size());
  for (const ElementId id : gathering.fresh) cells.push_back(ids_.key(id)[0]);
  std::sort(cells.begin(), cells.end());
  IntSet fresh;
  fresh.assign_sorted(cells);
  for (const ClassId id : gathering.classes) append(*classes_[id].members, cells);
  std::sort(cells.begin(), cells.end());
  auto whole = std::make_unique<IntSet>();
  whole->assign_sorted(cells);

  const std::uint64_t before = pairs_;
  std::vector<Cell> others;
  for (const ClassId id : gathering.classes) {
    DeltaBlock& block = delta_.emplace_back();
    block.left = std::move(*classes_[id].members);
    set_bytes_ -= block.left.heap_bytes();
    pairs_ -= square(block.left.size());
    classes_[id].members.reset();
    free_classes_.push_back(id);
    // Pairs inside of the former class are known. At most one class holds more than half of the new
    // one; for the others it costs less to say them again than to keep a set for each.
    block.right = whole.get();
    if (block.left.size() * 2 <= whole->size()) continue;
    others.clear();
    for (const Cell cell : cells)
      if (!block.left.contains(cell)) others.push_back(cell);
    block.own_right = std::make_unique<IntSet>();
    block.own_right->assign_sorted(others);
    block.right = block.own_right.get();
  }
  pairs_ += square(whole->size());
  delta_pairs_ += pairs_ - before;

  ClassId target = static_cast<ClassId>(classes_.size());
  if (free_classes_.empty()) {
    classes_.emplace_back();
  } else {
    target = free_classes_.back();
    free_classes_.pop_back();
  }
  for (const Cell cell : cells) class_of_[ids_.find(&cell)] = target;
  classed_ += gathering.fresh.size();
  set_bytes_ += whole->heap_bytes();
  if (!fresh.empty())
    delta_.push_back(
        {.left = std::move(fresh), .right = whole.get(), .own_right = nullptr, .is_fresh = true});
  classes_[target] = {.members = std::move(whole), .is_changed = true};
  changed_.push_back(target);
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
  return ids_.heap_bytes() + (parents_.capacity() * 12) +
         (classes_.capacity() * (sizeof(Class) + sizeof(IntSet))) + set_bytes_;
}

}  // namespace stratalog
