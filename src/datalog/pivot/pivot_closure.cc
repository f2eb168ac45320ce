// SPDX-License-Identifier: Apache-2.0
// Seeds, rounds and memory of PivotClosure; the views of its result are in pivot_views.cc. Local;
// not thread-safe.
#include "datalog/pivot/pivot_closure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/readable_size.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

// Calls `end` on every way out of a scope, also on that of an exception: whoever waits for it would
// wait for ever.
template <typename End>
class OnExit {
 public:
  explicit OnExit(End end) : end_(std::move(end)) {}
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;
  ~OnExit() { end_(); }

 private:
  End end_;
};

// Delays are planned for runs of at least this many rounds: a shorter run would hardly bring the
// lanes together.
constexpr std::uint64_t kFewRounds = 16;
// Tuples of each lane's delta that the planning of delays looks at.
constexpr std::uint32_t kDeltaSample = 4;

}  // namespace

PivotClosure::PivotClosure(std::shared_ptr<const PivotSpace> space, ExpandSlots expand,
                           MaskMembers masks, PivotClosureOptions options)
    : space_(std::move(space)),
      mask_members_(std::move(masks)),
      options_(options),
      graph_(std::make_shared<SlotGraph>(std::move(expand))),
      sweep_(BlockSweep::make(options.width)) {
  const std::uint32_t width = lanes_per_block(options.width);
  const std::uint32_t blocks = space_->lanes() / width + (space_->lanes() % width != 0 ? 1 : 0);
  blocks_.resize(options.ownership.owned_of(blocks));
}

void PivotClosure::adopt(std::shared_ptr<SlotGraph> graph, std::shared_ptr<Landmarks> landmarks,
                         Holding holding) {
  graph_ = std::move(graph);
  landmarks_ = std::move(landmarks);
  skew_ = RoundSkew(landmarks_);
  holding_ = holding;
}

PivotClosure::Place PivotClosure::place_of(LaneId lane) {
  const std::uint32_t width = lanes_per_block(options_.width);
  const std::uint32_t number = lane / width;
  if (!options_.ownership.owns(number)) return {nullptr, 0};
  return {&blocks_[(number - options_.ownership.rank) / options_.ownership.ranks], lane % width};
}

Status PivotClosure::seed(SlotId slot, std::span<const LaneId> lanes) {
  graph_->reserve_slot(slot);
  for (const LaneId lane : lanes) {
    if (lane >= space_->lanes())
      return Status::invalid_argument(
          fmt::format("lane {} of {} pivots seeded at slot {}", lane, space_->lanes(), slot));
    const Place place = place_of(lane);
    if (place.block != nullptr) place.block->seeds.push_back({slot, place.offset});
  }
  return Status::ok();
}

Status PivotClosure::seed(SlotId slot, LaneId lane) { return seed(slot, std::span(&lane, 1)); }

Status PivotClosure::seed(SlotId slot, const SetView& pivots) {
  graph_->reserve_slot(slot);
  LaneId bad = 0;
  bool is_bad = false;
  walk_set(pivots, [&](Cell cell) {
    const LaneId lane = space_->lane_of(cell);
    if (lane == space_->lanes()) {
      is_bad = true;
      bad = cell;
      return;
    }
    const Place place = place_of(lane);
    if (place.block != nullptr) place.block->seeds.push_back({slot, place.offset});
  });
  if (is_bad)
    return Status::invalid_argument(
        fmt::format("cell {} seeded at slot {} is no pivot", bad, slot));
  return Status::ok();
}

Status PivotClosure::seed_pivot(LaneId lane, std::span<const SlotId> slots) {
  if (lane >= space_->lanes())
    return Status::invalid_argument(
        fmt::format("lane {} of {} pivots seeded", lane, space_->lanes()));
  const Place place = place_of(lane);
  for (const SlotId slot : slots) {
    graph_->reserve_slot(slot);
    if (place.block != nullptr) place.block->seeds.push_back({slot, place.offset});
  }
  return Status::ok();
}

std::uint64_t PivotClosure::rest_of(const Block& block) {
  return block.total.memory_bytes() + block.delta->memory_bytes();
}

void PivotClosure::load(const Block& block) {
  sweep_->load(block.total.all(), *block.delta, graph_->slots());
}

// New objects take the place of the old: a checkpoint may still be reading those.
void PivotClosure::store(Block& block) {
  PackedRows fresh;
  auto delta = std::make_shared<PackedRows>();
  sweep_->store(block.total.frozen(), fresh, *delta);
  block.total.put(std::move(fresh));
  block.delta = std::move(delta);
}

Result<std::uint64_t> PivotClosure::absorb() {
  settle();
  std::uint64_t added = 0;
  for (Block& block : blocks_) {
    if (block.seeds.empty()) continue;
    load(block);
    added += sweep_->absorb(block.seeds);
    block.seeds = {};
    block.delays = {};
    resting_bytes_ -= rest_of(block);
    store(block);
    resting_bytes_ += rest_of(block);
  }
  STRATALOG_RETURN_IF_ERROR(check_memory());
  return added;
}

Status PivotClosure::fetch_masks() {
  if (graph_->mask_count() == 0) return Status::ok();
  std::vector<LaneId> lanes;
  for (const MaskId mask : graph_->take_new_masks()) {
    lanes.clear();
    STRATALOG_RETURN_IF_ERROR(mask_members_(mask, lanes));
    for (const LaneId lane : lanes) {
      if (lane >= space_->lanes())
        return Status::invalid_argument(
            fmt::format("mask {} names lane {} of {} pivots", mask, lane, space_->lanes()));
      const Place place = place_of(lane);
      if (place.block != nullptr) place.block->masks.push_back({mask, place.offset});
    }
  }
  return Status::ok();
}

Status PivotClosure::check_memory() const {
  if (options_.memory_limit_bytes == ~std::uint64_t{0}) return Status::ok();
  const std::uint64_t used = memory_bytes();
  if (used <= options_.memory_limit_bytes) return Status::ok();
  return Status::no_space(fmt::format(
      "the pivot recursion holds {}; the memory limit leaves it {}; raise it (--memory-limit, "
      "`memory_limit` of the library) or use more ranks",
      readable_size(used), readable_size(options_.memory_limit_bytes)));
}

Status PivotClosure::discover(const RunOptions& options, std::uint64_t depth) {
  if (graph_->is_closed()) return fetch_masks();
  std::vector<std::uint8_t> is_start(graph_->slots(), 0);
  for (const Block& block : blocks_)
    for (const SlotId slot : block.delta->slots()) is_start[slot] = 1;
  std::vector<SlotId> starts;
  for (SlotId slot = 0; slot < is_start.size(); ++slot)
    if (is_start[slot] != 0) starts.push_back(slot);
  STRATALOG_RETURN_IF_ERROR(graph_->discover(starts, depth, [&]() -> Status {
    if (options.stop && options.stop()) return Status::cancelled("stopped while following edges");
    return check_memory();
  }));
  graph_->find_followers();
  return fetch_masks();
}

std::span<const std::uint32_t> PivotClosure::choose_delays(Block& block, std::uint32_t number) {
  const std::uint64_t rounds = unfinished_.max_rounds;
  if (options_.skew == SkewPolicy::kNever || rounds < kFewRounds) return {};
  std::vector<std::uint32_t>& delays = rounds == RunOptions::kNoLimit ? delays_ : block.delays;
  if (&delays == &delays_ || delays.empty())
    delays = skew_.plan(*graph_, sweep_->delta_bits(kDeltaSample), lanes_per_block(options_.width),
                        number);
  return delays;
}

// The block is this closure's own, or borrowed.
Status PivotClosure::advance(Block& block, std::uint32_t number, const RunOptions& options) {
  const std::uint64_t rounds = unfinished_.max_rounds;
  RunReport& report = unfinished_.report;
  block.total.fold_saved(words_per_row(options_.width));
  load(block);
  const std::span<const std::uint32_t> delays = choose_delays(block, number);
  sweep_->add_masks(block.masks, graph_->mask_count());
  const ExpandMet expand = [&](std::vector<SlotId>& met) -> Status {
    const std::size_t known = block.masks.size();
    STRATALOG_RETURN_IF_ERROR(graph_->expand(met));
    STRATALOG_RETURN_IF_ERROR(fetch_masks());
    sweep_->add_masks(std::span(block.masks).subspan(known), graph_->mask_count());
    return check_memory();
  };
  SweepTally tally;
  const SweepPlan plan{.rounds = rounds,
                       .delays = delays,
                       .pause = options.pause,
                       .pause_operations = options.pause_operations};
  Status status = sweep_->run(*graph_, plan, expand, tally);
  if (!status.is_ok()) {
    sweep_->discard();
    return status;
  }
  skew_.note_work(tally.row_operations);
  store(block);
  // The round that finds nothing and so ends a block counts as one of its rounds.
  while (!tally.new_rows.empty() && tally.new_rows.back() == 0) tally.new_rows.pop_back();
  if (tally.new_rows.size() < rounds) tally.new_rows.push_back(0);
  if (report.new_rows.size() < tally.new_rows.size()) report.new_rows.resize(tally.new_rows.size());
  for (std::size_t i = 0; i < tally.new_rows.size(); ++i) report.new_rows[i] += tally.new_rows[i];
  report.derivations += tally.derivations;
  report.row_operations += tally.row_operations;
  report.block_rounds += tally.new_rows.size();
  return Status::ok();
}

Status PivotClosure::may_go_on(const RunOptions& options, std::size_t done) const {
  if (options.stop && options.stop())
    return Status::cancelled(fmt::format("stopped after {} of {} blocks", done, blocks_.size()));
  return check_memory();
}

void PivotClosure::tell(const RunOptions& options, std::size_t done) const {
  if (!options.progress) return;
  std::uint64_t added = 0;
  for (const std::uint64_t rows : unfinished_.report.new_rows) added += rows;
  options.progress({.blocks_done = static_cast<std::uint32_t>(done),
                    .blocks = owned_blocks(),
                    .new_rows = added,
                    .block_rounds = unfinished_.report.block_rounds,
                    .memory_bytes = memory_bytes()});
}

Status PivotClosure::sweep_own(const RunOptions& options) {
  while (const std::optional<std::uint32_t> owned = shelf_->take()) {
    Block& block = blocks_[*owned];
    const std::uint64_t rest = rest_of(block);
    Status swept = may_go_on(options, *owned);
    if (swept.is_ok()) swept = advance(block, block_number(*owned), options);
    resting_bytes_ += rest_of(block) - rest;
    if (!swept.is_ok()) {
      shelf_->put_back(*owned);
      return swept;
    }
    tell(options, *owned + 1);
  }
  return Status::ok();
}

Status PivotClosure::sweep_borrowed(const RunOptions& options) {
  for (PivotClosure* const other : options.others)
    while (const std::optional<std::uint32_t> lent = other->shelf_->borrow()) {
      Block& block = other->blocks_[*lent];
      {
        auto outcome = BlockShelf::Outcome::kAsBefore;
        const OnExit give_back([&, rest = rest_of(block)] {
          other->shelf_->give_back(*lent, outcome,
                                   static_cast<std::int64_t>(rest_of(block) - rest));
        });
        STRATALOG_RETURN_IF_ERROR(may_go_on(options, blocks_.size()));
        STRATALOG_RETURN_IF_ERROR(advance(block, other->block_number(*lent), options));
        outcome = BlockShelf::Outcome::kSwept;
      }
      tell(options, blocks_.size());
    }
  return Status::ok();
}

Result<RunReport> PivotClosure::run(const RunOptions& options) {
  Unfinished& open = unfinished_;
  if (!open.is_open) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t seeds, absorb());
    open = {.is_open = true, .max_rounds = options.max_rounds, .report = {}};
    open.report.seeds = seeds;
    std::deque<std::uint32_t> waiting;
    for (std::uint32_t owned = 0; owned < owned_blocks(); ++owned)
      if (!blocks_[owned].delta->is_empty()) waiting.push_back(owned);
    shelf_->fill(std::move(waiting));
  }
  if (open.max_rounds != 0) {
    STRATALOG_RETURN_IF_ERROR(discover(options, open.max_rounds));
    const bool lends = !options.others.empty() && open.max_rounds == RunOptions::kNoLimit;
    shelf_->open(lends ? BlockShelf::Lending::kYes : BlockShelf::Lending::kNo);
    const OnExit close([&] { resting_bytes_ += static_cast<std::uint64_t>(shelf_->close()); });
    STRATALOG_RETURN_IF_ERROR(sweep_own(options));
    if (lends) STRATALOG_RETURN_IF_ERROR(sweep_borrowed(options));
  }
  open.report.is_fixpoint = delta_count() == 0;
  open.is_open = false;
  return std::exchange(open.report, {});
}

void PivotClosure::release_workspace() {
  sweep_ = BlockSweep::make(options_.width);
  // Those of other threads stay theirs.
  landmarks_ = std::make_shared<Landmarks>();
  skew_ = RoundSkew(landmarks_);
  delays_ = {};
  for (Block& block : blocks_) block.delays = {};
}

std::uint64_t PivotClosure::row_count() const {
  std::uint64_t rows = 0;
  for (const Block& block : blocks_) rows += block.total.tuples();
  return rows;
}

std::uint64_t PivotClosure::delta_count() const {
  std::uint64_t rows = 0;
  for (const Block& block : blocks_) rows += block.delta->tuples();
  return rows;
}

std::uint64_t PivotClosure::resting_bytes() const { return resting_bytes_; }

std::uint64_t PivotClosure::memory_bytes() const {
  std::uint64_t bytes = resting_bytes_ + skew_.memory_bytes() + sweep_->memory_bytes() +
                        blocks_.capacity() * sizeof(Block);
  if (holding_ == Holding::kOwn)
    bytes += graph_->memory_bytes() + landmarks_->memory_bytes() + space_->memory_bytes();
  for (const Block& block : blocks_)
    bytes += block.seeds.capacity() * sizeof(SlotBit) + block.masks.capacity() * sizeof(MaskBit) +
             block.delays.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace stratalog
