// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/run_ending.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "datalog/evaluate/relation_images.h"
#include "datalog/facts/fact_format.h"
#include "datalog/facts/fact_location.h"
#include "datalog/facts/small_outputs.h"

namespace stratalog::datalog {
namespace {

// This rank's times, with what is in none of the phases.
TimeBreakdown own_times(const TimeBreakdown& times) {
  TimeBreakdown mine = times;
  mine.other = std::max(0.0, mine.total - (mine.load + mine.restore + mine.join + mine.exchange +
                                           mine.deduplicate + mine.pack + mine.encode + mine.write +
                                           mine.sync + mine.commit + mine.wait + mine.output));
  return mine;
}

// Collective. Of each phase the time of the rank that took longest.
Status take_slowest(Comm& comm, TimeBreakdown& t) {
  double* const parts[] = {&t.load, &t.restore, &t.join,  &t.exchange, &t.deduplicate,
                           &t.pack, &t.encode,  &t.write, &t.sync,     &t.commit,
                           &t.wait, &t.output,  &t.total};
  std::vector<std::uint64_t> micros;
  for (const double* part : parts) micros.push_back(static_cast<std::uint64_t>(*part * 1e6));
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(micros, ReduceOp::kMax));
  double known = 0;
  for (std::size_t i = 0; i < micros.size(); ++i) {
    *parts[i] = static_cast<double>(micros[i]) / 1e6;
    if (parts[i] != &t.total) known += *parts[i];
  }
  t.other = std::max(0.0, t.total - known);
  return {};
}

// Collective. Warnings of all ranks, each once.
Status tell_warnings(EngineState& state) {
  std::string mine;
  for (const std::string& warning : state.evaluator.warnings()) mine += warning + '\n';
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             state.comm.gather(std::as_bytes(std::span(mine)), 0));
  if (state.comm.rank() != 0 || !state.hooks.notice) return {};
  std::set<std::string> told;
  std::string_view rest(reinterpret_cast<const char*>(all.data.data()), all.data.size());
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string warning(rest.substr(0, end));
    if (told.insert(warning).second) state.hooks.notice("warning: " + warning);
    rest.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

Status write_outputs(EngineState& state) {
  std::vector<FactOutput> outputs;
  for (RelationId r = 0; r < state.program.relations.size(); ++r) {
    const Relation& relation = state.program.relations[r];
    const std::uint64_t rows = state.relations[r].global_rows;
    for (const IoDirective& directive : relation.io) {
      if (directive.action == IoAction::kPrintSize)
        state.report.print_sizes.push_back({.name = relation.name, .rows = rows});
      if (directive.action != IoAction::kOutput || state.options.output == nullptr) continue;
      outputs.push_back(
          {.relation = &relation,
           .directive = &directive,
           .total_rows = rows,
           .image = [&state, r] { return relation_image(state, r, RelationVersion::kTotal); }});
    }
  }
  if (outputs.empty()) return {};
  Store& store = *state.options.output;
  ValueOrder order(state.dictionary);
  const std::vector<bool> small = are_small(state.comm.size(), outputs, state.options.write);
  STRATALOG_RETURN_IF_ERROR(
      write_small_facts(state.comm, store, outputs, order, state.options.write));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const FactOutput& output = outputs[i];
    if (small[i]) {
      STRATALOG_ASSIGN_OR_RETURN(const FactFormat format,
                                 plan_output(*output.relation, *output.directive));
      state.report.output_files.push_back(shown_path(store, format.path));
      continue;
    }
    STRATALOG_ASSIGN_OR_RETURN(const WrittenFacts written,
                               write_facts(state.comm, store, *output.relation, *output.directive,
                                           order, output.image(), state.options.write));
    if (!written.console.empty()) state.report.console.push_back(written.console);
    if (!written.path.empty()) state.report.output_files.push_back(written.path);
  }
  return {};
}

const FailedCheckpoint* missing_checkpoint(const RunReport& report) {
  const auto& failed = report.failed_checkpoints;
  const bool is_newest = !failed.empty() && failed.back().saved_before == report.checkpoints.size();
  return is_newest ? &failed.back() : nullptr;
}

Status finish_report(EngineState& state, const std::vector<StratumReport>& strata) {
  STRATALOG_RETURN_IF_ERROR(tell_warnings(state));
  RunReport& report = state.report;
  report.ranks = state.comm.size();
  for (RelationId r = 0; r < state.program.relations.size(); ++r)
    report.relations.push_back(
        {.name = state.program.relations[r].name, .rows = state.relations[r].global_rows});
  report.strata = strata;
  state.times.total = state.clock.seconds();
  if (state.meter && state.meter->keeps_profile()) {
    STRATALOG_ASSIGN_OR_RETURN(report.profile, state.meter->collect(state, own_times(state.times)));
  }
  STRATALOG_RETURN_IF_ERROR(take_slowest(state.comm, state.times));
  report.times = state.times;
  return {};
}

}  // namespace stratalog::datalog
