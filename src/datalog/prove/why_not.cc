// SPDX-License-Identifier: Apache-2.0
// why_not: for each rule of the goal's relation, the longest part of its body that some choice of
// values satisfies, in the order of reading_order.h; and if all of a rule holds, why the tuple is
// not there all the same.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "datalog/evaluate/position_json.h"
#include "datalog/language/print_program.h"
#include "datalog/prove/prove.h"
#include "datalog/prove/reading_order.h"
#include "datalog/prove/stored_query.h"
#include "datalog/prove/tuple_text.h"
#include "datalog/prove/written_body.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// A rule that is judged, with its queries: the first 0, 1, ... steps of the order; for each step
// what comes before it and prepares it; and the records of single columns of the goal.
struct Judged {
  std::uint32_t open_rule = 0;
  ReadingOrder order;
  std::size_t first_query = 0;
  std::size_t first_prepared = 0;
  std::vector<std::pair<std::size_t, std::size_t>> columns;  // and their queries
};

// Where a rule fails, for one choice of values.
struct Choice {
  std::vector<std::string> satisfied;
  std::string next;  // the step after them
  std::string found;  // what an aggregate gives instead
};

using BindingsUse = std::function<void(const Bindings&)>;

// The first choice of values for the goal that a query finds. False if there is none.
Result<bool> find_first(StoredQuery& search, const Judged& judged, std::size_t which,
                        std::span<const Cell> goal, const BindingsUse& use) {
  const std::size_t variables = search.query().rules[judged.open_rule].rule.variables.size();
  bool found = false;
  const Status status = search.answer(which, goal, 1, [&](const Batch& batch) -> Status {
    if (batch.rows == 0) return {};
    Bindings bindings(variables);
    for (VariableId v = 0; v < bindings.size() && v < batch.columns.size(); ++v)
      if (!batch.columns[v].empty()) bindings[v] = batch.columns[v][0];
    use(bindings);  // values that are not stored are known only here
    found = true;
    return Status::cancelled("one is enough");
  });
  if (!found && !status.is_ok()) return status;
  return found;
}

// What people are told of a choice that satisfies the first `count` steps. `is_prepared`: it has
// the values that prepare the next one as well.
class ChoiceText {
 public:
  ChoiceText(const StoredQuery& search, const Program& program, const Judged& judged)
      : open_(search.query().rules[judged.open_rule]),
        order_(judged.order),
        text_(program, search.values()) {}

  Choice of(std::size_t count, Bindings bindings) const {
    Choice choice;
    for (std::size_t k = 0; k < count; ++k)
      choice.satisfied.push_back(literal(order_.steps[k].shown, bindings));
    if (count == order_.steps.size()) return choice;
    const ReadingStep& step = order_.steps[count];
    const Literal& shown = open_.rule.body[step.shown];
    const auto result = result_of(shown);
    if (result && bindings[*result] && shown.kind == LiteralKind::kAggregate)
      choice.found = text_.variable(open_.rule, *result, bindings);
    // `2 = count : { ... }` where it is 1, instead of `2 = 1`.
    for (const std::uint32_t l : step.literals)
      if (const Literal& part = open_.rule.body[l]; result && equates_two_variables(part))
        bindings[*result] =
            bindings[part.left.variable == *result ? part.right.variable : part.left.variable];
    choice.next = literal(step.shown, bindings);
    return choice;
  }

 private:
  std::string literal(std::uint32_t l, const Bindings& bindings) const {
    return text_.literal(open_.rule, open_.rule.body[l], bindings);
  }

  const OpenRule& open_;
  const ReadingOrder& order_;
  TupleText text_;
};

// "nil is not [x, 1]" of the first column of the goal that cannot be what the head has there.
Result<std::string> find_misfit(StoredQuery& search, const Program& program, const Judged& judged,
                                std::span<const Cell> goal) {
  const OpenRule& open = search.query().rules[judged.open_rule];
  const Rule& rule = program.rules[open.number];
  for (std::size_t c = 0; c < open.goal.size(); ++c) {
    bool fits = true;
    if (open.goal[c].kind == ArgumentKind::kConstant) {
      STRATALOG_ASSIGN_OR_RETURN(const Cell cell, search.cell_of(open.goal[c].constant));
      fits = cell == goal[c];
    }
    const auto query =
        std::ranges::find_if(judged.columns, [&](const auto& each) { return each.first == c; });
    if (query != judged.columns.end()) {
      STRATALOG_ASSIGN_OR_RETURN(
          fits, find_first(search, judged, query->second, goal, [](const Bindings&) {}));
    }
    if (!fits)
      return fmt::format("{} is not {}",
                         TupleText(program, search.values()).value_of(rule.head, c, goal[c]),
                         print_expression(rule, rule.head_arguments[c]));
  }
  return std::string();
}

Result<FailedRule> judge(StoredQuery& search, const Program& program, const Judged& judged,
                         std::span<const Cell> goal) {
  FailedRule failed;
  failed.rule = mention_of(search.query().rules[judged.open_rule].rule);
  const ChoiceText text(search, program, judged);
  const std::size_t steps = judged.order.steps.size();
  Choice choice;
  std::size_t count = 0;
  for (; count <= steps; ++count) {
    STRATALOG_ASSIGN_OR_RETURN(
        const bool is_satisfied,
        find_first(search, judged, judged.first_query + count, goal,
                   [&](const Bindings& bindings) { choice = text.of(count, bindings); }));
    if (!is_satisfied) break;
  }
  failed.head_fits = count > 0;
  if (count == 0) {
    STRATALOG_ASSIGN_OR_RETURN(failed.misfit, find_misfit(search, program, judged, goal));
    return failed;
  }
  const std::size_t failing = count - 1;
  if (failing < steps && judged.order.steps[failing].preparing > 0) {
    // Where nothing is found, as the least value of nothing, the choice stays as it is.
    STRATALOG_RETURN_IF_ERROR(
        find_first(search, judged, judged.first_prepared + failing, goal,
                   [&](const Bindings& bindings) { choice = text.of(failing, bindings); })
            .status());
  }
  failed.satisfied = std::move(choice.satisfied);
  failed.fails = std::move(choice.next);
  failed.found = std::move(choice.found);
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
                  .first_query = query.queries.size(),
                  .first_prepared = 0,
                  .columns = {}};
    query.rules.push_back(open_rule(program, rule, Wildcards::kKeep));
    judged.order = reading_order(query.rules.back());
    const ReadingOrder& order = judged.order;
    for (std::size_t k = 0; k <= order.steps.size(); ++k)
      query.add_query(judged.open_rule, order.first(k));
    judged.first_prepared = query.queries.size();
    for (std::size_t k = 0; k < order.steps.size(); ++k) {
      std::vector<std::uint32_t> literals = order.first(k);
      // A record that nobody has made would end it: its fields are told all the same.
      for (const std::uint32_t l :
           std::span(order.steps[k].literals).first(order.steps[k].preparing))
        if (query.rules.back().rule.body[l].record_use != RecordUse::kFound) literals.push_back(l);
      query.add_query(judged.open_rule, std::move(literals));
    }
    add_columns(judged);
    return judged;
  }

 private:
  void add_columns(Judged& judged) {
    const OpenRule& open = query.rules[judged.open_rule];
    std::map<std::uint32_t, std::vector<std::uint32_t>> columns;
    for (const std::uint32_t l : judged.order.head)
      columns[open.columns[l - open.written]].push_back(l);
    for (auto& [column, literals] : columns) {
      judged.columns.emplace_back(column, query.queries.size());
      query.add_query(judged.open_rule, std::move(literals));
    }
  }
};

bool is_finished(const Program& program, const StoredState& stored, RelationId relation) {
  const auto position = stored_position(program, stored);
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
    const Rule& rule = search.query().rules[judged.open_rule].rule;
    std::string other;
    const auto use = [&](const Bindings& bindings) {
      // The compared tuple comes first.
      other = TupleText(program, search.values()).literal(rule, rule.body.front(), bindings);
    };
    const std::size_t all = judged.first_query + judged.order.steps.size();
    STRATALOG_ASSIGN_OR_RETURN(const bool found, find_first(search, judged, all, tuple, use));
    if (found) return other;
  }
  return std::string();
}

// Of a tuple that its rules or the program give, and that is not there.
std::string why_missing(const StoredGoal& goal, const StoredState& stored,
                        const std::string& program_name) {
  const Program& program = goal.program;
  const Relation& relation = program.relations[goal.relation];
  const std::optional<Program> evaluated = evaluated_program(stored, program_name);
  if (!evaluated || !is_finished(*evaluated, stored, goal.relation))
    return "the run had not come to it";
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
                         TupleText(program, search.values()).value_of(id, 0, cell));
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
  if (relation.is_restricted) {
    answer.note = fmt::format(
        "{} is computed only as far as the outputs ask for it (magic-transform): what is not there "
        "may hold all the same",
        relation.name);
  } else if (is_equivalence(relation)) {
    answer.note = note_on_pairs(*search, program, parsed.relation, tuple);
  } else if (std::any_of(answer.rules.begin(), answer.rules.end(), [](const FailedRule& rule) {
               return rule.head_fits && rule.fails.empty();
             })) {
    STRATALOG_ASSIGN_OR_RETURN(const std::string subsuming_tuple,
                               find_subsuming(*search, program, questions, tuple));
    answer.note = subsuming_tuple.empty() ? why_missing(parsed, stored, options.program_name)
                                          : fmt::format("{} subsumes it", subsuming_tuple);
  }
  return answer;
}

}  // namespace stratalog::datalog
