// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/joint_shards.h"

#include <algorithm>
#include <utility>

#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// A tuple is copied sooner than the set of another rank is looked up.
constexpr std::uint64_t kSentAsTuples = 2;

}  // namespace

bool runs_jointly(const EngineState& state, std::uint32_t stratum) {
  if (state.peers.empty()) return false;
  const Stratum& members = state.program.strata[stratum];
  return std::none_of(members.relations.begin(), members.relations.end(), [&](RelationId r) {
    const Relation& relation = state.program.relations[r];
    return is_equivalence(relation) || !relation.choice_keys.empty() ||
           (shrinks(relation) && !state.plan.relations[r].best) || relation.numbering.has_value();
  });
}

JointShards::JointShards(EngineState& state, std::uint32_t stratum)
    : state_(state), members_(state.program.strata[stratum]) {
  const StratumPlan& plan = state.plan.strata[stratum];
  if (state.comm.rank() == 0 && allows_any_order(state.program))
    turns_.resize(std::max(plan.once.size(), plan.rules_of_rounds().size()));
  state_.joint = this;
}

JointShards::~JointShards() { state_.joint = nullptr; }

Status JointShards::open() {
  heads_.clear();
  further_.clear();
  for (const RelationId r : members_.relations) {
    const RelationData& relation = state_.relations[r];
    if (relation.mirrored) continue;
    for (std::size_t s = 0; s < relation.shards.size(); ++s)
      if (relation.shards[s].placement.dealing == Dealing::kHashed)
        (s == 0 ? heads_ : further_)
            .emplace_back(r, s, relation.shards[s],
                          s == 0 && relation.best ? &*relation.best : nullptr, state_.comm.size());
  }
  return state_.comm.barrier();
}

ScanTurns* JointShards::turns_of(std::size_t place) const {
  std::deque<ScanTurns>& turns = state_.peers.front()->joint->turns_;
  return place < turns.size() ? &turns[place] : nullptr;
}

JointBox* JointShards::heads_of(RelationId relation) {
  for (Target& target : heads_)
    if (target.relation == relation) return &target.box;
  return nullptr;
}

std::vector<const Index*> JointShards::indices_of(RelationId relation, std::size_t shard,
                                                  std::uint32_t index) const {
  std::vector<const Index*> indices;
  indices.reserve(state_.peers.size());
  for (const EngineState* peer : state_.peers)
    indices.push_back(peer->relations[relation].shards[shard].indices[index].get());
  return indices;
}

Shard& JointShards::shard_of(const Target& target) {
  return state_.relations[target.relation].shards[target.shard];
}

// Each rank its part of the boxes of all ranks.
Status JointShards::take(const std::deque<Target>& mine, std::deque<Target> JointShards::* boxes,
                         Freshness freshness) {
  return state_.guard([&]() -> Status {
    for (std::size_t t = 0; t < mine.size(); ++t) {
      Index& index = shard_of(mine[t]).primary_index();
      for (const EngineState* peer : state_.peers)
        (peer->joint->*boxes)[t].box.take(state_.comm.rank(), index, state_.scratch, freshness);
      index.unite_queued(state_.scratch, freshness);
    }
    return {};
  });
}

Status JointShards::unite() {
  STRATALOG_RETURN_IF_ERROR(state_.comm.barrier());
  return take(heads_, &JointShards::heads_, Freshness::kUnknown);
}

Status JointShards::share(const std::map<RelationId, std::vector<Cell>>& beaten) {
  Status mine = state_.guard([&]() -> Status {
    std::vector<Cell> tuple;
    for (Target& target : further_) {
      const Index& home = state_.relations[target.relation].shards.front().primary_index();
      const auto from = home.order();
      const auto to = shard_of(target).primary_index().order();
      const std::size_t last = to.size() - 1;
      const auto at = static_cast<std::uint32_t>(std::ranges::find(to, from[last]) - to.begin());
      std::vector<std::size_t> places(last);  // of the home's prefix columns
      for (std::size_t i = 0; i < last; ++i)
        places[i] = static_cast<std::size_t>(std::ranges::find(to, from[i]) - to.begin());
      tuple.resize(to.size());
      for (const DeltaRow& row : home.next_delta()) {
        const auto prefix = home.prefix(row.row);
        for (std::size_t i = 0; i < last; ++i) tuple[places[i]] = prefix[i];
        if (at == last && target.box.takes_sets() && row.cells.size() > kSentAsTuples)
          target.box.add_set(std::span(tuple).first(last), &row.cells);
        else
          target.box.add_each(tuple, at, row.cells.view());
        target.box.bound(state_.scratch);
      }
      if (const auto found = beaten.find(target.relation); found != beaten.end())
        box_beaten(target, found->second);
    }
    return {};
  });
  STRATALOG_RETURN_IF_ERROR(state_.comm.barrier());
  if (further_.empty()) return mine;
  const Status taken = take(further_, &JointShards::further_, Freshness::kNew);
  const Status heard = state_.guard([&]() -> Status {
    for (std::size_t t = 0; t < further_.size(); ++t)
      for (const EngineState* peer : state_.peers) {
        const auto tuples = peer->joint->further_[t].beaten.tuples_for(state_.comm.rank());
        further_[t].gone.insert(further_[t].gone.end(), tuples.begin(), tuples.end());
      }
    return {};
  });
  STRATALOG_RETURN_IF_ERROR(state_.comm.barrier());
  if (!mine.is_ok()) return mine;
  return taken.is_ok() ? heard : taken;
}

void JointShards::box_beaten(Target& target, std::span<const Cell> tuples) {
  const auto from = state_.relations[target.relation].shards.front().primary_index().order();
  const auto to = shard_of(target).primary_index().order();
  std::vector<Cell> tuple(to.size());
  for (std::size_t at = 0; at < tuples.size(); at += to.size()) {
    for (std::size_t i = 0; i < to.size(); ++i)
      tuple[i] =
          tuples[at + static_cast<std::size_t>(std::ranges::find(from, to[i]) - from.begin())];
    target.beaten.add(tuple);
  }
}

void JointShards::erase_beaten() {
  for (Target& target : further_)
    if (!target.gone.empty()) erase_from_shard(shard_of(target), std::exchange(target.gone, {}));
}

void JointShards::clear() {
  for (ScanTurns& turns : turns_) turns.renew();
  for (Target& target : heads_) target.box.clear();
  for (Target& target : further_) {
    target.box.clear();
    target.beaten.clear();
  }
}

}  // namespace stratalog::datalog
