// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/program_constants.h"

namespace stratalog::datalog {
namespace {

void intern(const Expression& e, ValueDictionary& dictionary) {
  if (e.kind == ExpressionKind::kConstant) {
    if (e.value_kind == ValueKind::kSymbol)
      dictionary.encode_symbol(e.text);
    else
      dictionary.encode(e.bits);
  }
  for (const Expression& argument : e.arguments) intern(argument, dictionary);
}

void intern(const Literal& literal, ValueDictionary& dictionary) {
  for (const Argument& a : literal.atom.arguments)
    if (a.kind == ArgumentKind::kConstant) intern(a.constant, dictionary);
  if (literal.kind == LiteralKind::kComparison) {
    intern(literal.left, dictionary);
    intern(literal.right, dictionary);
  }
  if (literal.aggregate) {
    intern(literal.aggregate->target, dictionary);
    for (const Literal& inner : literal.aggregate->body) intern(inner, dictionary);
  }
  if (literal.range) {
    intern(literal.range->from, dictionary);
    intern(literal.range->to, dictionary);
    intern(literal.range->step, dictionary);
  }
}

}  // namespace

void intern_constants(const Program& program, ValueDictionary& dictionary) {
  for (const Rule& rule : program.rules) {
    for (const Expression& e : rule.head_arguments) intern(e, dictionary);
    for (const Literal& literal : rule.body) intern(literal, dictionary);
  }
}

}  // namespace stratalog::datalog
