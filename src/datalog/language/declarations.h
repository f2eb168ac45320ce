// SPDX-License-Identifier: Apache-2.0
// Declarations: the types and relations of a program, resolved and checked: every name known, every
// type reduced to one of the kinds, IO directives attached to their relations. Rules are not
// looked at. Local.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/structure_table.h"
#include "datalog/language/syntax.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

std::string_view kind_name(ValueKind kind);

// An algebraic data type without any fields: its values are numbers.
bool is_enumeration(const TypeSyntax& syntax);

// The declared types by name, each with its kind. The four primitive types are always there.
class TypeTable {
 public:
  TypeTable(const ProgramSyntax& syntax, DiagnosticSink& sink);

  // Nothing for unknown names and for types that were reported as broken.
  std::optional<ValueKind> kind_of(const std::string& name) const;
  bool is_broken(const std::string& name) const { return broken_.contains(name); }
  // "did you mean ...?", or empty.
  std::string suggestion(const std::string& name) const;
  // The declaration of a type that is neither primitive, unknown nor broken; null otherwise.
  const TypeSyntax* declaration(const std::string& name) const;
  // The record types and algebraic data types.
  const StructureTable& structures() const { return structures_; }
  StructureTable& structures() { return structures_; }
  // Whether any type beyond the primitive ones was declared.
  bool has_declared_types() const { return has_declared_types_; }
  // Reports an unknown type unless the name is known to be broken.
  void report_unknown(const NameSyntax& name, DiagnosticSink& sink) const;

 private:
  struct Declared {
    const TypeSyntax* syntax = nullptr;
    std::optional<ValueKind> kind;
    enum class State : std::uint8_t { kNew, kOpen, kDone } state = State::kNew;
  };
  void resolve_all(DiagnosticSink& sink);
  void resolve(Declared& root, DiagnosticSink& sink);
  bool is_union(const std::string& name) const;
  bool check_bases(const TypeSyntax& syntax, DiagnosticSink& sink) const;
  void conclude(Declared& type, DiagnosticSink& sink);

  std::map<std::string, Declared> types_;
  std::set<std::string> broken_;
  bool has_declared_types_ = false;
  StructureTable structures_;
};

struct DeclaredFunctor {
  ExternalFunctor functor;  // place is filled in by compile()
  Span span;  // of its name
};

struct Declarations {
  std::vector<Relation> relations;  // place is filled in by compile()
  std::vector<Span> spans;  // of the declared names
  std::vector<std::vector<Span>> attribute_spans;
  std::vector<std::vector<Span>> io_spans;  // of the directives, parallel to Relation::io
  std::map<std::string, RelationId> ids;
  std::vector<DeclaredFunctor> functors;
  std::set<std::string> broken_functors;  // as `broken`
  const StructureTable* structures = nullptr;  // of the types; never null
  // Rules that mention these are given up silently; the reason was reported already.
  std::set<std::string> broken;
  std::vector<std::string> names;  // for suggestions
  bool has_unknown_names = false;  // see ProgramSyntax
};

// Declares a relation that only the compiler uses: NAME#ID, still without attributes. `span`: what
// it was made for.
RelationId add_made_relation(std::string_view name, Span span, Declarations& declarations);
// The same, with the columns of `of`, of which it is a part.
RelationId add_made_part(RelationId of, Declarations& declarations);

Declarations resolve_declarations(const ProgramSyntax& syntax, const TypeTable& types,
                                  DiagnosticSink& sink);

// The same without some relations; the others are numbered anew, in the same order.
Declarations without(const Declarations& declarations, const std::set<std::string>& names);

}  // namespace stratalog::datalog::language
