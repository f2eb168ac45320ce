// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/inline_relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "datalog/language/syntax_walk.h"

namespace stratalog::datalog::language {
namespace {

// Terms and formulas that inlining may add to a program, together.
constexpr std::uint64_t kMaxInlined = 1U << 18U;
// Inline relations that use each other, and levels of a term.
constexpr std::uint32_t kMaxChain = 100;
constexpr std::uint32_t kMaxInlinedDepth = 1000;

using VariableNames = std::set<std::string>;

void collect_variables(const Term& term, VariableNames& names) {
  if (term.kind == TermKind::kVariable) names.insert(term.text);
  for (const Term& argument : term.arguments) collect_variables(argument, names);
}

bool has_wildcard(const Term& term) {
  return term.kind == TermKind::kWildcard ||
         std::any_of(term.arguments.begin(), term.arguments.end(), has_wildcard);
}

// One rule of an inline relation.
struct Definition {
  RuleSyntax rule;  // with a single head
  bool is_closed = false;  // no variable but plain ones of the head: may stand under a negation
  bool has_scopes = false;  // aggregates inside: names must not be replaced by terms
};

struct Inlined {
  const RelationSyntax* declaration = nullptr;
  std::vector<Definition> definitions;
  enum class State : std::uint8_t { kNew, kOpen, kDone } state = State::kNew;
  std::uint32_t chain = 0;  // of inline relations below this one
  bool is_stored = false;

  bool is_closed() const {
    return std::all_of(definitions.begin(), definitions.end(),
                       [](const Definition& definition) { return definition.is_closed; });
  }
};

// Judged on a body in which nothing is left to inline.
void judge(Definition& definition) {
  VariableNames in_head;
  bool plain_head = true;
  for (const Term& argument : definition.rule.heads[0].arguments) {
    if (argument.kind == TermKind::kVariable) in_head.insert(argument.text);
  }
  VariableNames all;
  for (const Term& argument : definition.rule.heads[0].arguments) {
    collect_variables(argument, all);
    if (has_wildcard(argument)) plain_head = false;
  }
  const auto on_term = [&](const Term& term) {
    if (term.kind == TermKind::kVariable) all.insert(term.text);
    if (term.kind == TermKind::kAggregate || term.kind == TermKind::kRange)
      definition.has_scopes = true;
  };
  walk(definition.rule, on_term, [](const AtomSyntax&) {});
  definition.is_closed = plain_head && !definition.has_scopes && all == in_head;
}

class Inliner {
 public:
  Inliner(ProgramSyntax& program, DiagnosticSink& sink) : program_(program), sink_(sink) {}

  InlineOutcome run() {
    collect_inline_relations();
    if (inlined_.empty()) return {};
    check_io();
    collect_definitions();
    for (auto& [name, relation] : inlined_) prepare(name, relation);
    std::vector<RuleSyntax> rules = std::exchange(program_.rules, {});
    for (RuleSyntax& rule : rules) rewrite_rule(std::move(rule));
    return outcome();
  }

 private:
  enum class Sign : std::uint8_t { kPositive, kNegated };

  void collect_inline_relations() {
    for (const RelationSyntax& relation : program_.relations) {
      // As in Soufflé, `no_inline` and `no_magic` win.
      if (!has_qualifier(relation, "inline") || has_qualifier(relation, "no_inline") ||
          has_qualifier(relation, "no_magic")) {
        continue;
      }
      if (is_subsumed(relation.name.name)) continue;  // it is more than its rules
      inlined_[relation.name.name].declaration = &relation;
    }
  }

  bool is_subsumed(const std::string& name) const {
    return std::any_of(program_.rules.begin(), program_.rules.end(), [&](const RuleSyntax& rule) {
      return rule.role == RuleRole::kSubsumes && rule.heads[0].relation.name == name;
    });
  }

  void check_io() {
    for (const DirectiveSyntax& directive : program_.directives) {
      for (const NameSyntax& name : directive.relations) {
        const auto found = inlined_.find(name.name);
        if (found == inlined_.end()) continue;
        sink_
            .error(name.span, fmt::format("`{}` is an inline relation and cannot be read, written "
                                          "or counted",
                                          name.name))
            .notes.push_back({found->second.declaration->name.span, "it is declared here"});
      }
    }
  }

  void collect_definitions() {
    for (const RuleSyntax& rule : program_.rules) {
      for (const AtomSyntax& head : rule.heads) {
        const auto found = inlined_.find(head.relation.name);
        if (found == inlined_.end()) continue;
        if (head.arguments.size() != found->second.declaration->attributes.size()) {
          found->second.is_stored = true;  // the arity is reported with the rule
          continue;
        }
        Definition& definition = found->second.definitions.emplace_back();
        definition.rule.heads.push_back(head);
        definition.rule.body = rule.body;
        definition.rule.span = rule.span;
      }
    }
  }

  // Writes the inline relations in the bodies of this one's rules out, first of all in theirs.
  void prepare(const std::string& name, Inlined& relation) {
    if (relation.state != Inlined::State::kNew) return;
    relation.state = Inlined::State::kOpen;
    chain_.push_back(name);
    for (Definition& definition : relation.definitions) {
      if (definition.rule.body) {
        Context context{.below = &relation};
        rewrite(*definition.rule.body, Sign::kPositive, context);
      }
      judge(definition);
    }
    chain_.pop_back();
    relation.state = Inlined::State::kDone;
    if (relation.chain <= kMaxChain || failed_) return;
    failed_ = true;
    sink_
        .error(relation.declaration->name.span,
               fmt::format("more than {} inline relations use each other in a row", kMaxChain))
        .hint = "take `inline` off some of them";
  }

  struct Context {
    Inlined* below = nullptr;  // whose rules are being prepared; null for other rules
    bool found_some = false;
  };

  void rewrite_rule(RuleSyntax rule) {
    RuleSyntax heads_of_inlined = rule;
    const auto is_written_out = [&](const AtomSyntax& head) {
      const auto found = inlined_.find(head.relation.name);
      return found != inlined_.end();
    };
    std::erase_if(rule.heads, is_written_out);
    std::erase_if(heads_of_inlined.heads,
                  [&](const AtomSyntax& head) { return !is_written_out(head); });
    if (!heads_of_inlined.heads.empty()) own_rules_.push_back(std::move(heads_of_inlined));
    if (rule.heads.empty()) return;
    if (rule.use == RuleUse::kCheckOnly) {  // what is evaluated instead is there
      program_.rules.push_back(std::move(rule));
      return;
    }
    RuleSyntax rewritten = rule;
    Context context;
    for (AtomSyntax& head : rewritten.heads) rewrite_scopes_of(head, context);
    if (rewritten.body) rewrite(*rewritten.body, Sign::kPositive, context);
    if (context.found_some) {
      rule.use = RuleUse::kCheckOnly;
      rewritten.use = RuleUse::kEvaluateOnly;
      program_.rules.push_back(std::move(rewritten));
    }
    program_.rules.push_back(std::move(rule));
  }

  void rewrite(Formula& formula, Sign sign, Context& context) {
    for (Term& operand : formula.operands) rewrite_scopes_in(operand, context);
    switch (formula.kind) {
      case FormulaKind::kAtom:
        rewrite_atom(formula, sign, context);
        return;
      case FormulaKind::kNot:
        rewrite(formula.children[0], sign == Sign::kPositive ? Sign::kNegated : Sign::kPositive,
                context);
        return;
      default:
        for (Formula& child : formula.children) rewrite(child, sign, context);
        return;
    }
  }

  void rewrite_scopes_of(AtomSyntax& atom, Context& context) {
    for (Term& argument : atom.arguments) rewrite_scopes_in(argument, context);
  }

  // Inside aggregates the number of ways to derive a tuple would count: there it is looked up.
  void rewrite_scopes_in(Term& term, Context& context) {
    for (Term& argument : term.arguments) rewrite_scopes_in(argument, context);
    if (!term.aggregate) return;
    walk(term, [](Term&) {}, [&](AtomSyntax& atom) { store_if_inlined(atom, context); });
  }

  void store_if_inlined(const AtomSyntax& atom, Context& context) {
    const auto found = inlined_.find(atom.relation.name);
    if (found == inlined_.end()) return;
    use(found->first, found->second, atom, context);
    store(found->first, found->second, atom.relation.span);
  }

  void store(const std::string& name, Inlined& relation, Span use) {
    relation.is_stored = true;
    stored_.emplace(name, use);
  }

  // False when the relation needs itself.
  bool use(const std::string& name, Inlined& relation, const AtomSyntax& atom, Context& context) {
    prepare(name, relation);
    if (context.below != nullptr)
      context.below->chain = std::max(context.below->chain, relation.chain + 1);
    if (relation.state == Inlined::State::kDone) return true;
    if (std::exchange(failed_, true)) return false;
    DiagnosticDraft& draft =
        sink_.error(atom.relation.span, fmt::format("inline relation `{}` needs itself", name));
    const auto first = std::find(chain_.begin(), chain_.end(), name);
    for (auto it = first; it != chain_.end() && draft.notes.size() < 10; ++it) {
      draft.notes.push_back(
          {inlined_.at(*it).declaration->name.span, fmt::format("by way of `{}`", *it)});
    }
    draft.hint = "take `inline` off one of them";
    return false;
  }

  void rewrite_atom(Formula& formula, Sign sign, Context& context) {
    rewrite_scopes_of(formula.atom, context);
    const auto found = inlined_.find(formula.atom.relation.name);
    if (found == inlined_.end()) return;
    const std::string& name = found->first;
    Inlined& relation = found->second;
    if (!use(name, relation, formula.atom, context) || failed_) return;
    if (formula.atom.arguments.size() != relation.declaration->attributes.size()) {
      failed_ = true;  // the arity is reported with the rule as it stands
      return;
    }
    const bool has_wildcards =
        std::any_of(formula.atom.arguments.begin(), formula.atom.arguments.end(), has_wildcard);
    if (sign == Sign::kNegated && (has_wildcards || !relation.is_closed())) {
      store(name, relation, formula.atom.relation.span);
      return;
    }
    context.found_some = true;
    formula = write_out(relation, formula.atom, sign);
  }

  // What the atom stands for: one alternative for each rule.
  Formula write_out(const Inlined& relation, const AtomSyntax& atom, Sign sign) {
    Formula either;
    either.kind = FormulaKind::kOr;
    either.span = atom.span;
    for (const Definition& definition : relation.definitions) {
      either.children.push_back(instance_of(relation, definition, atom, sign));
      if (failed_) break;
    }
    if (either.children.size() == 1) return std::move(either.children[0]);
    if (!either.children.empty()) return either;
    either.kind = FormulaKind::kTruth;
    either.truth = false;
    return either;
  }

  // An integer constant is what the attribute makes of it, also where the attribute is gone.
  static Term typed(const Term& term, const NameSyntax& type) {
    if (term.kind != TermKind::kInteger || type.name == "number" || type.name == "symbol")
      return term;
    Term cast;
    cast.kind = TermKind::kCast;
    cast.functor = Functor::kReinterpret;
    cast.span = term.span;
    cast.type = type;
    cast.arguments.push_back(term);
    cast.depth = 2;
    return cast;
  }

  Formula instance_of(const Inlined& relation, const Definition& definition, const AtomSyntax& atom,
                      Sign sign) {
    const std::uint32_t number = ++instances_;
    std::map<std::string, Term> replaced;
    Formula both;
    both.kind = FormulaKind::kAnd;
    both.span = atom.span;
    const std::vector<Term>& formal = definition.rule.heads[0].arguments;
    const std::vector<AttributeSyntax>& attributes = relation.declaration->attributes;
    std::vector<std::size_t> compared;
    for (std::size_t i = 0; i < formal.size(); ++i) {
      const Term& actual = atom.arguments[i];
      if (actual.kind == TermKind::kWildcard) continue;
      const bool is_replaced =
          formal[i].kind == TermKind::kVariable && may_replace(definition, actual, sign) &&
          replaced.emplace(formal[i].text, typed(actual, attributes[i].type)).second;
      if (!is_replaced) compared.push_back(i);
    }
    for (const std::size_t i : compared) {
      Formula& equation = both.children.emplace_back();
      equation.kind = FormulaKind::kComparison;
      equation.span = atom.arguments[i].span;
      equation.operands.push_back(typed(formal[i], attributes[i].type));
      rename(equation.operands[0], replaced, number);
      equation.operands.push_back(typed(atom.arguments[i], attributes[i].type));
    }
    if (definition.rule.body) {
      Formula body = *definition.rule.body;
      rename(body, replaced, number);
      both.children.push_back(std::move(body));
    }
    if (both.children.size() == 1) return std::move(both.children[0]);
    if (!both.children.empty()) return both;
    both.kind = FormulaKind::kTruth;
    return both;
  }

  // Variables and constants take the place of head variables. Other terms are computed once and
  // compared, except under a negation, where an equation would say something else.
  static bool may_replace(const Definition& definition, const Term& actual, Sign sign) {
    if (sign == Sign::kNegated) return true;
    if (definition.has_scopes) return false;
    return actual.kind == TermKind::kVariable || actual.kind == TermKind::kInteger ||
           actual.kind == TermKind::kUnsigned || actual.kind == TermKind::kFloat ||
           actual.kind == TermKind::kString;
  }

  // Gives the variables of a copied definition their own names, or the terms that they stand for.
  template <typename Tree>
  void rename(Tree& tree, const std::map<std::string, Term>& replaced, std::uint32_t number) {
    walk(
        tree,
        [&](Term& term) {
          if (++copied_ > kMaxInlined) report_size(term.span);
          if (term.kind != TermKind::kVariable || failed_) return;
          const auto found = replaced.find(term.text);
          if (found == replaced.end())
            term.text = fmt::format("_{}'{}", term.text, number);
          else
            pending_.push_back(&term);
        },
        [](AtomSyntax&) {});
    // Afterwards, so that the terms put in are not walked into.
    for (Term* term : pending_) *term = replaced.at(term->text);
    pending_.clear();
    const bool grows = std::any_of(replaced.begin(), replaced.end(), [](const auto& entry) {
      return !entry.second.arguments.empty();
    });
    const auto measure = [&](Term& term) {
      if (depth_of(term, 0) > kMaxInlinedDepth) report_size(term.span);
    };
    if (grows) walk(tree, measure, [](AtomSyntax&) {});
  }

  static std::uint32_t depth_of(const Term& term, std::uint32_t around) {
    std::uint32_t deepest = around + 1;
    if (deepest > kMaxInlinedDepth) return deepest;
    for (const Term& argument : term.arguments)
      deepest = std::max(deepest, depth_of(argument, around + 1));
    return deepest;
  }

  void report_size(Span span) {
    if (std::exchange(failed_, true)) return;
    sink_.error(span, "the program is too large once its inline relations are written out").hint =
        "take `inline` off relations with many rules or uses";
  }

  InlineOutcome outcome() {
    InlineOutcome result;
    if (failed_) {
      // Reported; the rules as they stand are still checked.
      std::erase_if(program_.rules,
                    [](const RuleSyntax& rule) { return rule.use == RuleUse::kEvaluateOnly; });
    }
    for (RuleSyntax& rule : own_rules_) add_own_rule(std::move(rule));
    // Uses that were not written out are of relations that there are.
    for (const auto& [name, relation] : inlined_) {
      if (!relation.is_stored && !failed_) result.written_out.insert(name);
    }
    result.stored = std::move(stored_);
    return result;
  }

  // The rules of inline relations themselves: evaluated only where the relation is stored.
  void add_own_rule(RuleSyntax rule) {
    RuleSyntax stored = rule;
    const auto is_stored = [&](const AtomSyntax& head) {
      return inlined_.at(head.relation.name).is_stored;
    };
    std::erase_if(rule.heads, is_stored);
    std::erase_if(stored.heads, [&](const AtomSyntax& head) { return !is_stored(head); });
    if (!rule.heads.empty()) {
      rule.use = RuleUse::kCheckOnly;
      program_.rules.push_back(std::move(rule));
    }
    if (stored.heads.empty()) return;
    RuleSyntax rewritten = stored;
    Context context;
    if (rewritten.body && !failed_) rewrite(*rewritten.body, Sign::kPositive, context);
    if (context.found_some) {
      stored.use = RuleUse::kCheckOnly;
      rewritten.use = RuleUse::kEvaluateOnly;
      program_.rules.push_back(std::move(rewritten));
    }
    program_.rules.push_back(std::move(stored));
  }

  ProgramSyntax& program_;
  DiagnosticSink& sink_;
  std::map<std::string, Inlined> inlined_;
  std::map<std::string, Span> stored_;
  std::vector<RuleSyntax> own_rules_;  // of inline relations
  std::vector<std::string> chain_;  // of relations that are being prepared
  std::vector<Term*> pending_;  // scratch
  std::uint32_t instances_ = 0;
  std::uint64_t copied_ = 0;
  bool failed_ = false;
};

}  // namespace

InlineOutcome inline_relations(ProgramSyntax& program, DiagnosticSink& sink) {
  return Inliner(program, sink).run();
}

}  // namespace stratalog::datalog::language
