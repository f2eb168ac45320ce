// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/mutual_copies.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "datalog/counted_passes.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog::language {
namespace {

// More rules than these are collected in a relation instead of being written twice.
constexpr std::size_t kMostWrittenTwice = 4;

// A rule whose head has the columns of its one atom in another order.
struct CopyRule {
  RelationId from = 0;
  std::vector<std::size_t> columns;  // of `from`, by column of the head
};

std::optional<CopyRule> copy_rule(const Rule& rule) {
  if (rule.role != RuleRole::kDerives || rule.body.size() != 1 ||
      rule.body[0].kind != LiteralKind::kAtom)
    return {};
  const std::vector<Argument>& arguments = rule.body[0].atom.arguments;
  std::map<VariableId, std::size_t> place;
  for (std::size_t c = 0; c < arguments.size(); ++c)
    if (arguments[c].kind != ArgumentKind::kVariable ||
        !place.emplace(arguments[c].variable, c).second)
      return {};
  CopyRule copy{.from = rule.body[0].atom.relation, .columns = {}};
  for (const Expression& e : rule.head_arguments) {
    if (e.kind != ExpressionKind::kVariable) return {};
    const auto found = place.find(e.variable);
    if (found == place.end()) return {};
    copy.columns.push_back(found->second);
    place.erase(found);
  }
  return place.empty() ? std::optional(std::move(copy)) : std::nullopt;
}

// Whether copying there and back ends where it began.
bool undoes(const CopyRule& back, const CopyRule& there) {
  for (std::size_t c = 0; c < back.columns.size(); ++c)
    if (there.columns[back.columns[c]] != c) return false;
  return true;
}

bool reads(std::span<const Literal> body, const std::vector<RelationId>& relations) {
  return std::ranges::any_of(body, [&](const Literal& literal) {
    if (literal.kind == LiteralKind::kAggregate) return reads(literal.aggregate->body, relations);
    return reads_atom(literal) && std::ranges::binary_search(relations, literal.atom.relation);
  });
}

// Facts and rules of one atom that compute nothing: looking at them twice is cheaper than a copy.
bool is_written_twice(const Rule& rule) {
  return (rule.body.empty() ||
          (rule.body.size() == 1 && rule.body[0].kind == LiteralKind::kAtom)) &&
         std::ranges::none_of(rule.head_arguments, [](const Expression& e) {
           return e.kind == ExpressionKind::kFunctor;
         });
}

class Breaker {
 public:
  Breaker(OtherFacts other_facts, std::vector<Rule>& rules, Declarations& declarations,
          std::vector<Dependency>& dependencies)
      : other_facts_(other_facts),
        rules_(rules),
        declarations_(declarations),
        dependencies_(dependencies),
        is_gone_(rules.size(), false),
        rules_of_(declarations.relations.size()) {
    for (std::uint32_t r = 0; r < rules.size(); ++r) rules_of_[rules[r].head].push_back(r);
  }

  bool can_be_broken(const Stratum& stratum) const {
    return std::ranges::all_of(stratum.relations, [&](RelationId relation) {
      return holds_what_rules_say(declarations_.relations[relation]) &&
             std::ranges::all_of(rules_of_[relation], [&](std::uint32_t r) {
               return rules_[r].role == RuleRole::kDerives && !counts_passes(rules_[r]);
             });
    });
  }

  // Those of which less comes from elsewhere are copies first.
  void break_up(const Stratum& stratum) {
    std::vector<Mirror> mirrors;
    mirrors.reserve(stratum.relations.size());
    for (const RelationId relation : stratum.relations) mirrors.push_back({relation, {}, {}});
    for (Mirror& mirror : mirrors) split_rules(stratum, mirror);
    std::ranges::stable_sort(mirrors, {}, [](const Mirror& m) { return m.others.size(); });
    for (Mirror& mirror : mirrors) {
      split_rules(stratum, mirror);  // what was broken before has fewer
      const std::vector<std::uint32_t> returns = find_returns(stratum, mirror);
      if (!returns.empty()) break_at(mirror, returns);
    }
  }

  bool has_broken() const { return has_broken_; }

  // Takes the rules out that are gone.
  void finish(std::vector<PlannedRule>& planned) {
    std::vector<std::uint32_t> place(rules_.size());
    std::uint32_t kept = 0;
    for (std::uint32_t r = 0; r < rules_.size(); ++r) {
      place[r] = kept;
      if (r < is_gone_.size() && is_gone_[r]) continue;
      if (kept != r) rules_[kept] = std::move(rules_[r]);
      ++kept;
    }
    rules_.resize(kept);
    for (PlannedRule& plan : planned)
      if (plan.rule) plan.rule = place[*plan.rule];
  }

 private:
  // A relation that is, but for `others`, a copy of relations of its stratum.
  struct Mirror {
    RelationId relation = 0;
    std::vector<std::uint32_t> copies;  // rules that read the stratum
    std::vector<std::uint32_t> others;
  };

  void split_rules(const Stratum& stratum, Mirror& mirror) const {
    mirror.copies.clear();
    mirror.others.clear();
    for (const std::uint32_t r : rules_of_[mirror.relation])
      if (!is_gone_[r])
        (reads(rules_[r].body, stratum.relations) ? mirror.copies : mirror.others).push_back(r);
  }

  // Rules that copy the mirror back to where all of its copies come from.
  std::vector<std::uint32_t> find_returns(const Stratum& stratum, const Mirror& mirror) const {
    std::vector<CopyRule> there;
    for (const std::uint32_t r : mirror.copies) {
      std::optional<CopyRule> copy = copy_rule(rules_[r]);
      if (!copy) return {};
      there.push_back(std::move(*copy));
    }
    std::vector<std::uint32_t> returns;
    if (there.empty() || is_read_from_files(declarations_.relations[mirror.relation]))
      return returns;
    for (const RelationId head : stratum.relations) {
      const bool is_own = head == mirror.relation;
      if (is_own && !writes_others_twice(mirror)) continue;
      for (const std::uint32_t r : rules_of_[head]) {
        const auto back = is_gone_[r] ? std::nullopt : copy_rule(rules_[r]);
        if (back && back->from == mirror.relation &&
            std::ranges::all_of(there, [&](const CopyRule& copy) {
              return copy.from == head && undoes(*back, copy);
            }))
          returns.push_back(r);
      }
    }
    return returns;
  }

  bool writes_others_twice(const Mirror& mirror) const {
    return other_facts_ == OtherFacts::kNone && mirror.others.size() <= kMostWrittenTwice &&
           std::ranges::all_of(mirror.others,
                               [&](std::uint32_t r) { return is_written_twice(rules_[r]); });
  }

  void break_at(const Mirror& mirror, const std::vector<std::uint32_t>& returns) {
    has_broken_ = true;
    if (writes_others_twice(mirror)) {
      for (const std::uint32_t r : returns) {
        for (const std::uint32_t other : mirror.others) write_twice(rules_[other], rules_[r]);
        is_gone_[r] = true;
      }
    } else {
      const RelationId made = collect(mirror);
      for (const std::uint32_t r : returns) {
        rules_[r].body[0].atom.relation = made;
        rules_[r].written.clear();
        depend(rules_[r].head, made);
      }
    }
    for (const std::uint32_t r : returns) forget_dependency(rules_[r].head, mirror.relation);
  }

  // What `back` would have brought of what `other` derives.
  void write_twice(const Rule& other, const Rule& back) {
    const CopyRule copy = copy_rule(back).value();
    if (other.head == back.head && std::ranges::is_sorted(copy.columns)) return;
    Rule rule = other;
    rule.head = back.head;
    rule.place = back.place;
    rule.written.clear();
    for (std::size_t c = 0; c < copy.columns.size(); ++c)
      rule.head_arguments[c] = other.head_arguments[copy.columns[c]];
    if (!rule.body.empty()) depend(rule.head, rule.body[0].atom.relation);
    rules_.push_back(std::move(rule));
  }

  // A relation of what the mirror has from elsewhere.
  RelationId collect(const Mirror& mirror) {
    const RelationId made = add_made_part(mirror.relation, declarations_);
    declarations_.relations[mirror.relation].facts_into = made;
    for (const std::uint32_t r : mirror.others) rules_[r].head = made;
    for (std::size_t d = 0, size = dependencies_.size(); d < size; ++d) {
      Dependency dependency = dependencies_[d];
      if (dependency.head != mirror.relation) continue;
      dependency.head = made;
      if (reads_still(mirror.others, dependency.on)) dependencies_.push_back(dependency);
    }
    // Where the copies stand, in their words.
    Rule copy = rules_[mirror.copies.front()];
    const std::vector<std::size_t> columns = copy_rule(copy).value().columns;
    std::vector<Argument> arguments;
    arguments.reserve(columns.size());
    for (const std::size_t column : columns)
      arguments.push_back(copy.body[0].atom.arguments[column]);
    copy.body[0].atom.arguments = std::move(arguments);
    copy.body[0].atom.relation = made;
    copy.written.clear();
    depend(mirror.relation, made);
    rules_.push_back(std::move(copy));
    return made;
  }

  bool reads_still(const std::vector<std::uint32_t>& places, RelationId relation) const {
    return std::ranges::any_of(
        places, [&](std::uint32_t r) { return !is_gone_[r] && reads(rules_[r].body, {relation}); });
  }

  void depend(RelationId head, RelationId on) {
    dependencies_.push_back({head, on, DependencyKind::kPositive, declarations_.spans[head]});
  }

  void forget_dependency(RelationId head, RelationId on) {
    if (reads_still(rules_of_[head], on)) return;
    std::erase_if(dependencies_, [&](const Dependency& d) { return d.head == head && d.on == on; });
  }

  OtherFacts other_facts_;
  std::vector<Rule>& rules_;
  Declarations& declarations_;
  std::vector<Dependency>& dependencies_;
  std::vector<bool> is_gone_;  // of the rules that were there before
  std::vector<std::vector<std::uint32_t>> rules_of_;  // the same
  bool has_broken_ = false;
};

}  // namespace

bool break_mutual_copies(const std::vector<Stratum>& strata, const std::set<RelationId>& bound,
                         OtherFacts other_facts, std::vector<PlannedRule>& planned,
                         std::vector<Rule>& rules, Declarations& declarations,
                         std::vector<Dependency>& dependencies) {
  std::set<RelationId> fixed = bound;
  for (const PlannedRule& plan : planned) fixed.insert(plan.head);
  Breaker breaker(other_facts, rules, declarations, dependencies);
  for (const Stratum& stratum : strata)
    if (stratum.is_recursive && breaker.can_be_broken(stratum) &&
        std::ranges::none_of(stratum.relations, [&](RelationId r) { return fixed.contains(r); }))
      breaker.break_up(stratum);
  if (breaker.has_broken()) breaker.finish(planned);
  return breaker.has_broken();
}

}  // namespace stratalog::datalog::language
