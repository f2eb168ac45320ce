// SPDX-License-Identifier: Apache-2.0
// explain: the plan as text for people. Pure.
#include <fmt/format.h>

#include <algorithm>

#include "datalog/plan/literal_order.h"
#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {
namespace {

std::string column_names(const Relation& relation, const std::vector<std::uint32_t>& order) {
  std::string text;
  for (const std::uint32_t c : order) {
    if (!text.empty()) text += ", ";
    text += relation.attributes[c].name;
  }
  return text;
}

std::string key_names(const Relation& relation, std::uint32_t value) {
  std::vector<std::uint32_t> key;
  for (std::uint32_t c = 0; c < relation.attributes.size(); ++c)
    if (c != value) key.push_back(c);
  return fmt::format("({})", column_names(relation, key));
}

std::string strategy_name(Strategy strategy) {
  switch (strategy) {
    case Strategy::kOnce:
      return "once";
    case Strategy::kSemiNaive:
      return "semi-naive rounds, one exchange each";
    case Strategy::kPivot:
      return "pivot blocks, no exchange";
  }
  return "";
}

bool restricts_set(const Step& step) {
  return !step.columns.empty() && step.columns.back().role == ColumnRole::kCarry;
}

// `body` is the rule's, or that of an aggregate within it.
std::string step_text(const Program& program, const ProgramPlan& plan, const Rule& rule,
                      const std::vector<Literal>& body, const Step& step) {
  const auto atom = [&](std::string_view verb) {
    const Relation& relation = program.relations[step.relation];
    std::string text = fmt::format("{} {}", verb, relation.name);
    if (relation.attributes.empty()) return text;
    if (step.prefix_length > 0) {
      const auto& order = plan.relations[step.relation].indices[step.index].order;
      text += fmt::format(
          " by ({})", column_names(relation, {order.begin(), order.begin() + step.prefix_length}));
    }
    if (step.bounds_next) {
      const auto& order = plan.relations[step.relation].indices[step.index].order;
      text += fmt::format(" between bounds of ({})",
                          column_names(relation, {order[step.prefix_length]}));
    }
    return text;
  };
  switch (step.kind) {
    case StepKind::kScanDelta:
      return atom("new tuples of");
    case StepKind::kScan:
      return atom("scan");
    case StepKind::kSearch:
      return atom("search");
    case StepKind::kExists:
      return atom(restricts_set(step) ? "intersect with" : "exists");
    case StepKind::kAbsent:
      return atom(restricts_set(step) ? "subtract" : "absent");
    case StepKind::kFilter:
      return step.filters_carried ? "filter sets" : "filter";
    case StepKind::kAssign:
      return fmt::format("compute {}", rule.variables[step.target].name);
    case StepKind::kUnpack:
      return fmt::format("take apart {}",
                         rule.variables[record_equation(body[step.literal])->variable].name);
    case StepKind::kRange:
      return fmt::format("range {}", rule.variables[step.target].name);
    case StepKind::kAggregate: {
      std::string inner;
      for (const Step& within : step.aggregate_steps)
        inner += (inner.empty() ? "" : " -> ") +
                 step_text(program, plan, rule, body[step.literal].aggregate->body, within);
      const std::string sets =
          step.counted ? fmt::format(" in sets of {}", rule.variables[*step.counted].name) : "";
      return fmt::format("aggregate {}{} {{{}}}", rule.variables[step.target].name, sets, inner);
    }
  }
  return "";
}

void explain_rules(const Program& program, const ProgramPlan& plan,
                   const std::vector<RulePlan>& rules, std::string& out) {
  for (const RulePlan& rule_plan : rules) {
    const Rule& rule = program.rules[rule_plan.rule];
    if (rule.body.empty()) continue;  // facts
    out += fmt::format("    {}:{}  {}\n", rule.place.file, rule.place.line, rule.text);
    out += fmt::format("        {}\n        {}\n", explain_order(program, plan, rule_plan),
                       rule_plan.reason);
  }
}

std::string kept_text(const Program& program, RelationId relation, const BestValue& best) {
  const Relation& declared = program.relations[relation];
  const std::string& value = declared.attributes[best.column].name;
  if (declared.sums)
    return fmt::format("    {} {} {} for each {} as they come\n", declared.name,
                       declared.sums->counts ? "counts the tuples of" : "sums the values of",
                       program.relations[declared.sums->terms].name,
                       key_names(declared, best.column));
  if (best.keeps != KeptValue::kUnited)
    return fmt::format("    keeps the {} {} of each {}, compared where tuples lie\n",
                       best.keeps == KeptValue::kLeast ? "least" : "greatest", value,
                       key_names(declared, best.column));
  return fmt::format("    keeps the least upper bound of the {} of each {}, where tuples lie\n",
                     value, key_names(declared, best.column));
}

}  // namespace

std::string explain_order(const Program& program, const ProgramPlan& plan, const RulePlan& rule) {
  std::string out;
  for (const auto* steps : {&rule.steps, &rule.masks})
    for (const Step& step : *steps)
      out += (out.empty() ? "" : " -> ") + step_text(program, plan, program.rules[rule.rule],
                                                     program.rules[rule.rule].body, step);
  return out;
}

std::string explain(const Program& program, const ProgramPlan& plan) {
  std::string out;
  for (std::size_t s = 0; s < program.strata.size(); ++s) {
    const Stratum& stratum = program.strata[s];
    const StratumPlan& stratum_plan = plan.strata[s];
    std::string names;
    for (const RelationId r : stratum.relations)
      names += (names.empty() ? "" : ", ") + program.relations[r].name;
    out += fmt::format("stratum {}: {}\n    {}; {}\n", s, names,
                       strategy_name(stratum_plan.strategy), stratum_plan.reason);
    if (stratum_plan.may_be_mirrored)
      out += "    on every rank while small (--mirror-limit): then no binding travels\n";
    const auto facts =
        std::count_if(stratum_plan.once.begin(), stratum_plan.once.end(),
                      [&](const RulePlan& r) { return program.rules[r.rule].body.empty(); });
    if (facts > 0) out += fmt::format("    {} facts in the program\n", facts);
    for (const RelationId r : stratum.relations) {
      if (stratum_plan.strategy == Strategy::kPivot) continue;
      for (const IndexPlan& index : plan.relations[r].indices)
        out += fmt::format("    index {}({})\n", program.relations[r].name,
                           column_names(program.relations[r], index.order));
    }
    for (const RelationId r : stratum.relations)
      if (const auto& best = plan.relations[r].best) out += kept_text(program, r, *best);
    explain_rules(program, plan, stratum_plan.once, out);
    explain_rules(program, plan, stratum_plan.recursive, out);
    explain_rules(program, plan, stratum_plan.reject, out);
    explain_rules(program, plan, stratum_plan.retire, out);
  }
  return out;
}

}  // namespace stratalog::datalog
