// SPDX-License-Identifier: Apache-2.0
// why_not: for each rule of the goal's relation, the longest part of its body that some choice of
// values satisfies, in the order of reading_order.h; and if all of a rule holds, why the tuple is
// not there all the same.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "datalog/evaluate/position_json.h"
#include "datalog/prove/prove.h"
#include "datalog/prove/reading_order.h"
#include "datalog/prove/stored_query.h"
#include "datalog/prove/tuple_text.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// A rule that is judged: its queries have the first 0, 1, ... literals of the order.
struct Judged {
  std::uint32_t open_rule = 0;
  ReadingOrder order;
  std::size_t first_query = 0;
};

// A choice of values that satisfies the first literals of a body.
struct Choice {
  std::vector<std::string> satisfied;
  std::string next;  // the literal after them, with the values of the choice
  std::string found;
};

// The literal that computes a column of the head, where `l` is the equation that was added for it.
std::optional<std::uint32_t> computed_by(const OpenRule& open, std::uint32_t l) {
  const Literal& added = open.rule.body[l];
  if (l < open.written || added.right.kind != ExpressionKind::kVariable) return std::nullopt;
  for (std::uint32_t m = 0; m < open.written; ++m) {
    const Literal& each = open.rule.body[m];
    if ((each.kind == LiteralKind::kAggregate && each.aggregate->result == added.right.variable) ||
        (each.kind == LiteralKind::kRange && each.range->variable == added.right.variable))
      return m;
  }
  return std::nullopt;
}

// `2 = count : { ... }` of a goal for which it is 1, instead of `2 = 1`.
void say_what_computes(const TupleText& text, const OpenRule& open, std::uint32_t equation,
                       std::uint32_t computes, Bindings bindings, Choice& choice) {
  const Literal& added = open.rule.body[equation];
  const Literal& literal = open.rule.body[computes];
  const std::string holds = text.literal(open.rule, literal, bindings);
  std::erase(choice.satisfied, holds);
  if (literal.kind == LiteralKind::kAggregate) choice.found = holds.substr(0, holds.find(" = "));
  bindings[added.right.variable] = bindings[added.left.variable];
  choice.next = text.literal(open.rule, literal, bindings);
}

// The first choice of values for the goal that satisfies the first `count` literals, if there is
// one.
Result<std::optional<Choice>> find_first(StoredQuery& search, const Program& program,
                                         const Judged& judged, std::size_t count,
                                         std::span<const Cell> goal) {
  const std::size_t which = judged.first_query + count;
  const OpenRule& open = search.query().rules[judged.open_rule];
  const TupleText text(program, search.values());
  std::optional<Choice> found;
  const Status status = search.answer(which, goal, 1, [&](const Batch& batch) -> Status {
    if (batch.rows == 0) return {};
    Bindings bindings(open.rule.variables.size());
    for (VariableId v = 0; v < bindings.size() && v < batch.columns.size(); ++v)
      if (!batch.columns[v].empty()) bindings[v] = batch.columns[v][0];
    found.emplace();
    for (std::size_t k = 0; k < count; ++k)
      if (const std::uint32_t l = judged.order.literals[k]; !judged.order.silent.contains(l))
        found->satisfied.push_back(text.literal(open.rule, open.rule.body[l], bindings));
    if (count == judged.order.literals.size()) return Status::cancelled("one is enough");
    // An equation that nobody wrote fails where its record is in no tuple: then the atom that has
    // it does.
    std::size_t at = count;
    while (at + 1 < judged.order.literals.size() &&
           judged.order.silent.contains(judged.order.literals[at]))
      ++at;
    const std::uint32_t next = judged.order.literals[at];
    if (const auto computes = computed_by(open, next))
      say_what_computes(text, open, next, *computes, bindings, *found);
    else
      found->next = text.literal(open.rule, open.rule.body[next], bindings);
    return Status::cancelled("one is enough");
  });
  if (!found && !status.is_ok()) return status;
  return found;
}

Result<FailedRule> judge(StoredQuery& search, const Program& program, const Judged& judged,
                         std::span<const Cell> goal) {
  FailedRule failed;
  failed.rule = mention_of(search.query().rules[judged.open_rule].rule);
  for (std::size_t k = 0; k <= judged.order.literals.size(); ++k) {
    STRATALOG_ASSIGN_OR_RETURN(auto choice, find_first(search, program, judged, k, goal));
    if (!choice) {
      failed.head_fits = k > 0;
      break;
    }
    failed.satisfied = std::move(choice->satisfied);
    failed.fails = std::move(choice->next);
    failed.found = std::move(choice->found);
  }
  return failed;
}

// Whether two constant expressions are written alike.
bool are_same(const Expression& one, const Expression& other) {
  return one.kind == other.kind && one.value_kind == other.value_kind && one.bits == other.bits &&
         one.text == other.text && one.functor == other.functor &&
         std::equal(one.arguments.begin(), one.arguments.end(), other.arguments.begin(),
                    other.arguments.end(), are_same);
}

// The tuple among the facts of the program.
std::vector<FailedRule> facts_of(const StoredGoal& goal) {
  for (const Rule& rule : goal.program.rules) {
    if (rule.role != RuleRole::kDerives || !rule.body.empty() || rule.head != goal.relation ||
        !std::equal(rule.head_arguments.begin(), rule.head_arguments.end(), goal.arguments.begin(),
                    goal.arguments.end(), are_same))
      continue;
    FailedRule fact;
    fact.rule = mention_of(rule);
    fact.is_fact = true;
    return {fact};
  }
  return {};
}

// A rule that counts reads made relations: in their place the body from which they are made, and
// the number at the end.
void read_through_counters(Program& program, RelationId relation) {
  for (Rule& rule : program.rules) {
    if (rule.head != relation || rule.body.size() != 1 || rule.body[0].kind != LiteralKind::kAtom)
      continue;
    const auto& numbering = program.relations[rule.body[0].atom.relation].numbering;
    if (!numbering) continue;
    const auto gathers = std::find_if(
        program.rules.begin(), program.rules.end(),
        [&](const Rule& each) { return each.head == numbering->source && !each.body.empty(); });
    if (gathers == program.rules.end()) continue;
    // Both have the same variables, as one was made of the other.
    rule.body.insert(rule.body.begin(), gathers->body.begin(), gathers->body.end());
  }
}

// `a <= b :- ...` as `a :- b, ...`: whatever it finds for a tuple subsumes it.
std::vector<std::uint32_t> add_subsuming_rules(Program& program, RelationId relation) {
  std::vector<std::uint32_t> added;
  const std::size_t arity = program.relations[relation].attributes.size();
  for (std::size_t r = 0, count = program.rules.size(); r < count; ++r) {
    if (program.rules[r].role != RuleRole::kSubsumes || program.rules[r].head != relation) continue;
    Rule rule = program.rules[r];
    rule.role = RuleRole::kDerives;
    rule.head_arguments.resize(arity);
    rule.body.erase(rule.body.begin());
    added.push_back(static_cast<std::uint32_t>(program.rules.size()));
    program.rules.push_back(std::move(rule));
  }
  return added;
}

// Rules of the goal's relation, and how each is asked.
struct Questions {
  QueryProgram query;
  std::vector<Judged> rules;
  std::vector<Judged> subsuming;

  explicit Questions(const Program& program)
      : query(QueryProgram::over(program, EquivalenceGoal::kPair)) {}

  Judged add(const Program& program, std::uint32_t rule) {
    Judged judged{.open_rule = static_cast<std::uint32_t>(query.rules.size()),
                  .order = {},
                  .first_query = query.queries.size()};
    query.rules.push_back(open_rule(program, rule, Wildcards::kKeep));
    judged.order = reading_order(query.rules.back());
    const auto begin = judged.order.literals.begin();
    for (std::size_t k = 0; k <= judged.order.literals.size(); ++k)
      query.add_query(judged.open_rule, {begin, begin + static_cast<std::ptrdiff_t>(k)});
    return judged;
  }
};

bool is_finished(const Program& program, const StoredState& stored, RelationId relation) {
  const auto position = position_from_json(program, stored.engine_state);
  if (!position.is_ok()) return false;
  for (std::uint32_t s = 0; s < program.strata.size(); ++s)
    if (const auto& in = program.strata[s].relations;
        std::binary_search(in.begin(), in.end(), relation))
      return position.value().finished.contains(s);
  return false;
}

// A stored tuple that subsumes the goal; empty if there is none.
Result<std::string> find_subsuming(StoredQuery& search, const Program& program,
                                   const Questions& questions, std::span<const Cell> tuple) {
  for (const Judged& judged : questions.subsuming) {
    const std::size_t all = judged.order.literals.size();
    STRATALOG_ASSIGN_OR_RETURN(const auto choice, find_first(search, program, judged, all, tuple));
    if (choice) return choice->satisfied.front();  // the other tuple comes first
  }
  return std::string();
}

// Of a tuple that its rules or the program give, and that is not there.
std::string why_missing(const StoredGoal& goal, const StoredState& stored) {
  const Program& program = goal.program;
  const Relation& relation = program.relations[goal.relation];
  if (!is_finished(program, stored, goal.relation)) return "the run had not come to it";
  if (!relation.choice_keys.empty())
    return fmt::format("another tuple was chosen for a key of {}", relation.name);
  if (shrinks(relation)) return "a tuple subsumed it that was subsumed itself since";
  if (std::any_of(program.relations.begin(), program.relations.end(),
                  [](const Relation& each) { return each.size_limit.has_value(); }))
    return ".limitsize ended the recursion before";
  return "it should be there: look at the checkpoint with `stratalog verify --deep`";
}

// What besides rules decides over the tuples of a relation.
std::string note_on_pairs(const StoredQuery& search, const Program& program, RelationId id,
                          std::span<const Cell> tuple) {
  const Relation& relation = program.relations[id];
  for (const Cell cell : tuple.first(2))
    if (search.class_of(id, cell) == nullptr)
      return fmt::format("no pair of {} holds {}", relation.name,
                         TupleText(program, search.values()).value_of(id, cell));
  return fmt::format(
      "{} is an equivalence relation, and no chain of its pairs connects the two elements",
      relation.name);
}

}  // namespace

Result<WhyNot> why_not(Store& store, const StoredState& stored, const std::string& goal,
                       const ProveOptions& options) {
  STRATALOG_ASSIGN_OR_RETURN(StoredGoal parsed, parse_goal(stored, goal, options.program_name));
  Program& program = parsed.program;
  read_through_counters(program, parsed.relation);
  const auto own_rules = static_cast<std::uint32_t>(program.rules.size());
  const std::vector<std::uint32_t> subsuming = add_subsuming_rules(program, parsed.relation);
  Questions questions(program);
  for (std::uint32_t r = 0; r < own_rules; ++r)
    if (is_proof_rule(program.rules[r]) && program.rules[r].head == parsed.relation)
      questions.rules.push_back(questions.add(program, r));
  for (const std::uint32_t r : subsuming) questions.subsuming.push_back(questions.add(program, r));
  STRATALOG_ASSIGN_OR_RETURN(
      const auto search,
      StoredQuery::open(store, stored, program, std::move(questions.query), options.externals));
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<Cell> tuple,
                             search->load_for(parsed, Reach::kBodies));
  WhyNot answer;
  const Relation& relation = program.relations[parsed.relation];
  answer.tuple = TupleText(program, search->values()).tuple(parsed.relation, tuple);
  if (search->contains(parsed.relation, tuple))
    return Status::already_exists(
        fmt::format("{} is in {}; `why` shows how it is derived", answer.tuple, stored.generation));
  answer.is_input = is_read_from_files(relation);
  answer.rules = facts_of(parsed);
  for (const Judged& judged : questions.rules) {
    STRATALOG_ASSIGN_OR_RETURN(FailedRule failed, judge(*search, program, judged, tuple));
    answer.rules.push_back(std::move(failed));
  }
  if (is_equivalence(relation)) {
    answer.note = note_on_pairs(*search, program, parsed.relation, tuple);
  } else if (std::any_of(answer.rules.begin(), answer.rules.end(), [](const FailedRule& rule) {
               return rule.head_fits && rule.fails.empty();
             })) {
    STRATALOG_ASSIGN_OR_RETURN(const std::string subsuming_tuple,
                               find_subsuming(*search, program, questions, tuple));
    answer.note = subsuming_tuple.empty() ? why_missing(parsed, stored)
                                          : fmt::format("{} subsumes it", subsuming_tuple);
  }
  return answer;
}

}  // namespace stratalog::datalog
