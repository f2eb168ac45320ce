// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/subtype_check.h"

#include <fmt/format.h>

#include <optional>

namespace stratalog::datalog::language {
namespace {

class SubtypeCheck {
 public:
  SubtypeCheck(const BoundRule& rule, const InferredKinds& kinds, const Declarations& declarations,
               SubtypeLattice& lattice, DiagnosticSink& sink)
      : rule_(rule),
        kinds_(kinds),
        declarations_(declarations),
        lattice_(lattice),
        sink_(sink),
        known_(rule.variables.size()) {}

  void run() {
    narrow_by_atoms(rule_.body);
    narrow_by_records(rule_.body);
    for (const BoundTerm& term : rule_.head_arguments) narrow_by_records(term);
    for (bool changed = true; changed;) changed = narrow_by_equations(rule_.body);
    const Relation& head = declarations_.relations[rule_.head];
    for (std::size_t i = 0; i < rule_.head_arguments.size(); ++i)
      check_head(rule_.head_arguments[i], head, i);
  }

 private:
  struct Known {
    std::optional<TypeLeaves> leaves;  // nothing: not bound by any atom, fits everywhere
    Span span;  // of the use that gave it its type
    std::string type;  // as declared there
    bool is_reported = false;
  };

  // Returns whether the variable's type changed.
  bool narrow(VariableId variable, const TypeLeaves& leaves, Span span, const std::string& type) {
    Known& known = known_[variable];
    if (!known.leaves) {
      known = {leaves, span, type, false};
      return true;
    }
    TypeLeaves both = lattice_.meet(*known.leaves, leaves);
    if (both == *known.leaves || known.is_reported) return false;
    if (both.empty()) {
      known.is_reported = true;
      const BoundVariable& bound = rule_.variables[variable];
      DiagnosticDraft& draft = sink_.error(
          span,
          fmt::format(
              "`{}` would have to be of the types `{}` and `{}`, which have nothing in common",
              bound.is_lifted ? "this expression" : bound.name, known.type, type));
      draft.notes.push_back({known.span, fmt::format("of type `{}` here", known.type)});
      draft.hint = fmt::format("`as({}, {})` converts between them",
                               bound.is_lifted ? "..." : bound.name, type);
      return false;
    }
    known.leaves = std::move(both);
    known.span = span;
    known.type = type;
    return true;
  }

  void narrow_by_atoms(const std::vector<BoundLiteral>& literals) {
    for (const BoundLiteral& literal : literals) {
      if (literal.kind == LiteralKind::kAggregate) narrow_by_atoms(literal.aggregate->body);
      if (literal.kind != LiteralKind::kAtom) continue;
      const Relation& relation = declarations_.relations[literal.atom.relation];
      for (std::size_t i = 0; i < literal.atom.arguments.size(); ++i) {
        const BoundTerm& argument = literal.atom.arguments[i];
        if (argument.kind != BoundTermKind::kVariable) continue;
        const std::string& type = relation.attributes[i].type_name;
        narrow(argument.variable, lattice_.leaves(type), argument.span, type);
      }
    }
  }

  // The fields of a record have the types that they are declared with.
  void narrow_by_records(const BoundTerm& term) {
    for (const BoundTerm& argument : term.arguments) narrow_by_records(argument);
    const StructureId id = kinds_.structures[term.node];
    if (term.kind != BoundTermKind::kFunctor || term.functor != Functor::kPack ||
        id == kNoStructure)
      return;
    const StructureTable& structures = *declarations_.structures;
    std::uint32_t which = 0;
    if (term.record->kind == TermKind::kBranch)
      which = structures.find_branch(term.record->type.name)->branch;
    const Branch& branch = structures.at(id).branches[which];
    for (std::size_t i = 0; i < term.arguments.size(); ++i) {
      const BoundTerm& argument = term.arguments[i];
      if (argument.kind != BoundTermKind::kVariable) continue;
      const std::string& type = branch.fields[i].type_name;
      narrow(argument.variable, lattice_.leaves(type), argument.span, type);
    }
  }

  void narrow_by_records(const std::vector<BoundLiteral>& literals) {
    for (const BoundLiteral& literal : literals) {
      if (literal.kind == LiteralKind::kAggregate) {
        narrow_by_records(literal.aggregate->body);
        if (literal.aggregate->target) narrow_by_records(*literal.aggregate->target);
      } else if (literal.kind == LiteralKind::kComparison) {
        narrow_by_records(literal.left);
        narrow_by_records(literal.right);
      }
    }
  }

  bool share(VariableId a, VariableId b, Span span) {
    bool changed = false;
    if (known_[a].is_reported || known_[b].is_reported) return false;
    if (known_[a].leaves)
      changed = narrow(b, TypeLeaves(*known_[a].leaves), span, std::string(known_[a].type));
    if (known_[b].leaves && !known_[b].is_reported) {
      changed =
          narrow(a, TypeLeaves(*known_[b].leaves), span, std::string(known_[b].type)) || changed;
    }
    return changed;
  }

  bool narrow_by_equations(const std::vector<BoundLiteral>& literals) {
    bool changed = false;
    for (const BoundLiteral& literal : literals) {
      if (literal.kind == LiteralKind::kAggregate) {
        const BoundAggregate& aggregate = *literal.aggregate;
        changed = narrow_by_equations(aggregate.body) || changed;
        if (aggregate.target && aggregate.target->kind == BoundTermKind::kVariable) {
          changed = share(aggregate.result, aggregate.target->variable, literal.span) || changed;
        }
      }
      if (literal.kind != LiteralKind::kComparison || literal.comparison != Comparison::kEqual)
        continue;
      changed = equate(literal.left, literal.right, literal.span) || changed;
      changed = equate(literal.right, literal.left, literal.span) || changed;
    }
    return changed;
  }

  bool equate(const BoundTerm& side, const BoundTerm& other, Span span) {
    if (side.kind != BoundTermKind::kVariable) return false;
    if (other.kind == BoundTermKind::kVariable) return share(side.variable, other.variable, span);
    if (other.cast == nullptr) return false;
    const std::string& type = other.cast->type.name;
    return narrow(side.variable, lattice_.leaves(type), other.span, type);
  }

  void check_head(const BoundTerm& term, const Relation& head, std::size_t index) {
    const Attribute& attribute = head.attributes[index];
    const TypeLeaves* leaves = nullptr;
    std::string type;
    Span origin = term.span;
    if (term.kind == BoundTermKind::kVariable && known_[term.variable].leaves &&
        !known_[term.variable].is_reported) {
      leaves = &*known_[term.variable].leaves;
      type = known_[term.variable].type;
      origin = known_[term.variable].span;
    } else if (term.cast != nullptr) {
      type = term.cast->type.name;
      leaves = &lattice_.leaves(type);
    }
    if (leaves == nullptr || lattice_.is_below(*leaves, lattice_.leaves(attribute.type_name)))
      return;
    DiagnosticDraft& draft = sink_.error(
        term.span, fmt::format("type `{}` does not fit attribute `{}` of `{}`, which takes `{}`",
                               type, attribute.name, head.name, attribute.type_name));
    if (origin.begin != term.span.begin)
      draft.notes.push_back({origin, fmt::format("it is of type `{}` here", type)});
    draft.notes.push_back(
        {declarations_.attribute_spans[rule_.head][index], "the attribute is declared here"});
    draft.hint = fmt::format("`as(..., {})` converts if that is meant", attribute.type_name);
  }

  const BoundRule& rule_;
  const InferredKinds& kinds_;
  const Declarations& declarations_;
  SubtypeLattice& lattice_;
  DiagnosticSink& sink_;
  std::vector<Known> known_;
};

}  // namespace

void check_subtypes(const BoundRule& rule, const InferredKinds& kinds,
                    const Declarations& declarations, SubtypeLattice& lattice,
                    DiagnosticSink& sink) {
  SubtypeCheck(rule, kinds, declarations, lattice, sink).run();
}

}  // namespace stratalog::datalog::language
