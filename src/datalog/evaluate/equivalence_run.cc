// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/equivalence_run.h"

#include <algorithm>
#include <cstring>

#include "datalog/evaluate/class_agreement.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

bool is_mine(const Comm& comm, Cell cell) {
  return comm.size() == 1 || owner_of_element(cell, comm.size()) == comm.rank();
}

void deal(const Comm& comm, Equivalence& equivalence) {
  equivalence.deal([ranks = comm.size(), self = comm.rank()](Cell cell) {
    return owner_of_element(cell, ranks) == self;
  });
}

Cell least_of(const IntSet& members) {
  Cell least = 0xFFFFFFFFU;
  members.walk([&](Cell cell) { least = std::min(least, cell); });
  return least;
}

// Collective; one verdict. Every rank's pairs go into every rank's next partition, and are no news.
// `so_far`: how it went here.
Status unite_everywhere(Comm& comm, Equivalence& equivalence,
                        std::span<const Equivalence::Pair> mine, const Status& so_far = {}) {
  if (comm.size() == 1)
    return !so_far.is_ok() ? so_far : guard_memory([&]() -> Status {
      for (const Equivalence::Pair& pair : mine) equivalence.unite(pair.first, pair.second);
      equivalence.take_news();
      return {};
    });
  // Of a rank that failed nothing is missed: all fail with it.
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(std::as_bytes(mine)));
  const Status united = guard_memory([&]() -> Status {
    for (std::size_t at = 0; at + sizeof(Equivalence::Pair) <= all.data.size();
         at += sizeof(Equivalence::Pair)) {
      Equivalence::Pair pair;
      std::memcpy(&pair, all.data.data() + at, sizeof(pair));
      equivalence.unite(pair.first, pair.second);
    }
    equivalence.take_news();
    return {};
  });
  return agree(comm, so_far.is_ok() ? united : so_far);
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
  std::vector<Equivalence::Pair> news;
  Status mine = state.guard([&]() -> Status {
    news = equivalence.take_news();
    return {};
  });
  if (state.is_single()) return mine;
  if (equivalence.is_dealt()) {
    STRATALOG_ASSIGN_OR_RETURN(const ClassAgreement spent,
                               agree_on_classes(state.comm, equivalence, news, mine));
    state.traffic.mine += spent.sent_bytes;
    return {};
  }
  state.traffic.mine +=
      news.size() * sizeof(Equivalence::Pair) * static_cast<std::uint64_t>(state.comm.size() - 1);
  return unite_everywhere(state.comm, equivalence, news, mine);
}

bool deal_large_equivalences(EngineState& state, std::span<const RelationId> relations,
                             std::uint64_t rows) {
  bool dealt = false;
  if (state.is_single()) return dealt;
  const std::uint64_t limit = state.options.deal_equivalence_from;
  for (const RelationId r : relations) {
    Equivalence* const equivalence = state.relations[r].equivalence.get();
    if (equivalence == nullptr || equivalence->is_dealt()) continue;
    const std::uint64_t elements = equivalence->elements();
    if ((elements == 0 ? rows : elements) < limit) continue;
    deal(state.comm, *equivalence);
    dealt = true;
  }
  return dealt;
}

Status replicate_equivalence(EngineState& state, RelationId id) {
  RelationData& relation = state.relations[id];
  if (!relation.equivalence->is_dealt()) return {};
  std::vector<Equivalence::Pair> mine;
  auto whole = std::make_unique<Equivalence>();
  const Status listed = guard_memory([&]() -> Status {
    relation.equivalence->for_each_class([&](const IntSet& members) {
      const Cell least = least_of(members);
      if (is_mine(state.comm, least))
        members.walk([&](Cell cell) { mine.push_back({.first = least, .second = cell}); });
    });
    return {};
  });
  STRATALOG_RETURN_IF_ERROR(unite_everywhere(state.comm, *whole, mine, listed));
  const Status advanced = guard_memory([&]() -> Status {
    whole->advance(DeltaUse::kForgotten);
    relation.equivalence = std::move(whole);
    return {};
  });
  return agree(state.comm, advanced);
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
  std::uint64_t elements = classes.size();
  STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(std::span(&elements, 1), ReduceOp::kSum));
  deal_large_equivalences(state, std::span(&id, 1), elements);
  const auto unite = [&](std::span<const Equivalence::Pair> pairs) -> Status {
    if (!equivalence.is_dealt()) return unite_everywhere(state.comm, equivalence, pairs);
    std::vector<Equivalence::Pair> news;
    const Status mine = guard_memory([&]() -> Status {
      for (const Equivalence::Pair& pair : pairs) equivalence.unite(pair.first, pair.second);
      news = equivalence.take_news();
      return {};
    });
    return agree_on_classes(state.comm, equivalence, news, mine).status();
  };
  const auto advance = [&] {
    return agree(state.comm, guard_memory([&]() -> Status {
                   equivalence.advance();
                   return {};
                 }));
  };
  if (former != nullptr) {
    STRATALOG_RETURN_IF_ERROR(unite(*former));
    STRATALOG_RETURN_IF_ERROR(advance());
  }
  STRATALOG_RETURN_IF_ERROR(unite(classes));
  STRATALOG_RETURN_IF_ERROR(advance());
  if (former == nullptr) equivalence.forget_delta();
  std::uint64_t pairs = equivalence.pairs();
  if (equivalence.is_dealt())
    STRATALOG_RETURN_IF_ERROR(state.comm.allreduce(std::span(&pairs, 1), ReduceOp::kSum));
  state.relations[id].global_rows = pairs;
  return {};
}

}  // namespace stratalog::datalog
