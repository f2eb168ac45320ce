// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/saved_parts.h"

#include <algorithm>

#include "checkpoint/phase_times.h"
#include "datalog/evaluate/column_labels.h"
#include "datalog/evaluate/pivot_relations.h"
#include "datalog/evaluate/relation_images.h"
#include "datalog/facts/tuple_source.h"
#include "datalog/relation_storage.h"
#include "model/multiset_hash.h"

namespace stratalog::datalog {
namespace {

// Rows of each member of a pivot stratum.
std::vector<std::uint64_t> count_members(const PivotRelations& pivot, const PivotImage& image) {
  std::vector<std::uint64_t> rows(pivot.members(), 0);
  if (rows.size() == 1) {
    rows[0] = image.tuples();
    return rows;
  }
  // The visitor never fails.
  (void)image.for_each_group([&](SlotId slot, const SetView& pivots) -> Status {
    rows[pivot.position_of_slot(slot)] += pivots.count;
    return {};
  });
  return rows;
}

}  // namespace

// Freezes what the relation holds and counts it.
Result<SavedParts::Sizes> SavedParts::measure(RelationId id) {
  RelationData& relation = state_.relations[id];
  if (relation.arity == 0) return Sizes();
  if (relation.equivalence) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t rows,
                               count_rows(stored_image(state_, id, RelationVersion::kTotal)));
    return Sizes{.rows = rows, .growth = 0};
  }
  if (!relation.pivot) {
    const Index& index = relation.shards.front().primary_index();
    return Sizes{.rows = index.tuples(), .growth = relation.growth ? relation.growth->tuples() : 0};
  }
  auto [known, is_new] = pivot_sizes_.try_emplace(relation.pivot.get());
  if (is_new) {
    PivotRelations& pivot = *relation.pivot;
    pivot.closure().freeze();
    const auto total = count_members(pivot, pivot.closure().image(ImageRows::kTotal));
    const auto growth = count_members(pivot, pivot.closure().image(ImageRows::kGrowth));
    for (std::size_t i = 0; i < total.size(); ++i)
      known->second.push_back({.rows = total[i], .growth = growth[i]});
  }
  return known->second[relation.pivot_position];
}

// Ranks read back what they wrote while the evaluation goes on, and the parts of a relation have
// its rows in the order of its index, which those that grow in rounds keep. Of relations in pivot
// strata no copies are needed, and images pack better than what would be read.
bool SavedParts::may_fold(const SavedRelation& saved, ImageLife life) const {
  const CheckpointOptions& options = state_.options.checkpoint;
  return life == ImageLife::kFrozen && options.folding == Folding::kAllowed && writer_.can_fold() &&
         only_grows(saved);
}

// What has finished does not change under a thread that packs.
bool SavedParts::is_finished_beside(const SavedRelation& saved, ImageLife life) const {
  return life == ImageLife::kFrozen && saved.state == RelationState::kFinished &&
         state_.options.checkpoint.folding == Folding::kAllowed;
}

PartOffer SavedParts::offer(const SavedRelation& saved, const Sizes& all, ImageLife life,
                            std::uint64_t interval_microseconds) const {
  const RelationId id = saved.id;
  PartOffer offer{
      .growth = GrowthKnowledge::kNoBase,
      .rows = all.rows,
      .growth_rows = all.growth,
      .folding = may_fold(saved, life) ? Folding::kAllowed : Folding::kNo,
      .stored_as = stores_streams(state_.options.checkpoint.mode) ? StoredAs::kStreams
                                                                  : StoredAs::kBlocksOrRows,
      .ranks = static_cast<std::uint64_t>(state_.comm.size()),
      .interval_microseconds = interval_microseconds,
      .whole_beside = is_finished_beside(saved, life) ? WholeBeside::kYes : WholeBeside::kNo};
  const ChainFacts chain =
      writer_.chain(state_.program.relations[id].name, RelationVersion::kTotal);
  const RelationData& relation = state_.relations[id];
  // Classes can unite while there are as many elements as before, and tuples can replace others:
  // until they are finished that is never growth.
  const bool only_adds = !relation.equivalence && !shrinks(state_.program.relations[id]);
  if (relation.arity == 0 || chain.generations == 0 || !(only_adds || relation.is_saved_finished))
    return offer;
  // What was saved and what was added since must be what is there. (A relation that is not followed
  // has no growth to show; if it has not changed, that is right.)
  offer.growth =
      chain.rows + all.growth == all.rows ? GrowthKnowledge::kKnown : GrowthKnowledge::kNotFollowed;
  return offer;
}

// What a pivot relation holds at this moment: the writer may walk the image while blocks go on.
SavedParts::Shown SavedParts::pivot_image(RelationId id, RelationVersion version,
                                          ImageRows rows) const {
  Shown shown{.image = relation_image(state_, id, version)};
  const RelationData& relation = state_.relations[id];
  const auto image = std::make_shared<const PivotImage>(relation.pivot->closure().image(rows));
  shown.image.for_each_group = [pivot = relation.pivot, position = relation.pivot_position,
                                image](const GroupVisitor& visit) {
    return pivot->for_each_group(position, *image, visit);
  };
  shown.batches = [pivot = relation.pivot, position = relation.pivot_position,
                   image](const BatchVisitor& visit) {
    return pivot->for_each_batch(position, *image, visit);
  };
  return shown;
}

// Of segments that were made from the home's primary index. Neither they nor the prefixes change
// while rounds go on.
RelationImage SavedParts::segment_image(RelationId id, RelationVersion version,
                                        GrowthSegments segments, ShownRows shown) const {
  RelationImage image = relation_image(state_, id, version);
  const Index& home = state_.relations[id].shards.front().primary_index();
  const RowId rows = shown == ShownRows::kAll ? home.row_count() : 0;
  image.for_each_group = [keys = home.freeze_prefixes(), rows,
                          segments = std::move(segments)](const GroupVisitor& visit) -> Status {
    RowId next = 0;
    const auto visit_empty = [&](RowId end) -> Status {
      for (; next < end; ++next)
        STRATALOG_RETURN_IF_ERROR(visit({.prefix = keys.key(next), .set = {}}));
      return {};
    };
    const Status walked = for_each_row(segments, [&](RowId row, const SetView& elements) -> Status {
      if (rows != 0) STRATALOG_RETURN_IF_ERROR(visit_empty(row));
      next = row + 1;
      return visit({.prefix = keys.key(row), .set = elements});
    });
    return walked.is_ok() ? visit_empty(rows) : walked;
  };
  return image;
}

SavedParts::Shown SavedParts::growth_image(RelationId id, ShownRows shown) const {
  const RelationData& relation = state_.relations[id];
  if (relation.pivot) return pivot_image(id, RelationVersion::kTotal, ImageRows::kGrowth);
  if (relation.arity == 0) return {.image = relation_image(state_, id, RelationVersion::kTotal)};
  if (relation.equivalence) {
    Shown nothing{.image = relation_image(state_, id, RelationVersion::kTotal)};
    nothing.image.for_each_group = [](const GroupVisitor&) { return Status(); };
    return nothing;
  }
  return {.image =
              segment_image(id, RelationVersion::kTotal,
                            relation.growth ? relation.growth->freeze() : GrowthSegments(), shown)};
}

SavedParts::Shown SavedParts::total_image(RelationId id, ImagePart part, const Sizes& mine) {
  RelationData& relation = state_.relations[id];
  if (part != ImagePart::kWhole) {
    Shown shown = growth_image(
        id, part == ImagePart::kFolded ? ShownRows::kAll : ShownRows::kThoseWithElements);
    shown.image.rows = mine.growth;
    return shown;
  }
  if (relation.growth) (void)relation.growth->freeze();
  const auto copied = copies_.find(id);
  Shown shown;
  if (relation.pivot)
    shown = pivot_image(id, RelationVersion::kTotal, ImageRows::kTotal);
  else if (copied != copies_.end())
    shown.image = segment_image(id, RelationVersion::kTotal, copied->second.total);
  else
    shown.image = stored_image(state_, id, RelationVersion::kTotal);
  if (relation.arity != 0) shown.image.rows = mine.rows;
  return shown;
}

// Of a running relation.
Result<SavedParts::Shown> SavedParts::delta_image(RelationId id) const {
  const RelationData& relation = state_.relations[id];
  if (relation.pivot) {
    Shown shown = pivot_image(id, RelationVersion::kDelta, ImageRows::kDelta);
    shown.image.rows =
        count_members(*relation.pivot,
                      relation.pivot->closure().image(ImageRows::kDelta))[relation.pivot_position];
    return shown;
  }
  const auto copied = copies_.find(id);
  RelationImage image = copied != copies_.end()
                            ? segment_image(id, RelationVersion::kDelta, copied->second.delta)
                            : stored_image(state_, id, RelationVersion::kDelta);
  if (relation.equivalence) {
    STRATALOG_ASSIGN_OR_RETURN(image.rows, count_rows(image));
  } else if (relation.arity != 0) {
    image.rows = relation.shards.front().primary_index().delta_tuples();
  }
  return Shown{.image = std::move(image)};
}

// Every walk hashes anew, so that the last one counts, however often a writer walks.
void SavedParts::add_image(RelationId id, Shown shown, SaveRequest& request) const {
  RelationImage& image = shown.image;
  request.walked_hashes.emplace_back();
  request.batch_walks.emplace_back();
  if (image.arity != 0) {
    auto hash = std::make_shared<MultisetHash>();
    image.for_each_group = [walk = std::move(image.for_each_group), order = image.column_order,
                            hash, spent = hash_ns_](const GroupVisitor& visit) {
      *hash = {};
      GroupHasher hasher(order);
      SampledTime sample;
      const std::uint64_t nothing = 0;
      const Status walked = walk([&](const TupleGroup& group) {
        *hash += sample.run(group.set.count, nothing, [&] { return hasher.hash(group); });
        return visit(group);
      });
      *spent += sample.total_ns();
      return walked;
    };
    if (shown.batches)
      request.batch_walks.back() = [walk = std::move(shown.batches), order = image.column_order,
                                    hash, spent = hash_ns_](const BatchVisitor& visit) {
        *hash = {};
        GroupHasher hasher(order);
        return walk([&](const GroupBatch& batch) {
          {
            const stratalog::Stopwatch watch(*spent);
            *hash += hasher.hash(batch);
          }
          return visit(batch);
        });
      };
    request.walked_hashes.back() = std::move(hash);
  }
  request.labels.push_back(column_labels(state_.program.relations[id]));
  request.images.push_back(std::move(image));
}

// Collective.
Status SavedParts::add_up(const Status& counted, std::vector<std::uint64_t>& sums) {
  const datalog::Stopwatch watch;
  Status status = agree(state_.comm, counted);
  if (status.is_ok()) status = state_.comm.allreduce(sums, ReduceOp::kSum);
  agree_seconds_ += watch.seconds();
  return status;
}

std::uint64_t SavedParts::copied_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, copies] : copies_)
    for (const GrowthSegments* segments : {&copies.total, &copies.delta})
      for (const auto& segment : *segments) bytes += segment->heap_bytes();
  return bytes;
}

// Whether rounds change the relation in no other way than by adding to its home.
bool SavedParts::only_grows(const SavedRelation& saved) const {
  const RelationData& relation = state_.relations[saved.id];
  return saved.state == RelationState::kRunning && relation.arity != 0 && !relation.pivot &&
         !relation.equivalence && !shrinks(state_.program.relations[saved.id]);
}

// About what copy() will take.
std::uint64_t SavedParts::needed_bytes(std::span<const PartPlan> plans) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < relations_.size(); ++i) {
    if (!only_grows(relations_[i])) continue;
    const Index& home = state_.relations[relations_[i].id].shards.front().primary_index();
    bytes += home.delta_tuples() * sizeof(Cell);
    if (plans[i].part == ImagePart::kWhole) bytes += home.packed_bytes();
  }
  return bytes;
}

Status SavedParts::copy(std::span<const PartPlan> plans) {
  return guard_memory([&]() -> Status {
    for (std::size_t i = 0; i < relations_.size(); ++i) {
      if (!only_grows(relations_[i])) continue;
      const Index& home = state_.relations[relations_[i].id].shards.front().primary_index();
      Copies& copies = copies_[relations_[i].id];
      copies.delta = {pack_segment(home.delta())};
      if (plans[i].part == ImagePart::kWhole) copies.total = {pack_total(home)};
    }
    return {};
  });
}

// Collective. All ranks copy, or none.
Status SavedParts::agree_on_copies(std::span<const PartPlan> plans) {
  // A whole part is rare: each is several times the one before.
  constexpr std::uint64_t kAlwaysFits = std::uint64_t{64} << 20;
  const std::uint64_t used = state_.memory_bytes();
  const std::uint64_t limit = state_.options.memory_limit_bytes;
  std::uint64_t most = std::max(kAlwaysFits, used / 4);
  if (limit != 0) most = std::min(most, limit > used ? (limit - used) / 2 : 0);
  const bool fits = std::all_of(relations_.begin(), relations_.end(),
                                [&](const SavedRelation& saved) {
                                  return saved.state == RelationState::kFinished ||
                                         state_.relations[saved.id].arity == 0 ||
                                         state_.relations[saved.id].pivot || only_grows(saved);
                                }) &&
                    needed_bytes(plans) <= most && copy(plans).is_ok();
  std::uint64_t refused = fits ? 0 : 1;
  const datalog::Stopwatch watch;
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(std::span(&refused, 1), ReduceOp::kSum));
  agree_seconds_ += watch.seconds();
  if (refused == 0)
    life_ = ImageLife::kFrozen;
  else
    copies_.clear();
  return {};
}

// What rounds add while the checkpoint is being written belongs to the next one.
void SavedParts::follow_from_now() {
  if (state_.options.checkpoint.chain.whole_every == 1) return;
  for (const SavedRelation& saved : relations_) {
    RelationData& relation = state_.relations[saved.id];
    if (only_grows(saved) && !relation.growth) relation.growth = std::make_unique<GrowthLog>();
  }
}

std::vector<PartPlan> SavedParts::plan(std::span<const std::uint64_t> sums, ImageLife life) const {
  std::vector<ChainFacts> chains;
  chains.reserve(relations_.size());
  for (const SavedRelation& saved : relations_)
    chains.push_back(
        writer_.chain(state_.program.relations[saved.id].name, RelationVersion::kTotal));
  // What one relation needs keeps an older generation for all.
  std::uint32_t generations = 0;
  for (const ChainFacts& chain : chains) generations = std::max(generations, chain.generations);
  std::vector<PartPlan> plans;
  plans.reserve(relations_.size());
  for (std::size_t i = 0; i < relations_.size(); ++i) {
    chains[i].generations = generations;
    plans.push_back(
        plan_part(state_.options.checkpoint.chain, chains[i],
                  offer(relations_[i], {.rows = sums[i * 2], .growth = sums[(i * 2) + 1]}, life,
                        sums.back())));
  }
  return plans;
}

Status SavedParts::add(std::span<const SavedRelation> relations, SaveRequest& request,
                       ImageLife life, double since_last) {
  relations_.assign(relations.begin(), relations.end());
  std::vector<Sizes> mine;
  std::vector<std::uint64_t> sums;
  Status counted;
  for (const SavedRelation& saved : relations_) {
    const Result<Sizes> sizes = measure(saved.id);
    if (counted.is_ok()) counted = sizes.status();
    mine.push_back(sizes.is_ok() ? sizes.value() : Sizes());
    sums.insert(sums.end(), {mine.back().rows, mine.back().growth});
  }
  sums.push_back(state_.comm.rank() == 0 ? static_cast<std::uint64_t>(since_last * 1e6) : 0);
  STRATALOG_RETURN_IF_ERROR(add_up(counted, sums));
  std::vector<PartPlan> plans = plan(sums, life);
  if (life == ImageLife::kFrozen)
    STRATALOG_RETURN_IF_ERROR(agree_on_copies(plans));
  else
    life_ = life;
  // Who is held up anyway has the relation at hand.
  if (life_ != life) plans = plan(sums, life_);
  for (std::size_t i = 0; i < relations_.size(); ++i) {
    request.parts.push_back(plans[i]);
    add_image(relations_[i].id, total_image(relations_[i].id, plans[i].part, mine[i]), request);
    if (relations_[i].state != RelationState::kRunning) continue;
    Result<Shown> delta = delta_image(relations_[i].id);
    if (counted.is_ok()) counted = delta.status();
    request.parts.push_back({.part = ImagePart::kWhole, .choice = {}});
    add_image(relations_[i].id, delta.is_ok() ? std::move(delta).value() : Shown(), request);
  }
  if (life_ != ImageLife::kBorrowed) follow_from_now();
  const datalog::Stopwatch watch;
  Status status = agree(state_.comm, counted);
  agree_seconds_ += watch.seconds();
  return status;
}

void SavedParts::acknowledge() const {
  for (const auto& [pivot, sizes] : pivot_sizes_) pivot->closure().acknowledge();
  const bool follow = state_.options.checkpoint.chain.whole_every != 1;
  for (const SavedRelation& saved : relations_) {
    RelationData& relation = state_.relations[saved.id];
    relation.is_saved_finished = saved.state == RelationState::kFinished;
    if (relation.arity == 0 || relation.pivot || relation.equivalence ||
        shrinks(state_.program.relations[saved.id]))
      continue;
    if (saved.state == RelationState::kFinished)
      relation.growth.reset();
    else if (relation.growth)
      relation.growth->acknowledge();
    else if (follow)
      relation.growth = std::make_unique<GrowthLog>();
  }
}

}  // namespace stratalog::datalog
