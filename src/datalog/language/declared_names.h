// SPDX-License-Identifier: Apache-2.0
// DeclaredNames: the relations, branches and functors that a rule names, found among the
// declarations or reported: unknown ones with a suggestion, known ones that are given the wrong
// number of arguments. Local.
#pragma once

#include <cstdint>

#include "datalog/language/declarations.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

class DeclaredNames {
 public:
  DeclaredNames(const Declarations& declarations, DiagnosticSink& sink)
      : declarations_(declarations), sink_(sink) {}

  // An unknown one leaves `id` as it is.
  void find_relation(const AtomSyntax& atom, RelationId& id);
  // Which declared functor `@f(...)` calls; 0 if none.
  std::uint32_t find_external(const Term& term);
  // Does nothing with terms that are no branches.
  void check_branch(const Term& term);
  // Whether the term is made of fields; nil and branches of enumerations are constants.
  bool is_record(const Term& term) const;

  // False once something was asked for that a rule cannot do without.
  bool is_ok() const { return is_ok_; }

 private:
  const Declarations& declarations_;
  DiagnosticSink& sink_;
  bool is_ok_ = true;
};

}  // namespace stratalog::datalog::language
