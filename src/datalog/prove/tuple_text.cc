// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/tuple_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "datalog/facts/structured_text.h"
#include "datalog/language/print_program.h"
#include "datalog/prove/goal_text.h"
#include "datalog/prove/made_relations.h"
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

bool has_values(const Expression& e, const Bindings& bindings) {
  if (e.kind == ExpressionKind::kVariable)
    return e.variable < bindings.size() && bindings[e.variable].has_value();
  return std::all_of(e.arguments.begin(), e.arguments.end(),
                     [&](const Expression& argument) { return has_values(argument, bindings); });
}

// Variables have a kind but no type; the columns that they stand in have.
class StructureFinder {
 public:
  StructureFinder(const Program& program, std::size_t variables)
      : program_(program), found_(variables, kNoStructure) {}

  void look_at(const Literal& literal) {
    if (reads_atom(literal)) {
      const auto& attributes = program_.relations[literal.atom.relation].attributes;
      for (std::size_t c = 0; c < literal.atom.arguments.size(); ++c)
        if (literal.atom.arguments[c].kind == ArgumentKind::kVariable)
          found_[literal.atom.arguments[c].variable] = attributes[c].structure;
    }
    if (literal.aggregate)
      for (const Literal& inner : literal.aggregate->body) look_at(inner);
  }
  void look_at_head(const Rule& rule) {
    const auto& attributes = program_.relations[rule.head].attributes;
    for (std::size_t c = 0; c < rule.head_arguments.size() && c < attributes.size(); ++c)
      if (rule.head_arguments[c].kind == ExpressionKind::kVariable)
        found_[rule.head_arguments[c].variable] = attributes[c].structure;
  }
  StructureId of(VariableId variable) const { return found_[variable]; }

 private:
  const Program& program_;
  std::vector<StructureId> found_;
};

}  // namespace

std::string TupleText::value(ValueKind kind, StructureId structure, Cell cell) const {
  const bool is_final =
      kind == ValueKind::kRecord ? !is_provisional_record(cell) : !is_wide_cell(cell);
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

std::string TupleText::value_of(RelationId relation, Cell cell) const {
  const Attribute& first = program_->relations[relation].attributes.front();
  return value(first.kind, first.structure, cell);
}

std::string TupleText::number(RelationId numbered, Cell cell) const {
  const Attribute& last = program_->relations[numbered].attributes.back();
  return fmt::format("{} = autoinc()", value(last.kind, last.structure, cell));
}

std::vector<std::string> TupleText::variables(const Rule& rule, const Bindings& bindings) const {
  StructureFinder structures(*program_, rule.variables.size());
  structures.look_at_head(rule);
  for (const Literal& each : rule.body) structures.look_at(each);
  std::vector<std::string> texts;
  texts.reserve(rule.variables.size());
  for (VariableId v = 0; v < rule.variables.size(); ++v) {
    const Variable& variable = rule.variables[v];
    if (v < bindings.size() && bindings[v])
      texts.push_back(value(variable.kind, structures.of(v), *bindings[v]));
    else
      texts.push_back(variable.name.starts_with('_') ? "_" : variable.name);
  }
  for (const Literal& each : rule.body) {
    const bool makes =
        each.kind == LiteralKind::kComparison && each.comparison == Comparison::kEqual &&
        each.left.kind == ExpressionKind::kVariable &&
        each.right.kind == ExpressionKind::kFunctor && each.right.functor == Functor::kPack;
    if (!makes) continue;
    const VariableId made = each.left.variable;
    const bool is_bound = made < bindings.size() && bindings[made];
    if (is_bound ? texts[made] != kUnknownRecord : !has_values(each.right, bindings)) continue;
    texts[made] =
        print_literal(*program_, each, texts).substr(texts[made].size() + 3);  // behind " = "
  }
  return texts;
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
  for (std::size_t c = 0; c + 1 < atom.arguments.size(); ++c)
    if (const Expression& key = rule->head_arguments[c];
        key.kind == ExpressionKind::kVariable && atom.arguments[c].kind == ArgumentKind::kVariable)
      names[key.variable] = texts[atom.arguments[c].variable];
  std::string body;
  for (const Literal& each : rule->body)
    body += (body.empty() ? "" : ", ") + print_literal(*program_, each, names);
  const Expression& value = rule->head_arguments.back();
  std::string function = "count";
  if (sums && !sums->counts && value.kind != ExpressionKind::kConstant)
    function = "sum " + print_expression(*rule, value);
  else if (!sums)
    function = (keeps->body.back().comparison == Comparison::kLess ? "min " : "max ") +
               print_expression(*rule, value);
  return fmt::format("{} = {} : {{ {} }}", texts[atom.arguments.back().variable], function, body);
}

// What stands in the source where an atom of a made relation is.
std::string TupleText::made_atom(const Atom& atom, const std::vector<std::string>& texts) const {
  const Relation& relation = program_->relations[atom.relation];
  if (relation.numbering) return texts[atom.arguments.back().variable] + " = autoinc()";
  if (shrinks(relation)) return aggregate(atom, texts);
  std::string text;
  for (const Rule& rule : program_->rules) {
    if (rule.head != atom.relation) continue;
    for (const Literal& each : rule.body)
      text += (text.empty() ? "" : ", ") + literal(rule, each, {});
    break;
  }
  return text;
}

std::string TupleText::literal(const Rule& rule, const Literal& literal,
                               const Bindings& bindings) const {
  std::vector<std::string> texts = variables(rule, bindings);
  if (literal.kind == LiteralKind::kAtom &&
      is_made_relation(program_->relations[literal.atom.relation]))
    return made_atom(literal.atom, texts);
  std::string text = print_literal(*program_, literal, texts);
  if (literal.kind != LiteralKind::kRange) return text;
  const std::string& value = texts[literal.range->variable];
  return fmt::format("{} is one of {}", value, text.substr(value.size() + 3));  // behind " = "
}

}  // namespace stratalog::datalog
