// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/stored_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "datalog/evaluate/checkpointing.h"
#include "datalog/evaluate/equivalence_run.h"
#include "datalog/evaluate/placement.h"
#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/rule_pass.h"
#include "datalog/evaluate/stratum_run.h"
#include "datalog/facts/cell_class.h"
#include "datalog/language/compile.h"
#include "datalog/prove/goal_text.h"
#include "model/record_image.h"
#include "model/set_walk.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kGoalFile = "goal";
constexpr std::uint64_t kQueueLimit = 8U << 20U;

bool set_contains(const SetView& set, Cell wanted) {
  const Cell offset = wanted - set.base;
  switch (set.kind) {
    case SetKind::kArray:
      return std::binary_search(set.values.begin(), set.values.end(), wanted);
    case SetKind::kOffsets:
      return wanted >= set.base && offset <= 0xFFFFU &&
             std::binary_search(set.offsets.begin(), set.offsets.end(),
                                static_cast<std::uint16_t>(offset));
    case SetKind::kBitmap:
      return wanted >= set.base && offset / 64 < set.words.size() &&
             ((set.words[offset / 64] >> (offset % 64)) & 1U) != 0;
    case SetKind::kRuns:
      for (std::size_t i = 0; i + 1 < set.offsets.size() && wanted >= set.base; i += 2)
        if (offset >= set.offsets[i] && offset - set.offsets[i] <= set.offsets[i + 1]) return true;
      return false;
  }
  return false;
}

// The errors of the goal's own text; others would be damage of the stored program.
std::string goal_errors(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) {
    if (d.severity != Severity::kError) continue;
    text += '\n';
    text += render(d);
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Numbered tuples follow from those that are numbered. Only read backwards: the number is given.
void add_numbering_rules(Program& program) {
  for (RelationId r = 0; r < program.relations.size(); ++r) {
    const Relation& relation = program.relations[r];
    if (!relation.numbering) continue;
    Rule& rule = program.rules.emplace_back();
    rule.head = r;
    rule.place = relation.place;
    rule.text = relation.name + " numbers tuples by autoinc()";
    Literal& source = rule.body.emplace_back();
    source.atom.relation = relation.numbering->source;
    source.place = source.atom.place = relation.place;
    for (const Attribute& attribute : relation.attributes) {
      Expression column;
      column.kind = ExpressionKind::kVariable;
      column.value_kind = attribute.kind;
      column.variable = static_cast<VariableId>(rule.variables.size());
      rule.variables.push_back({.name = attribute.name, .kind = attribute.kind});
      source.atom.arguments.push_back(variable_argument(column.variable));
      rule.head_arguments.push_back(std::move(column));
    }
    source.atom.arguments.pop_back();
  }
}

std::optional<std::string> program_text(const StoredState& stored) {
  const NamedSection* section = find_section(stored, kProgramSection);
  if (section == nullptr) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(section->data.data()), section->data.size());
}

}  // namespace

std::optional<Program> evaluated_program(const StoredState& stored,
                                         const std::string& program_name) {
  CompileOptions options;
  options.preprocessor = PreprocessorUse::kNever;
  return compile({.name = program_name, .text = program_text(stored).value_or("")}, options)
      .program;
}

Result<StoredGoal> parse_goal(const StoredState& stored, const std::string& goal,
                              const std::string& program_name) {
  const auto found = program_text(stored);
  if (!found)
    return Status::not_found(fmt::format(
        "{} holds no program; it was not written by a run of Stratalog", stored.generation));
  const std::string& source = *found;
  std::string text = as_in_programs(goal);
  while (!text.empty() && (text.back() == '.' || std::isspace(text.back()) != 0)) text.pop_back();
  CompileOptions options;
  options.preprocessor = PreprocessorUse::kNever;
  // A stored tuple is derived from stored ones by the rules as they are written.
  options.magic_sets = MagicSets::kMark;
  CompileOutcome plain = compile({.name = program_name, .text = source}, options);
  if (!plain.is_ok())
    return Status::corruption(fmt::format("the program stored in {} does not compile:{}",
                                          stored.generation, goal_errors(plain.diagnostics)));
  // The goal as one more fact: then the compiler checks names, columns and types.
  CompileOutcome asked = compile(
      {.name = program_name, .text = source + "\n# 1 \"" + kGoalFile + "\"\n" + text + ".\n"},
      options);
  if (!asked.is_ok())
    return Status::invalid_argument(
        fmt::format("`{}` is no tuple of the program:{}", text, goal_errors(asked.diagnostics)));
  std::vector<const Rule*> facts;
  for (const Rule& rule : asked.program->rules)
    if (rule.place.file == kGoalFile) facts.push_back(&rule);
  const bool is_one = facts.size() == 1 && facts[0]->body.empty() &&
                      asked.program->rules.size() == plain.program->rules.size() + 1 &&
                      asked.program->relations.size() == plain.program->relations.size();
  if (!is_one)
    return Status::invalid_argument(fmt::format(
        "`{}` is not one tuple of a stored relation; expected a form like path(3, 17) (`inline` "
        "relations are written out where they are used, and not stored)",
        text));
  StoredGoal result;
  result.arguments = facts[0]->head_arguments;
  const std::string& name = asked.program->relations[facts[0]->head].name;
  for (RelationId r = 0; r < plain.program->relations.size(); ++r)
    if (plain.program->relations[r].name == name) result.relation = r;
  result.program = std::move(*plain.program);
  add_numbering_rules(result.program);
  const bool is_stored = std::any_of(
      stored.relations.begin(), stored.relations.end(), [&](const StoredRelation& relation) {
        return relation.name == name && relation.version == RelationVersion::kTotal;
      });
  if (!is_stored)
    return Status::not_found(fmt::format("{} does not hold `{}` yet: the run had not come to it",
                                         stored.generation, name));
  return result;
}

Result<std::unique_ptr<StoredQuery>> StoredQuery::open(
    Store& store, const StoredState& stored, const Program& original, QueryProgram query,
    std::span<const ExternalFunction> externals) {
  std::unique_ptr<StoredQuery> opened(new StoredQuery(store, stored, std::move(query)));
  StoredQuery& self = *opened;
  self.state_ =
      std::make_unique<EngineState>(*self.self_, self.query_.program, self.options_, self.hooks_);
  EngineState& state = *self.state_;
  self.options_.externals = externals;
  state.evaluator.set_externals(externals, self.query_.program);
  STRATALOG_RETURN_IF_ERROR(self.read_values());
  open_equivalences(state);

  PlanOptions options;
  options.allow_pivot = false;
  options.statistics.resize(self.query_.program.relations.size());
  for (const StoredRelation& relation : stored.relations)
    for (RelationId r = 0; r < original.relations.size(); ++r)
      if (original.relations[r].name == relation.name &&
          relation.version == RelationVersion::kTotal)
        options.statistics[r] = {.known = true, .rows = relation.rows, .distinct = {}};
  for (const RelationId goals : self.query_.goals)
    options.statistics[goals] = {.known = true, .rows = 1, .distinct = {}};
  // Bindings are wanted tuple by tuple.
  options.allow_sets = self.query_.forward.has_value();
  if (self.query_.forward) options.continued = options.sets_in = self.query_.forward->stratum;
  STRATALOG_ASSIGN_OR_RETURN(state.plan, plan_program(self.query_.program, options));
  state.placements = plan_placements(self.query_.program, state.plan);
  for (RelationId r = 0; r < state.relations.size(); ++r)
    state.relations[r].arity =
        static_cast<std::uint32_t>(self.query_.program.relations[r].attributes.size());
  self.loaded_.resize(state.relations.size(), 0);
  return opened;
}

Status StoredQuery::read_values() {
  ValueDictionary& dictionary = state_->dictionary;
  const NamedSection* values = find_section(stored_, kDictionarySection);
  if (values == nullptr)
    return Status::corruption(stored_.generation + ": the dictionary section is missing");
  STRATALOG_RETURN_IF_ERROR(decode_dictionary(values->data, dictionary));
  if (query_.program.shapes.empty()) return {};
  const NamedSection* records = find_section(stored_, kRecordsSection);
  if (records == nullptr)
    return Status::corruption(stored_.generation + ": the records section is missing");
  STRATALOG_RETURN_IF_ERROR(decode_records(records->data, dictionary));
  announce_shapes(query_.program, dictionary);
  return {};
}

Result<Cell> StoredQuery::cell_of(const Expression& constant) {
  static const Batch kNoBatch;
  const Cell cell = state_->evaluator.evaluate(constant, kNoBatch, 0);
  STRATALOG_RETURN_IF_ERROR(state_->evaluator.status());
  // Queries forget provisional cells.
  STRATALOG_ASSIGN_OR_RETURN(const CellRemapping final_cells,
                             agree_on_new_values(*self_, state_->dictionary, state_->new_values));
  return final_cells.of(cell_class(constant.value_kind), cell);
}

Result<std::vector<Cell>> StoredQuery::load_for(const StoredGoal& goal, Reach reach) {
  std::vector<Cell> tuple;
  for (const Expression& e : goal.arguments) {
    STRATALOG_ASSIGN_OR_RETURN(const Cell cell, cell_of(e));
    tuple.push_back(cell);
  }
  Status status;
  const auto cell_of_constant = [&](const Expression& e) -> Cell {
    const auto cell = cell_of(e);
    if (cell.is_ok()) return cell.value();
    status = cell.status();
    return 0;
  };
  const Demand demand = demand_of(query_, goal.relation, tuple, reach, cell_of_constant);
  STRATALOG_RETURN_IF_ERROR(status);
  if (const Rule* rule = find_rule_of_passes(query_, demand))
    return Status::not_supported(fmt::format(
        "`{}` ({}:{}) depends on the pass over the recursive rules in which it was evaluated, "
        "which a checkpoint does not tell",
        rule->text, rule->place.file, rule->place.line));
  for (RelationId r = 0; r < demand.size(); ++r) {
    if (!demand[r]) continue;
    loaded_[r] = 1;
    const Status loaded = guard_memory([&] { return load_relation(r, *demand[r]); });
    STRATALOG_RETURN_IF_ERROR(loaded);
  }
  return tuple;
}

Status StoredQuery::load_relation(RelationId id, const ColumnDemand& demand) {
  EngineState& state = *state_;
  RelationData& data = state.relations[id];
  const std::string& name = query_.program.relations[id].name;
  const bool lies_in_shards = data.arity > 0 && !data.equivalence;
  if (lies_in_shards) open_shard(state, id, state.plan.relations[id].primary);
  for (std::size_t i = 0; i < stored_.relations.size(); ++i) {
    const StoredRelation& stored = stored_.relations[i];
    if (stored.name != name || stored.version != RelationVersion::kTotal) continue;
    if (stored.arity != data.arity)
      return Status::corruption(fmt::format("{}: relation `{}` has {} columns, the program says {}",
                                            stored_.generation, name, stored.arity, data.arity));
    data.holds = stored.arity == 0 && stored.rows > 0;
    data.global_rows = stored.rows;
    if (lies_in_shards) STRATALOG_RETURN_IF_ERROR(load_tuples(id, i, demand));
    if (data.equivalence) STRATALOG_RETURN_IF_ERROR(load_classes(id, i));
  }
  return {};
}

Status StoredQuery::load_tuples(RelationId id, std::size_t i, const ColumnDemand& demand) {
  EngineState& state = *state_;
  RelationData& data = state.relations[id];
  const StoredRelation& stored = stored_.relations[i];
  Shard& home = data.shards.front();
  Index& index = home.primary_index();
  std::vector<Cell> declared(stored.arity);
  std::vector<Cell> ordered(stored.arity);
  const std::uint32_t last = stored.column_order.back();
  std::uint64_t queued = 0;
  const auto take_in = [&] {
    unite_shard(home, state.scratch);
    advance_shard(home, state.scratch);
    index.forget_delta();
    queued = 0;
  };
  const bool same_order = std::equal(index.order().begin(), index.order().end(),
                                     stored.column_order.begin(), stored.column_order.end());
  STRATALOG_RETURN_IF_ERROR(
      for_each_stored_group(store_, stored_.generation, i, [&](const TupleGroup& group) -> Status {
        for (std::size_t c = 0; c < group.prefix.size(); ++c) {
          const std::uint32_t column = stored.column_order[c];
          if (demand[column] && *demand[column] != group.prefix[c]) return {};
          declared[column] = group.prefix[c];
        }
        const auto take = [&](Cell cell) {
          declared[last] = cell;
          for (std::size_t c = 0; c < ordered.size(); ++c) ordered[c] = declared[index.order()[c]];
          index.queue(index.find_or_add_row(ordered.data()), ordered.back());
          if (++queued > kQueueLimit) take_in();
        };
        if (demand[last]) {
          if (set_contains(group.set, *demand[last])) take(*demand[last]);
        } else if (same_order) {
          index.queue_view(group.prefix.data(), group.set);
          queued += group.set.count;
          if (queued > kQueueLimit) take_in();
        } else {
          walk_set(group.set, take);
        }
        return {};
      }));
  take_in();
  data.global_rows = index.tuples();
  return {};
}

Status StoredQuery::load_classes(RelationId id, std::size_t i) {
  std::vector<Equivalence::Pair> classes;
  STRATALOG_RETURN_IF_ERROR(
      for_each_stored_group(store_, stored_.generation, i, [&](const TupleGroup& group) -> Status {
        walk_set(group.set, [&](Cell cell) { classes.push_back({group.prefix[0], cell}); });
        return {};
      }));
  return restore_equivalence(*state_, id, classes, nullptr);
}

bool StoredQuery::contains(RelationId relation, std::span<const Cell> tuple) const {
  const RelationData& data = state_->relations[relation];
  if (data.arity == 0) return data.holds;
  if (data.equivalence) return data.equivalence->contains(tuple[0], tuple[1]);
  if (data.shards.empty()) return false;
  const Index& index = data.shards.front().primary_index();
  std::array<Cell, kMaxArity> ordered{};
  for (std::size_t c = 0; c < tuple.size(); ++c) ordered[c] = tuple[index.order()[c]];
  return index.contains(ordered.data());
}

void StoredQuery::for_each_tuple(RelationId relation,
                                 const std::function<void(std::span<const Cell>)>& visit) const {
  const RelationData& data = state_->relations[relation];
  if (data.arity == 0 && data.holds) visit({});
  if (data.arity == 0 || data.shards.empty()) return;
  const Index& index = data.shards.front().primary_index();
  std::vector<Cell> declared(data.arity);
  for (RowId row = 0; row < index.row_count(); ++row) {
    const auto prefix = index.prefix(row);
    for (std::size_t c = 0; c < prefix.size(); ++c) declared[index.order()[c]] = prefix[c];
    walk_set(index.total(row).view(), [&](Cell cell) {
      declared[index.order().back()] = cell;
      visit(declared);
    });
  }
}

void StoredQuery::set_goals(RelationId relation, std::span<const Cell> goals, std::size_t count) {
  RelationData& data = state_->relations[relation];
  const std::uint32_t arity = data.arity;
  data = RelationData();
  data.arity = arity;
  data.global_rows = count;
  data.holds = arity == 0 && count > 0;
  if (arity == 0) return;
  Shard& shard = open_shard(*state_, relation, state_->plan.relations[relation].primary);
  for (std::size_t i = 0; i < count; ++i) queue_tuple(shard, goals.subspan(i * arity, arity));
  unite_shard(shard, state_->scratch);
  advance_shard(shard, state_->scratch);
}

Status StoredQuery::answer(std::size_t which, std::span<const Cell> goals, std::size_t count,
                           const std::function<Status(const Batch&)>& take) {
  const Query& query = query_.queries[which];
  set_goals(query_.goals[query_.rules[query.open_rule].rule.head], goals, count);
  const std::vector<RulePlan>& plans = state_->plan.strata[query.stratum].once;
  return guard_memory([&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(ensure_static_relations(*state_, query.stratum, plans, false));
    STRATALOG_ASSIGN_OR_RETURN(const auto pass,
                               RulePass::bind(*state_, query.stratum, plans,
                                              [&](const RulePlan&) -> BatchSink { return take; }));
    return pass->run();
  });
}

}  // namespace stratalog::datalog
