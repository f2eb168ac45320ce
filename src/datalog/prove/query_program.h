// SPDX-License-Identifier: Apache-2.0
// QueryProgram: a program turned around. For each rule, its head becomes one more atom of the body,
// over a relation of goals, so that the engine's own planner and joins find, for many goals at
// once, every way in which the rule derives them from the stored relations. Pure; local.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "datalog/program.h"
#include "model/cell.h"

namespace stratalog::datalog {

// What becomes of `_` in positive atoms.
enum class Wildcards : std::uint8_t {
  kKeep,
  kName,  // a variable of its own, so that the tuple behind it is known
};

// A rule whose head can stand in a body.
struct OpenRule {
  std::uint32_t number = 0;  // index into Program::rules
  // The body is that of the rule, then equations for the head columns that the rule computes; the
  // head has variables for these. Where the head has the result of an aggregate or a range as it
  // is, the goal gives that variable its value: the literal has another one for its result, and an
  // equation of both stands behind it.
  Rule rule;
  std::vector<Argument> goal;  // by head column: variables and constants
  std::uint32_t written = 0;  // literals of the body without the equations for head columns
  std::vector<std::uint32_t> columns;  // of the head: for which one each of those equations is
};

// Whether the rule says how tuples come about. (Facts do not need to be searched.)
inline bool is_proof_rule(const Rule& rule) {
  return rule.role == RuleRole::kDerives && !rule.body.empty();
}

OpenRule open_rule(const Program& program, std::uint32_t number, Wildcards wildcards);

// One query: some literals of an open rule, joined with goals.
struct Query {
  std::uint32_t open_rule = 0;  // index into QueryProgram::rules
  std::uint32_t stratum = 0;  // of the query program
  std::vector<std::uint32_t> literals;  // of the open rule, ascending or in the order asked for
};

// The rules the right way round, for the heights of tuples: in round k of this stratum the tuples
// of height k - 1 are new. Its relations grow beside the stored ones, which negations and
// aggregates look at.
struct ForwardProgram {
  std::uint32_t stratum = 0;  // of the query program
  // By relation of the original program: the one that grows; empty where the goal needs none.
  std::vector<std::optional<RelationId>> reached;
  RelationId start = 0;  // without columns; holds from the beginning
  // Whether some rule has several atoms of its own recursion: to search such rules backwards asks
  // for nearly everything.
  bool joins_itself = false;
};

// What a goal of an equivalence relation is. (Of others it is a tuple.)
enum class EquivalenceGoal : std::uint8_t {
  kPair,
  kElement,  // the first column: asks for all pairs of the element that rules derive directly
};

struct QueryProgram {
  Program program;  // the relations of the original program keep their numbers
  std::vector<RelationId> goals;  // by relation of the original program
  std::vector<OpenRule> rules;
  std::vector<Query> queries;
  std::optional<ForwardProgram> forward;

  // Relations without inputs, outputs and rules; no queries yet.
  static QueryProgram over(const Program& original, EquivalenceGoal equivalence_goal);
  void add_query(std::uint32_t open_rule, std::vector<std::uint32_t> literals);
  // Fills in `forward` for the relations that a proof of a tuple of `goal` can need, after all
  // queries. Leaves it empty where heights are not to be had so: one of them is an equivalence
  // relation, or has both rules and .input.
  void add_forward(const Program& original, RelationId goal);
};

// Which tuples of each relation a search can ask for: nothing where a relation is not needed, else
// for each column the one value that it always has, where that is so.
using ColumnDemand = std::vector<std::optional<Cell>>;
using Demand = std::vector<std::optional<ColumnDemand>>;  // by relation

enum class Reach : std::uint8_t {
  kBodies,  // what the rules of the goal's relation read
  kProofs,  // what their rules read in turn, and so on
};

// `cell_of` gives the cell of a constant. Equivalence relations are asked for as a whole: their
// pairs follow from each other.
Demand demand_of(const QueryProgram& query, RelationId relation, std::span<const Cell> tuple,
                 Reach reach, const std::function<Cell(const Expression&)>& cell_of);

// A rule that such a search would evaluate and that depends on the pass in which it is evaluated;
// null if there is none.
const Rule* find_rule_of_passes(const QueryProgram& query, const Demand& demand);

}  // namespace stratalog::datalog
