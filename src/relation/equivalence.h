// SPDX-License-Identifier: Apache-2.0
// Equivalence: an equivalence relation as its classes, never as its pairs. For each class there is
// the set of its members; a round says which pairs are to be united, and the current partition,
// which joins read, stays as it is until advance(), which also gives the new pairs as blocks (every
// element of one set with every element of another). So memory is that of the elements. Whole, it
// is a union-find over all elements, which form a ring for each class; ranks that each have it
// whole exchange the pairs that united something. Dealt, a rank has its own elements only, and the
// classes of these; which classes become one, ranks find out together
// (datalog/evaluate/class_agreement.h). Local; not thread-safe, but readers of the current
// partition may be many while nobody changes it.
#pragma once

#include <cstdint>
#include <functional>
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

  // Of a round, dealt: pairs that united something, as far as this rank has heard in it.
  class PairFilter {
   public:
    bool unite(Cell a, Cell b);
    std::vector<Pair> stars();
    std::uint64_t heap_bytes() const { return ids_.heap_bytes() + (parents_.capacity() * 4); }

   private:
    std::uint32_t root(std::uint32_t id);
    PrefixMap ids_{1};
    std::vector<std::uint32_t> parents_;
  };

  // From now on this is what one rank has, and which elements are its own. Between two rounds, with
  // nothing united since advance(); the delta stays. Not twice.
  using IsOwn = std::function<bool(Cell)>;
  void deal(IsOwn is_own);
  bool is_dealt() const { return is_own_ != nullptr; }

  // Says that both are equivalent (also an element to itself). Returns whether that was new, as far
  // as is known here.
  bool unite(Cell a, Cell b);
  // Pairs of unite() that were new since the last call, one for each union. Dealt: the first is the
  // least of all that have been united with the second, and the second itself where that is
  // nothing.
  std::vector<Pair> take_news();
  // Dealt: what becomes a class, ascending, with advance().
  void merge(std::vector<Cell> whole) { merges_.push_back(std::move(whole)); }

  // The next partition becomes the current one. Where nobody reads the delta, only delta_pairs()
  // tells of it.
  void advance(DeltaUse use = DeltaUse::kKept);
  void forget_delta();

  // The class of an element in the current partition; null if it is none. Dealt: of own elements.
  const IntSet* class_of(Cell element) const;
  bool contains(Cell a, Cell b) const;
  // The least element of its class; itself where it is in none.
  Cell label_of(Cell element) const;
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

  // Dealt: those whose first element is this rank's.
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
    Cell least = 0;
    std::uint64_t own_members = 0;
    bool is_changed = false;  // in the last round
    bool is_met = false;  // on the way through the elements of a new class
  };
  // What is to become a class.
  struct Merged {
    std::vector<Cell> cells;  // ascending
    std::vector<ElementId> own;
    std::vector<Cell> fresh;  // of these, those that were in no class, ascending
    std::vector<ClassId> former;
  };
  ElementId element(Cell cell);
  ElementId root(ElementId id);
  void note_change(ElementId root);
  void add_own(ElementId id, Merged& merged);
  Merged gather(ElementId root);
  Merged gather(std::vector<Cell> whole);
  void conclude(Merged merged, DeltaUse use);
  ClassId free_class();

  IsOwn is_own_;  // empty: not dealt
  PairFilter filter_;
  std::vector<std::vector<Cell>> merges_;
  PrefixMap ids_{1};
  std::vector<ElementId> parents_;  // the next partition; from here on what is whole needs
  std::vector<std::uint32_t> sizes_;  // of roots
  std::vector<ElementId> next_;  // around the ring of a class of the next partition
  std::vector<bool> has_changed_;  // of roots, since the last advance()
  std::vector<ElementId>
      changes_;  // roots that have, or had before they came under another; to here
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
