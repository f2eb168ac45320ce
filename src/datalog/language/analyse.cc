// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/analyse.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "datalog/language/aggregate_projections.h"
#include "datalog/language/bind_rule.h"
#include "datalog/language/component_instantiation.h"
#include "datalog/language/counters.h"
#include "datalog/language/declarations.h"
#include "datalog/language/emit_rule.h"
#include "datalog/language/gathered_bodies.h"
#include "datalog/language/independent_parts.h"
#include "datalog/language/kind_inference.h"
#include "datalog/language/linear_closures.h"
#include "datalog/language/magic_sets.h"
#include "datalog/language/magic_wishes.h"
#include "datalog/language/mutual_copies.h"
#include "datalog/language/needed_relations.h"
#include "datalog/language/one_line.h"
#include "datalog/language/plan_checks.h"
#include "datalog/language/pragmas.h"
#include "datalog/language/print_program.h"
#include "datalog/language/rule_expansion.h"
#include "datalog/language/rule_grounding.h"
#include "datalog/language/stratify.h"
#include "datalog/language/subtype_check.h"
#include "datalog/language/warnings.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog::language {
namespace {

class Analyser {
 public:
  Analyser(const ProgramSyntax& syntax, const InlineOutcome& inlined, std::string_view text,
           const SourceMap& map, const CompileOptions& options, DiagnosticSink& sink)
      : syntax_(syntax),
        inlined_(inlined),
        text_(text),
        map_(map),
        options_(options),
        sink_(sink),
        types_(syntax, sink),
        lattice_(types_),
        declared_(resolve_declarations(syntax, types_, sink)),
        declarations_(without(declared_, inlined.written_out)) {}

  Program run() {
    for (const LatticeSyntax& lattice : syntax_.lattices)
      if (!types_.kind_of(lattice.type.name)) types_.report_unknown(lattice.type, sink_);
    for (const RuleSyntax& rule : syntax_.rules) {
      sink_.set_origin(origin_of(rule));
      analyse_rule(rule);
    }
    sink_.set_origin(nullptr);
    bind_to_other_relations();
    stratify_program();
    const bool is_stratified = check_stratification(
        program_.strata, dependencies_, syntax_.refused_aggregates, declarations_, sink_);
    // What is restricted to a demand is restricted as steps of a closure, of which it then lacks
    // what the rules as written would need.
    const std::vector<bool> wished = wished_restrictions(syntax_, declarations_, sink_);
    if (is_stratified && !sink_.has_errors() &&
        (options_.magic_sets == MagicSets::kApply || !wished.empty())) {
      if (break_mutual_copies(program_.strata, bound_, options_.other_facts, planned_,
                              program_.rules, declarations_, dependencies_))
        stratify_program();
      if (linearise_closures(program_.strata, planned_, options_.other_facts, program_.rules,
                             declarations_, dependencies_))
        stratify_program();
    }
    // A demand restricts the bindings that ask, not what they ask of.
    if (is_stratified && !sink_.has_errors() && options_.magic_sets == MagicSets::kApply &&
        wished.empty() &&
        gather_aggregate_bodies(program_.strata, planned_, program_.rules, declarations_,
                                dependencies_))
      stratify_program();
    const std::vector<bool> needed = needed_relations(declarations_.relations, dependencies_);
    if (options_.other_facts == OtherFacts::kNone) mark_needed(needed);
    if (!planned_.empty()) check_plans(planned_, program_.strata, needed, fillable(), sink_);
    if (options_.other_facts == OtherFacts::kNone) warn_about_relations(syntax_, declared_, sink_);
    warn_about_standard_input(syntax_, sink_);
    program_.pragmas = take_pragmas(syntax_.pragmas, sink_);
    if (!is_stratified || sink_.has_errors()) return std::move(program_);
    if (!wished.empty()) {
      const std::vector<bool> restricted =
          restrict_to_demand(wished, needed, syntax_, options_, program_.rules, declarations_,
                             dependencies_, planned_);
      for (RelationId id = 0; id < restricted.size(); ++id)
        declarations_.relations[id].is_restricted = restricted[id];
      stratify_program();
    }
    finish();
    return std::move(program_);
  }

 private:
  // How the rule came to stand where it stands: instances of components, and the use for which an
  // inline relation is stored.
  std::shared_ptr<const std::vector<NoteDraft>> origin_of(const RuleSyntax& rule) const {
    auto notes = instance_notes(syntax_, rule.instance);
    const auto stored = inlined_.stored.find(rule.heads[0].relation.name);
    if (stored == inlined_.stored.end()) return notes;
    auto more = std::make_shared<std::vector<NoteDraft>>();
    more->push_back({stored->second, fmt::format("the inline relation `{}` cannot be written out "
                                                 "here, so it must be computed",
                                                 stored->first)});
    if (notes != nullptr) more->insert(more->end(), notes->begin(), notes->end());
    return more;
  }

  void analyse_rule(const RuleSyntax& rule) {
    std::vector<Conjunction> bodies;
    if (!rule.body) {
      bodies.emplace_back();
    } else if (!expand_body(*rule.body, sink_, bodies)) {
      return;
    }
    if (rule.heads.size() * bodies.size() > kMaxConjunctions) {
      sink_
          .error(rule.span, fmt::format("this rule stands for {} rules; the limit is {}",
                                        rule.heads.size() * bodies.size(), kMaxConjunctions))
          .hint = "give its body a relation of its own";
      return;
    }
    if (rule.use != RuleUse::kEvaluateOnly) warn_about_variables(rule, bodies, sink_);
    for (const AtomSyntax& head : rule.heads) {
      for (const Conjunction& body : bodies) analyse_clause(rule, head, body);
    }
  }

  void analyse_clause(const RuleSyntax& syntax, const AtomSyntax& head, const Conjunction& body) {
    const bool is_evaluated = syntax.use != RuleUse::kCheckOnly;
    const Declarations& declarations = is_evaluated ? declarations_ : declared_;
    std::optional<BoundRule> rule =
        bind_rule(head, body, syntax.span, !syntax.body.has_value(), declarations, sink_);
    if (!rule) return;
    rule->role = syntax.role;
    rule->unites_values = syntax.unites_values;
    rule->keeps_one_value = syntax.keeps_one_value;
    if (syntax.role == RuleRole::kSubsumes) check_subsumption(*rule, declarations);
    if (!is_evaluated) {
      check_types(*rule, declarations);
      return;
    }
    if (!syntax.plan.empty()) planned_.push_back(planned_rule(*rule, syntax, origin_of(syntax)));
    for (BoundRule& projection : projections_.apply(*rule)) finish_rule(projection);
    // The two atoms that are compared stay where they are, counters count combinations, and a plan
    // speaks of all atoms.
    if (rule->role == RuleRole::kDerives && !has_counter(*rule, sink_) && syntax.plan.empty())
      for (BoundRule& part : split_off_independent_parts(*rule, declarations_)) finish_rule(part);
    const std::size_t before = program_.rules.size();
    finish_rule(*rule);
    if (!syntax.plan.empty() && program_.rules.size() > before)
      planned_.back().rule = static_cast<std::uint32_t>(program_.rules.size() - 1);
  }

  void check_subsumption(const BoundRule& rule, const Declarations& declarations) {
    const Relation& relation = declarations.relations[rule.head];
    const auto refuse = [&](std::string_view what) {
      sink_.error(rule.head_span, fmt::format("`{}` cannot be subsumed: {}", relation.name, what));
    };
    if (relation.attributes.empty()) refuse("it has no columns");
    if (is_equivalence(relation)) refuse("it is an equivalence relation");
    if (!relation.choice_keys.empty()) refuse("it has a choice-domain");
  }

  InferredKinds check_types(BoundRule& rule, const Declarations& declarations) {
    InferredKinds kinds = infer_kinds(rule, declarations, types_, text_, sink_);
    // Where even the kinds clash, a word about subtypes would only repeat it.
    if (kinds.is_ok && types_.has_declared_types())
      check_subtypes(rule, kinds, declarations, lattice_, sink_);
    return kinds;
  }

  void finish_rule(BoundRule& rule) {
    // A relation does not depend on itself by being compared with itself.
    const std::span<const BoundLiteral> body(rule.body);
    const bool compares = rule.role == RuleRole::kSubsumes;
    std::optional<CounterRelations> counters;
    if (has_counter(rule, sink_)) {
      counters = declare_counter_relations(rule, declarations_);
      dependencies_.push_back(
          {counters->numbered, counters->gathered, DependencyKind::kNumbered, rule.span});
      dependencies_.push_back(
          {rule.head, counters->numbered, DependencyKind::kPositive, rule.head_span});
    }
    collect_dependencies(counters ? counters->gathered : rule.head,
                         body.subspan(compares ? after_compared(body) : 0),
                         DependencyKind::kPositive);
    const InferredKinds kinds = check_types(rule, declarations_);
    const bool is_grounded = check_grounding(rule, sink_);
    if (!kinds.is_ok || !is_grounded || rule.never_fires || sink_.has_errors()) return;
    Rule emitted = emit_rule(rule, kinds, declarations_, types_.structures(), map_);
    if (!rule.is_fact)
      emitted.written = on_one_line(text_.substr(rule.span.begin, rule.span.end - rule.span.begin));
    if (counters) program_.rules.push_back(split_counters(emitted, *counters, declarations_));
    program_.rules.push_back(std::move(emitted));
  }

  // Constraints that were lifted out of the two compared atoms have no dependencies.
  static std::size_t after_compared(std::span<const BoundLiteral> body) {
    std::size_t atoms = 0;
    for (std::size_t l = 0; l < body.size(); ++l)
      if (body[l].kind == LiteralKind::kAtom && ++atoms == 2) return l + 1;
    return body.size();
  }

  // A relation of deltas sees every pass over the relation that it watches, so both belong to one
  // stratum. Sums follow from their terms.
  void bind_to_other_relations() {
    const auto bind = [&](const NameSyntax& head, const NameSyntax& on, Span span) {
      const auto from = declarations_.ids.find(head.name);
      const auto to = declarations_.ids.find(on.name);
      if (from == declarations_.ids.end() || to == declarations_.ids.end()) return;
      dependencies_.push_back({from->second, to->second, DependencyKind::kPositive, span});
      bound_.insert({from->second, to->second});
    };
    for (const RelationSyntax& relation : syntax_.relations) {
      if (relation.delta_of) bind(*relation.delta_of, relation.name, relation.delta_of->span);
      if (relation.sums) bind(relation.name, *relation.sums, relation.sums->span);
    }
  }

  // `around`: kAggregated inside aggregates, where every atom must be complete first.
  void collect_dependencies(RelationId head, std::span<const BoundLiteral> literals,
                            DependencyKind around) {
    for (const BoundLiteral& literal : literals) {
      if (literal.kind == LiteralKind::kAtom) {
        dependencies_.push_back({head, literal.atom.relation, around, literal.span});
      } else if (literal.kind == LiteralKind::kNegatedAtom) {
        dependencies_.push_back(
            {head, literal.atom.relation, DependencyKind::kNegated, literal.span});
      } else if (literal.kind == LiteralKind::kAggregate) {
        collect_dependencies(head, literal.aggregate->body, DependencyKind::kAggregated);
      }
    }
  }

  void stratify_program() {
    program_.strata = stratify(declarations_.relations.size(), dependencies_);
    put_standard_input_first();
  }

  // What is read from standard input comes before everything else: it cannot be read twice, so
  // every checkpoint must hold it.
  void put_standard_input_first() {
    std::set<RelationId> derived;
    for (const Dependency& dependency : dependencies_) derived.insert(dependency.head);
    std::stable_partition(program_.strata.begin(), program_.strata.end(), [&](const Stratum& s) {
      return std::all_of(s.relations.begin(), s.relations.end(), [&](RelationId id) {
        return reads_standard_input(declarations_.relations[id]) && !derived.contains(id);
      });
    });
  }

  std::vector<bool> fillable() const {
    if (options_.other_facts == OtherFacts::kNone)
      return fillable_relations(declarations_.relations, program_.rules);
    return std::vector<bool>(declarations_.relations.size(), true);
  }

  void mark_needed(const std::vector<bool>& needed) {
    for (RelationId id = 0; id < needed.size(); ++id)
      declarations_.relations[id].is_needed = needed[id];
  }

  void finish() {
    set_join_orders(planned_, program_);
    program_.relations = std::move(declarations_.relations);
    program_.structures =
        std::make_shared<const std::vector<Structure>>(types_.structures().structures());
    program_.shapes = types_.structures().shapes();
    for (DeclaredFunctor& declared : declarations_.functors) {
      declared.functor.place = map_.place(declared.span);
      program_.external_functors.push_back(std::move(declared.functor));
    }
    for (RelationId id = 0; id < program_.relations.size(); ++id) {
      Relation& relation = program_.relations[id];
      relation.place = map_.place(declarations_.spans[id]);
      relation.structures = program_.structures;
      for (std::size_t i = 0; i < relation.io.size(); ++i) {
        relation.io[i].place = map_.place(declarations_.io_spans[id][i]);
      }
    }
    for (const RelationSyntax& relation : syntax_.relations)
      if (relation.sums)
        program_.relations[declarations_.ids.at(relation.name.name)].sums = {
            .terms = declarations_.ids.at(relation.sums->name), .counts = relation.counts};
    std::vector<std::size_t> stratum_of(program_.relations.size(), 0);
    for (std::size_t i = 0; i < program_.strata.size(); ++i) {
      for (const RelationId relation : program_.strata[i].relations) stratum_of[relation] = i;
    }
    for (std::uint32_t i = 0; i < program_.rules.size(); ++i) {
      Rule& rule = program_.rules[i];
      Stratum& stratum = program_.strata[stratum_of[rule.head]];
      if (rule.role == RuleRole::kDerives) {
        stratum.rules.push_back(i);
      } else {
        stratum.subsumptions.push_back(i);
        Relation& relation = program_.relations[rule.head];
        if (!shrinks(relation)) relation.qualifiers.emplace_back(kShrinkingQualifier);
      }
      rule.text = print_rule(program_, rule);
    }
  }

  const ProgramSyntax& syntax_;
  const InlineOutcome& inlined_;
  std::string_view text_;
  const SourceMap& map_;
  const CompileOptions& options_;
  DiagnosticSink& sink_;
  TypeTable types_;
  SubtypeLattice lattice_;
  Declarations declared_;  // all of them, to check the rules as written
  Declarations declarations_;  // of the relations that are computed
  AggregateProjections projections_{declarations_};
  std::vector<Dependency> dependencies_;
  std::vector<PlannedRule> planned_;
  std::set<RelationId> bound_;  // to each other, pass by pass
  Program program_;
};

}  // namespace

Program analyse(const ProgramSyntax& syntax, const InlineOutcome& inlined, std::string_view text,
                const SourceMap& map, const CompileOptions& options, DiagnosticSink& sink) {
  return Analyser(syntax, inlined, text, map, options, sink).run();
}

}  // namespace stratalog::datalog::language
