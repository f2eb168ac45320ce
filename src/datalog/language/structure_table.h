// SPDX-License-Identifier: Apache-2.0
// StructureTable: the record types and algebraic data types of a program, with the kinds of their
// fields and the shapes that their records share. Built once all type names are resolved. Local.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

class TypeTable;

struct BranchPlace {
  StructureId structure = kNoStructure;
  std::uint32_t branch = 0;  // into Structure::branches
};

class StructureTable {
 public:
  // Empty.
  StructureTable() = default;
  // Reports fields of unknown types, and fields and branches of the same name.
  StructureTable(const ProgramSyntax& syntax, const TypeTable& types, DiagnosticSink& sink);

  // Of a type by its name, also by way of aliases and subtypes; kNoStructure for other types.
  StructureId of(const std::string& type) const;
  const Structure& at(StructureId id) const { return structures_[id]; }
  std::optional<BranchPlace> find_branch(const std::string& name) const;
  // "did you mean ...?", or empty.
  std::string suggest_branch(const std::string& name) const;
  // "the record type `List`" or "the type `Shape`".
  std::string describe(StructureId id) const;

  // The shape of records with fields of these kinds, a new one where it is not known.
  std::uint32_t shape_of(const std::vector<ValueKind>& kinds);

  const std::vector<Structure>& structures() const { return structures_; }
  const std::vector<std::vector<ValueKind>>& shapes() const { return shapes_; }

 private:
  void number_types(const ProgramSyntax& syntax, const TypeTable& types);
  Branch build_branch(const BranchSyntax& syntax, const TypeTable& types, DiagnosticSink& sink);
  void build(StructureId id, const TypeSyntax& syntax, const TypeTable& types,
             DiagnosticSink& sink);

  std::vector<Structure> structures_;
  std::map<std::string, StructureId> ids_;  // also aliases and subtypes
  std::map<std::string, BranchPlace> branches_;
  std::map<std::string, Span> branch_spans_;
  std::vector<std::vector<ValueKind>> shapes_;
};

}  // namespace stratalog::datalog::language
