// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/kind_inference.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

namespace stratalog::datalog::language {
namespace {

using KindMask = std::uint8_t;

constexpr KindMask mask_of(ValueKind kind) {
  return static_cast<KindMask>(1U << static_cast<unsigned>(kind));
}

constexpr KindMask kN = mask_of(ValueKind::kNumber);
constexpr KindMask kU = mask_of(ValueKind::kUnsigned);
constexpr KindMask kF = mask_of(ValueKind::kFloat);
constexpr KindMask kS = mask_of(ValueKind::kSymbol);
constexpr KindMask kAny = kN | kU | kF | kS;

std::string describe(KindMask mask) {
  switch (mask) {
    case kN:
      return "a number";
    case kU:
      return "an unsigned";
    case kF:
      return "a float";
    case kS:
      return "a symbol";
    case kN | kU:
      return "a number or an unsigned";
    case kN | kF:
      return "a number or a float";
    case kN | kU | kF:
      return "a number, an unsigned or a float";
    default:
      return "any kind";
  }
}

// What narrowed a class, for messages.
struct Use {
  KindMask mask = kAny;
  Span span;
  std::string role;  // "as attribute `x` of `edge`"
};

struct Signature {
  std::string_view name;
  KindMask operands;  // allowed for each operand
  std::optional<KindMask> result;  // nothing: the same kind as the operands, which agree
};

Signature signature_of(Functor functor) {
  constexpr KindMask kNumeric = kN | kU | kF;
  constexpr KindMask kInteger = kN | kU;
  switch (functor) {
    case Functor::kNegate:
      return {"-", kN | kF, {}};
    case Functor::kAdd:
      return {"+", kAny, {}};  // on symbols: concatenation, as in Soufflé
    case Functor::kSubtract:
      return {"-", kNumeric, {}};
    case Functor::kMultiply:
      return {"*", kNumeric, {}};
    case Functor::kDivide:
      return {"/", kNumeric, {}};
    case Functor::kModulo:
      return {"%", kInteger, {}};
    case Functor::kPower:
      return {"^", kNumeric, {}};
    case Functor::kMin:
      return {"min", kAny, {}};
    case Functor::kMax:
      return {"max", kAny, {}};
    case Functor::kBitNot:
      return {"bnot", kInteger, {}};
    case Functor::kBitAnd:
      return {"band", kInteger, {}};
    case Functor::kBitOr:
      return {"bor", kInteger, {}};
    case Functor::kBitXor:
      return {"bxor", kInteger, {}};
    case Functor::kShiftLeft:
      return {"bshl", kInteger, {}};
    case Functor::kShiftRight:
      return {"bshr", kInteger, {}};
    case Functor::kShiftRightUnsigned:
      return {"bshru", kInteger, {}};
    case Functor::kLogicalNot:
      return {"lnot", kInteger, {}};
    case Functor::kLogicalAnd:
      return {"land", kInteger, {}};
    case Functor::kLogicalOr:
      return {"lor", kInteger, {}};
    case Functor::kLogicalXor:
      return {"lxor", kInteger, {}};
    case Functor::kCat:
      return {"cat", kS, {}};
    case Functor::kStrlen:
      return {"strlen", kS, kN};
    case Functor::kSubstr:
      return {"substr", kS, {}};  // its numbers are treated apart
    case Functor::kOrd:
      return {"ord", kAny, kN};
    case Functor::kToNumber:
      return {"to_number", kAny, kN};
    case Functor::kToUnsigned:
      return {"to_unsigned", kAny, kU};
    case Functor::kToFloat:
      return {"to_float", kAny, kF};
    case Functor::kToString:
      return {"to_string", kAny, kS};
    case Functor::kReinterpret:
      return {"as", kAny, kAny};
    case Functor::kIteration:
      return {"recursive_iteration_cnt", kAny, kU};
  }
  return {"?", kAny, {}};
}

std::string_view comparison_name(Comparison comparison) {
  constexpr std::string_view kNames[] = {"=",  "!=",    "<",     "<=",       ">",
                                         ">=", "match", "match", "contains", "contains"};
  return kNames[static_cast<std::size_t>(comparison)];
}

std::string_view aggregate_name(AggregateFunction function) {
  constexpr std::string_view kNames[] = {"count", "sum", "min", "max", "mean"};
  return kNames[static_cast<std::size_t>(function)];
}

class Inference {
 public:
  Inference(BoundRule& rule, const Declarations& declarations, const TypeTable& types,
            std::string_view text, DiagnosticSink& sink)
      : rule_(rule), declarations_(declarations), types_(types), text_(text), sink_(sink) {}

  InferredKinds run() {
    for (std::size_t i = 0; i < rule_.variables.size(); ++i) make_node();
    for (BoundLiteral& literal : rule_.body) visit(literal);
    const Relation& head = declarations_.relations[rule_.head];
    for (std::size_t i = 0; i < rule_.head_arguments.size(); ++i) {
      visit_attribute(rule_.head_arguments[i], head, i);
    }
    return conclude();
  }

 private:
  struct Class {
    KindNode parent;
    KindMask mask = kAny;
    bool is_clashing = false;  // reported; anything goes from here on
    std::vector<Use> uses;  // those that narrowed it, at most one per kind bit
  };

  KindNode make_node() {
    classes_.push_back({static_cast<KindNode>(classes_.size()), kAny, false, {}});
    return static_cast<KindNode>(classes_.size() - 1);
  }

  KindNode root(KindNode node) {
    while (classes_[node].parent != node) {
      classes_[node].parent = classes_[classes_[node].parent].parent;
      node = classes_[node].parent;
    }
    return node;
  }

  std::string quote(Span span) const {
    std::string quoted(text_.substr(span.begin, span.end - span.begin));
    for (char& c : quoted) {
      if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    }
    return quoted.size() > 30 ? quoted.substr(0, 27) + "..." : quoted;
  }

  void clash(Span subject, const Use& now, const Use& before) {
    is_ok_ = false;
    DiagnosticDraft& draft = sink_.error(
        now.span, fmt::format("type clash: `{}` is {} {}, but {} {}", quote(subject),
                              describe(now.mask), now.role, describe(before.mask), before.role));
    if (before.span.begin != now.span.begin || before.span.end != now.span.end) {
      draft.notes.push_back({before.span, fmt::format("{} here", describe(before.mask))});
    }
    if ((now.mask | before.mask) == (kN | kF) || (now.mask | before.mask) == (kN | kU)) {
      draft.hint = "convert with to_number, to_unsigned or to_float";
    } else if (((now.mask | before.mask) & kS) != 0) {
      draft.hint = "convert with to_string, or to_number and its like";
    }
  }

  static const Use& opposing(const Class& cls, KindMask mask) {
    static const Use kNone;
    for (const Use& use : cls.uses) {
      if ((use.mask & mask) == 0) return use;
    }
    return cls.uses.empty() ? kNone : cls.uses.back();
  }

  void restrict_node(KindNode node, Use use, Span subject) {
    Class& cls = classes_[root(node)];
    if (cls.is_clashing) return;
    const auto narrowed = static_cast<KindMask>(cls.mask & use.mask);
    if (narrowed == 0) {
      const Use before = opposing(cls, use.mask);
      cls.is_clashing = true;
      clash(subject, use, before);
      return;
    }
    if (narrowed == cls.mask) return;
    cls.mask = narrowed;
    cls.uses.push_back(std::move(use));
  }

  // `here` describes the construct that makes both agree.
  void unite(KindNode a, KindNode b, Span here, std::string_view construct) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    Class& left = classes_[a];
    Class& right = classes_[b];
    if ((left.mask & right.mask) == 0 && !left.is_clashing && !right.is_clashing) {
      report_disagreement(left, right, here, construct);
      left.is_clashing = true;
    }
    left.is_clashing = left.is_clashing || right.is_clashing;
    left.mask = static_cast<KindMask>(left.mask & right.mask);
    for (Use& use : right.uses) {
      if (left.uses.size() < 8) left.uses.push_back(std::move(use));
    }
    right.uses.clear();
    right.parent = a;
  }

  void report_disagreement(const Class& left, const Class& right, Span here,
                           std::string_view construct) {
    is_ok_ = false;
    const Use& one = opposing(left, right.mask);
    const Use& other = opposing(right, left.mask);
    DiagnosticDraft& draft =
        sink_.error(here, fmt::format("type clash: the sides of `{}` are {} and {}", construct,
                                      describe(left.mask), describe(right.mask)));
    draft.notes.push_back({one.span, fmt::format("{} {}", describe(one.mask), one.role)});
    draft.notes.push_back({other.span, fmt::format("{} {}", describe(other.mask), other.role)});
    if (((left.mask | right.mask) & kS) == 0)
      draft.hint = "convert with to_number, to_unsigned or to_float";
  }

  void visit_attribute(BoundTerm& term, const Relation& relation, std::size_t index) {
    if (term.kind == BoundTermKind::kWildcard) return;
    visit(term);
    const Attribute& attribute = relation.attributes[index];
    restrict_node(term.node,
                  {mask_of(attribute.kind), term.span,
                   fmt::format("as attribute `{}` of `{}`", attribute.name, relation.name)},
                  term.span);
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
        restrict_node(literal.range->variable, {kN | kU | kF, literal.span, role}, literal.span);
        for (BoundTerm& bound : literal.range->bounds) {
          visit(bound);
          unite(literal.range->variable, bound.node, bound.span, "range");
        }
        return;
      }
    }
  }

  void visit_comparison(BoundLiteral& literal) {
    visit(literal.left);
    visit(literal.right);
    const std::string_view name = comparison_name(literal.comparison);
    if (literal.comparison >= Comparison::kMatch) {
      const std::string role = fmt::format("as an argument of `{}`", name);
      restrict_node(literal.left.node, {kS, literal.left.span, role}, literal.left.span);
      restrict_node(literal.right.node, {kS, literal.right.span, role}, literal.right.span);
      return;
    }
    unite(literal.left.node, literal.right.node, literal.span, name);
  }

  void visit_aggregate(BoundAggregate& aggregate, Span span) {
    for (BoundLiteral& literal : aggregate.body) visit(literal);
    const std::string_view name = aggregate_name(aggregate.function);
    const std::string result_role = fmt::format("as the result of `{}`", name);
    if (aggregate.target) visit(*aggregate.target);
    if (aggregate.function == AggregateFunction::kCount) {
      restrict_node(aggregate.result, {kN, span, result_role}, span);
      return;
    }
    const KindMask allowed = aggregate.function == AggregateFunction::kMean ? kF : kN | kU | kF;
    const Span target = aggregate.target->span;
    restrict_node(aggregate.target->node, {allowed, target, fmt::format("under `{}`", name)},
                  target);
    unite(aggregate.result, aggregate.target->node, span, name);
  }

  void visit(BoundTerm& term) {
    switch (term.kind) {
      case BoundTermKind::kWildcard:
        term.node = make_node();
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
    term.node = make_node();
    if (term.functor == Functor::kReinterpret) {
      visit_cast(term);
      return;
    }
    if (term.functor == Functor::kSubstr) {
      const std::string role = "as an argument of `substr`";
      constexpr KindMask kMasks[] = {kS, kN, kN};
      for (std::size_t i = 0; i < 3; ++i) {
        restrict_node(term.arguments[i].node, {kMasks[i], term.arguments[i].span, role},
                      term.arguments[i].span);
      }
      restrict_node(term.node, {kS, term.span, "as the result of `substr`"}, term.span);
      return;
    }
    const Signature signature = signature_of(term.functor);
    for (const BoundTerm& argument : term.arguments) {
      restrict_node(
          argument.node,
          {signature.operands, argument.span, fmt::format("as an operand of `{}`", signature.name)},
          argument.span);
      if (!signature.result.has_value()) unite(term.node, argument.node, term.span, signature.name);
    }
    if (signature.result.has_value()) {
      restrict_node(
          term.node,
          {*signature.result, term.span, fmt::format("as the result of `{}`", signature.name)},
          term.span);
    }
  }

  void visit_cast(BoundTerm& term) {
    const NameSyntax& type = term.cast->type;
    const std::optional<ValueKind> kind = types_.kind_of(type.name);
    if (!kind.has_value()) {
      is_ok_ = false;
      types_.report_unknown(type, sink_);
      return;
    }
    const Use use{mask_of(*kind), term.span, fmt::format("by the cast to `{}`", type.name)};
    restrict_node(term.node, use, term.span);
    // A constant is read as what it is cast to: as(1, float) is 1.0.
    BoundTerm& value = term.arguments[0];
    if (value.kind == BoundTermKind::kConstant && value.constant->kind == TermKind::kInteger) {
      restrict_node(value.node, use, value.span);
    }
  }

  void visit_constant(BoundTerm& term) {
    term.node = make_node();
    constants_.push_back(&term);
    switch (term.constant->kind) {
      case TermKind::kString:
        restrict_node(term.node, {kS, term.span, "as a string"}, term.span);
        return;
      case TermKind::kUnsigned:
        restrict_node(term.node, {kU, term.span, "with the suffix `u`"}, term.span);
        return;
      case TermKind::kFloat:
        restrict_node(term.node, {kF, term.span, "with a decimal point"}, term.span);
        return;
      default:
        restrict_node(term.node, {kN | kU | kF, term.span, "as a numeric constant"}, term.span);
        return;
    }
  }

  InferredKinds conclude() {
    InferredKinds result;
    result.kinds.reserve(classes_.size());
    for (KindNode node = 0; node < classes_.size(); ++node) {
      const KindMask mask = classes_[root(node)].mask;
      // Undecided classes hold constants only, or variables that grounding will refuse: number
      // comes first.
      result.kinds.push_back(
          mask == 0 ? ValueKind::kNumber
                    : static_cast<ValueKind>(std::countr_zero(static_cast<unsigned>(mask))));
    }
    for (const BoundTerm* constant : constants_) {
      const ValueKind kind = result.kinds[constant->node];
      if (kind == ValueKind::kSymbol || classes_[root(constant->node)].is_clashing) continue;
      std::uint64_t bits = 0;
      std::string problem;
      if (constant_bits(*constant->constant, kind, bits, problem)) continue;
      is_ok_ = false;
      sink_.error(constant->span, problem);
    }
    result.is_ok = is_ok_;
    return result;
  }

  BoundRule& rule_;
  const Declarations& declarations_;
  const TypeTable& types_;
  std::string_view text_;
  DiagnosticSink& sink_;
  std::vector<Class> classes_;
  std::vector<const BoundTerm*> constants_;
  bool is_ok_ = true;
};

}  // namespace

InferredKinds infer_kinds(BoundRule& rule, const Declarations& declarations, const TypeTable& types,
                          std::string_view text, DiagnosticSink& sink) {
  return Inference(rule, declarations, types, text, sink).run();
}

}  // namespace stratalog::datalog::language
