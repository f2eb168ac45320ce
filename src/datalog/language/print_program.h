// SPDX-License-Identifier: Apache-2.0
// A checked program as text, for `explain`, profiles, fingerprints and tests. The text does not
// depend on blanks, comments or the places of files, so equal texts mean equal programs. Pure.
// Local.
#pragma once

#include <string>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog {

// "path(x, z) :- path(x, y), edge(y, z)." on one line. Lifted variables are written _1, _2; where
// two variables of a rule share a name, later ones get a suffix: x, x'2.
std::string print_rule(const Program& program, const Rule& rule);

// An expression of `rule`, with as few parentheses as its meaning needs.
std::string print_expression(const Rule& rule, const Expression& expression);
// The same with other texts for the variables (by VariableId).
std::string print_expression(const Expression& expression, std::vector<std::string> texts);

std::string print_literal(const Program& program, const Rule& rule, const Literal& literal);
// The same with other texts for the variables (by VariableId): values, where they are known. What a
// rule hands into an aggregate is not mentioned.
std::string print_literal(const Program& program, const Literal& literal,
                          std::vector<std::string> texts);

// Declarations, IO directives, pragmas, then the strata with their rules. Ends with a newline.
std::string print_program(const Program& program);

}  // namespace stratalog::datalog
