// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/variable_structures.h"

#include <utility>

#include "datalog/plan/literal_order.h"
#include "datalog/prove/written_body.h"

namespace stratalog::datalog {
namespace {

class StructureFinder {
 public:
  StructureFinder(const Program& program, std::size_t variables)
      : program_(program), found_(variables, kNoStructure) {}

  void look_at_head(const Rule& rule) {
    const auto& attributes = program_.relations[rule.head].attributes;
    for (std::size_t c = 0; c < rule.head_arguments.size() && c < attributes.size(); ++c)
      if (rule.head_arguments[c].kind == ExpressionKind::kVariable)
        take(rule.head_arguments[c].variable, attributes[c].structure);
  }
  void look_at_atoms(const Literal& literal) {
    if (literal.aggregate)
      for (const Literal& inner : literal.aggregate->body) look_at_atoms(inner);
    if (!reads_atom(literal)) return;
    const auto& attributes = program_.relations[literal.atom.relation].attributes;
    for (std::size_t c = 0; c < literal.atom.arguments.size(); ++c)
      if (literal.atom.arguments[c].kind == ArgumentKind::kVariable)
        take(literal.atom.arguments[c].variable, attributes[c].structure);
  }
  // Hands on what is known by now. Whether that was anything new.
  bool look_at_equations(const Literal& literal) {
    bool is_new = false;
    if (literal.aggregate)
      for (const Literal& inner : literal.aggregate->body) is_new |= look_at_equations(inner);
    if (equates_two_variables(literal)) {
      is_new |= take(literal.left.variable, found_[literal.right.variable]);
      is_new |= take(literal.right.variable, found_[literal.left.variable]);
    }
    if (const auto equation = record_equation(literal))
      is_new |= look_into_record(found_[equation->variable], *equation->record);
    return is_new;
  }

  std::vector<StructureId> found() && { return std::move(found_); }

 private:
  bool take(VariableId variable, StructureId structure) {
    if (structure == kNoStructure || found_[variable] != kNoStructure) return false;
    found_[variable] = structure;
    return true;
  }

  bool look_into_record(StructureId id, const Expression& record) {
    if (id == kNoStructure) return false;
    const std::vector<Branch>& branches = (*program_.structures)[id].branches;
    const std::size_t before = record.text.empty() ? 0 : 1;  // the number of the branch
    const std::uint64_t number = before == 0 ? 0 : record.arguments[0].bits;
    if (number >= branches.size()) return false;
    const std::vector<Attribute>& fields = branches[number].fields;
    bool is_new = false;
    for (std::size_t f = 0; f < fields.size() && f + before < record.arguments.size(); ++f)
      if (const Expression& field = record.arguments[f + before];
          field.kind == ExpressionKind::kVariable)
        is_new |= take(field.variable, fields[f].structure);
      else if (field.kind == ExpressionKind::kFunctor && field.functor == Functor::kPack)
        is_new |= look_into_record(fields[f].structure, field);
    return is_new;
  }

  const Program& program_;
  std::vector<StructureId> found_;
};

}  // namespace

std::vector<StructureId> structures_of_variables(const Program& program, const Rule& rule) {
  StructureFinder finder(program, rule.variables.size());
  finder.look_at_head(rule);
  for (const Literal& each : rule.body) finder.look_at_atoms(each);
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const Literal& each : rule.body) is_new |= finder.look_at_equations(each);
  }
  return std::move(finder).found();
}

}  // namespace stratalog::datalog
