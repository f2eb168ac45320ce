// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/program_facts.h"

#include <fmt/format.h>

#include <utility>

#include "datalog/evaluate/supplied_facts.h"
#include "datalog/facts/fact_reader.h"
#include "datalog/made_relations.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// Nobody can tell whether standard input is what it was.
Status came_too_early(const Relation& relation) {
  return Status::invalid_argument(
      fmt::format("relation `{}` is read from standard input, and the checkpoint was taken before "
                  "it was complete: run the program anew",
                  relation.name));
}

// The calling program has them, which may be another one now.
Status check_supply(const EngineState& state, const IsSettled& is_settled,
                    const std::set<RelationId>& supplied) {
  if (state.options.supply) return {};
  for (std::uint32_t s = 0; s < state.program.strata.size(); ++s)
    for (const RelationId r : state.program.strata[s].relations)
      if (!is_settled(s) && supplied.contains(r))
        return Status::invalid_argument(
            fmt::format("the program that began this run inserted facts into `{}`, and the "
                        "checkpoint was taken before they were used: resume it in that program",
                        made_for(state.program.relations[r].name)));
  return {};
}

Status load_files(EngineState& state, const IsSettled& is_settled,
                  std::vector<TupleColumns>& facts) {
  std::vector<RelationId> relations;
  std::vector<FactInput> inputs;
  for (std::uint32_t s = 0; s < state.program.strata.size(); ++s) {
    if (is_settled(s)) continue;
    for (const RelationId r : state.program.strata[s].relations)
      for (const IoDirective& directive : state.program.relations[r].io)
        if (directive.action == IoAction::kInput) {
          if (is_standard_input(directive) && state.is_resumed)
            return agree(state.comm, came_too_early(state.program.relations[r]));
          relations.push_back(r);
          inputs.push_back({.relation = &state.program.relations[r],
                            .directive = &directive,
                            .may_be_missing = !state.program.relations[r].is_needed});
        }
  }
  if (inputs.empty()) return {};
  if (state.options.facts == nullptr && state.options.supply) return {};
  if (state.options.facts == nullptr)
    return agree(state.comm, Status::invalid_argument(fmt::format(
                                 "relation `{}` has .input, but no directory of facts was given "
                                 "(-F)",
                                 inputs.front().relation->name)));
  std::vector<std::string> missing;
  STRATALOG_ASSIGN_OR_RETURN(std::vector<TupleColumns> loaded,
                             load_facts(state.comm, *state.options.facts, inputs, state.dictionary,
                                        state.options.read, &missing));
  for (const std::string& file : missing)
    state.evaluator.note_warning(fmt::format(
        "there is no fact file {}; no output depends on it, so it is taken as empty", file));
  for (std::size_t i = 0; i < loaded.size(); ++i)
    append_tuples(std::move(loaded[i]), facts[relations[i]]);
  return {};
}

}  // namespace

Result<std::vector<TupleColumns>> load_program_facts(EngineState& state,
                                                     const IsSettled& is_settled,
                                                     std::set<RelationId>& supplied_to) {
  std::vector<TupleColumns> facts(state.program.relations.size());
  STRATALOG_RETURN_IF_ERROR(check_supply(state, is_settled, supplied_to));
  STRATALOG_RETURN_IF_ERROR(load_files(state, is_settled, facts));
  if (!state.options.supply) return facts;
  STRATALOG_ASSIGN_OR_RETURN(
      std::vector<TupleColumns> supplied,
      take_supply(state.comm, state.program, state.options.supply, state.dictionary));
  for (RelationId r = 0; r < supplied.size(); ++r)
    if (const auto into = state.program.relations[r].facts_into)
      append_tuples(std::exchange(supplied[r], TupleColumns()), supplied[*into]);
  std::vector<std::uint64_t> rows;
  rows.reserve(supplied.size());
  for (const TupleColumns& tuples : supplied) rows.push_back(tuples.rows);
  STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(rows, ReduceOp::kSum));
  for (RelationId r = 0; r < rows.size(); ++r)
    if (rows[r] != 0) supplied_to.insert(r);
  for (std::uint32_t s = 0; s < state.program.strata.size(); ++s)
    for (const RelationId r : state.program.strata[s].relations)
      if (!is_settled(s)) append_tuples(std::move(supplied[r]), facts[r]);
  return facts;
}

}  // namespace stratalog::datalog
