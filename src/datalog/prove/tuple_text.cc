// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/tuple_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "datalog/facts/structured_text.h"
#include "datalog/language/print_program.h"
#include "datalog/plan/literal_order.h"
#include "datalog/prove/goal_text.h"
#include "datalog/prove/made_relations.h"
#include "datalog/prove/variable_structures.h"
#include "datalog/prove/written_body.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// A record that is not stored: only its making says what is in it.
constexpr std::string_view kUnknownRecord = "[...]";

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + "\"";
}

std::string bits_text(ValueKind kind, std::uint64_t bits) {
  switch (kind) {
    case ValueKind::kNumber:
      return fmt::format("{}", static_cast<std::int64_t>(bits));
    case ValueKind::kFloat: {
      const std::string text = fmt::format("{}", std::bit_cast<double>(bits));
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : as_in_programs(text);
    }
    default:
      return fmt::format("{}", bits);
  }
}

bool has_value(const Bindings& bindings, VariableId variable) {
  return variable < bindings.size() && bindings[variable].has_value();
}

// Without results of aggregates and ranges of the body itself: these have lines of their own.
std::vector<LiftedVariable> lifted_out_of_literals(const Rule& rule) {
  std::vector<LiftedVariable> lifted = lifted_variables(rule.body, rule.variables);
  for (const Literal& each : rule.body)
    if (const auto result = result_of(each))
      std::erase_if(lifted, [&](const LiftedVariable& l) { return l.variable == *result; });
  return lifted;
}

}  // namespace

std::string TupleText::value(ValueKind kind, StructureId structure, Cell cell) const {
  const bool is_final = kind == ValueKind::kRecord
                            ? !is_provisional_record(cell) && cell != kNoRecordCell
                            : !is_wide_cell(cell);
  if (structure != kNoStructure && is_final) {
    std::string text;
    append_structured(*program_->structures, structure, values_->shared(), cell,
                      SymbolQuotes::kLiteral, text);
    return as_in_programs(text);
  }
  if (kind == ValueKind::kRecord) return cell == kNilCell ? "nil" : std::string(kUnknownRecord);
  return kind == ValueKind::kSymbol ? quoted(values_->text(cell))
                                    : bits_text(kind, values_->bits(cell));
}

std::string TupleText::tuple(RelationId relation, std::span<const Cell> cells) const {
  const Relation& declared = program_->relations[relation];
  std::string text = declared.name + "(";
  for (std::size_t c = 0; c < declared.attributes.size(); ++c)
    text += (c == 0 ? "" : ", ") +
            value(declared.attributes[c].kind, declared.attributes[c].structure, cells[c]);
  return text + ")";
}

std::string TupleText::value_of(RelationId relation, std::size_t column, Cell cell) const {
  const Attribute& attribute = program_->relations[relation].attributes[column];
  return value(attribute.kind, attribute.structure, cell);
}

std::string TupleText::number(RelationId numbered, Cell cell) const {
  const std::size_t last = program_->relations[numbered].attributes.size() - 1;
  return value_of(numbered, last, cell) + " = autoinc()";
}

std::string TupleText::variable(const Rule& rule, VariableId variable,
                                const Bindings& bindings) const {
  return variables(rule, bindings)[variable];
}

std::vector<std::string> TupleText::variables(const Rule& rule, const Bindings& bindings) const {
  const std::vector<StructureId> structures = structures_of_variables(*program_, rule);
  std::vector<std::string> texts;
  std::vector<bool> is_known;
  for (VariableId v = 0; v < rule.variables.size(); ++v) {
    const Variable& each = rule.variables[v];
    is_known.push_back(has_value(bindings, v));
    texts.push_back(is_known[v]           ? value(each.kind, structures[v], *bindings[v])
                    : each.name[0] == '_' ? "_"
                                          : each.name);
    if (texts[v] == kUnknownRecord) is_known[v] = false;
  }
  put_in_lifted(rule, lifted_out_of_literals(rule), is_known, texts);
  for (const Literal& each : rule.body)
    if (const auto made = record_equation(each);
        made && texts[made->variable] == kUnknownRecord && has_value(bindings, made->variable))
      texts[made->variable] = print_expression(*made->record, texts);
  return texts;
}

// Puts expressions, aggregates and ranges in the place of lifted variables without values.
void TupleText::put_in_lifted(const Rule& rule, std::span<const LiftedVariable> lifted,
                              const std::vector<bool>& is_known,
                              std::vector<std::string>& texts) const {
  for (const LiftedVariable& each : lifted) {
    if (is_known[each.variable]) continue;
    if (each.expression != nullptr) {
      texts[each.variable] = print_expression(*each.expression, texts);
      continue;
    }
    const std::string text = print_literal(*program_, as_written(rule, *each.computing), texts);
    const std::string made = text.substr(texts[each.variable].size() + 3);  // behind " = "
    texts[each.variable] =
        each.computing->kind == LiteralKind::kAggregate ? '(' + made + ')' : made;
  }
}

// The body of a rule, in which most variables have no values.
std::string TupleText::body_of(const Rule& rule, const std::vector<bool>& is_known,
                               std::vector<std::string>& texts) const {
  put_in_lifted(rule, lifted_variables(rule.body, rule.variables), is_known, texts);
  std::string body;
  for (const Literal* each : shown_without_values(rule.body, rule.variables))
    body += (body.empty() ? "" : ", ") + print(rule, *each, texts);
  return body;
}

// The atom that stands in the source where one of a projection is, which has no column for `_`
// (language/aggregate_projections.h).
Atom TupleText::before_projection(const Atom& atom) const {
  const auto rule = std::ranges::find_if(
      program_->rules, [&](const Rule& each) { return each.head == atom.relation; });
  if (rule == program_->rules.end() || rule->body.size() != 1 || !reads_atom(rule->body[0]))
    return atom;
  Atom source = rule->body[0].atom;
  for (Argument& argument : source.arguments) {
    if (argument.kind != ArgumentKind::kVariable) continue;
    for (std::size_t c = 0; c < rule->head_arguments.size(); ++c)
      if (rule->head_arguments[c].variable == argument.variable) {
        argument = atom.arguments[c];
        break;
      }
  }
  return is_made_relation(program_->relations[source.relation]) ? before_projection(source)
                                                                : source;
}

// An aggregate without what the compiler changed in its body.
Literal TupleText::as_written(const Rule& rule, const Literal& literal) const {
  if (literal.kind != LiteralKind::kAggregate) return literal;
  auto aggregate = std::make_shared<Aggregate>(*literal.aggregate);
  aggregate->body.clear();
  for (const Literal* each : shown_without_values(literal.aggregate->body, rule.variables)) {
    Literal& inner = aggregate->body.emplace_back(as_written(rule, *each));
    if (inner.kind == LiteralKind::kAtom &&
        is_made_relation(program_->relations[inner.atom.relation]))
      inner.atom = before_projection(inner.atom);
  }
  Literal written = literal;
  written.aggregate = std::move(aggregate);
  return written;
}

std::string TupleText::print(const Rule& rule, const Literal& literal,
                             const std::vector<std::string>& texts) const {
  if (literal.kind == LiteralKind::kAtom &&
      is_made_relation(program_->relations[literal.atom.relation]))
    return made_atom(literal.atom, texts);
  std::string text = print_literal(*program_, as_written(rule, literal), texts);
  if (literal.kind != LiteralKind::kRange) return text;
  const std::string& value = texts[literal.range->variable];
  return fmt::format("{} is one of {}", value, text.substr(value.size() + 3));  // behind " = "
}

// `51 = sum s : { holds("a", _, "d", s) }`
std::string TupleText::aggregate(const Atom& atom, const std::vector<std::string>& texts) const {
  const auto& sums = program_->relations[atom.relation].sums;
  const RelationId terms = sums ? sums->terms : atom.relation;
  const auto& rules = program_->rules;
  const auto rule = std::ranges::find_if(
      rules, [&](const Rule& r) { return r.head == terms && r.role == RuleRole::kDerives; });
  const auto keeps = std::ranges::find_if(rules, [&](const Rule& r) {
    return r.head == atom.relation && r.role == RuleRole::kSubsumes;
  });
  std::vector<std::string> names = variables(*rule, {});
  std::vector<bool> is_known(names.size(), false);
  for (std::size_t c = 0; c + 1 < atom.arguments.size(); ++c)
    if (const Expression& key = rule->head_arguments[c];
        key.kind == ExpressionKind::kVariable &&
        atom.arguments[c].kind == ArgumentKind::kVariable) {
      names[key.variable] = texts[atom.arguments[c].variable];
      is_known[key.variable] = true;
    }
  const std::string body = body_of(*rule, is_known, names);
  const Expression& value = rule->head_arguments.back();
  std::string function = "count";
  if (sums && !sums->counts && value.kind != ExpressionKind::kConstant)
    function = "sum " + print_expression(value, names);
  else if (!sums)
    function = (keeps->body.back().comparison == Comparison::kLess ? "min " : "max ") +
               print_expression(value, names);
  return fmt::format("{} = {} : {{ {} }}", texts[atom.arguments.back().variable], function, body);
}

// What stands in the source where an atom of a made relation is.
std::string TupleText::made_atom(const Atom& atom, const std::vector<std::string>& texts) const {
  const Relation& relation = program_->relations[atom.relation];
  if (relation.numbering) return texts[atom.arguments.back().variable] + " = autoinc()";
  if (shrinks(relation)) return aggregate(atom, texts);
  const auto rule = std::ranges::find_if(
      program_->rules, [&](const Rule& each) { return each.head == atom.relation; });
  if (rule == program_->rules.end()) return {};
  std::vector<std::string> names = variables(*rule, {});
  return body_of(*rule, std::vector<bool>(names.size(), false), names);
}

std::string TupleText::literal(const Rule& rule, const Literal& literal,
                               const Bindings& bindings) const {
  return print(rule, literal, variables(rule, bindings));
}

}  // namespace stratalog::datalog
