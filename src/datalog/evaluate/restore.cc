// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "datalog/evaluate/added_facts.h"
#include "datalog/evaluate/equivalence_run.h"
#include "datalog/evaluate/incoming.h"
#include "datalog/evaluate/pivot_relations.h"
#include "datalog/evaluate/placement.h"
#include "datalog/evaluate/position_json.h"
#include "datalog/evaluate/redistribute.h"
#include "model/multiset_hash.h"
#include "model/record_image.h"
#include "model/set_union.h"
#include "model/set_walk.h"

namespace stratalog::datalog {
namespace {

// Sets of more are kept as sets.
constexpr std::uint64_t kFewCells = 4;

// Of a group in the mail, with its prefix.
constexpr std::uint64_t kMostOfHeader = 64;

bool runs_by_rounds(const EnginePosition& position) {
  return position.stratum && !position.by_pivot;
}

std::optional<std::uint32_t> swept_stratum(const EnginePosition& position) {
  return position.by_pivot ? position.stratum : std::nullopt;
}

}  // namespace

LoadSink Restorer::sink() {
  return {
      .begin = [this](const StoredState& stored) { return begin(stored); },
      .accept = [this](std::size_t index, const TupleGroup& group) { return accept(index, group); },
      .settle = [this] { return arrive(); },
      .wants = [this](std::size_t index) { return !targets_[index].is_dropped; }};
}

Status Restorer::begin(const StoredState& stored) {
  state_.program.strata = state_.declared_strata;
  if (stored.program_hash != hash_program(state_.program))
    return Status::invalid_argument(
        fmt::format("{} was written by another program (hash {}, this one has {}); run the program "
                    "it belongs to (`stratalog "
                    "resume` takes it from the checkpoint), or use another checkpoint directory",
                    stored.generation, stored.program_hash, hash_program(state_.program)));
  STRATALOG_ASSIGN_OR_RETURN(position_, stored_position(state_.program, stored));
  const NamedSection* dictionary = find_section(stored, kDictionarySection);
  if (dictionary == nullptr)
    return Status::corruption(stored.generation + ": the dictionary section is missing");
  state_.dictionary = ValueDictionary();
  STRATALOG_RETURN_IF_ERROR(decode_dictionary(dictionary->data, state_.dictionary));
  if (!state_.program.shapes.empty()) {
    const NamedSection* records = find_section(stored, kRecordsSection);
    if (records == nullptr)
      return Status::corruption(stored.generation + ": the records section is missing");
    STRATALOG_RETURN_IF_ERROR(decode_records(records->data, state_.dictionary));
  }
  STRATALOG_RETURN_IF_ERROR(continue_strata(stored));

  // The plan of the run that wrote it, so that relations are dealt as they were.
  STRATALOG_ASSIGN_OR_RETURN(
      state_.plan, plan_program(state_.program, {.statistics = position_.statistics,
                                                 .allow_pivot = state_.options.allow_pivot,
                                                 .swept = swept_stratum(position_),
                                                 .allow_sets = state_.options.allow_sets,
                                                 .continued = continued_stratum(position_)}));
  state_.placements = plan_placements(state_.program, state_.plan);
  for (RelationId r = 0; r < state_.relations.size(); ++r) {
    state_.relations[r] = RelationData();
    state_.relations[r].arity =
        static_cast<std::uint32_t>(state_.program.relations[r].attributes.size());
  }
  open_equivalences(state_);
  moves_ = stored.needs_redistribution;
  stored_ = stored.relations;
  targets_.clear();
  STRATALOG_RETURN_IF_ERROR(open_pivots(stored));

  STRATALOG_RETURN_IF_ERROR(open_targets(stored));
  open_mail(stored);
  return {};
}

// Where the tuples of each stored relation go.
Status Restorer::open_targets(const StoredState& stored) {
  std::map<std::string, RelationId> by_name;
  for (RelationId r = 0; r < state_.program.relations.size(); ++r)
    by_name[state_.program.relations[r].name] = r;
  for (const StoredRelation& relation : stored.relations) {
    const auto known = by_name.find(relation.name);
    if (known == by_name.end() || state_.relations[known->second].arity != relation.arity)
      return Status::corruption(
          fmt::format("{}: relation `{}` with {} columns is not in the program", stored.generation,
                      relation.name, relation.arity));
    Target target{.relation = known->second,
                  .version = relation.version,
                  .same_order = true,
                  .is_dropped = is_dropped(known->second),
                  .delta = nullptr,
                  .pairs = {}};
    RelationData& data = state_.relations[target.relation];
    if (target.is_dropped) {
      targets_.push_back(std::move(target));
      continue;
    }
    if (data.pivot &&
        !std::ranges::equal(relation.column_order, data.pivot->column_order(data.pivot_position)))
      return Status::corruption(
          fmt::format("{}: relation `{}` was swept by another column, which another version of "
                      "Stratalog has chosen; go on with that one, or start over",
                      stored.generation, relation.name));
    if (relation.arity == 0) {
      (relation.version == RelationVersion::kTotal ? data.holds : data.delta_holds) =
          relation.rows > 0;
    } else if (!data.pivot && !data.equivalence) {
      const std::uint32_t primary = state_.plan.relations[target.relation].primary;
      const Shard& home = open_shard(state_, target.relation, primary);
      const auto order = home.primary_index().order();
      target.same_order = std::equal(order.begin(), order.end(), relation.column_order.begin(),
                                     relation.column_order.end());
      if (relation.version == RelationVersion::kDelta)
        target.delta = std::make_unique<Index>(
            std::vector<std::uint32_t>(order.begin(), order.end()), std::vector<std::uint32_t>{});
    }
    targets_.push_back(std::move(target));
  }
  return {};
}

void Restorer::open_mail(const StoredState& stored) {
  MailOptions options;
  options.ranks = state_.comm.size();
  options.self = state_.comm.rank();
  options.full_bytes = state_.options.restore_round_bytes;
  for (const StoredRelation& relation : stored.relations)
    options.arity_of_stream.push_back(relation.arity);
  mail_ = std::make_unique<TupleMail>(options);
  handler_ = guarded(
      state_, {.on_run =
                   [this](const MailRun& run) {
                     return keep_run(targets_[static_cast<std::size_t>(run.stream)], run);
                   },
               .on_group =
                   [this](const MailGroup& mail) {
                     return keep(targets_[static_cast<std::size_t>(mail.stream)], mail.group);
                   }});
  arrived_ = {};
}

// Facts are to be added, or were being added when the checkpoint was written: the strata that go on
// are one.
Status Restorer::continue_strata(const StoredState& stored) {
  if (!state_.changed.empty()) {
    if (position_.is_adding)
      return Status::already_exists(
          fmt::format("{} is of a run to which facts were being added: resume it to its end first, "
                      "then add more",
                      stored.generation));
    if (position_.stratum || position_.finished.size() != state_.program.strata.size())
      return Status::already_exists(fmt::format(
          "{} is of a run that is not finished: resume it first, then add facts to what it has "
          "found",
          stored.generation));
    STRATALOG_ASSIGN_OR_RETURN(
        state_.addition, plan_addition(state_.program, state_.changed, sweepable_strata(stored)));
    begin_addition(state_, stored.generation, position_);
  }
  if (position_.is_adding)
    state_.program.strata = merge_strata(state_.program, position_.additions.back().continued);
  return {};
}

// Strata that were run by pivot, can be again, and are large.
std::set<std::uint32_t> Restorer::sweepable_strata(const StoredState& stored) const {
  std::set<std::uint32_t> strata;
  if (!state_.options.allow_pivot) return strata;
  std::map<std::string, std::uint64_t> rows;
  for (const StoredRelation& relation : stored.relations)
    if (relation.version == RelationVersion::kTotal) rows[relation.name] = relation.rows;
  for (const auto& [stratum, space] : position_.pivot_spaces) {
    std::uint64_t held = 0;
    if (stratum < state_.program.strata.size())
      for (const RelationId r : state_.program.strata[stratum].relations)
        held += rows[state_.program.relations[r].name];
    if (held >= state_.options.sweep_anew_min_rows) strata.insert(stratum);
  }
  return strata;
}

bool Restorer::is_dropped(RelationId relation) const {
  if (!state_.addition) return false;
  const auto& restarted = position_.additions.back().restarted;
  return std::any_of(restarted.begin(), restarted.end(), [&](std::uint32_t s) {
    const auto& members = state_.program.strata[s].relations;
    return std::binary_search(members.begin(), members.end(), relation);
  });
}

Status Restorer::open_pivots(const StoredState& stored) {
  for (const auto& [stratum, stored_space] : position_.pivot_spaces) {
    PivotSpace space;
    if (stored_space.sparse) {
      const NamedSection* section = find_section(stored, fmt::format("pivots-{}", stratum));
      if (section == nullptr || section->data.size() != stored_space.lanes * sizeof(Cell))
        return Status::corruption(
            fmt::format("{}: the pivots of stratum {} are missing", stored.generation, stratum));
      std::vector<Cell> cells(stored_space.lanes);
      std::memcpy(cells.data(), section->data.data(), section->data.size());
      const std::uint32_t lanes_in_block =
          PivotRelations::lanes_in_block_of(cells.size(), state_.comm.size());
      STRATALOG_ASSIGN_OR_RETURN(space, PivotSpace::ordered(std::move(cells), lanes_in_block));
    } else {
      STRATALOG_ASSIGN_OR_RETURN(space,
                                 PivotSpace::dense(static_cast<Cell>(stored_space.first),
                                                   static_cast<std::uint32_t>(stored_space.lanes)));
    }
    if (stratum >= state_.program.strata.size() || !state_.plan.strata[stratum].pivot ||
        (swept_stratum(position_) == stratum &&
         state_.plan.strata[stratum].strategy != Strategy::kPivot))
      return Status::corruption(
          fmt::format("{}: stratum {} has no pivot", stored.generation, stratum));
    auto relations = std::make_shared<PivotRelations>(state_, stratum);
    relations->open(std::move(space));
    const auto& members = state_.program.strata[stratum].relations;
    for (std::size_t i = 0; i < members.size(); ++i) {
      state_.relations[members[i]].pivot = relations;
      state_.relations[members[i]].pivot_position = static_cast<std::uint32_t>(i);
    }
  }
  return {};
}

// On the same number of ranks as before: whether the tuples that this rank has written are those
// that it is to have.
bool Restorer::lies_as_dealt(const Target& target) const {
  if (position_.split.contains(target.relation)) return false;
  const auto before = position_.dealt_by.find(target.relation);
  const RelationData& relation = state_.relations[target.relation];
  return before == position_.dealt_by.end() || relation.pivot || relation.shards.empty() ||
         relation.shards.front().placement.columns == before->second;
}

Index& Restorer::index_of(Target& target) {
  return target.delta ? *target.delta
                      : state_.relations[target.relation].shards.front().primary_index();
}

// A group in the column order of its place here.
Status Restorer::keep(Target& target, const TupleGroup& group) {
  RelationData& relation = state_.relations[target.relation];
  if (relation.pivot) {
    const SlotId slot = relation.pivot->slot_of(relation.pivot_position, group.prefix.data());
    return relation.pivot->closure().restore(slot, group.set, target.version);
  }
  Index& index = index_of(target);
  if (group.set.count > kFewCells) {
    index.queue_view(group.prefix.data(), group.set);
  } else {
    // Tuples that come before there are rows are sorted together, which is quicker than to look for
    // the row of each.
    tuple_.assign(group.prefix.begin(), group.prefix.end());
    tuple_.push_back(0);
    walk_set(group.set, [&](Cell cell) {
      tuple_.back() = cell;
      index.queue_tuple(tuple_.data());
    });
  }
  index.bound_queue(state_.scratch, Freshness::kUnknown);
  return {};
}

Status Restorer::keep_run(Target& target, const MailRun& run) {
  for (std::uint64_t t = 0; t < run.count; ++t) {
    const auto tuple = run.cells.subspan(t * run.arity, run.arity);
    const TupleGroup group{.prefix = tuple.first(run.arity - 1), .set = array_view(tuple.last(1))};
    STRATALOG_RETURN_IF_ERROR(keep(target, group));
  }
  return {};
}

// Where memory ends, the tuple that is being appended would be half there.
Status Restorer::accept(std::size_t i, const TupleGroup& group) {
  const Status taken = state_.guard([&] { return take(i, group); });
  if (taken.code() == StatusCode::kNoSpace) mail_->give_up(taken);
  return taken;
}

Status Restorer::take(std::size_t i, const TupleGroup& group) {
  if (i >= targets_.size()) return Status::internal("a group of an unknown relation");
  Target& target = targets_[i];
  const RelationData& relation = state_.relations[target.relation];
  if (relation.equivalence) {
    walk_set(group.set, [&](Cell cell) { target.pairs.push_back({group.prefix[0], cell}); });
    return {};
  }
  const bool is_home = !moves_ && (state_.is_single() || lies_as_dealt(target));
  if (is_home && target.same_order) return keep(target, group);
  const Status kept = relation.pivot ? send_pivots(static_cast<int>(i), target, group)
                                     : send_tuples(static_cast<int>(i), stored_[i], target, group);
  STRATALOG_RETURN_IF_ERROR(kept);
  // At most so many, as tuples: sets take less.
  const std::uint64_t most =
      ((group.prefix.size() + 1) * group.set.count * sizeof(Cell)) + kMostOfHeader;
  return mail_->deliver_if_full(state_.comm, most, handler_);
}

// Whatever else fails, all ranks meet here, and finish() tells what has come of it: the next older
// generation may be better.
Status Restorer::arrive() {
  arrived_ = mail_->deliver(state_.comm, handler_);
  mail_.reset();
  return {};
}

// Pivots go to the owners of their blocks, still as sets.
Status Restorer::send_pivots(int stream, Target& target, const TupleGroup& group) {
  const PivotRelations& pivot = *state_.relations[target.relation].pivot;
  std::vector<Cell> part;
  int owner = -1;
  Status kept;
  const auto send = [&] {
    if (owner == state_.comm.rank()) {
      if (kept.is_ok()) kept = keep(target, {.prefix = group.prefix, .set = array_view(part)});
    } else {
      mail_->append_set(owner, stream, group.prefix, part);
    }
    part.clear();
  };
  walk_set(group.set, [&](Cell cell) {
    const int to = pivot.owner_of_pivot(cell);
    if (to != owner && !part.empty()) send();
    owner = to;
    part.push_back(cell);
  });
  if (!part.empty()) send();
  return kept;
}

Status Restorer::send_tuples(int stream, const StoredRelation& stored, Target& target,
                             const TupleGroup& group) {
  const Shard& home = state_.relations[target.relation].shards.front();
  const auto order = home.primary_index().order();
  const auto& placement = home.placement.columns;
  std::vector<Cell> declared(stored.arity);
  std::vector<Cell> key(placement.size());
  for (std::size_t c = 0; c < group.prefix.size(); ++c)
    declared[stored.column_order[c]] = group.prefix[c];
  const std::uint32_t last = stored.column_order.back();
  const auto owner = [&] {
    for (std::size_t k = 0; k < key.size(); ++k) key[k] = declared[placement[k]];
    return state_.is_single() ? 0 : owner_of(key, state_.comm.size());
  };
  if (target.same_order && std::find(placement.begin(), placement.end(), last) == placement.end()) {
    const int to = owner();
    if (to == state_.comm.rank()) return keep(target, group);
    mail_->append_group(to, stream, group);
    return {};
  }
  walk_set(group.set, [&](Cell cell) {
    declared[last] = cell;
    Cell* slot = mail_->append_slot(owner(), stream);
    for (std::size_t c = 0; c < order.size(); ++c) slot[c] = declared[order[c]];
  });
  return {};
}

Result<EnginePosition> Restorer::finish(const StoredState& stored) {
  STRATALOG_RETURN_IF_ERROR(arrived_);
  STRATALOG_RETURN_IF_ERROR(settle(stored));
  STRATALOG_RETURN_IF_ERROR(verify(stored));
  state_.recount_all();
  return std::move(position_);
}

Status Restorer::settle_equivalences() {
  for (const Target& target : targets_) {
    if (!state_.relations[target.relation].equivalence || target.is_dropped ||
        target.version != RelationVersion::kTotal)
      continue;
    const std::vector<Equivalence::Pair>* former = nullptr;
    for (const Target& other : targets_)
      if (other.relation == target.relation && other.version == RelationVersion::kDelta)
        former = &other.pairs;
    STRATALOG_RETURN_IF_ERROR(restore_equivalence(state_, target.relation, target.pairs, former));
  }
  return {};
}

void Restorer::settle_totals(const StoredState& stored) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].is_dropped) continue;
    RelationData& relation = state_.relations[targets_[i].relation];
    if (targets_[i].version == RelationVersion::kTotal)
      relation.global_rows = stored.relations[i].rows;
    if (relation.arity == 0 || relation.pivot || relation.equivalence ||
        targets_[i].version != RelationVersion::kTotal)
      continue;
    Shard& home = relation.shards.front();
    unite_shard(home, state_.scratch);
    advance_shard(home, state_.scratch, DeltaUse::kForgotten);
    for (const auto& index : home.indices)
      if (index) index->forget_delta();
  }
}

void Restorer::settle_deltas() {
  if (runs_by_rounds(position_)) {
    std::uint64_t rows = 0;
    for (const RelationId r : state_.program.strata[*position_.stratum].relations)
      rows += state_.relations[r].global_rows;
    open_stratum_shards(state_, *position_.stratum, rows);
  }
  for (Target& target : targets_) {
    if (!target.delta) continue;
    target.delta->unite_queued(state_.scratch, Freshness::kUnknown);
    restore_shard_delta(state_.relations[target.relation].shards.front(), *target.delta,
                        state_.scratch);
  }
}

Status Restorer::settle(const StoredState& stored) {
  STRATALOG_RETURN_IF_ERROR(agree(state_.comm, guard_memory([&]() -> Status {
                                    settle_totals(stored);
                                    return {};
                                  })));
  STRATALOG_RETURN_IF_ERROR(settle_equivalences());
  STRATALOG_RETURN_IF_ERROR(agree(state_.comm, guard_memory([&]() -> Status {
                                    settle_deltas();
                                    return {};
                                  })));
  if (runs_by_rounds(position_))
    for (const RelationId r : state_.program.strata[*position_.stratum].relations)
      if (state_.relations[r].arity > 0) STRATALOG_RETURN_IF_ERROR(fill_from_home(state_, r));
  return {};
}

// This rank's part of what is there now.
Status Restorer::sum_up(const Target& target, std::uint64_t& rows, MultisetHash& hash) {
  const RelationData& relation = state_.relations[target.relation];
  const auto add = [&](GroupHasher& hasher, const TupleGroup& group) {
    rows += group.set.count;
    hash += hasher.hash(group);
  };
  if (relation.equivalence) {
    const RelationImage image = classes_image(state_, target.relation, target.version);
    GroupHasher hasher(image.column_order);
    return image.for_each_group([&](const TupleGroup& group) -> Status {
      add(hasher, group);
      return {};
    });
  }
  if (relation.pivot) {
    const auto columns = relation.pivot->column_order(relation.pivot_position);
    GroupHasher hasher(columns);
    return relation.pivot->for_each_group(relation.pivot_position, target.version,
                                          [&](const TupleGroup& group) -> Status {
                                            add(hasher, group);
                                            return {};
                                          });
  }
  const Index& index = relation.shards.front().primary_index();
  GroupHasher hasher(index.order());
  if (target.version == RelationVersion::kDelta) {
    for (const DeltaRow& row : index.delta())
      add(hasher, {.prefix = index.prefix(row.row), .set = row.cells.view()});
    return {};
  }
  for (RowId row = 0; row < index.row_count(); ++row)
    if (!index.total(row).empty())
      add(hasher, {.prefix = index.prefix(row), .set = index.total(row).view()});
  return {};
}

Status Restorer::verify(const StoredState& stored) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[i];
    if (state_.relations[target.relation].arity == 0 || target.is_dropped) continue;
    std::uint64_t rows = 0;
    MultisetHash hash;
    const Status mine = guard_memory([&] { return sum_up(target, rows, hash); });
    STRATALOG_RETURN_IF_ERROR(agree(state_.comm, mine));
    STRATALOG_RETURN_IF_ERROR(verify_relation(state_.comm, stored.relations[i], rows, hash));
  }
  return {};
}

}  // namespace stratalog::datalog
