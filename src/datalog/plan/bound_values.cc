// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/bound_values.h"

#include <algorithm>
#include <array>

#include "datalog/plan/program_plan.h"
#include "datalog/plan/size_estimate.h"

namespace stratalog::datalog {
namespace {

// A test of known values lets at most one in two pass, and at least one in twenty: values of real
// data go together more often than independent ones would.
constexpr double kMostPassing = 0.5;
constexpr double kLeastPassing = 0.05;
// Of what grows, constants that are asked of it may be this part.
constexpr double kCommonConstants = 16;

}  // namespace

std::vector<std::uint32_t> BoundValues::columns_of(const Atom& atom) const {
  std::vector<std::uint32_t> columns;
  for (std::uint32_t c = 0; c < atom.arguments.size(); ++c)
    if (is_bound(atom.arguments[c])) columns.push_back(c);
  return columns;
}

void BoundValues::bind_atom(std::uint32_t l) {
  const Atom& atom = common_->literals[l].atom;
  for (std::uint32_t c = 0; c < atom.arguments.size(); ++c) {
    const Argument& a = atom.arguments[c];
    if (a.kind != ArgumentKind::kVariable) continue;
    variables_.insert(a.variable);
    if (a.variable >= domains_.size()) domains_.resize(a.variable + 1, kNoDomain);
    double& domain = domains_[a.variable];
    domain = std::min(domain, distinct(atom.relation, c));
    if (a.variable >= frequent_.size()) frequent_.resize(a.variable + 1, nullptr);
    if (frequent_[a.variable] == nullptr) frequent_[a.variable] = common_->frequent_in(l, c);
  }
}

double BoundValues::rows(RelationId relation) const {
  const RelationStatistics& size = common_->statistics[relation];
  return size.known || size.rows > 0 ? static_cast<double>(size.rows)
                                     : static_cast<double>(kUnknownRows);
}

double BoundValues::distinct(RelationId relation, std::uint32_t column) const {
  const auto& distinct = common_->statistics[relation].distinct;
  return column < distinct.size() ? std::max(1.0, static_cast<double>(distinct[column]))
                                  : static_cast<double>(kUnknownDistinct);
}

// The part of an atom's rows that frequent values of a column let through: of a constant whose
// value is not known here, as if it was one of the column's rows.
double BoundValues::meetings(std::uint32_t l, std::uint32_t c) const {
  const std::vector<FrequentValue>* const there = common_->frequent_in(l, c);
  if (there == nullptr) return 0;
  const Argument& a = common_->literals[l].atom.arguments[c];
  if (a.kind == ArgumentKind::kConstant)
    if (const auto bucket = bucket_of_constant(a.constant))
      return frequent_meetings(std::array{FrequentValue{*bucket, kPerMillion}}, *there);
  if (is_constant(a, common_->constant)) return frequent_meetings(*there, *there);
  const bool has_values = a.variable < frequent_.size() && frequent_[a.variable] != nullptr;
  return has_values ? frequent_meetings(*frequent_[a.variable], *there) : 0;
}

void BoundValues::narrow(std::uint32_t l, const ConditionalColumn& by, Prefix& prefix) const {
  const Atom& atom = common_->literals[l].atom;
  const Argument& a = atom.arguments[by.column];
  ++prefix.columns;
  prefix.combinations *= by.values;
  const double meets = meetings(l, by.column);
  prefix.has_frequent |= meets > 0;
  prefix.frequent *= std::max(by.is_free ? meets : 0, 1 / by.values);
  // What depends on a column before it is met with that.
  if (!by.is_free || a.kind != ArgumentKind::kVariable || a.variable >= domains_.size()) return;
  const double domain = domains_[a.variable];
  if (domain != kNoDomain) prefix.met *= std::min(1.0, distinct(atom.relation, by.column) / domain);
}

// Columns are taken as independent unless it is known how they depend on each other. A test is of
// values that come from anywhere.
BoundValues::Prefix BoundValues::prefix_of(std::uint32_t l) const {
  const Atom& atom = common_->literals[l].atom;
  const RelationStatistics& size = common_->statistics[atom.relation];
  const bool knows_pairs = size.known && !size.pairs.empty();
  const auto is_here = [&](const Argument& a) { return is_bound(a); };
  Prefix prefix;
  if (!knows_pairs || std::ranges::all_of(atom.arguments, is_here)) {
    for (std::uint32_t c = 0; c < atom.arguments.size(); ++c)
      if (is_bound(atom.arguments[c]))
        narrow(l, {.column = c, .values = distinct(atom.relation, c)}, prefix);
    return prefix;
  }
  for (const ConditionalColumn& by :
       conditional_values(columns_of(atom), size.distinct, size.pairs))
    narrow(l, by, prefix);
  return prefix;
}

double BoundValues::fanout(std::uint32_t l) const {
  const Atom& atom = common_->literals[l].atom;
  const double all = rows(atom.relation);
  const Prefix prefix = prefix_of(l);
  if (prefix.columns == atom.arguments.size())
    return std::min(all, std::clamp(all / std::max(prefix.combinations, 1.0) * prefix.met,
                                    kLeastPassing, kMostPassing));
  double expected = all / std::min(prefix.combinations, std::max(all, 1.0)) * prefix.met;
  if (prefix.has_frequent) expected = std::max(expected, all * prefix.frequent);
  const bool asks_for_constants = prefix.columns > 0 && common_->growing != nullptr &&
                                  common_->growing->holds(atom.relation) &&
                                  knows_only_constants(atom);
  return asks_for_constants ? std::max(expected, all / kCommonConstants) : expected;
}

bool BoundValues::knows_only_constants(const Atom& atom) const {
  return std::ranges::all_of(atom.arguments, [&](const Argument& a) {
    return !is_bound(a) || is_constant(a, common_->constant);
  });
}

}  // namespace stratalog::datalog
