// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/column_pairs.h"

#include <algorithm>
#include <map>
#include <set>

#include "datalog/rule_variables.h"

namespace stratalog::datalog {
namespace {

// Values that come together half as often as independent ones would tell nothing.
constexpr std::uint64_t kDependent = 2;

using PairSets = std::vector<std::set<std::pair<std::uint32_t, std::uint32_t>>>;

// Columns that a literal of a body may be searched by: `outside` are variables that are known
// before it.
void note_joined(const std::vector<Literal>& body, const std::set<VariableId>& outside,
                 PairSets& pairs) {
  std::map<VariableId, std::uint32_t> literals;  // that mention a variable
  for (const Literal& literal : body) {
    std::set<VariableId> read;
    collect_variables(literal, read);
    for (const VariableId v : read) ++literals[v];
  }
  for (const Literal& literal : body) {
    if (literal.kind == LiteralKind::kAggregate)
      note_joined(literal.aggregate->body,
                  {literal.aggregate->outer.begin(), literal.aggregate->outer.end()}, pairs);
    if (literal.kind != LiteralKind::kAtom) continue;
    std::vector<std::uint32_t> columns;
    for (std::uint32_t c = 0; c < literal.atom.arguments.size(); ++c) {
      const Argument& a = literal.atom.arguments[c];
      if (a.kind == ArgumentKind::kConstant ||
          (a.kind == ArgumentKind::kVariable &&
           (literals[a.variable] > 1 || outside.contains(a.variable))))
        columns.push_back(c);
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
      for (std::size_t j = i + 1; j < columns.size(); ++j)
        pairs[literal.atom.relation].emplace(columns[i], columns[j]);
  }
}

const ColumnPair* find_pair(std::span<const ColumnPair> pairs, std::uint32_t a, std::uint32_t b) {
  for (const ColumnPair& pair : pairs)
    if (pair.first == std::min(a, b) && pair.second == std::max(a, b)) return &pair;
  return nullptr;
}

}  // namespace

std::vector<std::vector<ColumnPair>> joined_pairs(const Program& program) {
  PairSets sets(program.relations.size());
  for (const Rule& rule : program.rules) note_joined(rule.body, {}, sets);
  std::vector<std::vector<ColumnPair>> pairs(sets.size());
  for (std::size_t r = 0; r < sets.size(); ++r)
    for (const auto& [first, second] : sets[r])
      pairs[r].push_back({.first = first, .second = second});
  return pairs;
}

bool depends(const ColumnPair& pair) {
  return pair.distinct > 0 && pair.of_first * pair.of_second >= kDependent * pair.distinct;
}

// The finest column first; each other one as the column before tells that says most of it.
std::vector<ConditionalColumn> conditional_values(std::span<const std::uint32_t> columns,
                                                  std::span<const std::uint64_t> distinct,
                                                  std::span<const ColumnPair> pairs) {
  const auto values_of = [&](std::uint32_t c) {
    return c < distinct.size() ? std::max<std::uint64_t>(1, distinct[c]) : 1;
  };
  std::vector<ConditionalColumn> counted;
  for (const std::uint32_t c : columns)
    counted.push_back({.column = c, .values = static_cast<double>(values_of(c))});
  if (pairs.empty()) return counted;
  std::stable_sort(
      counted.begin(), counted.end(),
      [](const ConditionalColumn& a, const ConditionalColumn& b) { return a.values > b.values; });
  for (std::size_t i = 1; i < counted.size(); ++i)
    for (std::size_t before = 0; before < i; ++before) {
      const std::uint32_t known = counted[before].column;
      const ColumnPair* const pair = find_pair(pairs, known, counted[i].column);
      if (pair == nullptr) continue;
      const std::uint64_t of_known = pair->first == known ? pair->of_first : pair->of_second;
      const double each = static_cast<double>(pair->distinct) /
                          static_cast<double>(std::max<std::uint64_t>(1, of_known));
      if (each >= counted[i].values) continue;
      counted[i].values = std::max(1.0, each);
      counted[i].is_free = false;
    }
  return counted;
}

}  // namespace stratalog::datalog
