// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/mirror.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "datalog/evaluate/incoming.h"
#include "datalog/evaluate/placement.h"
#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/shard_sender.h"
#include "datalog/evaluate/stratum_run.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {
namespace {

// A header and a padded prefix cost more than repeating the prefix in so few tuples.
constexpr std::uint64_t kSmallSet = 3;
// Up to so many rows on all ranks together, copies cost nothing worth counting. Where ranks read
// each other's shards a meeting takes microseconds, and copies pay for fewer rows only.
constexpr std::uint64_t kThinRows = 1U << 16;
constexpr std::uint64_t kThinRowsOfThreads = 1U << 14;
// The first word of what a rank tells the others in a round. Nothing: it has found nothing.
constexpr std::uint64_t kFits = 0;
constexpr std::uint64_t kOutgrown = 1;

// The home, as it is beside a mirror: with its primary index.
void keep_home_alone(RelationData& relation) {
  relation.shards.erase(relation.shards.begin() + 1, relation.shards.end());
  Shard& home = relation.shards.front();
  for (std::size_t i = 0; i < home.indices.size(); ++i)
    if (i != home.primary) home.indices[i].reset();
}

}  // namespace

bool are_mirrored(const EngineState& state, std::uint32_t stratum, std::uint64_t rows,
                  DeltaSize delta) {
  if (state.is_single() || !state.plan.strata[stratum].may_be_mirrored) return false;
  const auto ranks = static_cast<std::uint64_t>(state.comm.size());
  const std::uint64_t thin = state.peers.empty() ? kThinRows : kThinRowsOfThreads;
  if (rows < std::min(thin, state.options.mirror_limit_rows) / ranks) return true;
  const auto is_empty = [&](RelationId r) {
    return state.relations[r].global_rows == 0 && !state.program.strata[stratum].holds(r);
  };
  std::uint64_t limit = state.options.mirror_limit_rows;
  // Nor does any travel where ranks read each other's shards.
  if (delta == DeltaSize::kAny &&
      (!state.peers.empty() ||
       !has_hops(state.program, state.plan, stratum, state.placements, is_empty)))
    limit = std::min(limit, thin);
  return rows < limit / ranks;
}

Shard& mirror_of(RelationData& relation) {
  return *std::find_if(relation.shards.begin(), relation.shards.end(), [](const Shard& shard) {
    return shard.placement.dealing == Dealing::kReplicated;
  });
}

MirrorRound::MirrorRound(EngineState& state, std::uint32_t stratum)
    : state_(state), stratum_(stratum), members_(state.program.strata[stratum]) {
  for (const RelationId r : members_.relations) {
    if (state.relations[r].arity == 0) continue;
    relations_.push_back(r);
    arities_.push_back(state.relations[r].arity);
  }
}

void MirrorRound::unite() {
  for (const RelationId r : relations_)
    mirror_of(state_.relations[r])
        .primary_index()
        .unite_queued(state_.scratch, Freshness::kUnknown);
}

void MirrorRound::pack(int stream, std::span<const Cell> prefix, const IntSet& cells) {
  if (cells.size() > kSmallSet) {
    encode_group(stream, {.prefix = prefix, .set = cells.view()}, out_);
    return;
  }
  cells.walk([&](Cell cell) {
    Cell* const tuple = run_.extend(prefix.size() + 1);
    std::ranges::copy(prefix, tuple);
    tuple[prefix.size()] = cell;
  });
}

// The tuples of small sets that were packed.
void MirrorRound::pack_run(int stream, std::uint32_t arity) {
  if (!run_.empty()) encode_run(stream, run_.size() / arity, run_.words(), out_);
  run_.clear();
}

// What one rank has found is distinct and new: with what was known it is the least that the
// relations will hold.
bool MirrorRound::finds_too_much() {
  std::uint64_t known = 0;
  std::uint64_t found = 0;
  for (const RelationId r : relations_) {
    known += state_.relations[r].global_rows;
    for (const DeltaRow& row : mirror_of(state_.relations[r]).primary_index().next_delta())
      found += row.cells.size();
  }
  return !are_mirrored(state_, stratum_, known + found,
                       found <= kAloneTuples ? DeltaSize::kTiny : DeltaSize::kAny);
}

Status MirrorRound::pack_found() {
  out_.clear();
  const bool outgrown = finds_too_much();
  *out_.extend(1) = outgrown ? kOutgrown : kFits;
  if (outgrown) return {};
  run_.clear();
  for (std::size_t i = 0; i < relations_.size(); ++i) {
    const Index& index = mirror_of(state_.relations[relations_[i]]).primary_index();
    const int stream = static_cast<int>(i);
    for (const DeltaRow& row : index.next_delta()) pack(stream, index.prefix(row.row), row.cells);
    pack_run(stream, index.arity());
  }
  if (out_.size() == 1) out_.clear();
  return {};
}

Status MirrorRound::pack_homes() {
  out_.clear();
  run_.clear();
  *out_.extend(1) = kFits;
  for (std::size_t i = 0; i < relations_.size(); ++i) {
    const Index& index = state_.relations[relations_[i]].shards.front().primary_index();
    const int stream = static_cast<int>(i);
    for (RowId row = 0; row < index.row_count(); ++row)
      if (!index.total(row).empty()) pack(stream, index.prefix(row), index.total(row));
    pack_run(stream, index.arity());
  }
  return {};
}

Status MirrorRound::open() {
  Status mine = state_.guard([&] { return pack_homes(); });
  if (!mine.is_ok()) out_.clear();
  const auto bytes = std::as_bytes(out_.words());
  state_.traffic.mine += bytes.size() * static_cast<std::uint64_t>(state_.comm.size() - 1);
  STRATALOG_ASSIGN_OR_RETURN(const Received received, state_.comm.allgather(bytes));
  if (mine.is_ok())
    mine = state_.guard([&]() -> Status {
      for (const RelationId r : relations_) keep_home_alone(state_.relations[r]);
      open_stratum_shards(state_, stratum_, 0);
      STRATALOG_RETURN_IF_ERROR(unite_found(received, Senders::kAll));
      for (const RelationId r : relations_)
        advance_shard(mirror_of(state_.relations[r]), state_.scratch);
      return {};
    });
  return agree(state_.comm, mine);
}

Status MirrorRound::share() {
  Status mine = state_.guard([&] { return pack_found(); });
  if (!mine.is_ok()) out_.clear();
  const auto bytes = std::as_bytes(out_.words());
  state_.traffic.mine += bytes.size() * static_cast<std::uint64_t>(state_.comm.size() - 1);
  STRATALOG_ASSIGN_OR_RETURN(const Received received, state_.comm.allgather(bytes));
  outgrown_ = false;
  std::uint64_t offset = 0;
  for (const std::uint64_t size : received.counts) {
    std::uint64_t first = kFits;
    if (size > 0) std::memcpy(&first, received.data.data() + offset, sizeof(first));
    outgrown_ |= first == kOutgrown;
    offset += size;
  }
  if (outgrown_) {
    Status sent = send_home();
    return mine.is_ok() ? sent : mine;
  }
  if (!mine.is_ok()) return mine;
  return state_.guard([&] { return unite_found(received, Senders::kOthers); });
}

Status MirrorRound::unite_found(const Received& received, Senders senders) {
  std::uint64_t offset = 0;
  for (int sender = 0; sender < state_.comm.size(); ++sender) {
    const std::uint64_t size = received.counts[static_cast<std::size_t>(sender)];
    const std::span<const std::uint64_t> words(
        reinterpret_cast<const std::uint64_t*>(received.data.data() + offset),
        size / sizeof(std::uint64_t));
    offset += size;
    const bool is_own = sender == state_.comm.rank();
    if (words.empty() || (is_own && senders == Senders::kOthers)) continue;
    const auto index_of = [&](int stream) -> Index& {
      return mirror_of(state_.relations[relations_[static_cast<std::size_t>(stream)]])
          .primary_index();
    };
    STRATALOG_RETURN_IF_ERROR(
        decode_records(words.subspan(1), sender, arities_, queue_into(index_of)));
  }
  // Nobody has sent what was known before; but two ranks may have found the same.
  for (const RelationId r : relations_)
    mirror_of(state_.relations[r]).primary_index().unite_queued(state_.scratch, Freshness::kNew);
  return {};
}

// Collective; every rank calls it. What this rank has found goes to its owners in the home shards.
Status MirrorRound::send_home() {
  MailOptions options;
  options.ranks = state_.comm.size();
  options.self = state_.comm.rank();
  options.arity_of_stream = arities_;
  options.agreement = MailAgreement::kByCaller;
  TupleMail mail(options);
  Status mine = state_.guard([&]() -> Status {
    for (std::size_t i = 0; i < relations_.size(); ++i) {
      RelationData& relation = state_.relations[relations_[i]];
      ShardSender sender(state_, relation.shards.front(), mail);
      const Index& mirror = mirror_of(relation).primary_index();
      for (const DeltaRow& row : mirror.next_delta())
        sender.send(static_cast<int>(i), mirror.order(),
                    {.prefix = mirror.prefix(row.row), .set = row.cells.view()});
    }
    return {};
  });
  if (!mine.is_ok()) mail.give_up(mine);
  const auto home_of = [&](int stream) -> Index& {
    return state_.relations[relations_[static_cast<std::size_t>(stream)]]
        .shards.front()
        .primary_index();
  };
  STRATALOG_RETURN_IF_ERROR(mail.deliver(state_.comm, guarded(state_, queue_into(home_of))));
  state_.traffic.mine += mail.counters().bytes_sent;
  if (!mine.is_ok()) return mine;
  return state_.guard([&]() -> Status {
    for (std::size_t i = 0; i < relations_.size(); ++i)
      home_of(static_cast<int>(i)).unite_queued(state_.scratch, Freshness::kNew);
    return {};
  });
}

// The home shard gets those of the new tuples that this rank owns.
void MirrorRound::keep_home_part(RelationData& relation) {
  Index& home = relation.shards.front().primary_index();
  const Index& mirror = mirror_of(relation).primary_index();
  const std::vector<std::uint32_t>& placed = relation.shards.front().placement.columns;
  const std::uint32_t last = relation.arity - 1;
  std::vector<std::uint32_t> places;  // of the placement columns in the order of the index
  for (const std::uint32_t column : placed) {
    const auto at = std::find(home.order().begin(), home.order().end(), column);
    places.push_back(static_cast<std::uint32_t>(at - home.order().begin()));
  }
  const bool in_prefix = std::find(places.begin(), places.end(), last) == places.end();
  key_.resize(places.size());
  tuple_.resize(relation.arity);
  const auto is_mine = [&] {
    for (std::size_t k = 0; k < places.size(); ++k) key_[k] = tuple_[places[k]];
    return owner_of(key_, state_.comm.size()) == state_.comm.rank();
  };
  for (const DeltaRow& row : mirror.next_delta()) {
    std::ranges::copy(mirror.prefix(row.row), tuple_.begin());
    if (in_prefix) {
      if (is_mine()) home.queue_set(tuple_.data(), &row.cells);
      continue;
    }
    row.cells.walk([&](Cell cell) {
      tuple_[last] = cell;
      if (is_mine()) home.queue(home.find_or_add_row(tuple_.data()), cell);
    });
  }
  home.unite_queued(state_.scratch, Freshness::kNew);
}

void MirrorRound::advance() {
  for (const RelationId r : relations_) {
    RelationData& relation = state_.relations[r];
    if (outgrown_) {
      advance_shard(relation.shards.front(), state_.scratch);
      continue;
    }
    keep_home_part(relation);
    for (Shard& shard : relation.shards) advance_shard(shard, state_.scratch);
  }
}

std::uint64_t MirrorRound::new_tuples() const {
  std::uint64_t tuples = 0;
  for (const RelationId r : relations_)
    tuples += mirror_of(state_.relations[r]).primary_index().delta_tuples();
  return tuples;
}

std::vector<std::uint64_t> MirrorRound::rows_of_members() const {
  std::vector<std::uint64_t> rows;
  rows.reserve(members_.relations.size());
  for (const RelationId r : members_.relations) {
    RelationData& relation = state_.relations[r];
    if (relation.arity == 0)
      rows.push_back(relation.queued_holds ? 1 : 0);
    else
      rows.push_back(mirror_of(relation).primary_index().tuples());
  }
  return rows;
}

Status deal_mirrored(EngineState& state, std::uint32_t stratum) {
  const auto& members = state.program.strata[stratum].relations;
  for (const RelationId r : members) {
    RelationData& relation = state.relations[r];
    if (!std::exchange(relation.mirrored, false)) continue;
    std::erase_if(relation.shards, [](const Shard& shard) {
      return shard.placement.dealing == Dealing::kReplicated;
    });
  }
  open_stratum_shards(state, stratum, std::numeric_limits<std::uint64_t>::max());
  for (const RelationId r : members) {
    RelationData& relation = state.relations[r];
    if (relation.arity == 0) continue;
    // The home has got further indices, which know nothing of the delta yet.
    Shard& home = relation.shards.front();
    Index delta({home.primary_index().order().begin(), home.primary_index().order().end()}, {});
    for (const DeltaRow& row : home.primary_index().delta())
      delta.queue_view(home.primary_index().prefix(row.row).data(), row.cells.view());
    delta.unite_queued(state.scratch, Freshness::kNew);
    restore_shard_delta(home, delta, state.scratch);
    STRATALOG_RETURN_IF_ERROR(fill_from_home(state, r));
  }
  return {};
}

}  // namespace stratalog::datalog
