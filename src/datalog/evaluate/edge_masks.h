// SPDX-License-Identifier: Apache-2.0
// EdgeMasks: what atoms, negated atoms and comparisons over the pivot let through along the edges
// of a slot graph (RulePlan::masks). Edges whose tests read the same keys share a mask, the set of
// pivots that pass (where an atom or a comparison of the pivot alone must hold) or that are held
// back (where there are only negated atoms and values that the pivot must not be). Their members
// are looked up in the indices, which must be on every rank, when the closure first meets the mask.
// Local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/expression.h"
#include "datalog/pivot/slot_graph.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {

enum class EdgePassage : std::uint8_t { kOpen, kMasked, kClosed };

struct EdgeMask {
  EdgePassage passage = EdgePassage::kOpen;
  MaskId mask = 0;  // of a masked edge
  MaskSense sense = MaskSense::kDropMembers;
};

class EdgeMasks {
 public:
  // The masks of a rule whose pivot is `pivot`, `constants` being those of its plan; returns the
  // number by which of_edge() knows the rule. State and plan outlive this object.
  Result<std::size_t> add_rule(EngineState& state, const RulePlan& plan, VariableId pivot,
                               std::span<const Cell> constants);
  // The mask of the edge that the binding stands for.
  EdgeMask of_edge(std::size_t rule, const Batch& batch, std::uint32_t row);
  // Appends the lanes of the mask's members that are pivots; one may come more than once.
  void members(MaskId mask, const PivotSpace& space, std::vector<LaneId>& lanes);
  bool is_empty() const { return rules_.empty(); }  // no rule has masks
  std::uint64_t memory_bytes() const;

 private:
  enum class TestKind : std::uint8_t {
    kHolds,  // an atom
    kHoldsNot,
    kIsNot,  // another value
  };
  struct Test {
    TestKind kind = TestKind::kHolds;
    const Index* index = nullptr;  // of an atom
    std::vector<ColumnUse> key;  // what is known beside the pivot
  };
  struct RuleMasks {
    std::vector<Test> tests;
    std::vector<const Literal*> filters;  // of the pivot alone; then there is no key
    VariableId pivot = 0;
    Batch one;  // a row with the pivot
    ExpressionEvaluator* evaluator = nullptr;
    std::vector<Cell> constants;
    MaskSense sense = MaskSense::kDropMembers;
    PrefixMap keys{0};  // the keys of all tests, back to back
    std::vector<EdgeMask> of_key;
  };
  struct Mask {
    std::uint32_t rule = 0;
    std::uint32_t key = 0;
  };

  EdgeMask make(std::size_t rule, std::uint32_t key);
  static Result<Test> test_of(const EngineState& state, const Step& step, const Literal& literal,
                              VariableId pivot);
  // The set of an atom's test under its key; null if there is none.
  static const IntSet* set_of(const Test& test, std::span<const Cell> key);
  // Of a mask that lets its members through.
  static IntSet passing(RuleMasks& rule, std::span<const Cell> key, const PivotSpace& space);
  static bool passes_filters(RuleMasks& rule, Cell pivot);

  std::vector<RuleMasks> rules_;
  std::vector<Mask> masks_;
  std::vector<Cell> key_;  // scratch
};

}  // namespace stratalog::datalog
