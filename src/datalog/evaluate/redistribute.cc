// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/redistribute.h"

#include <algorithm>
#include <array>
#include <utility>

#include "comm/shared_pointers.h"
#include "datalog/evaluate/bucket_count.h"
#include "datalog/evaluate/equivalence_run.h"
#include "datalog/evaluate/incoming.h"
#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/mirror.h"
#include "datalog/evaluate/pivot_relations.h"
#include "datalog/evaluate/placement.h"
#include "datalog/evaluate/shard_sender.h"
#include "datalog/evaluate/swept_rows.h"
#include "model/set_walk.h"
#include "route/copy_mail.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {
namespace {

constexpr int kTotalStream = 0;
constexpr int kDeltaStream = 1;
// So many tuples go into a box before it is asked whether it is large.
constexpr std::uint64_t kTuplesBetweenBounds = 1024;
// Memory that a row's number is looked up in is asked for so many tuples ahead.
constexpr std::uint64_t kLooksAhead = 16;

TupleMail make_mail(const EngineState& state, std::vector<std::uint32_t> arities) {
  MailOptions options;
  options.ranks = state.comm.size();
  options.self = state.comm.rank();
  options.arity_of_stream = std::move(arities);
  return TupleMail(std::move(options));
}

// Sends what `send(sender)` gives to the ranks that the shard says, all where it is a copy, and
// hands over what arrives. Collective; the same verdict on all ranks.
template <typename Send>
Status send_into(EngineState& state, const Shard& shard, std::vector<std::uint32_t> arities,
                 Send&& send, const MailHandler& handler) {
  const auto send_by = [&](auto& mail) {
    ShardSender sender(state, shard, mail);
    const Status sent = state.guard([&] { return send(sender); });
    if (!sent.is_ok()) mail.give_up(sent);
    return mail.deliver(state.comm, handler);
  };
  if (shard.placement.dealing == Dealing::kReplicated) {
    CopyMail mail({.ranks = state.comm.size(), .arity_of_stream = std::move(arities)});
    const Status status = send_by(mail);
    state.traffic.mine += mail.bytes_sent();
    return status;
  }
  TupleMail mail = make_mail(state, std::move(arities));
  const Status status = send_by(mail);
  state.traffic.mine += mail.counters().bytes_sent;
  return status;
}

void queue_columns(Index& index, const TupleColumns& tuples) {
  const auto order = index.order();
  std::array<Cell, kMaxArity> tuple{};
  std::array<Cell, kMaxArity> ahead{};
  for (std::uint64_t r = 0; r < tuples.rows; ++r) {
    if (r + kLooksAhead < tuples.rows) {
      for (std::size_t i = 0; i + 1 < order.size(); ++i)
        ahead[i] = tuples.columns[order[i]][r + kLooksAhead];
      index.prefetch_row(ahead.data());
    }
    for (std::size_t i = 0; i < order.size(); ++i) tuple[i] = tuples.columns[order[i]][r];
    index.queue_tuple(tuple.data());
  }
}

void settle(EngineState& state, Shard& shard) {
  unite_shard(shard, state.scratch);
  advance_shard(shard, state.scratch, DeltaUse::kForgotten);
  for (const auto& index : shard.indices)
    if (index) index->forget_delta();
}

// So that a large relation is not there twice, as what waits and as what is united.
void settle_if_much(EngineState& state, Shard& shard) {
  Index& index = shard.primary_index();
  index.bound_queue(state.scratch, Freshness::kUnknown);
  if (!index.next_delta().empty()) settle(state, shard);
}

using HomeVisitor = std::function<void(std::span<const std::uint32_t>, const TupleGroup&)>;

// The rows of a sweep of two columns the other way round: a set of keys for each pivot.
Status for_each_swept_column(EngineState& state, const RelationData& relation,
                             const HomeVisitor& visit) {
  const auto order = relation.pivot->column_order(relation.pivot_position);
  const std::array<std::uint32_t, 2> turned{order[1], order[0]};
  const PivotSpace& space = relation.pivot->closure().space();
  std::vector<Cell> pivots(space.lanes());
  for (LaneId lane = 0; lane < space.lanes(); ++lane) pivots[lane] = space.cell_of(lane);
  const SweptRows rows(relation, state.scratch);
  return rows.for_each_pivot_set(pivots, [&](std::size_t which, const IntSet& keys) -> Status {
    visit(turned, {.prefix = std::span(pivots).subspan(which, 1), .set = keys.view()});
    return {};
  });
}

// Every group of this rank's home part, with the column order it comes in: one that ends as `to`
// does, if that is to be had.
Status for_each_home_group(EngineState& state, RelationId id, std::span<const std::uint32_t> to,
                           const HomeVisitor& visit) {
  const RelationData& relation = state.relations[id];
  if (relation.pivot && relation.shards.empty() && to.size() == 2 &&
      to.back() != pivot_column(relation))
    return for_each_swept_column(state, relation, visit);
  if (relation.pivot && relation.shards.empty())
    return relation.pivot->for_each_group(
        relation.pivot_position, RelationVersion::kTotal, [&](const TupleGroup& group) -> Status {
          visit(relation.pivot->column_order(relation.pivot_position), group);
          return {};
        });
  if (relation.shards.empty()) return {};
  const Index& index = relation.shards.front().primary_index();
  for (RowId row = 0; row < index.row_count(); ++row)
    if (!index.total(row).empty())
      visit(index.order(), {.prefix = index.prefix(row), .set = index.total(row).view()});
  return {};
}

// This rank's part of the home, for the owners in a shard that lies by other columns.
Status fill_box(EngineState& state, RelationId id, std::span<const std::uint32_t> to, JointBox& box,
                SetAccumulator& scratch) {
  std::vector<Cell> declared(to.size());
  std::vector<Cell> tuple(to.size());
  const auto bring_in_order = [&] {
    for (std::size_t i = 0; i < tuple.size(); ++i) tuple[i] = declared[to[i]];
  };
  return for_each_home_group(
      state, id, to, [&](std::span<const std::uint32_t> order, const TupleGroup& group) {
        for (std::size_t i = 0; i < group.prefix.size(); ++i) declared[order[i]] = group.prefix[i];
        bring_in_order();
        if (order.back() == to.back() && box.takes_sets()) {
          box.add_view(std::span(tuple).first(tuple.size() - 1), group.set);
        } else {
          const auto at = std::find(to.begin(), to.end(), order.back()) - to.begin();
          box.add_each(tuple, static_cast<std::uint32_t>(at), group.set);
        }
        box.bound(scratch);
      });
}

// Where ranks share memory, each takes its part of the shard out of boxes of all ranks.
Status fill_from_boxes(EngineState& state, RelationId id, Shard& shard) {
  JointBox box(shard, state.comm.size());
  Status filled = state.guard(
      [&] { return fill_box(state, id, shard.primary_index().order(), box, state.scratch); });
  STRATALOG_ASSIGN_OR_RETURN(const auto boxes, pointers_of_all(state.comm, &box));
  const Status taken = state.guard([&]() -> Status {
    for (JointBox* each : boxes)
      each->take(state.comm.rank(), shard.primary_index(), state.scratch, Freshness::kNew);
    settle(state, shard);
    return {};
  });
  // No box goes away before all have taken.
  return agree(state.comm, filled.is_ok() ? taken : filled);
}

// Fills a new shard with the total of the relation.
Status fill_total(EngineState& state, RelationId id, Shard& shard) {
  Index& index = shard.primary_index();
  if (state.is_single()) {
    std::vector<Cell> declared(state.relations[id].arity);
    std::vector<Cell> ordered(declared.size());
    const std::uint32_t last = index.order().back();
    const auto bring_in_order = [&] {
      for (std::size_t i = 0; i < ordered.size(); ++i) ordered[i] = declared[index.order()[i]];
    };
    STRATALOG_RETURN_IF_ERROR(
        for_each_home_group(state, id, index.order(),
                            [&](std::span<const std::uint32_t> order, const TupleGroup& group) {
                              for (std::size_t i = 0; i < group.prefix.size(); ++i)
                                declared[order[i]] = group.prefix[i];
                              if (order.back() == last) {
                                bring_in_order();
                                index.queue_view(ordered.data(), group.set);
                              } else {
                                walk_set(group.set, [&](Cell cell) {
                                  declared[order.back()] = cell;
                                  bring_in_order();
                                  index.queue_tuple(ordered.data());
                                });
                              }
                              settle_if_much(state, shard);
                            }));
    settle(state, shard);
    return {};
  }
  if (!state.peers.empty() && shard.placement.dealing == Dealing::kHashed && !shard.buckets)
    return fill_from_boxes(state, id, shard);
  const Status sent =
      send_into(state, shard, {state.relations[id].arity},
                [&](ShardSender& sender) {
                  return for_each_home_group(
                      state, id, index.order(),
                      [&](std::span<const std::uint32_t> order, const TupleGroup& group) {
                        sender.send(kTotalStream, order, group);
                      });
                },
                {.on_run = [&](const MailRun& run) -> Status {
                   queue_run(index, run);
                   settle_if_much(state, shard);
                   return {};
                 },
                 .on_group = [&](const MailGroup& group) -> Status {
                   queue_group(index, group);
                   settle_if_much(state, shard);
                   return {};
                 }});
  settle(state, shard);
  return sent;
}

// How a finished relation should be dealt by `columns`.
Result<std::optional<BucketMap>> plan_skewed(EngineState& state, RelationId id,
                                             const std::vector<std::uint32_t>& columns) {
  BucketCount count(state.relations[id].arity, columns, state.comm.size());
  const Status counted = for_each_home_group(
      state, id, {}, [&](std::span<const std::uint32_t> order, const TupleGroup& group) {
        count.add(order, group);
      });
  STRATALOG_RETURN_IF_ERROR(agree(state.comm, counted));
  return count.plan(state.comm, {});
}

// Copies total and delta of this rank's part of `from` to their owners in `to`, which is empty.
Status copy_shard(EngineState& state, RelationId id, const Shard& from, Shard& to) {
  const std::uint32_t arity = state.relations[id].arity;
  const Index& home = from.primary_index();
  Index delta(state.plan.relations[id].indices[to.primary].order, {});
  const auto target = [&](int stream) -> Index& {
    return stream == kTotalStream ? to.primary_index() : delta;
  };
  STRATALOG_RETURN_IF_ERROR(send_into(
      state, to, {arity, arity},
      [&](ShardSender& sender) -> Status {
        for (RowId row = 0; row < home.row_count(); ++row)
          if (!home.total(row).empty())
            sender.send(kTotalStream, home.order(),
                        {.prefix = home.prefix(row), .set = home.total(row).view()});
        for (const DeltaRow& row : home.delta())
          sender.send(kDeltaStream, home.order(),
                      {.prefix = home.prefix(row.row), .set = row.cells.view()});
        return {};
      },
      queue_into(target)));
  settle(state, to);
  delta.unite_queued(state.scratch, Freshness::kUnknown);
  restore_shard_delta(to, delta, state.scratch);
  return {};
}

// Takes this rank's tuples (declared columns) out of a shard, wherever they lie.
Status erase_in_shard(EngineState& state, RelationId id, Shard& shard,
                      std::span<const Cell> tuples) {
  const std::uint32_t arity = state.relations[id].arity;
  // In the column order of the primary index, on this rank.
  std::vector<Cell> here;
  const auto order = shard.primary_index().order();
  if (state.is_single()) {
    for (std::size_t at = 0; at < tuples.size(); at += arity)
      for (const std::uint32_t column : order) here.push_back(tuples[at + column]);
  } else {
    STRATALOG_RETURN_IF_ERROR(
        send_into(state, shard, {arity},
                  [&](ShardSender& sender) -> Status {
                    for (std::size_t at = 0; at < tuples.size(); at += arity)
                      sender.send_tuple(kTotalStream, tuples.subspan(at, arity));
                    return {};
                  },
                  {.on_run = [&](const MailRun& run) -> Status {
                     here.insert(here.end(), run.cells.begin(), run.cells.end());
                     return {};
                   },
                   .on_group = {}}));
  }
  erase_from_shard(shard, here);
  return {};
}

// Tuples that need no mail: those of copies, of classes, and where all ranks read all boxes.
void queue_here(EngineState& state, RelationId id, const TupleColumns& tuples, JointBox* box) {
  RelationData& relation = state.relations[id];
  if (relation.equivalence) {
    for (std::uint64_t r = 0; r < tuples.rows; ++r)
      relation.equivalence->unite(tuples.columns[0][r], tuples.columns[1][r]);
    return;
  }
  std::vector<Cell> tuple(relation.arity);
  if (relation.mirrored) {  // all ranks hear of it at the end of the round
    Shard& mirror = mirror_of(relation);
    for (std::uint64_t r = 0; r < tuples.rows; ++r) {
      for (std::uint32_t c = 0; c < relation.arity; ++c) tuple[c] = tuples.columns[c][r];
      queue_tuple(mirror, tuple);
    }
    return;
  }
  Index& home = relation.shards.front().primary_index();
  if (box == nullptr) {
    queue_columns(home, tuples);
    return;
  }
  const auto order = home.order();
  for (std::uint64_t r = 0; r < tuples.rows; ++r) {
    for (std::uint32_t i = 0; i < relation.arity; ++i) tuple[i] = tuples.columns[order[i]][r];
    box->add(tuple);
    if (r % kTuplesBetweenBounds == 0) box->bound(state.scratch);
  }
}

}  // namespace

void open_mirror(EngineState& state, RelationId id, std::uint32_t which) {
  RelationData& relation = state.relations[id];
  const RelationPlan& plan = state.plan.relations[id];
  if (!relation.mirrored) {
    Shard shard;
    shard.placement.dealing = Dealing::kReplicated;
    shard.primary = plan.primary;
    shard.indices.resize(plan.indices.size());
    shard.indices[plan.primary] = make_index(plan.indices[plan.primary]);
    relation.shards.push_back(std::move(shard));
    relation.mirrored = true;
  }
  ensure_index(mirror_of(relation), plan, which, state.scratch);
}

Shard& open_shard(EngineState& state, RelationId id, std::uint32_t which) {
  RelationData& relation = state.relations[id];
  const RelationPlan& plan = state.plan.relations[id];
  Placement placement{.dealing = Dealing::kHashed, .columns = {}};
  if (!state.is_single()) placement.columns = state.placements[id][which];
  for (Shard& shard : relation.shards) {
    if (shard.placement != placement) continue;
    ensure_index(shard, plan, which, state.scratch);
    return shard;
  }
  Shard shard;
  shard.placement = std::move(placement);
  shard.primary = which;
  shard.indices.resize(plan.indices.size());
  shard.indices[which] = make_index(plan.indices[which]);
  relation.shards.push_back(std::move(shard));
  return relation.shards.back();
}

Status deal_tuples(EngineState& state, RelationId id, const TupleColumns& tuples) {
  RelationData& relation = state.relations[id];
  if (relation.arity == 0) {
    relation.queued_holds = relation.queued_holds || tuples.rows > 0;
    return {};
  }
  JointBox* const box = state.joint == nullptr ? nullptr : state.joint->heads_of(id);
  if (relation.equivalence || relation.mirrored || box != nullptr || state.is_single()) {
    // Of want of memory the others hear when the round ends.
    (void)state.guard([&]() -> Status {
      queue_here(state, id, tuples, box);
      return {};
    });
    return {};
  }
  Shard& home = relation.shards.front();
  std::vector<Cell> tuple(relation.arity);
  return send_into(state, home, {relation.arity},
                   [&](ShardSender& sender) -> Status {
                     for (std::uint64_t r = 0; r < tuples.rows; ++r) {
                       for (std::uint32_t c = 0; c < relation.arity; ++c)
                         tuple[c] = tuples.columns[c][r];
                       sender.send_tuple(kTotalStream, tuple);
                     }
                     return {};
                   },
                   {.on_run = [&](const MailRun& run) -> Status {
                      queue_run(home.primary_index(), run);
                      return {};
                    },
                    .on_group = {}});
}

Status erase_tuples(EngineState& state, RelationId id, std::span<const Cell> tuples) {
  for (Shard& shard : state.relations[id].shards)
    STRATALOG_RETURN_IF_ERROR(erase_in_shard(state, id, shard, tuples));
  return {};
}

Status erase_beside_home(EngineState& state, RelationId id, std::span<const Cell> tuples) {
  RelationData& relation = state.relations[id];
  Shard& home = relation.shards.front();
  erase_beside_primary(home, tuples);
  if (relation.shards.size() == 1) return {};
  const auto order = home.primary_index().order();
  std::vector<Cell> declared(tuples.size());
  for (std::size_t at = 0; at < tuples.size(); at += order.size())
    for (std::size_t i = 0; i < order.size(); ++i) declared[at + order[i]] = tuples[at + i];
  for (std::size_t s = 1; s < relation.shards.size(); ++s)
    STRATALOG_RETURN_IF_ERROR(erase_in_shard(state, id, relation.shards[s], declared));
  return {};
}

namespace {

// Ranks that could read each other's shards make copies of finished relations up to this size:
// looking into one's own takes no hash of an owner.
constexpr std::uint64_t kMostJointlyCopied = 1U << 12;

Status bring_here(EngineState& state, RelationId id, std::uint32_t which,
                  Availability availability) {
  RelationData& relation = state.relations[id];
  if (relation.arity == 0) return {};
  if (relation.equivalence)
    return availability == Availability::kEverywhere ? replicate_equivalence(state, id) : Status();
  const RelationPlan& plan = state.plan.relations[id];
  const bool everywhere = availability == Availability::kEverywhere && !state.is_single();
  const Placement wanted =
      everywhere ? Placement{.dealing = Dealing::kReplicated, .columns = {}}
                 : Placement{.dealing = Dealing::kHashed,
                             .columns = state.is_single() ? std::vector<std::uint32_t>{}
                                                          : state.placements[id][which]};
  // The last match: a shard that was dealt anew because of skew stands behind the one that it
  // replaces.
  Shard* found = nullptr;
  for (Shard& shard : relation.shards)
    if (shard.placement == wanted && (availability == Availability::kAsDealt || !shard.buckets))
      found = &shard;
  std::optional<BucketMap> buckets;
  // So few rows that no plan would move them are not worth the calls either.
  if (availability == Availability::kAsDealt && !state.is_single() &&
      relation.global_rows >= BucketOptions().min_rows &&
      (found == nullptr || !found->checked_for_skew)) {
    STRATALOG_ASSIGN_OR_RETURN(buckets, plan_skewed(state, id, wanted.columns));
    if (found != nullptr) found->checked_for_skew = true;
  }
  if (found != nullptr && !buckets) {
    ensure_index(*found, plan, which, state.scratch);
    return {};
  }
  Shard shard;
  shard.placement = wanted;
  shard.buckets = std::move(buckets);
  shard.checked_for_skew = true;
  shard.primary = which;
  shard.indices.resize(plan.indices.size());
  shard.indices[which] = make_index(plan.indices[which]);
  STRATALOG_RETURN_IF_ERROR(fill_total(state, id, shard));
  relation.shards.push_back(std::move(shard));
  return {};
}

}  // namespace

std::uint64_t most_copied_rows(const EngineState& state, bool jointly) {
  const std::uint64_t limit = state.options.replicate_limit_rows;
  return jointly ? std::min(kMostJointlyCopied, limit) : limit;
}

Status ensure_available(EngineState& state, RelationId id, std::uint32_t which,
                        Availability availability) {
  const Status done = bring_here(state, id, which, availability);
  state.recount(id);
  return done;
}

Status fill_from_home(EngineState& state, RelationId id) {
  RelationData& relation = state.relations[id];
  for (std::size_t s = 1; s < relation.shards.size(); ++s)
    if (relation.shards[s].primary_index().tuples() == 0)
      STRATALOG_RETURN_IF_ERROR(copy_shard(state, id, relation.shards.front(), relation.shards[s]));
  return {};
}

Result<bool> rebalance(EngineState& state, RelationId id) {
  RelationData& relation = state.relations[id];
  if (state.is_single() || relation.arity == 0 || relation.equivalence) return false;
  const auto ranks = static_cast<std::uint64_t>(state.comm.size());
  const std::uint64_t mean = (relation.global_rows + ranks - 1) / ranks;
  std::vector<std::uint64_t> largest;
  largest.reserve(relation.shards.size());
  for (const Shard& shard : relation.shards) largest.push_back(shard.primary_index().tuples());
  STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(largest, ReduceOp::kMax));
  bool moved = false;
  for (std::size_t s = 0; s < relation.shards.size(); ++s) {
    Shard& old = relation.shards[s];
    if (old.placement.dealing == Dealing::kReplicated) continue;
    if (s == 0 && (relation.keeps_one_value() || state.plan.relations[id].dealt_by_first)) continue;
    // 8/5 is a little above what plan_buckets leaves alone, so that nothing moves for small gains.
    if (largest[s] / 8 <= mean / 5) continue;
    BucketCount count(relation.arity, old.placement.columns, state.comm.size());
    const Index& primary = old.primary_index();
    for (RowId row = 0; row < primary.row_count(); ++row)
      if (!primary.total(row).empty())
        count.add(primary.order(),
                  {.prefix = primary.prefix(row), .set = primary.total(row).view()});
    STRATALOG_ASSIGN_OR_RETURN(
        std::optional<BucketMap> buckets,
        count.plan(state.comm, {.min_rows = state.options.rebalance_min_rows}));
    if (buckets == old.buckets) continue;
    Shard shard;
    shard.placement = old.placement;
    shard.buckets = std::move(buckets);
    shard.checked_for_skew = true;
    shard.primary = old.primary;
    shard.indices.resize(old.indices.size());
    for (std::size_t i = 0; i < old.indices.size(); ++i)
      if (old.indices[i]) shard.indices[i] = make_index(state.plan.relations[id].indices[i]);
    STRATALOG_RETURN_IF_ERROR(copy_shard(state, id, old, shard));
    old = std::move(shard);
    moved = true;
  }
  return moved;
}

}  // namespace stratalog::datalog
