// SPDX-License-Identifier: Apache-2.0
// The literals of a body as somebody wrote them. The compiler lifts expressions, records, ranges
// and aggregates out of literals and equates them with variables of its own; here they are put
// together again. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog {

// Made by the compiler, or for `_`.
bool is_lifted(const Variable& variable);

// The variable to which an aggregate or a range gives its value.
std::optional<VariableId> result_of(const Literal& literal);

// Two variables, compared by `=`.
bool equates_two_variables(const Literal& literal);

struct WrittenLiteral {
  std::uint32_t shown = 0;  // in the body: the literal that people are told of
  // Equations that nobody wrote: they give its lifted variables their values, or compare the result
  // of an aggregate or a range with what it is written to be equal to. Ascending.
  std::vector<std::uint32_t> parts;
};

// In the order of the body. Each literal of the body is in one of them.
std::vector<WrittenLiteral> written_body(std::span<const Literal> body,
                                         const std::vector<Variable>& variables);

// A lifted variable and what stands in its place: an expression, or else an aggregate or a range
// that has it for its result. Both are parts of the body.
struct LiftedVariable {
  VariableId variable = 0;
  const Expression* expression = nullptr;  // of a result: what it is written to be equal to
  const Literal* computing = nullptr;
};

// Inner ones first, those inside of aggregates as well.
std::vector<LiftedVariable> lifted_variables(std::span<const Literal> body,
                                             const std::vector<Variable>& variables);

// The literals to be printed of a body without values: aggregates and ranges stand in the place of
// their results, where these are not written to be equal to something.
std::vector<const Literal*> shown_without_values(std::span<const Literal> body,
                                                 const std::vector<Variable>& variables);

}  // namespace stratalog::datalog
