// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/quantities.h"
#include "datalog/made_relations.h"

namespace stratalog::cli {

namespace {

using datalog::RunReport;
using datalog::StratumReport;
using datalog::TimeBreakdown;
using nlohmann::json;

enum class RowUse : std::uint8_t { kAlways, kIfResumed, kIfSaved };

struct TimeRow {
  const char* label;
  const char* key;
  double TimeBreakdown::* seconds;
  RowUse use;
};

// In the order in which a run passes through them.
constexpr TimeRow kRows[] = {
    {"read facts", "load", &TimeBreakdown::load, RowUse::kAlways},
    {"restore checkpoint", "restore", &TimeBreakdown::restore, RowUse::kIfResumed},
    {"join", "join", &TimeBreakdown::join, RowUse::kAlways},
    {"exchange", "exchange", &TimeBreakdown::exchange, RowUse::kAlways},
    {"deduplicate", "deduplicate", &TimeBreakdown::deduplicate, RowUse::kAlways},
    {"checkpoint: pack", "pack", &TimeBreakdown::pack, RowUse::kIfSaved},
    {"checkpoint: encode", "encode", &TimeBreakdown::encode, RowUse::kIfSaved},
    {"checkpoint: write", "write", &TimeBreakdown::write, RowUse::kIfSaved},
    {"checkpoint: sync", "sync", &TimeBreakdown::sync, RowUse::kIfSaved},
    {"checkpoint: commit", "commit", &TimeBreakdown::commit, RowUse::kIfSaved},
    {"checkpoint: wait", "wait", &TimeBreakdown::wait, RowUse::kIfSaved},
    {"write output", "output", &TimeBreakdown::output, RowUse::kAlways},
    {"other", "other", &TimeBreakdown::other, RowUse::kAlways},
};

// Strata by rounds count none.
json derivations_json(const StratumReport& stratum) {
  return stratum.derivations == 0 && stratum.tuples > 0 ? json() : json(stratum.derivations);
}

json stratum_json(const StratumReport& stratum) {
  json entry = {{"relations", datalog::shown_relations(stratum.relations)},
                {"strategy", strategy_name(stratum.strategy)},
                {"iterations", stratum.iterations},
                {"tuples", stratum.tuples},
                {"derivations", derivations_json(stratum)},
                {"exchanged_bytes", stratum.exchanged_bytes},
                {"rebalances", stratum.rebalances},
                {"seconds", stratum.seconds}};
  if (stratum.largest_share >= 0) entry["largest_share"] = stratum.largest_share;
  if (!stratum.new_tuples_per_round.empty()) {
    entry["new_tuples_per_round"] = stratum.new_tuples_per_round;
  }
  return entry;
}

json checkpoint_json(const SaveReport& saved) {
  return {{"generation", saved.generation},
          {"metadata_seconds", saved.metadata_seconds},
          {"route_seconds", saved.route_seconds},
          {"pack_seconds", saved.pack_seconds},
          {"encode_seconds", saved.encode_seconds},
          {"write_seconds", saved.write_seconds},
          {"sync_seconds", saved.sync_seconds},
          {"commit_seconds", saved.commit_seconds},
          {"total_seconds", saved.total_seconds},
          {"held_seconds", saved.held_seconds},
          {"overlap", std::string(overlap_name(saved.overlap))},
          {"folded_relations", saved.folded_images},
          {"rows", saved.rows},
          {"bytes", saved.bytes},
          {"files", saved.files}};
}

json failed_json(const datalog::FailedCheckpoint& failed) {
  return {{"iteration", failed.iteration},
          {"at_end", failed.time == datalog::SaveTime::kAtEnd},
          {"error", failed.status.to_string()}};
}

json sizes_json(const std::vector<datalog::RelationSize>& sizes) {
  json entries = json::array();
  for (const datalog::RelationSize& size : sizes) {
    if (!datalog::is_made_name(size.name) && size.is_computed)
      entries.push_back({{"name", size.name}, {"rows", size.rows}});
  }
  return entries;
}

json left_out_json(const std::vector<datalog::RelationSize>& sizes) {
  json names = json::array();
  for (const datalog::RelationSize& size : sizes)
    if (!datalog::is_made_name(size.name) && !size.is_computed) names.push_back(size.name);
  return names;
}

json made_sizes_json(const std::vector<datalog::RelationSize>& sizes) {
  json entries = json::array();
  for (const datalog::RelationSize& size : sizes) {
    if (datalog::is_made_name(size.name) && size.is_computed)
      entries.push_back(
          {{"name", size.name}, {"made_for", datalog::made_for(size.name)}, {"rows", size.rows}});
  }
  return entries;
}

}  // namespace

std::string_view strategy_name(datalog::Strategy strategy) {
  switch (strategy) {
    case datalog::Strategy::kOnce:
      return "once";
    case datalog::Strategy::kSemiNaive:
      return "semi-naive";
    case datalog::Strategy::kPivot:
      return "pivot";
  }
  return "";
}

double checkpoint_seconds(const TimeBreakdown& times) {
  return times.pack + times.encode + times.write + times.sync + times.commit + times.wait;
}

double pack_share(const std::vector<SaveReport>& checkpoints) {
  double pack = 0;
  double all = 0;
  for (const SaveReport& saved : checkpoints) {
    pack += saved.pack_seconds;
    all += saved.total_seconds;
  }
  return all > 0 ? pack / all : 0;
}

std::string print_sizes_text(const datalog::Program& program, const RunReport& report) {
  std::string text;
  for (std::size_t r = 0; r < report.relations.size(); ++r) {
    const datalog::Relation& relation = program.relations[r];
    for (const datalog::IoDirective& directive : relation.io) {
      if (directive.action != datalog::IoAction::kPrintSize) continue;
      const auto name = directive.parameters.find("name");
      text +=
          fmt::format("{}\t{}\n", name == directive.parameters.end() ? relation.name : name->second,
                      report.relations[r].rows);
    }
  }
  return text;
}

std::string breakdown_text(const RunReport& report) {
  const TimeBreakdown& times = report.times;
  const double total = times.total > 0 ? times.total : 1;
  std::string text = fmt::format("{:<22}{:>10}{:>9}\n", "time (slowest rank)", "seconds", "share");
  for (const TimeRow& row : kRows) {
    const double seconds = times.*row.seconds;
    if (row.use == RowUse::kIfResumed && report.resumed_from.empty()) continue;
    if (row.use == RowUse::kIfSaved && report.checkpoints.empty()) continue;
    text += fmt::format("{:<22}{:>10.3f}{:>7.1f} %\n", row.label, seconds, 100 * seconds / total);
  }
  text += fmt::format("{:<22}{:>10.3f}\n", "total", times.total);
  if (!report.checkpoints.empty()) {
    std::uint64_t bytes = 0;
    double beside = 0;
    std::uint64_t folding = 0;  // checkpoints
    for (const SaveReport& saved : report.checkpoints) {
      bytes += saved.bytes;
      beside += saved.total_seconds - saved.held_seconds;
      folding += saved.folded_images > 0 ? 1 : 0;
    }
    text += fmt::format(
        "{} checkpoint{}, {} written, {:.1f} % of the time{}; packing is {:.1f} % of checkpoint "
        "time\n",
        report.checkpoints.size(), report.checkpoints.size() == 1 ? "" : "s", format_size(bytes),
        100 * checkpoint_seconds(times) / total,
        beside > 0 ? fmt::format(" and {:.2f} s beside the evaluation", beside) : "",
        100 * pack_share(report.checkpoints));
    if (folding > 0)
      text += fmt::format("chains of growth were written as one in {} of them\n", folding);
  }
  if (const std::size_t failed = report.failed_checkpoints.size(); failed > 0)
    text += fmt::format("{} checkpoint{} failed\n", failed, failed == 1 ? "" : "s");
  if (report.interval_seconds > 0) {
    text += fmt::format("checkpoint interval {}: one costs about {}\n",
                        format_duration(report.interval_seconds),
                        format_duration(report.interval_cost_seconds));
  }
  return text + fmt::format("peak memory of relations {}, {} rank{}\n",
                            format_size(report.peak_memory_bytes), report.ranks,
                            report.ranks == 1 ? "" : "s");
}

std::string newest_generation(const RunReport& report) {
  return report.checkpoints.empty() ? report.resumed_from : report.checkpoints.back().generation;
}

std::string missing_checkpoint_text(const RunReport& report, std::string_view folder,
                                    std::string_view newest_in, int signal) {
  const std::string newest = newest_generation(report);
  const std::string there = newest.empty()
                                ? fmt::format("{} holds no checkpoint of this run", folder)
                                : fmt::format("the newest one in {} is {}", newest_in, newest);
  const auto* missing = datalog::missing_checkpoint(report);
  const bool is_answer = missing == nullptr || missing->time == datalog::SaveTime::kAtEnd;
  if (!report.stopped_early)
    return fmt::format("all results were written, but not {}; {}",
                       is_answer ? "the checkpoint of the answer" : "the last checkpoint", there);
  return fmt::format(
      "stopped on signal {} without a checkpoint; {}{}", signal, there,
      newest.empty() ? "" : fmt::format("; go on with: stratalog resume {}", folder));
}

json report_json(const RunReport& report, std::string_view program) {
  json times;
  for (const TimeRow& row : kRows) times[row.key] = report.times.*row.seconds;
  times["total"] = report.times.total;
  json strata = json::array();
  for (const StratumReport& stratum : report.strata) strata.push_back(stratum_json(stratum));
  json checkpoints = json::array();
  for (const SaveReport& saved : report.checkpoints) checkpoints.push_back(checkpoint_json(saved));
  json failed = json::array();
  for (const auto& checkpoint : report.failed_checkpoints)
    failed.push_back(failed_json(checkpoint));
  const double total = report.times.total > 0 ? report.times.total : 1;
  return {{"format", "stratalog-run-report"},
          {"version", 1},
          {"program", program},
          {"ranks", report.ranks},
          {"exchange", report.exchanges_beside ? "beside" : "after"},
          {"resumed_from", report.resumed_from.empty() ? json() : json(report.resumed_from)},
          {"resumed_iteration", report.resumed_iteration},
          {"stopped_early", report.stopped_early},
          {"relations", sizes_json(report.relations)},
          {"made_relations", made_sizes_json(report.relations)},
          {"left_out", left_out_json(report.relations)},
          {"print_sizes", sizes_json(report.print_sizes)},
          {"strata", std::move(strata)},
          {"checkpoints", std::move(checkpoints)},
          {"failed_checkpoints", std::move(failed)},
          {"interval",
           {{"seconds", report.interval_seconds}, {"cost_seconds", report.interval_cost_seconds}}},
          {"seconds", std::move(times)},
          {"checkpoint_share", checkpoint_seconds(report.times) / total},
          {"pack_share_of_checkpoints", pack_share(report.checkpoints)},
          {"peak_memory_bytes", report.peak_memory_bytes}};
}

}  // namespace stratalog::cli
