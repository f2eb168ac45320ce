// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_lines.h"
#include "datalog/made_relations.h"

#include <nlohmann/json.hpp>

namespace stratalog::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsBetweenRounds = 0.5;

std::string line(const Json& event) {
  return event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string_view phase_word(datalog::Phase phase) {
  switch (phase) {
    case datalog::Phase::kLoading:
      return "load";
    case datalog::Phase::kRestoring:
      return "restore";
    case datalog::Phase::kEvaluating:
      return "evaluate";
    case datalog::Phase::kCheckpointing:
      return "checkpoint";
    case datalog::Phase::kOutput:
      return "output";
  }
  return "";
}

Json known(double value) { return value < 0 ? Json() : Json(value); }

}  // namespace

void ProgressLines::update(const datalog::Progress& progress) {
  if (progress.phase == datalog::Phase::kCheckpointing) {  // says nothing but that
    write_(line({{"event", "phase"}, {"phase", phase_word(progress.phase)}}));
    return;
  }
  const bool evaluates = progress.phase == datalog::Phase::kEvaluating;
  const bool is_new_stratum = evaluates && (!in_stratum_ || progress.stratum != last_.stratum);
  if (in_stratum_ && (!evaluates || is_new_stratum)) tell_stratum();
  if (!has_last_ || progress.phase != last_.phase)
    write_(line({{"event", "phase"},
                 {"phase", phase_word(progress.phase)},
                 {"elapsed_seconds", progress.elapsed_seconds}}));
  if (is_new_stratum) {
    told_seconds_ = progress.elapsed_seconds;
    told_tuples_ = progress.total_tuples;
  }
  has_last_ = true;
  last_ = progress;
  in_stratum_ = evaluates;
  const double passed = progress.elapsed_seconds - told_seconds_;
  if (!evaluates || passed < kSecondsBetweenRounds) return;
  const double gained =
      static_cast<double>(progress.total_tuples) - static_cast<double>(told_tuples_);
  Json rule;
  if (!progress.busiest_rule.empty())
    rule = {{"text", progress.busiest_rule}, {"share", progress.busiest_share}};
  write_(line({{"event", "round"},
               {"elapsed_seconds", progress.elapsed_seconds},
               {"stratum", progress.stratum},
               {"strata", progress.strata},
               {"relations", datalog::shown_relations(progress.relations)},
               {"round", progress.iteration},
               {"new_tuples", progress.new_tuples},
               {"tuples", progress.total_tuples},
               {"is_estimate", progress.fraction >= 0},
               {"tuples_per_second", gained > 0 ? gained / passed : 0.0},
               {"fraction", known(progress.fraction)},
               {"largest_share", known(progress.largest_share)},
               {"busiest_rule", std::move(rule)},
               {"memory_bytes", progress.memory_bytes},
               {"exchanged_bytes", progress.exchanged_bytes},
               {"checkpoints", progress.checkpoints},
               {"checkpoint_seconds", progress.checkpoint_seconds}}));
  told_seconds_ = progress.elapsed_seconds;
  told_tuples_ = progress.total_tuples;
}

void ProgressLines::tell_stratum() {
  write_(line({{"event", "stratum"},
               {"elapsed_seconds", last_.elapsed_seconds},
               {"stratum", last_.stratum},
               {"strata", last_.strata},
               {"relations", datalog::shown_relations(last_.relations)},
               {"rounds", last_.iteration},
               {"tuples", last_.total_tuples},
               {"is_estimate", last_.fraction >= 0},
               {"seconds", last_.stratum_seconds}}));
  in_stratum_ = false;
}

void ProgressLines::notice(std::string_view text) {
  write_(line({{"event", "notice"}, {"text", text}}));
}

void ProgressLines::failure(std::string_view text) {
  write_(line({{"event", "failure"}, {"text", text}}));
}

void ProgressLines::end(const datalog::RunReport& report) {
  if (in_stratum_) tell_stratum();
  Json rows = Json::object();
  for (const datalog::RelationSize& size : report.relations)
    if (!datalog::is_made_name(size.name) && size.is_computed) rows[size.name] = size.rows;
  write_(line({{"event", "end"},
               {"total_seconds", report.times.total},
               {"stopped_early", report.stopped_early},
               {"resumed_from", report.resumed_from.empty() ? Json() : Json(report.resumed_from)},
               {"checkpoints", report.checkpoints.size()},
               {"failed_checkpoints", report.failed_checkpoints.size()},
               {"peak_memory_bytes", report.peak_memory_bytes},
               {"rows", std::move(rows)}}));
}

}  // namespace stratalog::cli
