// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/kind_inference.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <optional>

#include "datalog/language/functor_signature.h"
#include "datalog/language/kind_classes.h"

namespace stratalog::datalog::language {
namespace {

std::string_view comparison_name(Comparison comparison) {
  constexpr std::string_view kNames[] = {"=",  "!=",    "<",     "<=",       ">",
                                         ">=", "match", "match", "contains", "contains"};
  return kNames[static_cast<std::size_t>(comparison)];
}

std::string_view aggregate_name(AggregateFunction function) {
  constexpr std::string_view kNames[] = {"count", "sum", "min", "max", "mean", "@@"};
  return kNames[static_cast<std::size_t>(function)];
}

class Inference {
 public:
  Inference(BoundRule& rule, const Declarations& declarations, const TypeTable& types,
            std::string_view text, DiagnosticSink& sink)
      : rule_(rule),
        declarations_(declarations),
        types_(types),
        sink_(sink),
        classes_(types.structures(), text, sink) {}

  InferredKinds run() {
    for (std::size_t i = 0; i < rule_.variables.size(); ++i) classes_.make_node();
    for (BoundLiteral& literal : rule_.body) visit(literal);
    const Relation& head = declarations_.relations[rule_.head];
    for (std::size_t i = 0; i < rule_.head_arguments.size(); ++i) {
      visit_attribute(rule_.head_arguments[i], head, i);
    }
    resolve_records();
    return conclude();
  }

 private:
  void visit_attribute(BoundTerm& term, const Relation& relation, std::size_t index) {
    if (term.kind == BoundTermKind::kWildcard) return;
    visit(term);
    const Attribute& attribute = relation.attributes[index];
    classes_.narrow(term.node,
                    use_of(attribute, term.span,
                           fmt::format("as attribute `{}` of `{}`", attribute.name, relation.name)),
                    term.span);
  }

  // Of an Attribute or an ExternalType.
  template <typename Typed>
  static KindUse use_of(const Typed& typed, Span span, std::string role) {
    const bool is_structured = typed.structure != kNoStructure;
    return {is_structured ? kR : mask_of(typed.kind), span, std::move(role), typed.structure};
  }

  void visit(BoundLiteral& literal) {
    switch (literal.kind) {
      case LiteralKind::kAtom:
      case LiteralKind::kNegatedAtom: {
        const Relation& relation = declarations_.relations[literal.atom.relation];
        for (std::size_t i = 0; i < literal.atom.arguments.size(); ++i) {
          visit_attribute(literal.atom.arguments[i], relation, i);
        }
        return;
      }
      case LiteralKind::kComparison:
        visit_comparison(literal);
        return;
      case LiteralKind::kAggregate:
        visit_aggregate(*literal.aggregate, literal.span);
        return;
      case LiteralKind::kRange: {
        const std::string role = "as the result of `range`";
        classes_.narrow(literal.range->variable, {kN | kU | kF, literal.span, role}, literal.span);
        for (BoundTerm& bound : literal.range->bounds) {
          visit(bound);
          classes_.unite(literal.range->variable, bound.node, bound.span, "range");
        }
        return;
      }
    }
  }

  void visit_comparison(BoundLiteral& literal) {
    visit(literal.left);
    visit(literal.right);
    const std::string_view name = comparison_name(literal.comparison);
    if (searches_text(literal.comparison)) {
      const std::string role = fmt::format("as an argument of `{}`", name);
      classes_.narrow(literal.left.node, {kS, literal.left.span, role}, literal.left.span);
      classes_.narrow(literal.right.node, {kS, literal.right.span, role}, literal.right.span);
      return;
    }
    if (literal.comparison != Comparison::kEqual && literal.comparison != Comparison::kNotEqual) {
      const std::string role = fmt::format("as an operand of `{}`", name);
      classes_.narrow(literal.left.node, {kScalar, literal.left.span, role}, literal.left.span);
      classes_.narrow(literal.right.node, {kScalar, literal.right.span, role}, literal.right.span);
    }
    classes_.unite(literal.left.node, literal.right.node, literal.span, name);
  }

  void visit_aggregate(BoundAggregate& aggregate, Span span) {
    for (BoundLiteral& literal : aggregate.body) visit(literal);
    const std::string_view name = aggregate_name(aggregate.function);
    const std::string result_role = fmt::format("as the result of `{}`", name);
    if (aggregate.target) visit(*aggregate.target);
    if (aggregate.function == AggregateFunction::kCount) {
      classes_.narrow(aggregate.result, {kN, span, result_role}, span);
      return;
    }
    if (aggregate.function == AggregateFunction::kFold) {
      classes_.unite(aggregate.target->arguments[0].node, aggregate.target->node, span, name);
      classes_.unite(aggregate.result, aggregate.target->node, span, name);
      return;
    }
    const KindMask allowed = aggregate.function == AggregateFunction::kMean ? kF : kN | kU | kF;
    const Span target = aggregate.target->span;
    classes_.narrow(aggregate.target->node, {allowed, target, fmt::format("under `{}`", name)},
                    target);
    classes_.unite(aggregate.result, aggregate.target->node, span, name);
  }

  void visit(BoundTerm& term) {
    switch (term.kind) {
      case BoundTermKind::kWildcard:
        term.node = classes_.make_node();
        return;
      case BoundTermKind::kVariable:
        term.node = term.variable;
        return;
      case BoundTermKind::kConstant:
        visit_constant(term);
        return;
      case BoundTermKind::kFunctor:
        break;
    }
    for (BoundTerm& argument : term.arguments) visit(argument);
    term.node = classes_.make_node();
    if (term.functor == Functor::kReinterpret) {
      visit_cast(term);
      return;
    }
    if (term.functor == Functor::kPack) {
      visit_record(term);
      return;
    }
    if (term.functor == Functor::kExternal) {
      visit_external(term);
      return;
    }
    if (term.functor == Functor::kSubstr) {
      const std::string role = "as an argument of `substr`";
      constexpr KindMask kMasks[] = {kS, kN, kN};
      for (std::size_t i = 0; i < 3; ++i) {
        classes_.narrow(term.arguments[i].node, {kMasks[i], term.arguments[i].span, role},
                        term.arguments[i].span);
      }
      classes_.narrow(term.node, {kS, term.span, "as the result of `substr`"}, term.span);
      return;
    }
    const Signature signature = signature_of(term.functor);
    for (const BoundTerm& argument : term.arguments) {
      classes_.narrow(
          argument.node,
          {signature.operands, argument.span, fmt::format("as an operand of `{}`", signature.name)},
          argument.span);
      if (!signature.result.has_value())
        classes_.unite(term.node, argument.node, term.span, signature.name);
    }
    if (term.functor == Functor::kIteration) passes_.push_back(term.node);
    if (signature.result.has_value()) {
      classes_.narrow(
          term.node,
          {*signature.result, term.span, fmt::format("as the result of `{}`", signature.name)},
          term.span);
    }
  }

  void visit_external(BoundTerm& term) {
    const ExternalFunctor& functor = declarations_.functors[term.external].functor;
    for (std::size_t i = 0; i < term.arguments.size(); ++i) {
      const BoundTerm& argument = term.arguments[i];
      classes_.narrow(argument.node,
                      use_of(functor.arguments[i], argument.span,
                             fmt::format("as argument {} of `@{}`", i + 1, functor.name)),
                      argument.span);
    }
    classes_.narrow(
        term.node,
        use_of(functor.result, term.span, fmt::format("as the result of `@{}`", functor.name)),
        term.span);
  }

  void visit_cast(BoundTerm& term) {
    const NameSyntax& type = term.cast->type;
    const std::optional<ValueKind> kind = types_.kind_of(type.name);
    if (!kind.has_value()) {
      is_ok_ = false;
      types_.report_unknown(type, sink_);
      return;
    }
    const StructureId structure = types_.structures().of(type.name);
    const KindUse use{structure == kNoStructure ? mask_of(*kind) : kR, term.span,
                      fmt::format("by the cast to `{}`", type.name), structure};
    classes_.narrow(term.node, use, term.span);
    // A constant is read as what it is cast to: as(1, float) is 1.0.
    BoundTerm& value = term.arguments[0];
    if (value.kind == BoundTermKind::kConstant && value.constant->kind == TermKind::kInteger) {
      classes_.narrow(value.node, use, value.span);
    }
  }

  void visit_record(BoundTerm& term) {
    if (term.record->kind == TermKind::kRecord) {
      classes_.narrow(term.node, {kR, term.span, "as `[...]`"}, term.span);
      open_records_.push_back(&term);
      return;
    }
    const BranchPlace place = *types_.structures().find_branch(term.record->type.name);
    classes_.narrow(term.node, {kR, term.span, "as one of its branches", place.structure},
                    term.span);
    visit_fields(term, types_.structures().at(place.structure).branches[place.branch]);
  }

  void visit_fields(BoundTerm& term, const Branch& branch) {
    for (std::size_t i = 0; i < term.arguments.size(); ++i) {
      const BoundTerm& argument = term.arguments[i];
      if (argument.kind == BoundTermKind::kWildcard) continue;
      classes_.narrow(argument.node,
                      use_of(branch.fields[i], argument.span,
                             fmt::format("as field `{}`", branch.fields[i].name)),
                      argument.span);
    }
  }

  // What a record's type says about its fields may give the next record its type. Records that
  // nothing gives a type agree field by field, as in `[a, b] = [c, d]`.
  void resolve_records() {
    do {
      resolve_typed_records();
    } while (unite_untyped_records());
  }

  void resolve_typed_records() {
    for (bool changed = true; changed;) {
      changed = false;
      for (BoundTerm*& record : open_records_) {
        if (record == nullptr) continue;
        const StructureId structure = classes_.structure(record->node);
        if (structure == kNoStructure || classes_.is_clashing(record->node)) continue;
        resolve_record(*record, structure);
        record = nullptr;
        changed = true;
      }
    }
  }

  // Whether two kinds that were apart before agree now.
  bool unite_untyped_records() {
    bool changed = false;
    std::map<KindNode, const BoundTerm*> models;  // one record of each class
    for (BoundTerm*& record : open_records_) {
      if (record == nullptr) continue;
      const auto [model, is_first] = models.emplace(classes_.root(record->node), record);
      if (is_first) continue;
      if (model->second->arguments.size() == record->arguments.size()) {
        changed = unite_fields(*model->second, *record) || changed;
        continue;
      }
      is_ok_ = false;
      sink_
          .error(record->span,
                 fmt::format("records of {} and {} fields are never equal",
                             model->second->arguments.size(), record->arguments.size()))
          .notes.push_back({model->second->span, "the other record is here"});
      record = nullptr;
    }
    return changed;
  }

  bool unite_fields(const BoundTerm& model, const BoundTerm& record) {
    bool changed = false;
    for (std::size_t i = 0; i < model.arguments.size(); ++i) {
      const KindNode one = model.arguments[i].node;
      const KindNode other = record.arguments[i].node;
      changed = changed || classes_.root(one) != classes_.root(other);
      classes_.unite(one, other, record.arguments[i].span, "=");
    }
    return changed;
  }

  void resolve_record(BoundTerm& record, StructureId id) {
    const Structure& structure = types_.structures().at(id);
    if (structure.form != StructureForm::kRecord) {
      is_ok_ = false;
      sink_
          .error(record.span, fmt::format("`[...]` is a record, but {} is expected here",
                                          types_.structures().describe(id)))
          .hint = fmt::format("its values are written as branches, as in `${}(...)`",
                              structure.branches[0].name);
      return;
    }
    const Branch& fields = structure.branches[0];
    if (fields.fields.size() != record.arguments.size()) {
      is_ok_ = false;
      sink_.error(record.span,
                  fmt::format("the record type `{}` has {} field{}, not {}", structure.name,
                              fields.fields.size(), fields.fields.size() == 1 ? "" : "s",
                              record.arguments.size()));
      return;
    }
    visit_fields(record, fields);
  }

  void visit_constant(BoundTerm& term) {
    term.node = classes_.make_node();
    constants_.push_back(&term);
    switch (term.constant->kind) {
      case TermKind::kNil:
        classes_.narrow(term.node, {kR, term.span, "as `nil`"}, term.span);
        return;
      case TermKind::kBranch:
        classes_.narrow(term.node,
                        {kR, term.span, "as one of its branches",
                         types_.structures().find_branch(term.constant->type.name)->structure},
                        term.span);
        return;
      case TermKind::kString:
        classes_.narrow(term.node, {kS, term.span, "as a string"}, term.span);
        return;
      case TermKind::kUnsigned:
        classes_.narrow(term.node, {kU, term.span, "with the suffix `u`"}, term.span);
        return;
      case TermKind::kFloat:
        classes_.narrow(term.node, {kF, term.span, "with a decimal point"}, term.span);
        return;
      default:
        classes_.narrow(term.node, {kN | kU | kF, term.span, "as a numeric constant"}, term.span);
        return;
    }
  }

  InferredKinds conclude() {
    // Where nothing decides, the number of a pass is unsigned, as in Soufflé.
    for (const KindNode node : passes_)
      if (classes_.mask(node) == (kN | kU))
        classes_.narrow(node, {kU, {}, "as the number of a pass"}, {});
    InferredKinds result;
    result.kinds.reserve(classes_.nodes());
    for (KindNode node = 0; node < classes_.nodes(); ++node) {
      const KindMask mask = classes_.mask(node);
      const StructureId structure = classes_.structure(node);
      // Undecided classes hold constants only, or variables that grounding will refuse: number
      // comes first.
      const bool is_number =
          mask == 0 || (structure != kNoStructure &&
                        types_.structures().at(structure).form == StructureForm::kEnumeration);
      result.kinds.push_back(
          is_number ? ValueKind::kNumber
                    : static_cast<ValueKind>(std::countr_zero(static_cast<unsigned>(mask))));
      result.structures.push_back(structure);
    }
    for (const BoundTerm* constant : constants_) {
      const ValueKind kind = result.kinds[constant->node];
      if (classes_.is_clashing(constant->node)) continue;
      if (constant->constant->kind == TermKind::kNil) check_nil(*constant);
      if (kind == ValueKind::kSymbol || result.structures[constant->node] != kNoStructure ||
          kind == ValueKind::kRecord)
        continue;
      std::uint64_t bits = 0;
      std::string problem;
      if (constant_bits(*constant->constant, kind, bits, problem)) continue;
      is_ok_ = false;
      sink_.error(constant->span, problem);
    }
    result.is_ok = is_ok_ && classes_.is_ok();
    return result;
  }

  void check_nil(const BoundTerm& nil) {
    const StructureId id = classes_.structure(nil.node);
    if (id == kNoStructure || types_.structures().at(id).form == StructureForm::kRecord) return;
    is_ok_ = false;
    sink_.error(nil.span, fmt::format("`nil` is a record, but {} is expected here",
                                      types_.structures().describe(id)));
  }

  BoundRule& rule_;
  const Declarations& declarations_;
  const TypeTable& types_;
  DiagnosticSink& sink_;
  KindClasses classes_;
  std::vector<const BoundTerm*> constants_;
  std::vector<KindNode> passes_;  // of recursive_iteration_cnt()
  std::vector<BoundTerm*> open_records_;  // `[...]` whose type is not known yet; null once it is
  bool is_ok_ = true;
};

}  // namespace

InferredKinds infer_kinds(BoundRule& rule, const Declarations& declarations, const TypeTable& types,
                          std::string_view text, DiagnosticSink& sink) {
  return Inference(rule, declarations, types, text, sink).run();
}

}  // namespace stratalog::datalog::language
