// SPDX-License-Identifier: Apache-2.0
// BoundValues: what is known of the variables that the beginning of an order has bound, and so how
// many tuples an atom is expected to have for each binding. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "datalog/plan/body_facts.h"
#include "datalog/plan/column_pairs.h"
#include "datalog/plan/frequent_values.h"
#include "datalog/plan/variable_set.h"

namespace stratalog::datalog {

class BoundValues {
 public:
  // `common` outlives it.
  explicit BoundValues(const BodyFacts& common) : common_(&common), variables_(common.bound) {}

  const VariableSet& variables() const { return variables_; }
  // By something else than an atom.
  void bind(VariableId variable) { variables_.insert(variable); }
  // All variables of an atom, which is literal `l`.
  void bind_atom(std::uint32_t l);

  bool is_bound(const Argument& a) const {
    return a.kind == ArgumentKind::kConstant ||
           (a.kind == ArgumentKind::kVariable && variables_.contains(a.variable));
  }
  // Those that are bound, ascending.
  std::vector<std::uint32_t> columns_of(const Atom& atom) const;

  double rows(RelationId relation) const;
  // Expected tuples of an atom for a binding, the values of a column as a part of those that the
  // variable has had so far: as many of each, but for those that are known to be frequent.
  double fanout(std::uint32_t l) const;

 private:
  // Of a variable that no atom has bound.
  static constexpr double kNoDomain = std::numeric_limits<double>::infinity();

  // What is known of a prefix: the columns that are bound.
  struct Prefix {
    std::size_t columns = 0;
    double combinations = 1;  // of their values
    double met = 1;  // the part of them that those meet which arrive
    double frequent = 1;  // the part of the rows, with what frequent values meet
    bool has_frequent = false;
  };

  double distinct(RelationId relation, std::uint32_t column) const;
  double meetings(std::uint32_t l, std::uint32_t c) const;
  void narrow(std::uint32_t l, const ConditionalColumn& by, Prefix& prefix) const;
  Prefix prefix_of(std::uint32_t l) const;
  bool knows_only_constants(const Atom& atom) const;

  const BodyFacts* common_;
  VariableSet variables_;
  std::vector<double> domains_;  // by variable: values that it can have
  // By variable: values that it often has, as the first atom says that knows some. May be null.
  std::vector<const std::vector<FrequentValue>*> frequent_;
};

}  // namespace stratalog::datalog
