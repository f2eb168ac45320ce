// SPDX-License-Identifier: Apache-2.0
// why and why_not: how a tuple of a checkpoint is derived, and where each rule that could derive it
// fails. Nothing was recorded during the run: the rules are searched backwards over the stored
// relations, and only tuples that the goal can ask for are loaded (a column that every rule passes
// on unchanged is loaded for the goal's value alone). Local; one rank; reads the store, prints
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "datalog/external_function.h"
#include "datalog/program.h"
#include "write/store.h"

namespace stratalog::datalog {

struct RuleMention {
  std::string text;
  std::string file;
  std::uint32_t line = 0;
};

// The rule as the source has it.
RuleMention mention_of(const Rule& rule);

enum class ProofKind : std::uint8_t {
  kInput,  // read from a file
  kFact,  // stands in the program
  kDerived,  // by `rule`
  kEquivalent,  // by reflexivity, symmetry and transitivity, from `premises`: a chain of pairs,
                // each read in either direction
  kLeastUpperBound,  // the value of a lattice that no rule gives by itself
};

// Kinds that nothing stands below.
inline bool is_leaf(ProofKind kind) {
  return kind != ProofKind::kDerived && kind != ProofKind::kEquivalent;
}

struct ProofNode {
  std::string tuple;  // "path(3, 17)"
  ProofKind kind = ProofKind::kInput;
  std::uint32_t height = 0;  // 0 for inputs and facts, else one more than the highest premise
  // kFact, kDerived; kEquivalent, kLeastUpperBound: the declaration of the relation.
  RuleMention rule;
  std::vector<std::uint32_t>
      premises;  // indices into Proof::nodes, in the order of the rule's body
  // What else the rule asks: negations, comparisons and aggregates with the values put in. They
  // hold for the finished relations that they look at and are not derived further.
  std::vector<std::string> conditions;
};

// A proof; no tuple occurs twice. nodes[0] is the tuple asked for.
struct Proof {
  std::vector<ProofNode> nodes;
  bool is_lowest = true;  // false: the search gave up before it could tell
};

// Where one rule fails for the tuple.
struct FailedRule {
  RuleMention rule;
  bool is_fact = false;  // the tuple stands in the program
  bool head_fits = true;  // false: its head can never be this tuple
  std::string misfit;  // "nil is not [x, 1]": the column that shows it; may be empty
  std::vector<std::string> satisfied;  // by one choice of values that gets furthest
  // The first literal that no choice satisfies together with those before it; empty if all of the
  // body holds, and yet the tuple is not there.
  std::string fails;
  std::string found;  // what an aggregate that fails gives instead, for the choice; may be empty
};

struct WhyNot {
  std::string tuple;
  std::vector<FailedRule> rules;
  bool is_input = false;  // the relation is read from files; the tuple is not in them
  std::string note;  // a sentence about the relation; may be empty
};

struct ProveOptions {
  std::string program_name = "program";  // of which rules are lines, where the text does not say
  // A search that finds more instances of rules than this gives up (NoSpace, unless it knows a
  // proof).
  std::uint64_t max_instances = 5'000'000;
  // By number in Program::external_functors; empty where there are none. Called where a rule does.
  std::span<const ExternalFunction> externals;
};

// `stored` is what inspect_generation says of the generation; `goal` is "path(3, 17)".
// InvalidArgument: the goal is no tuple of the program, with the compiler's message. NotFound: the
// relation is not in the checkpoint, or the tuple is not in the relation. NotSupported: the proof
// cannot be found from what is stored.
Result<Proof> why(Store& store, const StoredState& stored, const std::string& goal,
                  const ProveOptions& options);
// AlreadyExists if the tuple is in the relation.
Result<WhyNot> why_not(Store& store, const StoredState& stored, const std::string& goal,
                       const ProveOptions& options);

}  // namespace stratalog::datalog
