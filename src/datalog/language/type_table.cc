// SPDX-License-Identifier: Apache-2.0
// Resolution of type names: subtypes, aliases and unions reduce to one primitive kind; cycles and
// mixtures are errors.
#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/declarations.h"
#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

struct Primitive {
  std::string_view name;
  ValueKind kind;
};

constexpr Primitive kPrimitives[] = {
    {"number", ValueKind::kNumber},
    {"unsigned", ValueKind::kUnsigned},
    {"float", ValueKind::kFloat},
    {"symbol", ValueKind::kSymbol},
};

}  // namespace

std::string_view kind_name(ValueKind kind) {
  if (kind == ValueKind::kRecord) return "record";
  return kPrimitives[static_cast<std::size_t>(kind)].name;
}

TypeTable::TypeTable(const ProgramSyntax& syntax, DiagnosticSink& sink)
    : broken_(syntax.broken_types) {
  for (const Primitive& primitive : kPrimitives) {
    types_[std::string(primitive.name)] = {nullptr, primitive.kind, Declared::State::kDone};
  }
  has_declared_types_ = !syntax.types.empty();
  for (const TypeSyntax& type : syntax.types) {
    const auto [entry, is_new] = types_.try_emplace(type.name.name);
    if (is_new) {
      entry->second.syntax = &type;
      continue;
    }
    if (entry->second.syntax == nullptr) {
      sink.error(type.name.span,
                 fmt::format("`{}` is a predefined type and cannot be declared", type.name.name));
      continue;
    }
    sink.error(type.name.span, fmt::format("type `{}` is declared twice", type.name.name))
        .notes.push_back({entry->second.syntax->name.span, "the first declaration is here"});
  }
  resolve_all(sink);
  structures_ = StructureTable(syntax, *this, sink);
}

void TypeTable::resolve_all(DiagnosticSink& sink) {
  for (auto& [name, type] : types_) {
    if (type.state == Declared::State::kNew) resolve(type, sink);
  }
}

// Depth-first without recursion: chains of types may be long.
void TypeTable::resolve(Declared& root, DiagnosticSink& sink) {
  struct Frame {
    Declared* type;
    std::size_t next = 0;
  };
  std::vector<Frame> stack{{&root}};
  root.state = Declared::State::kOpen;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const std::vector<NameSyntax>& members = frame.type->syntax->members;
    if (frame.next == members.size()) {
      conclude(*frame.type, sink);
      frame.type->state = Declared::State::kDone;
      stack.pop_back();
      continue;
    }
    const NameSyntax& member = members[frame.next++];
    const auto found = types_.find(member.name);
    if (found == types_.end()) {
      report_unknown(member, sink);
      broken_.insert(frame.type->syntax->name.name);
      continue;
    }
    Declared& next = found->second;
    if (next.state == Declared::State::kOpen) {
      const std::string& name = frame.type->syntax->name.name;
      DiagnosticDraft& draft = sink.error(frame.type->syntax->name.span,
                                          fmt::format("type `{}` is defined through itself", name));
      const auto first =
          std::find_if(stack.begin(), stack.end(), [&](const Frame& f) { return f.type == &next; });
      for (auto it = first; it + 1 < stack.end() && draft.notes.size() < 10; ++it) {
        draft.notes.push_back({it->type->syntax->name.span,
                               fmt::format("by way of `{}`", it->type->syntax->name.name)});
      }
      for (auto it = first; it != stack.end(); ++it) broken_.insert(it->type->syntax->name.name);
    } else if (next.state == Declared::State::kNew) {
      next.state = Declared::State::kOpen;
      stack.push_back({&next});
    }
  }
}

// Also by way of aliases, which are resolved when this is asked.
bool TypeTable::is_union(const std::string& name) const {
  const TypeSyntax* syntax = declaration(name);
  while (syntax != nullptr && syntax->form == TypeForm::kAlias)
    syntax = declaration(syntax->members[0].name);
  return syntax != nullptr && syntax->form == TypeForm::kUnion;
}

// Records are no base of subtypes, and nothing structured is a member of unions, as in Soufflé.
bool TypeTable::check_bases(const TypeSyntax& syntax, DiagnosticSink& sink) const {
  for (const NameSyntax& member : syntax.members) {
    const TypeSyntax* base = declaration(member.name);
    while (base != nullptr && base->form == TypeForm::kAlias)
      base = declaration(base->members[0].name);
    if (base == nullptr) continue;
    const bool is_record = base->form == TypeForm::kRecord;
    if (syntax.form == TypeForm::kSubtype && is_record) {
      sink.error(member.span,
                 fmt::format("`{}` is a record type and cannot have subtypes", member.name))
          .hint =
          fmt::format("`.type {} = {}` gives it another name", syntax.name.name, member.name);
      return false;
    }
    if (syntax.form == TypeForm::kUnion && (is_record || base->form == TypeForm::kAlgebraic)) {
      sink.error(member.span, fmt::format("`{}` is a {} and cannot be part of a union", member.name,
                                          is_record ? "record type" : "algebraic data type"))
          .hint = "a union of structured types is an algebraic data type: give each its own branch";
      return false;
    }
  }
  return true;
}

// All members are known now: they must agree in kind.
void TypeTable::conclude(Declared& type, DiagnosticSink& sink) {
  const std::string& name = type.syntax->name.name;
  if (broken_.contains(name)) return;
  if (type.syntax->form == TypeForm::kRecord || type.syntax->form == TypeForm::kAlgebraic) {
    type.kind = is_enumeration(*type.syntax) ? ValueKind::kNumber : ValueKind::kRecord;
    return;
  }
  if (type.syntax->form != TypeForm::kAlias && !check_bases(*type.syntax, sink)) {
    broken_.insert(name);
    return;
  }
  if (type.syntax->form == TypeForm::kSubtype && is_union(type.syntax->members[0].name)) {
    sink.error(type.syntax->members[0].span, fmt::format("`{}` is a union and cannot have subtypes",
                                                         type.syntax->members[0].name));
    broken_.insert(name);
    return;
  }
  const NameSyntax* first = nullptr;
  for (const NameSyntax& member : type.syntax->members) {
    const std::optional<ValueKind> kind = kind_of(member.name);
    if (!kind.has_value()) {
      broken_.insert(name);
      return;
    }
    if (first == nullptr) {
      first = &member;
      type.kind = kind;
    } else if (*kind != *type.kind) {
      sink.error(member.span,
                 fmt::format("union type `{}` mixes `{}` (a {}) and `{}` (a {})", name, first->name,
                             kind_name(*type.kind), member.name, kind_name(*kind)));
      broken_.insert(name);
      return;
    }
  }
}

std::optional<ValueKind> TypeTable::kind_of(const std::string& name) const {
  const auto found = types_.find(name);
  if (found == types_.end() || broken_.contains(name)) return std::nullopt;
  return found->second.kind;
}

const TypeSyntax* TypeTable::declaration(const std::string& name) const {
  const auto found = types_.find(name);
  return found == types_.end() || broken_.contains(name) ? nullptr : found->second.syntax;
}

std::string TypeTable::suggestion(const std::string& name) const {
  std::vector<std::string> names;
  names.reserve(types_.size());
  for (const auto& [known, type] : types_) names.push_back(known);
  return suggest(name, names);
}

void TypeTable::report_unknown(const NameSyntax& name, DiagnosticSink& sink) const {
  if (is_broken(name.name)) return;
  DiagnosticDraft& draft = sink.error(name.span, fmt::format("unknown type `{}`", name.name));
  draft.hint = suggestion(name.name);
  if (draft.hint.empty()) {
    draft.hint =
        fmt::format("declare it with `.type {} <: number` (or unsigned, float, symbol)", name.name);
  }
}

}  // namespace stratalog::datalog::language
