// SPDX-License-Identifier: Apache-2.0
// Relations for checkpoint tests: made from tuples, dealt over ranks, handed to save as images and
// collected again from load. Tuples are kept in plain sorted vectors, so that nothing under test is
// needed to compare them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/multiset_hash.h"
#include "model/set_walk.h"
#include "unit/model/group_list.h"

namespace stratalog::sample {

using Tuple = std::vector<Cell>;  // declared column order

struct SampleRelation {
  std::string name;
  RelationVersion version = RelationVersion::kTotal;
  std::uint32_t arity = 0;
  std::vector<std::uint32_t> column_order;
  std::set<Tuple> tuples;
};

// What a rank owns, as groups.
struct SampleShard {
  std::vector<Tuple> prefixes;  // group order
  std::vector<std::vector<Cell>> sets;
};

inline SampleShard shard_of(const SampleRelation& relation, int rank, int ranks) {
  std::map<Tuple, std::vector<Cell>> groups;
  for (const Tuple& tuple : relation.tuples) {
    Tuple ordered;
    for (const std::uint32_t column : relation.column_order) ordered.push_back(tuple[column]);
    std::uint64_t key = 17;
    for (std::size_t i = 0; i + 1 < ordered.size(); ++i) key = splitmix64(key ^ ordered[i]);
    if (static_cast<int>(key % static_cast<std::uint64_t>(ranks)) != rank) continue;
    const Cell last = ordered.back();
    ordered.pop_back();
    groups[ordered].push_back(last);
  }
  SampleShard shard;
  for (auto& [prefix, set] : groups) {
    std::sort(set.begin(), set.end());
    shard.prefixes.push_back(prefix);
    shard.sets.push_back(set);
  }
  return shard;
}

inline RelationImage image_of(const SampleRelation& relation, int rank, int ranks) {
  RelationImage image;
  image.name = relation.name;
  image.version = relation.version;
  image.arity = relation.arity;
  image.column_order = relation.column_order;
  if (relation.arity == 0) {
    image.rows = rank == 0 ? relation.tuples.size() : 0;
    if (image.rows != 0) image.hash = hash_tuple({});
    return image;
  }
  auto shard = std::make_shared<SampleShard>(shard_of(relation, rank, ranks));
  for (std::size_t g = 0; g < shard->sets.size(); ++g) {
    SetView set;
    set.values = shard->sets[g];
    set.count = set.values.size();
    image.rows += set.count;
    image.hash += hash_group({.prefix = shard->prefixes[g], .set = set}, relation.column_order);
  }
  image.for_each_group = [shard](const GroupVisitor& visit) {
    for (std::size_t g = 0; g < shard->sets.size(); ++g) {
      SetView set;
      set.values = shard->sets[g];
      set.count = set.values.size();
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = shard->prefixes[g], .set = set}));
    }
    return Status::ok();
  };
  return image;
}

inline SaveRequest request_of(const std::vector<SampleRelation>& relations, int rank, int ranks) {
  SaveRequest request;
  for (const SampleRelation& relation : relations)
    request.images.push_back(image_of(relation, rank, ranks));
  return request;
}

// The images are walked in batches, too, in which equal sets have equal contents, and some are
// shown as bits: they are written as pools, where the encoding has such.
inline void walk_in_batches(SaveRequest& request) {
  for (const RelationImage& image : request.images) {
    request.batch_walks.emplace_back();
    if (image.arity == 0) continue;
    request.batch_walks.back() = [image](const BatchVisitor& visit) -> Status {
      std::map<std::vector<Cell>, std::uint64_t> contents;
      GroupList groups;
      groups.show_rows();
      STRATALOG_RETURN_IF_ERROR(image.for_each_group([&](const TupleGroup& group) {
        const std::vector<Cell> cells(group.set.values.begin(), group.set.values.end());
        const std::uint64_t content =
            contents.try_emplace(cells, contents.size() + 1).first->second;
        groups.add(group.prefix, group.set, content);
        return Status::ok();
      }));
      const GroupBatch all = groups.batch();
      return all.runs() == 0 ? Status::ok() : visit(all);
    };
  }
}

// Collects what all ranks receive from one load.
class Collected {
 public:
  void reset(std::size_t relations) {
    const std::lock_guard guard(mutex_);
    tuples_.assign(relations, {});
    duplicates_ = 0;
  }
  void add(std::size_t index, const std::vector<std::uint32_t>& column_order,
           const TupleGroup& group) {
    const std::lock_guard guard(mutex_);
    walk_set(group.set, [&](Cell cell) {
      Tuple tuple(column_order.size());
      for (std::size_t i = 0; i + 1 < column_order.size(); ++i)
        tuple[column_order[i]] = group.prefix[i];
      tuple[column_order.back()] = cell;
      if (!tuples_[index].insert(tuple).second) ++duplicates_;
    });
  }
  const std::set<Tuple>& tuples(std::size_t index) const { return tuples_[index]; }
  std::size_t duplicates() const { return duplicates_; }

 private:
  std::mutex mutex_;
  std::vector<std::set<Tuple>> tuples_;
  std::size_t duplicates_ = 0;
};

// A sink for one rank; rank 0 resets the collection, which all ranks share.
inline LoadSink sink_into(Collected& collected, Comm& comm,
                          std::vector<StoredRelation>& relations) {
  LoadSink sink;
  sink.begin = [&collected, &comm, &relations](const StoredState& state) {
    relations = state.relations;
    if (comm.rank() == 0) collected.reset(state.relations.size());
    return comm.barrier();
  };
  sink.accept = [&collected, &relations](std::size_t index, const TupleGroup& group) {
    collected.add(index, relations[index].column_order, group);
    return Status::ok();
  };
  return sink;
}

// A few relations that differ with `salt`: arities 0, 1, 2, 3, an empty one, a delta.
inline std::vector<SampleRelation> sample_relations(std::uint64_t salt, std::uint64_t size) {
  std::uint64_t state = salt * 1000003 + 12345;
  const auto next = [&state](std::uint64_t below) {
    state = splitmix64(state);
    return static_cast<Cell>(state % below);
  };
  std::vector<SampleRelation> all;
  all.push_back({.name = "edge",
                 .version = RelationVersion::kTotal,
                 .arity = 2,
                 .column_order = {0, 1},
                 .tuples = {}});
  all.push_back({.name = "path",
                 .version = RelationVersion::kTotal,
                 .arity = 2,
                 .column_order = {1, 0},
                 .tuples = {}});
  all.push_back({.name = "path",
                 .version = RelationVersion::kDelta,
                 .arity = 2,
                 .column_order = {1, 0},
                 .tuples = {}});
  all.push_back({.name = "node",
                 .version = RelationVersion::kTotal,
                 .arity = 1,
                 .column_order = {0},
                 .tuples = {}});
  all.push_back({.name = "triple",
                 .version = RelationVersion::kTotal,
                 .arity = 3,
                 .column_order = {2, 0, 1},
                 .tuples = {}});
  all.push_back({.name = "flag",
                 .version = RelationVersion::kTotal,
                 .arity = 0,
                 .column_order = {},
                 .tuples = {}});
  all.push_back({.name = "empty",
                 .version = RelationVersion::kTotal,
                 .arity = 2,
                 .column_order = {0, 1},
                 .tuples = {}});
  for (std::uint64_t i = 0; i < size; ++i) {
    all[0].tuples.insert({next(size), next(size)});
    all[1].tuples.insert({next(8), next(size * 4)});
    if (i % 4 == 0) all[2].tuples.insert({next(8), next(1U << 31)});
    all[3].tuples.insert({next(0xFFFFFFFFU)});
    all[4].tuples.insert({next(5), next(7), next(1000)});
  }
  if (salt % 2 == 1) all[5].tuples.insert(Tuple{});
  return all;
}

// Relations as they stand at iteration `iteration` of a run in which they grow: the union of what
// the iterations until then brought, save that the delta is the last one's and `edge` never
// changes.
inline std::vector<SampleRelation> grown_relations(std::uint64_t iteration, std::uint64_t size) {
  std::vector<SampleRelation> all = sample_relations(1, size);
  for (std::uint64_t i = 2; i <= iteration; ++i) {
    const std::vector<SampleRelation> more = sample_relations(i, size);
    for (std::size_t r = 1; r < all.size(); ++r) {
      if (all[r].version == RelationVersion::kDelta) all[r].tuples.clear();
      all[r].tuples.insert(more[r].tuples.begin(), more[r].tuples.end());
    }
  }
  return all;
}

// A section that gains a piece with every iteration; those up to `before` are in the base.
inline void add_growing_section(std::uint64_t now, std::uint64_t before, SaveRequest& request) {
  for (std::uint64_t i = 1; i <= now; ++i)
    request.sections.push_back({.name = "values",
                                .data = i > before ? Bytes(20, static_cast<std::byte>(i)) : Bytes(),
                                .piece = static_cast<std::uint32_t>(i - 1),
                                .is_unchanged = i <= before});
}

// What of it is loaded.
inline Bytes grown_section(std::uint64_t now) {
  Bytes content;
  for (std::uint64_t i = 1; i <= now; ++i)
    content.insert(content.end(), 20, static_cast<std::byte>(i));
  return content;
}

// The request of one rank for iteration `now` of such a run; `before` is the iteration of the
// generation `base` on which it builds, 0 for a whole one.
inline SaveRequest grown_request(std::uint64_t now, std::uint64_t before, const std::string& base,
                                 std::uint64_t size, int rank, int ranks) {
  std::vector<SampleRelation> relations = grown_relations(now, size);
  SaveRequest request;
  if (before == 0) {
    request = request_of(relations, rank, ranks);
  } else {
    request.base = base;
    const std::vector<SampleRelation> old = grown_relations(before, size);
    for (std::size_t r = 0; r < relations.size(); ++r) {
      const bool grows = relations[r].arity != 0 && relations[r].version == RelationVersion::kTotal;
      if (grows)
        for (const Tuple& tuple : old[r].tuples) relations[r].tuples.erase(tuple);
      request.images.push_back(image_of(relations[r], rank, ranks));
      request.parts.push_back(
          {.part = grows ? ImagePart::kGrowth : ImagePart::kWhole, .choice = {}});
    }
  }
  request.iteration = now;
  if (rank == 0) {
    request.sections.push_back({.name = "symbols", .data = Bytes(40, static_cast<std::byte>(now))});
    request.sections.push_back({.name = "program", .data = Bytes(60, std::byte{'p'})});
    add_growing_section(now, before, request);
  }
  return request;
}

// Makes images of which the growth is to be saved hand out what a fold needs: a group for each
// prefix, in the order of all parts, `now` being the iteration of the request.
inline void fold_growth(SaveRequest& request, std::uint64_t now, std::uint64_t size, int rank,
                        int ranks) {
  const std::vector<SampleRelation> relations = grown_relations(now, size);
  for (std::size_t i = 0; i < request.parts.size(); ++i) {
    if (request.parts[i].part != ImagePart::kGrowth) continue;
    request.parts[i].part = ImagePart::kFolded;
    const auto all = std::make_shared<SampleShard>(shard_of(relations[i], rank, ranks));
    auto& walk = request.images[i].for_each_group;
    walk = [all, growth = walk](const GroupVisitor& visit) -> Status {
      std::size_t next = 0;
      const Status walked = growth([&](const TupleGroup& group) -> Status {
        const Tuple prefix(group.prefix.begin(), group.prefix.end());
        for (; all->prefixes[next] != prefix; ++next)
          STRATALOG_RETURN_IF_ERROR(visit({.prefix = all->prefixes[next], .set = {}}));
        ++next;
        return visit(group);
      });
      STRATALOG_RETURN_IF_ERROR(walked);
      for (; next < all->prefixes.size(); ++next)
        STRATALOG_RETURN_IF_ERROR(visit({.prefix = all->prefixes[next], .set = {}}));
      return Status::ok();
    };
  }
  // Now it stands by itself.
  std::erase_if(request.sections, [](const NamedSection& each) { return each.name == "values"; });
  if (rank == 0) add_growing_section(now, 0, request);
}

}  // namespace stratalog::sample
