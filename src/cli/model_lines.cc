// SPDX-License-Identifier: Apache-2.0
#include "cli/model_lines.h"

#include <nlohmann/json.hpp>

#include "forecast/price.h"

namespace stratalog::cli {
namespace {

using nlohmann::json;

constexpr const char* kPhaseNames[kPhaseCount] = {"metadata", "pack", "route", "encode",
                                                  "write",    "read", "sync",  "commit"};

json seconds_json(const Price& price) {
  json seconds = {{"total", price.total()}};
  for (std::size_t p = 0; p < kPhaseCount; ++p)
    if (price.seconds[p] > 0) seconds[kPhaseNames[p]] = price.seconds[p];
  return seconds;
}

}  // namespace

Result<std::string> model_line(const ModelCase& one, const Machine& machine) {
  json line = {{"event", "modelled"}, {"name", one.name}, {"ranks", one.question.facts.ranks}};
  Steps steps;
  if (one.bare) {
    steps = bare_save(one.question, *one.bare);
  } else {
    STRATALOG_ASSIGN_OR_RETURN(SaveForecast saved, forecast_save(one.question, machine));
    line["aggregators"] = saved.aggregators;
    line["shards"] = saved.shards.size();
    json why = json::array();
    for (const Reason& reason : saved.plan.reasons)
      why.push_back({{"about", reason.about}, {"text", reason.text}});
    line["why"] = std::move(why);
    if (one.restart) {
      line["ranks"] = one.readers;
      line["writers"] = one.question.facts.ranks;
      steps = forecast_restart(saved, one.readers, *one.restart);
    } else {
      steps = std::move(saved.steps);
    }
  }
  const Price priced = price(steps, machine);
  line["row_bytes"] = steps.row_bytes;
  line["moved_bytes"] = priced.moved_bytes;
  line["requests"] = priced.requests;
  line["lock_moves"] = priced.lock_moves;
  line["creates"] = priced.creates;
  line["opens"] = priced.opens;
  line["seconds"] = seconds_json(priced);
  return line.dump();
}

}  // namespace stratalog::cli
