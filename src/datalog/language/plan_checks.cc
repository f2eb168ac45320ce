// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/plan_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace stratalog::datalog::language {
namespace {

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// Whether each of 1 .. atoms.size() is there.
bool is_permutation_from_one(const std::vector<std::uint64_t>& atoms) {
  const std::set<std::uint64_t> distinct(atoms.begin(), atoms.end());
  return distinct.size() == atoms.size() && (distinct.empty() || *distinct.begin() == 1) &&
         (distinct.empty() || *distinct.rbegin() == atoms.size());
}

void check_order(const PlanOrderSyntax& order, std::size_t atoms, DiagnosticSink& sink) {
  if (order.atoms.size() != atoms) {
    sink.error(order.span, fmt::format("this order has {}, the rule has {}",
                                       counted(order.atoms.size(), "atom"), atoms))
        .hint =
        "name all atoms of the body that are not negated, from 1 on and with inline relations "
        "written out, or leave `.plan` away";
  } else if (!is_permutation_from_one(order.atoms)) {
    sink.error(order.span,
               fmt::format("this order does not name each of the atoms 1 to {} once", atoms))
        .hint = "atoms count from 1 in the order in which the body has them";
  }
}

using Orders = std::map<std::uint64_t, const PlanOrderSyntax*>;

// By version; the last one of a version counts.
Orders orders_of(const std::vector<PlanOrderSyntax>& plan) {
  Orders orders;
  for (const PlanOrderSyntax& order : plan) orders[order.version] = &order;
  return orders;
}

const Stratum* stratum_of(RelationId head, const std::vector<Stratum>& strata) {
  const auto stratum = std::find_if(strata.begin(), strata.end(), [&](const Stratum& s) {
    return std::binary_search(s.relations.begin(), s.relations.end(), head);
  });
  return stratum == strata.end() ? nullptr : &*stratum;
}

void check_plan(const PlannedRule& rule, const std::set<RelationId>& recursion,
                DiagnosticSink& sink) {
  const auto versions = static_cast<std::size_t>(std::count_if(
      rule.atoms.begin(), rule.atoms.end(), [&](RelationId id) { return recursion.contains(id); }));
  if (versions == 0) {
    sink.error(rule.plan->front().span, "`.plan` of a rule that is not recursive").hint =
        "leave `.plan` away: join orders are chosen from the sizes at run time";
    return;
  }
  for (const auto& [version, order] : orders_of(*rule.plan)) {
    check_order(*order, rule.atoms.size(), sink);
    if (version < versions) continue;
    sink.error(order->span, fmt::format("this rule has no version {}", version)).hint = fmt::format(
        "it has {} in its own recursion: {}", counted(versions, "atom"),
        versions == 1 ? "version 0 only" : fmt::format("versions 0 to {}", versions - 1));
  }
}

}  // namespace

PlannedRule planned_rule(const BoundRule& rule, const RuleSyntax& syntax,
                         std::shared_ptr<const std::vector<NoteDraft>> origin) {
  PlannedRule planned{.plan = &syntax.plan,
                      .head = rule.head,
                      .atoms = {},
                      .origin = std::move(origin),
                      .rule = {}};
  for (const BoundLiteral& literal : rule.body)
    if (literal.kind == LiteralKind::kAtom) planned.atoms.push_back(literal.atom.relation);
  return planned;
}

void check_plans(std::vector<PlannedRule>& rules, const std::vector<Stratum>& strata,
                 const std::vector<bool>& needed, const std::vector<bool>& fillable,
                 DiagnosticSink& sink) {
  std::erase_if(rules, [&](const PlannedRule& rule) {
    return !needed[rule.head] ||
           !std::ranges::all_of(rule.atoms, [&](RelationId id) { return fillable[id]; });
  });
  for (const PlannedRule& rule : rules) {
    const Stratum* stratum = stratum_of(rule.head, strata);
    if (stratum == nullptr) continue;
    sink.set_origin(rule.origin);
    check_plan(rule, {stratum->relations.begin(), stratum->relations.end()}, sink);
  }
  sink.set_origin(nullptr);
}

void set_join_orders(const std::vector<PlannedRule>& rules, Program& program) {
  for (const PlannedRule& planned : rules) {
    if (!planned.rule) continue;
    Rule& rule = program.rules[*planned.rule];
    const std::vector<RelationId>& recursion = stratum_of(rule.head, program.strata)->relations;
    std::vector<std::uint32_t> atoms;  // in the order of the body
    std::vector<std::uint32_t> recursive;
    for (std::uint32_t l = 0; l < rule.body.size(); ++l) {
      if (rule.body[l].kind != LiteralKind::kAtom) continue;
      atoms.push_back(l);
      if (std::binary_search(recursion.begin(), recursion.end(), rule.body[l].atom.relation))
        recursive.push_back(l);
    }
    for (const auto& [version, order] : orders_of(*planned.plan)) {
      JoinOrder& join = rule.join_orders.emplace_back();
      join.delta_literal = recursive[version];
      for (const std::uint64_t atom : order->atoms) join.atoms.push_back(atoms[atom - 1]);
    }
  }
}

}  // namespace stratalog::datalog::language
