// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/equivalence_run.h"

#include <algorithm>
#include <cstring>

#include "datalog/relation_storage.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {
namespace {

bool is_mine(const Comm& comm, Cell cell) {
  const auto ranks = static_cast<std::uint32_t>(comm.size());
  return ranks == 1 || scale_hash(hash_cells(std::span(&cell, 1)), ranks) ==
                           static_cast<std::uint32_t>(comm.rank());
}

Cell least_of(const IntSet& members) {
  Cell least = 0xFFFFFFFFU;
  members.walk([&](Cell cell) { least = std::min(least, cell); });
  return least;
}

// Collective. Every rank's pairs go into every rank's next partition.
Status unite_everywhere(Comm& comm, Equivalence& equivalence,
                        std::span<const Equivalence::Pair> mine) {
  if (comm.size() == 1) {
    for (const Equivalence::Pair& pair : mine) equivalence.unite(pair.first, pair.second);
    return {};
  }
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(std::as_bytes(mine)));
  for (std::size_t at = 0; at + sizeof(Equivalence::Pair) <= all.data.size();
       at += sizeof(Equivalence::Pair)) {
    Equivalence::Pair pair;
    std::memcpy(&pair, all.data.data() + at, sizeof(pair));
    equivalence.unite(pair.first, pair.second);
  }
  return {};
}

RelationImage empty_image(const EngineState& state, RelationId id, RelationVersion version) {
  RelationImage image;
  image.name = state.program.relations[id].name;
  image.version = version;
  image.arity = 2;
  image.column_order = {0, 1};
  return image;
}

}  // namespace

void open_equivalences(EngineState& state) {
  for (RelationId r = 0; r < state.relations.size(); ++r)
    if (is_equivalence(state.program.relations[r]))
      state.relations[r].equivalence = std::make_unique<Equivalence>();
}

Status share_equivalence(EngineState& state, RelationId id) {
  Equivalence& equivalence = *state.relations[id].equivalence;
  const std::vector<Equivalence::Pair> news = equivalence.take_news();
  if (state.is_single()) return {};
  state.traffic.mine +=
      news.size() * sizeof(Equivalence::Pair) * static_cast<std::uint64_t>(state.comm.size() - 1);
  STRATALOG_RETURN_IF_ERROR(unite_everywhere(state.comm, equivalence, news));
  equivalence.take_news();  // what others found is no news to them
  return {};
}

RelationImage pairs_image(const EngineState& state, RelationId id) {
  RelationImage image = empty_image(state, id, RelationVersion::kTotal);
  image.for_each_group = [&state, id](const GroupVisitor& visit) {
    Status status;
    state.relations[id].equivalence->for_each_class([&](const IntSet& members) {
      members.walk([&](Cell cell) {
        if (status.is_ok() && is_mine(state.comm, cell))
          status = visit({.prefix = std::span(&cell, 1), .set = members.view()});
      });
    });
    return status;
  };
  return image;
}

RelationImage classes_image(const EngineState& state, RelationId id, RelationVersion version) {
  RelationImage image = empty_image(state, id, version);
  image.for_each_group = [&state, id, version](const GroupVisitor& visit) {
    Status status;
    const auto visit_class = [&](const IntSet& members) {
      const Cell least = least_of(members);
      if (status.is_ok() && is_mine(state.comm, least))
        status = visit({.prefix = std::span(&least, 1), .set = members.view()});
    };
    const Equivalence& equivalence = *state.relations[id].equivalence;
    if (version == RelationVersion::kTotal)
      equivalence.for_each_class(visit_class);
    else
      equivalence.for_each_former_class(visit_class);
    return status;
  };
  return image;
}

Status restore_equivalence(EngineState& state, RelationId id,
                           std::span<const Equivalence::Pair> classes,
                           const std::vector<Equivalence::Pair>* former) {
  Equivalence& equivalence = *state.relations[id].equivalence;
  if (former != nullptr) {
    STRATALOG_RETURN_IF_ERROR(unite_everywhere(state.comm, equivalence, *former));
    equivalence.advance();
  }
  STRATALOG_RETURN_IF_ERROR(unite_everywhere(state.comm, equivalence, classes));
  equivalence.take_news();
  equivalence.advance();
  if (former == nullptr) equivalence.forget_delta();
  state.relations[id].global_rows = equivalence.pairs();
  return {};
}

}  // namespace stratalog::datalog
