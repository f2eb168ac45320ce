// SPDX-License-Identifier: Apache-2.0
#include "relation/equivalence.h"

#include <algorithm>
#include <utility>

namespace stratalog {
namespace {

template <typename Id>
Id root_of(std::vector<Id>& parents, Id id) {
  while (parents[id] != id) {
    parents[id] = parents[parents[id]];
    id = parents[id];
  }
  return id;
}

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

Equivalence::ElementId Equivalence::root(ElementId id) { return root_of(parents_, id); }

bool Equivalence::PairFilter::unite(Cell a, Cell b) {
  const std::size_t known = parents_.size();
  ElementId roots[2] = {};
  for (int i = 0; i < 2; ++i) {
    const ElementId id = ids_.find_or_add(i == 0 ? &a : &b);
    if (id == parents_.size()) parents_.push_back(id);
    roots[i] = root_of(parents_, id);
  }
  if (roots[0] == roots[1]) return parents_.size() != known;
  parents_[std::max(roots[0], roots[1])] = std::min(roots[0], roots[1]);
  return true;
}

void Equivalence::deal(IsOwn is_own) {
  is_own_ = std::move(is_own);
  parents_ = {};
  sizes_ = {};
  next_ = {};
  has_changed_ = {};
  changes_ = {};
  news_ = {};
  PrefixMap own(1);
  std::vector<ClassId> own_class_of;
  for (Class& each : classes_) each.own_members = 0;
  classed_ = 0;
  for (ElementId id = 0; id < class_of_.size(); ++id) {
    const Cell cell = ids_.key(id)[0];
    if (class_of_[id] == kNoClass || !is_own_(cell)) continue;
    own.find_or_add(&cell);
    own_class_of.push_back(class_of_[id]);
    ++classes_[class_of_[id]].own_members;
    ++classed_;
  }
  ids_ = std::move(own);
  class_of_ = std::move(own_class_of);
  std::erase_if(delta_, [this](const DeltaBlock& block) {
    bool has_own = false;
    block.left.walk([&](Cell cell) { has_own = has_own || is_own_(cell); });
    return !has_own;
  });
  pairs_ = 0;
  for (ClassId id = 0; id < classes_.size(); ++id) {
    Class& each = classes_[id];
    if (!each.members) continue;
    pairs_ += each.own_members * each.members->size();
    if (each.own_members != 0) continue;
    set_bytes_ -= each.members->heap_bytes();
    each = {};
    free_classes_.push_back(id);
  }
  std::erase_if(changed_, [this](ClassId id) { return !classes_[id].members; });
}

void Equivalence::note_change(ElementId root) {
  if (has_changed_[root]) return;
  has_changed_[root] = true;
  changes_.push_back(root);
}

bool Equivalence::unite(Cell a, Cell b) {
  if (is_dealt()) {
    if (const IntSet* of_first = class_of(a); of_first != nullptr && of_first->contains(b))
      return false;
    if (const IntSet* of_second = class_of(b); of_second != nullptr && of_second->contains(a))
      return false;
    return filter_.unite(a, b);
  }
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

std::vector<Equivalence::Pair> Equivalence::PairFilter::stars() {
  std::vector<Cell> least(parents_.size());
  for (ElementId id = 0; id < parents_.size(); ++id) least[id] = ids_.key(id)[0];
  std::vector<bool> is_alone(parents_.size(), true);
  for (ElementId id = 0; id < parents_.size(); ++id) {
    const ElementId at = root_of(parents_, id);
    if (at == id) continue;
    least[at] = std::min(least[at], ids_.key(id)[0]);
    is_alone[at] = false;
  }
  std::vector<Pair> pairs;
  pairs.reserve(parents_.size());
  for (ElementId id = 0; id < parents_.size(); ++id) {
    const ElementId at = root_of(parents_, id);
    const Cell cell = ids_.key(id)[0];
    if (cell != least[at] || is_alone[at]) pairs.push_back({.first = least[at], .second = cell});
  }
  return pairs;
}

std::vector<Equivalence::Pair> Equivalence::take_news() {
  if (is_dealt()) return std::exchange(filter_, {}).stars();
  return std::exchange(news_, {});
}

void Equivalence::advance(DeltaUse use) {
  forget_delta();
  for (std::vector<Cell>& whole : std::exchange(merges_, {}))
    conclude(gather(std::move(whole)), use);
  for (const ElementId id : changes_) {
    const ElementId at = root(id);
    if (has_changed_[at]) conclude(gather(at), use);
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

void Equivalence::add_own(ElementId id, Merged& merged) {
  merged.own.push_back(id);
  const ClassId known = class_of_[id];
  if (known == kNoClass)
    merged.fresh.push_back(ids_.key(id)[0]);
  else if (!std::exchange(classes_[known].is_met, true))
    merged.former.push_back(known);
}

// A ring.
Equivalence::Merged Equivalence::gather(ElementId root) {
  Merged merged;
  merged.cells.reserve(sizes_[root]);
  merged.own.reserve(sizes_[root]);
  ElementId at = root;
  do {
    merged.cells.push_back(ids_.key(at)[0]);
    add_own(at, merged);
    at = next_[at];
  } while (at != root);
  std::sort(merged.cells.begin(), merged.cells.end());
  std::sort(merged.fresh.begin(), merged.fresh.end());
  return merged;
}

Equivalence::Merged Equivalence::gather(std::vector<Cell> whole) {
  Merged merged{.cells = std::move(whole), .own = {}, .fresh = {}, .former = {}};
  for (const Cell cell : merged.cells) {
    if (!is_own_(cell)) continue;
    const ElementId id = ids_.find_or_add(&cell);
    if (id == class_of_.size()) class_of_.push_back(kNoClass);
    add_own(id, merged);
  }
  return merged;
}

// Makes the new class and says which pairs are new.
void Equivalence::conclude(Merged merged, DeltaUse use) {
  const std::vector<Cell>& cells = merged.cells;
  auto whole = std::make_unique<IntSet>();
  whole->assign_sorted(cells);

  const std::uint64_t before = pairs_;
  std::vector<Cell> others;
  for (const ClassId id : merged.former) {
    DeltaBlock block;
    block.left = std::move(*classes_[id].members);
    set_bytes_ -= block.left.heap_bytes();
    pairs_ -= classes_[id].own_members * block.left.size();
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
  pairs_ += merged.own.size() * whole->size();
  delta_pairs_ += pairs_ - before;

  const ClassId target = free_class();
  for (const ElementId id : merged.own) class_of_[id] = target;
  classed_ += merged.fresh.size();
  set_bytes_ += whole->heap_bytes();
  const bool keeps_delta = use == DeltaUse::kKept;
  if (keeps_delta && !merged.fresh.empty()) {
    DeltaBlock& block = delta_.emplace_back();
    block.left.assign_sorted(merged.fresh);
    block.right = whole.get();
    block.is_fresh = true;
  }
  classes_[target] = {.members = std::move(whole),
                      .least = cells.front(),
                      .own_members = merged.own.size(),
                      .is_changed = keeps_delta};
  if (keeps_delta) changed_.push_back(target);
}

const IntSet* Equivalence::class_of(Cell cell) const {
  const ElementId id = ids_.find(&cell);
  if (id == PrefixMap::kAbsent || class_of_[id] == kNoClass) return nullptr;
  return classes_[class_of_[id]].members.get();
}

bool Equivalence::contains(Cell a, Cell b) const {
  if (is_dealt()) {
    const IntSet* members = class_of(a);
    return members != nullptr && members->contains(b);
  }
  const ElementId first = ids_.find(&a);
  const ElementId second = ids_.find(&b);
  return first != PrefixMap::kAbsent && second != PrefixMap::kAbsent &&
         class_of_[first] != kNoClass && class_of_[first] == class_of_[second];
}

Cell Equivalence::label_of(Cell cell) const {
  const ElementId id = ids_.find(&cell);
  return id == PrefixMap::kAbsent || class_of_[id] == kNoClass ? cell
                                                               : classes_[class_of_[id]].least;
}

std::uint64_t Equivalence::heap_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::vector<Cell>& whole : merges_) bytes += whole.capacity() * sizeof(Cell);
  return bytes + ids_.heap_bytes() + filter_.heap_bytes() + (parents_.capacity() * 12) +
         (class_of_.capacity() * sizeof(ClassId)) + (changes_.capacity() * 4) +
         (news_.capacity() * sizeof(Pair)) +
         (classes_.capacity() * (sizeof(Class) + sizeof(IntSet))) + set_bytes_;
}

}  // namespace stratalog
