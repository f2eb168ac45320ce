// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_json.h"

#include <nlohmann/json.hpp>

#include "cli/run_report_text.h"

namespace stratalog::cli {

namespace {

using nlohmann::json;

json rules_json(const datalog::Program& program, const std::vector<datalog::RulePlan>& rules) {
  json entries = json::array();
  for (const datalog::RulePlan& rule_plan : rules) {
    const datalog::Rule& rule = program.rules[rule_plan.rule];
    json order = json::array();
    for (const datalog::Step& step : rule_plan.steps) order.push_back(step.literal);
    json delta;
    if (rule_plan.delta_literal) delta = *rule_plan.delta_literal;
    entries.push_back({{"file", rule.place.file},
                       {"line", rule.place.line},
                       {"text", rule.text},
                       {"literal_order", std::move(order)},
                       {"delta_literal", std::move(delta)},
                       {"set_at_a_time", rule_plan.carries},
                       {"follows_plan", rule_plan.follows_plan},
                       {"reason", rule_plan.reason}});
  }
  return entries;
}

json relation_json(const datalog::Relation& relation, const datalog::RelationPlan& plan) {
  json indices = json::array();
  for (const datalog::IndexPlan& index : plan.indices) {
    json columns = json::array();
    for (const std::uint32_t column : index.order) {
      columns.push_back(relation.attributes[column].name);
    }
    indices.push_back(std::move(columns));
  }
  return {{"name", relation.name}, {"indices", std::move(indices)}, {"primary", plan.primary}};
}

}  // namespace

json plan_json(const datalog::Program& program, const datalog::ProgramPlan& plan) {
  json strata = json::array();
  for (std::size_t s = 0; s < program.strata.size(); ++s) {
    const datalog::StratumPlan& stratum = plan.strata[s];
    json relations = json::array();
    json pivots = json::object();
    const std::vector<datalog::RelationId>& ids = program.strata[s].relations;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const datalog::Relation& relation = program.relations[ids[i]];
      relations.push_back(relation_json(relation, plan.relations[ids[i]]));
      if (stratum.pivot) pivots[relation.name] = relation.attributes[stratum.pivot->column[i]].name;
    }
    strata.push_back({{"relations", std::move(relations)},
                      {"strategy", strategy_name(stratum.strategy)},
                      {"reason", stratum.reason},
                      {"pivot_columns", std::move(pivots)},
                      {"once", rules_json(program, stratum.once)},
                      {"recursive", rules_json(program, stratum.recursive)}});
    if (stratum.reject.empty()) continue;
    strata.back()["reject"] = rules_json(program, stratum.reject);
    strata.back()["retire"] = rules_json(program, stratum.retire);
  }
  return {{"format", "stratalog-plan"}, {"version", 1}, {"strata", std::move(strata)}};
}

}  // namespace stratalog::cli
