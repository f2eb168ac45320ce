// SPDX-License-Identifier: Apache-2.0
// TupleText: tuples and literals as a user would write them, with the values of variables put in
// where they are known. Pure; local.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datalog/program.h"
#include "datalog/prove/written_body.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

// By variable.
using Bindings = std::vector<std::optional<Cell>>;

class TupleText {
 public:
  // Both outlive the object.
  TupleText(const Program& program, const NewValues& values)
      : program_(&program), values_(&values) {}

  // "path(3, 17)"
  std::string tuple(RelationId relation, std::span<const Cell> cells) const;
  // What stands in a column of a relation, as in tuple().
  std::string value_of(RelationId relation, std::size_t column, Cell cell) const;
  // "7 = autoinc()", of the last column of a relation that numbers tuples.
  std::string number(RelationId numbered, Cell cell) const;
  // A variable of a rule: its value, else its name.
  std::string variable(const Rule& rule, VariableId variable, const Bindings& bindings) const;
  // "!path(3, _)", "3 + 1 = 4", as it is written: what the compiler lifted out of it stands in its
  // place; variables without a value keep their names.
  std::string literal(const Rule& rule, const Literal& literal, const Bindings& bindings) const;

 private:
  std::vector<std::string> variables(const Rule& rule, const Bindings& bindings) const;
  void put_in_lifted(const Rule& rule, std::span<const LiftedVariable> lifted,
                     const std::vector<bool>& is_known, std::vector<std::string>& texts) const;
  std::string body_of(const Rule& rule, const std::vector<bool>& is_known,
                      std::vector<std::string>& texts) const;
  std::string print(const Rule& rule, const Literal& literal,
                    const std::vector<std::string>& texts) const;
  std::string aggregate(const Atom& atom, const std::vector<std::string>& texts) const;
  std::string made_atom(const Atom& atom, const std::vector<std::string>& texts) const;
  Literal as_written(const Rule& rule, const Literal& literal) const;
  Atom before_projection(const Atom& atom) const;
  std::string value(ValueKind kind, StructureId structure, Cell cell) const;

  const Program* program_;
  const NewValues* values_;
};

}  // namespace stratalog::datalog
