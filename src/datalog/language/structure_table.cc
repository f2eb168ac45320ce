// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/structure_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/declarations.h"
#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

bool is_structure(const TypeSyntax& syntax) {
  return syntax.form == TypeForm::kRecord || syntax.form == TypeForm::kAlgebraic;
}

StructureForm form_of(const TypeSyntax& syntax) {
  if (syntax.form == TypeForm::kRecord) return StructureForm::kRecord;
  return is_enumeration(syntax) ? StructureForm::kEnumeration : StructureForm::kAlgebraic;
}

// All that cells tell apart.
ValueKind cell_kind(ValueKind kind) {
  return kind == ValueKind::kSymbol || kind == ValueKind::kRecord ? kind : ValueKind::kNumber;
}

// Values of algebraic data types begin with the number of their branch.
std::vector<ValueKind> kinds_of(StructureForm form, const Branch& branch) {
  std::vector<ValueKind> kinds;
  if (form == StructureForm::kAlgebraic) kinds.push_back(ValueKind::kNumber);
  for (const Attribute& field : branch.fields) kinds.push_back(field.kind);
  return kinds;
}

}  // namespace

bool is_enumeration(const TypeSyntax& syntax) {
  return syntax.form == TypeForm::kAlgebraic &&
         std::all_of(syntax.branches.begin(), syntax.branches.end(),
                     [](const BranchSyntax& branch) { return branch.fields.empty(); });
}

StructureTable::StructureTable(const ProgramSyntax& syntax, const TypeTable& types,
                               DiagnosticSink& sink) {
  number_types(syntax, types);
  for (const TypeSyntax& type : syntax.types) {
    if (is_structure(type) && types.declaration(type.name.name) == &type)
      build(ids_.at(type.name.name), type, types, sink);
  }
}

void StructureTable::number_types(const ProgramSyntax& syntax, const TypeTable& types) {
  for (const TypeSyntax& type : syntax.types) {
    if (!is_structure(type) || types.declaration(type.name.name) != &type) continue;
    ids_[type.name.name] = static_cast<StructureId>(structures_.size());
    Structure& structure = structures_.emplace_back();
    structure.name = type.name.name;
    structure.form = form_of(type);
  }
  if (structures_.empty()) return;
  for (const TypeSyntax& type : syntax.types) {
    const TypeSyntax* base = types.declaration(type.name.name);
    while (base != nullptr && (base->form == TypeForm::kAlias || base->form == TypeForm::kSubtype))
      base = types.declaration(base->members[0].name);
    if (base != nullptr && is_structure(*base))
      ids_.emplace(type.name.name, ids_.at(base->name.name));
  }
}

Branch StructureTable::build_branch(const BranchSyntax& syntax, const TypeTable& types,
                                    DiagnosticSink& sink) {
  Branch branch;
  branch.name = syntax.name.name;
  std::map<std::string, Span> seen;
  for (const AttributeSyntax& field : syntax.fields) {
    const auto [first, is_first] = seen.emplace(field.name.name, field.name.span);
    if (!is_first) {
      sink.error(field.name.span, fmt::format("field `{}` is declared twice", field.name.name))
          .notes.push_back({first->second, "the first one is here"});
    }
    const std::optional<ValueKind> kind = types.kind_of(field.type.name);
    if (!kind.has_value()) types.report_unknown(field.type, sink);
    branch.fields.push_back(
        {field.name.name, field.type.name, kind.value_or(ValueKind::kNumber), of(field.type.name)});
  }
  return branch;
}

void StructureTable::build(StructureId id, const TypeSyntax& syntax, const TypeTable& types,
                           DiagnosticSink& sink) {
  Structure& structure = structures_[id];
  for (const BranchSyntax& each : syntax.branches) {
    structure.branches.push_back(build_branch(each, types, sink));
    if (structure.form == StructureForm::kRecord) continue;
    const auto [first, is_first] = branch_spans_.emplace(each.name.name, each.name.span);
    if (!is_first) {
      sink.error(each.name.span, fmt::format("branch `{}` is declared twice", each.name.name))
          .notes.push_back({first->second, "the first one is here"});
    }
  }
  // Soufflé numbers branches by name.
  std::stable_sort(structure.branches.begin(), structure.branches.end(),
                   [](const Branch& a, const Branch& b) { return a.name < b.name; });
  for (std::uint32_t b = 0; b < structure.branches.size(); ++b) {
    Branch& branch = structure.branches[b];
    if (structure.form != StructureForm::kEnumeration)
      branch.shape = shape_of(kinds_of(structure.form, branch));
    if (structure.form != StructureForm::kRecord)
      branches_.emplace(branch.name, BranchPlace{.structure = id, .branch = b});
  }
}

std::uint32_t StructureTable::shape_of(const std::vector<ValueKind>& kinds) {
  std::vector<ValueKind> shape;
  shape.reserve(kinds.size());
  for (const ValueKind kind : kinds) shape.push_back(cell_kind(kind));
  const auto known = std::find(shapes_.begin(), shapes_.end(), shape);
  if (known != shapes_.end()) return static_cast<std::uint32_t>(known - shapes_.begin());
  shapes_.push_back(std::move(shape));
  return static_cast<std::uint32_t>(shapes_.size() - 1);
}

StructureId StructureTable::of(const std::string& type) const {
  const auto found = ids_.find(type);
  return found == ids_.end() ? kNoStructure : found->second;
}

std::optional<BranchPlace> StructureTable::find_branch(const std::string& name) const {
  const auto found = branches_.find(name);
  if (found == branches_.end()) return std::nullopt;
  return found->second;
}

std::string StructureTable::suggest_branch(const std::string& name) const {
  std::vector<std::string> names;
  names.reserve(branches_.size());
  for (const auto& [known, place] : branches_) names.push_back(known);
  return suggest(name, names);
}

std::string StructureTable::describe(StructureId id) const {
  const Structure& structure = structures_[id];
  return fmt::format("{} `{}`",
                     structure.form == StructureForm::kRecord ? "the record type" : "the type",
                     structure.name);
}

}  // namespace stratalog::datalog::language
