// SPDX-License-Identifier: Apache-2.0
// Equivalence: an equivalence relation as its classes, never as its pairs: union-find over the
// elements, which form a ring for each class, and for each class the set of its members. A round
// unites pairs into the next partition; the current one, which joins read, stays as it is until
// advance(), which also gives the new pairs as blocks (every element of one set with every element
// of another). So memory is that of the elements. Knows nothing of ranks: every rank keeps all
// classes, and ranks exchange the pairs that united something. Local; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "relation/index.h"
#include "relation/int_set.h"
#include "relation/prefix_map.h"

namespace stratalog {

class Equivalence {
 public:
  struct Pair {
    Cell first = 0;
    Cell second = 0;
  };
  // New pairs of the last round: each of `left` with each of `right`; pairs inside of a small
  // former class may be among them again.
  struct DeltaBlock {
    IntSet left;
    const IntSet* right = nullptr;
    std::unique_ptr<IntSet> own_right;  // where `right` is not a whole class
    bool is_fresh = false;  // `left` were no elements before
  };

  // Says in the next partition that both are equivalent (also an element to itself). Returns
  // whether that was new.
  bool unite(Cell a, Cell b);
  // Pairs of unite() that were new since the last call, one for each union.
  std::vector<Pair> take_news();

  // The next partition becomes the current one. Where nobody reads the delta, only delta_pairs()
  // tells of it.
  void advance(DeltaUse use = DeltaUse::kKept);
  void forget_delta();

  // The class of an element in the current partition; null if it is none.
  const IntSet* class_of(Cell element) const;
  bool contains(Cell a, Cell b) const;
  // Classes of the current partition, in no particular order.
  template <typename Visit>
  void for_each_class(Visit&& visit) const {
    for (const Class& each : classes_)
      if (each.members) visit(*each.members);
  }
  std::span<const DeltaBlock> delta() const { return delta_; }
  // The classes as they were before the last advance().
  template <typename Visit>
  void for_each_former_class(Visit&& visit) const {
    for (const Class& each : classes_)
      if (each.members && !each.is_changed) visit(*each.members);
    for (const DeltaBlock& block : delta_)
      if (!block.is_fresh) visit(block.left);
  }

  std::uint64_t pairs() const { return pairs_; }
  std::uint64_t delta_pairs() const { return delta_pairs_; }
  std::uint64_t elements() const { return classed_; }
  std::uint64_t heap_bytes() const;

 private:
  using ElementId = std::uint32_t;
  using ClassId = std::uint32_t;
  static constexpr ClassId kNoClass = 0xFFFFFFFFU;

  struct Class {
    std::unique_ptr<IntSet> members;  // null: the number is free
    bool is_changed = false;  // in the last round
    bool is_met = false;  // on the way around a ring
  };

  ElementId element(Cell cell);
  ElementId root(ElementId id);
  void note_change(ElementId root);
  void conclude(ElementId root, DeltaUse use);
  ClassId free_class();

  PrefixMap ids_{1};
  std::vector<ElementId> parents_;  // the next partition
  std::vector<std::uint32_t> sizes_;  // of roots
  std::vector<ElementId> next_;  // around the ring of a class of the next partition
  std::vector<bool> has_changed_;  // of roots, since the last advance()
  std::vector<ElementId> changes_;  // roots that have, or had before they came under another
  std::vector<ClassId> class_of_;  // the current partition
  std::vector<Class> classes_;
  std::vector<ClassId> free_classes_;
  std::vector<ClassId> changed_;  // in the last round
  std::vector<Pair> news_;
  std::vector<DeltaBlock> delta_;
  std::uint64_t classed_ = 0;
  std::uint64_t pairs_ = 0;
  std::uint64_t delta_pairs_ = 0;
  std::uint64_t set_bytes_ = 0;
};

}  // namespace stratalog
