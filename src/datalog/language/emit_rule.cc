// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/emit_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace stratalog::datalog::language {
namespace {

bool is_conversion(Functor functor) {
  return functor == Functor::kToNumber || functor == Functor::kToUnsigned ||
         functor == Functor::kToFloat || functor == Functor::kToString ||
         functor == Functor::kReinterpret;
}

class Emitter {
 public:
  Emitter(const BoundRule& rule, const InferredKinds& kinds, const Declarations& declarations,
          StructureTable& structures, const SourceMap& map)
      : rule_(rule),
        kinds_(kinds),
        declarations_(declarations),
        structures_(structures),
        map_(map) {}

  Rule run() const {
    Rule result;
    result.head = rule_.head;
    result.place = map_.place(rule_.head_span);
    for (VariableId id = 0; id < rule_.variables.size(); ++id) {
      result.variables.push_back({rule_.variables[id].name, kinds_.kinds[id]});
    }
    result.role = rule_.role;
    result.unites_values = rule_.unites_values;
    result.keeps_one_value = rule_.keeps_one_value;
    if (rule_.role == RuleRole::kDerives)
      for (const BoundTerm& term : rule_.head_arguments)
        result.head_arguments.push_back(expression(term));
    for (const BoundLiteral& each : rule_.body) result.body.push_back(literal(each));
    if (rule_.role == RuleRole::kSubsumes) bring_compared_forward(result);
    return result;
  }

 private:
  // The compared atoms before constraints that were lifted out of them, and their arguments as the
  // head.
  void bring_compared_forward(Rule& rule) const {
    std::stable_partition(rule.body.begin(), rule.body.end(),
                          [](const Literal& l) { return l.kind == LiteralKind::kAtom; });
    for (std::size_t l = 0; l < 2; ++l)
      for (const Argument& argument : rule.body[l].atom.arguments)
        rule.head_arguments.push_back(argument.kind == ArgumentKind::kVariable
                                          ? variable(argument.variable)
                                          : argument.constant);
  }

  ValueKind kind_of(const BoundTerm& term) const { return kinds_.kinds[term.node]; }

  Expression variable(VariableId id) const {
    Expression result;
    result.kind = ExpressionKind::kVariable;
    result.value_kind = kinds_.kinds[id];
    result.variable = id;
    return result;
  }

  Expression expression(const BoundTerm& term) const {
    if (term.kind == BoundTermKind::kVariable) return variable(term.variable);
    if (term.kind == BoundTermKind::kConstant) return constant(term);
    // A conversion to the kind that its argument has anyway does nothing.
    if (is_conversion(term.functor) && kind_of(term.arguments[0]) == kind_of(term)) {
      return expression(term.arguments[0]);
    }
    Expression result;
    result.kind = ExpressionKind::kFunctor;
    result.value_kind = kind_of(term);
    result.functor = term.functor;
    // `+` on symbols joins them, as in Soufflé.
    if (term.functor == Functor::kAdd && result.value_kind == ValueKind::kSymbol)
      result.functor = Functor::kCat;
    if (term.functor == Functor::kPack) begin_record(term, result);
    if (term.functor == Functor::kExternal) {
      result.shape = term.external;
      result.text = '@' + declarations_.functors[term.external].functor.name;
    }
    for (const BoundTerm& argument : term.arguments)
      result.arguments.push_back(expression(argument));
    return result;
  }

  // The shape, and for a branch its number, which comes before the fields.
  void begin_record(const BoundTerm& term, Expression& record) const {
    const StructureId id = kinds_.structures[term.node];
    if (id == kNoStructure) {  // without a declared type: only this rule sees it
      std::vector<ValueKind> kinds;
      kinds.reserve(term.arguments.size());
      for (const BoundTerm& field : term.arguments) kinds.push_back(kind_of(field));
      record.shape = structures_.shape_of(kinds);
      return;
    }
    if (term.record->kind == TermKind::kRecord) {
      record.shape = structures_.at(id).branches[0].shape;
      return;
    }
    const BranchPlace place = *structures_.find_branch(term.record->type.name);
    record.shape = structures_.at(place.structure).branches[place.branch].shape;
    record.text = '$' + term.record->type.name;
    Expression& number = record.arguments.emplace_back();
    number.bits = place.branch;
  }

  Expression constant(const BoundTerm& term) const {
    Expression result;
    result.kind = ExpressionKind::kConstant;
    result.value_kind = kind_of(term);
    if (term.constant->kind == TermKind::kNil) {
      result.value_kind = ValueKind::kRecord;
    } else if (term.constant->kind == TermKind::kBranch) {
      result.bits = structures_.find_branch(term.constant->type.name)->branch;
      result.text = fmt::format("${}()", term.constant->type.name);
    } else if (result.value_kind == ValueKind::kSymbol) {
      result.text = term.constant->text;
    } else {
      std::string problem;  // inference checked the range
      static_cast<void>(constant_bits(*term.constant, result.value_kind, result.bits, problem));
    }
    return result;
  }

  Atom atom(const BoundAtom& bound) const {
    Atom result;
    result.relation = bound.relation;
    result.place = map_.place(bound.span);
    for (const BoundTerm& term : bound.arguments) {
      Argument argument;
      if (term.kind == BoundTermKind::kVariable) {
        argument = variable_argument(term.variable);
      } else if (term.kind == BoundTermKind::kConstant) {
        argument.kind = ArgumentKind::kConstant;
        argument.constant = constant(term);
      }
      result.arguments.push_back(std::move(argument));
    }
    return result;
  }

  Literal literal(const BoundLiteral& bound) const {
    Literal result;
    result.kind = bound.kind;
    result.place = map_.place(bound.span);
    switch (bound.kind) {
      case LiteralKind::kAtom:
      case LiteralKind::kNegatedAtom:
        result.atom = atom(bound.atom);
        break;
      case LiteralKind::kComparison:
        result.comparison = bound.comparison;
        result.left = expression(bound.left);
        result.right = expression(bound.right);
        result.record_use = bound.record_use;
        break;
      case LiteralKind::kAggregate:
        result.aggregate = aggregate(*bound.aggregate);
        break;
      case LiteralKind::kRange:
        result.range = range(*bound.range);
        break;
    }
    return result;
  }

  std::shared_ptr<const Aggregate> aggregate(const BoundAggregate& bound) const {
    auto result = std::make_shared<Aggregate>();
    result->function = bound.function;
    result->result = bound.result;
    result->result_kind = kinds_.kinds[bound.result];
    if (bound.target) result->target = expression(*bound.target);
    for (const BoundLiteral& each : bound.body) result->body.push_back(literal(each));
    result->outer = bound.outer;
    return result;
  }

  std::shared_ptr<const Range> range(const BoundRange& bound) const {
    auto result = std::make_shared<Range>();
    result->variable = bound.variable;
    result->value_kind = kinds_.kinds[bound.variable];
    result->from = expression(bound.bounds[0]);
    result->to = expression(bound.bounds[1]);
    result->has_step = bound.bounds.size() == 3;
    if (result->has_step) result->step = expression(bound.bounds[2]);
    return result;
  }

  const BoundRule& rule_;
  const InferredKinds& kinds_;
  const Declarations& declarations_;
  StructureTable& structures_;
  const SourceMap& map_;
};

}  // namespace

Rule emit_rule(const BoundRule& rule, const InferredKinds& kinds, const Declarations& declarations,
               StructureTable& structures, const SourceMap& map) {
  return Emitter(rule, kinds, declarations, structures, map).run();
}

}  // namespace stratalog::datalog::language
