// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/pivot_seeds.h"

#include <algorithm>
#include <utility>

#include "comm/shared_pointers.h"
#include "datalog/evaluate/placement.h"
#include "datalog/facts/cell_class.h"
#include "datalog/pivot/slot_order.h"

namespace stratalog::datalog {
namespace {

// A dense lane range may be so many times larger than the number of seeds, or this large anyway.
constexpr std::uint64_t kDenseFactor = 4;
constexpr std::uint64_t kDenseFloor = 1U << 16;

// Growth is guessed by each rank from one seed of so many, or from so many seeds.
constexpr std::uint64_t kSeedsForWalk = 16;
constexpr std::uint64_t kMostWalks = 4096;
// A sweep is worth its while from as much growth on: a recursion that derives so many tuples from
// each seed. (On sparse random graphs, with fewer than 1 edge a node, rounds are up to 2.5 times
// quicker below this, and still as quick at 8; a sweep is 4 times quicker at 50.)
constexpr std::uint64_t kLeastOfSeed = 2;

std::vector<Cell> cells_of(std::span<const std::byte> bytes) {
  std::vector<Cell> cells(bytes.size() / sizeof(Cell));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(cells)).begin());
  return cells;
}

// No more bindings than rows of the one relation that it reads whole, and the same ones on each
// rank that has all of it.
bool selects_rows(const Rule& rule, const RulePlan& plan) {
  const auto tests = [](const Step& step) {
    return step.kind == StepKind::kFilter || step.kind == StepKind::kExists ||
           step.kind == StepKind::kAbsent;
  };
  return !plan.steps.empty() && plan.steps.front().kind == StepKind::kScan &&
         std::all_of(plan.steps.begin() + 1, plan.steps.end(), tests) &&
         std::all_of(rule.head_arguments.begin(), rule.head_arguments.end(),
                     [](const Expression& e) { return e.kind != ExpressionKind::kFunctor; });
}

}  // namespace

PivotSeeds::PivotSeeds(EngineState& state, std::uint32_t stratum, PivotRelations& relations)
    : state_(state),
      stratum_(stratum),
      members_(state.program.strata[stratum]),
      relations_(relations),
      seeds_(members_.relations.size()) {
  for (std::size_t i = 0; i < seeds_.size(); ++i)
    seeds_[i].arity = state.relations[members_.relations[i]].arity;
}

Status PivotSeeds::collect(StratumFacts facts) {
  const std::vector<RulePlan>& once = state_.plan.strata[stratum_].once;
  bool may_read_copies = false;
  // Ranks that share memory read each other's seeds where they lie.
  if (!state_.is_single() && !relations_.can_share_slots() &&
      std::all_of(once.begin(), once.end(), [this](const RulePlan& plan) {
        return selects_rows(state_.program.rules[plan.rule], plan);
      })) {
    STRATALOG_ASSIGN_OR_RETURN(may_read_copies, has_no_facts(facts));
  }
  const Status added = state_.guard([&]() -> Status {
    for (std::size_t i = 0; i < std::min(seeds_.size(), facts.size()); ++i)
      add_facts(i, std::exchange(facts[i], {}));
    return {};
  });
  return agree(state_.comm, added.is_ok() ? run_once(may_read_copies) : added);
}

// On any rank.
Result<bool> PivotSeeds::has_no_facts(const StratumFacts& facts) const {
  std::vector<std::uint64_t> rows{0};
  for (const TupleColumns& relation : facts) rows[0] += relation.rows;
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(rows, ReduceOp::kSum));
  return rows[0] == 0;
}

Result<PivotSeeds::Space> PivotSeeds::choose_space() {
  STRATALOG_ASSIGN_OR_RETURN(PivotSpace cells, space_of_cells());
  Space space = std::make_shared<const PivotSpace>(std::move(cells));
  STRATALOG_RETURN_IF_ERROR(order_space(space));
  return space;
}

Result<bool> PivotSeeds::promise_growth() {
  std::vector<std::uint64_t> sums{seeds_here()};
  if (!all_have_all_) STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(sums, ReduceOp::kSum));
  all_seeds_ = sums[0];
  if (all_seeds_ < state_.options.guess_growth_min_seeds) return true;
  GrowthGuess guess;
  const Status guessed = state_.guard([&]() -> Status {
    STRATALOG_ASSIGN_OR_RETURN(guess, guess_growth_here());
    return {};
  });
  sums = {guessed.is_ok() ? 0U : 1U, guess.walks, guess.derived};
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(sums, ReduceOp::kSum));
  if (sums[0] > 0) return agree(state_.comm, guessed);
  return sums[2] >= sums[1] * kLeastOfSeed;
}

std::uint64_t PivotSeeds::seeds_here() const {
  std::uint64_t rows = 0;
  for (const Seeds& seeds : seeds_) rows += seeds.cells.size() / seeds.arity;
  return rows;
}

Result<GrowthGuess> PivotSeeds::guess_growth_here() {
  const std::uint64_t apart = std::max(kSeedsForWalk, seeds_here() / kMostWalks);
  std::vector<SlotId> starts;
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    const std::span<const Cell> cells = seeds_[i].cells;
    for (std::size_t at = 0; at < cells.size(); at += seeds_[i].arity * apart)
      starts.push_back(relations_.slot_of(static_cast<std::uint32_t>(i), &cells[at]));
  }
  // What is enough whatever the other ranks find.
  return relations_.guess_growth(
      starts, kMostWalks * 2 * kLeastOfSeed * static_cast<std::uint64_t>(state_.comm.size()));
}

StratumSeeds PivotSeeds::take() {
  StratumSeeds taken{.tuples = {}, .rows = all_seeds_};
  // Ranks may have the same rows in different orders: which are whose must not depend on it.
  const int ranks = all_have_all_ ? state_.comm.size() : 1;
  const int me = all_have_all_ ? state_.comm.rank() : 0;
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    const std::vector<Cell> cells = std::exchange(seeds_[i].cells, {});
    const std::size_t arity = seeds_[i].arity;
    const auto order = relations_.column_order(static_cast<std::uint32_t>(i));
    TupleColumns& tuples = taken.tuples.emplace_back();
    tuples.columns.resize(arity);
    for (std::size_t at = 0; at < cells.size(); at += arity) {
      const auto tuple = std::span(cells).subspan(at, arity);
      if (ranks > 1 && owner_of(tuple, ranks) != me) continue;
      ++tuples.rows;
      for (std::size_t c = 0; c < arity; ++c) tuples.columns[order[c]].push_back(tuple[c]);
    }
  }
  return taken;
}

void PivotSeeds::add_facts(std::size_t position, const TupleColumns& facts) {
  const auto order = relations_.column_order(static_cast<std::uint32_t>(position));
  for (std::uint64_t r = 0; r < facts.rows; ++r)
    for (const std::uint32_t c : order) seeds_[position].cells.push_back(facts.columns[c][r]);
}

// Runs the non-recursive rules; their bindings become seeds on this rank, in key-then-pivot
// order.
Status PivotSeeds::run_once(bool may_read_copies) {
  std::unique_ptr<RulePass> pass;
  if (may_read_copies) {
    STRATALOG_ASSIGN_OR_RETURN(pass, bind_once(DeltaShare::kAll));
    all_have_all_ = pass->reads_copies_only();
  }
  if (!all_have_all_) {
    STRATALOG_ASSIGN_OR_RETURN(pass, bind_once(DeltaShare::kMine));
  }
  all_have_all_ |= state_.is_single();
  pass->when_values_are_shared([this](const CellRemapping& remapping) { remap(remapping); });
  return pass->run();
}

Result<std::unique_ptr<RulePass>> PivotSeeds::bind_once(DeltaShare share) {
  return RulePass::bind(
      state_, stratum_, state_.plan.strata[stratum_].once,
      [this](const RulePlan& plan) {
        return BatchSink([this, &plan](const Batch& batch) { return take(plan, batch); });
      },
      share);
}

void PivotSeeds::remap(const CellRemapping& remapping) {
  if (remapping.empty()) return;
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    const auto order = relations_.column_order(static_cast<std::uint32_t>(i));
    const auto& attributes = state_.program.relations[members_.relations[i]].attributes;
    for (std::size_t at = 0; at < seeds_[i].cells.size(); ++at) {
      Cell& cell = seeds_[i].cells[at];
      cell = remapping.of(cell_class(attributes[order[at % order.size()]].kind), cell);
    }
  }
}

Status PivotSeeds::take(const RulePlan& plan, const Batch& batch) {
  const Rule& rule = state_.program.rules[plan.rule];
  const std::uint32_t position = relations_.position_of(rule.head);
  const auto order = relations_.column_order(position);
  std::vector<Cell>& cells = seeds_[position].cells;
  std::vector<Cell> tuple(order.size());
  std::size_t carried = order.size();  // place of the carried set's column, if there is one
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Expression& e = rule.head_arguments[order[i]];
    if (plan.carries && e.kind == ExpressionKind::kVariable && e.variable == plan.carried)
      carried = i;
  }
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
    for (std::size_t i = 0; i < order.size(); ++i)
      if (i != carried)
        tuple[i] = state_.evaluator.evaluate(rule.head_arguments[order[i]], batch, r);
    if (carried == order.size()) {
      cells.insert(cells.end(), tuple.begin(), tuple.end());
      continue;
    }
    batch.sets[r]->walk([&](Cell cell) {
      tuple[carried] = cell;
      cells.insert(cells.end(), tuple.begin(), tuple.end());
    });
  }
  return state_.evaluator.status();
}

// The pivots of all ranks: a range of cells if they lie close together, else a dictionary.
Result<PivotSpace> PivotSeeds::space_of_cells() {
  std::vector<std::uint64_t> extremes{~std::uint64_t{0},
                                      ~std::uint64_t{0}};  // min, and min of the complement
  for (const Seeds& seeds : seeds_)
    for (std::size_t at = seeds.arity; at <= seeds.cells.size(); at += seeds.arity) {
      const std::uint64_t pivot = seeds.cells[at - 1];
      extremes[0] = std::min(extremes[0], pivot);
      extremes[1] = std::min(extremes[1], ~pivot);
    }
  if (!all_have_all_) STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(extremes, ReduceOp::kMin));
  if (all_seeds_ == 0) return PivotSpace::dense(0, 1);
  const std::uint64_t first = extremes[0];
  const std::uint64_t lanes = ~extremes[1] - first + 1;
  if (lanes <= std::max(kDenseFloor, kDenseFactor * all_seeds_))
    return PivotSpace::dense(static_cast<Cell>(first), static_cast<std::uint32_t>(lanes));
  std::vector<Cell> mine;
  for (const Seeds& seeds : seeds_)
    for (std::size_t at = seeds.arity; at <= seeds.cells.size(); at += seeds.arity)
      mine.push_back(seeds.cells[at - 1]);
  std::sort(mine.begin(), mine.end());
  mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  if (all_have_all_) return PivotSpace::sparse(std::move(mine));
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             state_.comm.allgather(std::as_bytes(std::span(mine))));
  std::vector<Cell> dictionary = cells_of(all.data);
  std::sort(dictionary.begin(), dictionary.end());
  dictionary.erase(std::unique(dictionary.begin(), dictionary.end()), dictionary.end());
  return PivotSpace::sparse(std::move(dictionary));
}

// Where there are several blocks: slots and pivots in an order that suits the sweep
// (slot_order.h).
Status PivotSeeds::order_space(Space& space) {
  const std::uint64_t least = state_.options.order_slots_min_seeds;
  const std::uint32_t lanes_in_block =
      PivotRelations::lanes_in_block_of(space->lanes(), state_.comm.size());
  if (least != 0 && (space->lanes() <= lanes_in_block || all_seeds_ < least)) return {};
  if (relations_.can_share_slots()) return order_once(space);
  if (all_seeds_ > state_.options.replicate_limit_rows) return {};
  return order_everywhere(space);
}

// Threads: rank 0 follows the edges from the seeds of all ranks, which it reads where they lie,
// and the others take over what it found.
Status PivotSeeds::order_once(Space& space) {
  STRATALOG_ASSIGN_OR_RETURN(const auto seeds,
                             pointers_of_all(state_.comm, &std::as_const(seeds_)));
  Status mine;
  PivotOrder order{std::in_place};
  if (state_.comm.rank() == 0)
    mine = state_.guard([&]() -> Status {
      std::vector<PivotStart> starts;
      for (std::size_t i = 0; i < seeds_.size(); ++i)
        for (const std::vector<Seeds>* of_rank : seeds) name_starts(i, (*of_rank)[i].cells, starts);
      STRATALOG_ASSIGN_OR_RETURN(order, order_starts(std::move(starts)));
      return order ? take_order(std::move(*order), space) : Status();
    });
  STRATALOG_RETURN_IF_ERROR(agree(state_.comm, mine));
  STRATALOG_ASSIGN_OR_RETURN(const bool goes_on, is_worth_it(order));
  if (!goes_on) {
    space = nullptr;
    return {};
  }
  STRATALOG_ASSIGN_OR_RETURN(const auto relations,
                             pointers_of_all(state_.comm, &std::as_const(relations_)));
  STRATALOG_ASSIGN_OR_RETURN(const auto spaces,
                             pointers_of_all(state_.comm, &std::as_const(space)));
  relations_.share_slots_of(*relations[0]);
  const Space shared = *spaces[0];
  STRATALOG_RETURN_IF_ERROR(state_.comm.barrier());
  space = shared;
  return {};
}

// Every rank follows the edges from all seeds, as it will have to anyway. Ranks may meet the
// slots in different orders, so rank 0 says where the pivots go.
Status PivotSeeds::order_everywhere(Space& space) {
  std::vector<PivotStart> starts;
  Status mine;
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    Received all;
    if (!all_have_all_) {
      const auto sent = std::as_bytes(std::span(std::as_const(seeds_[i].cells)));
      STRATALOG_ASSIGN_OR_RETURN(all, state_.comm.allgather(sent));
      state_.traffic.mine += sent.size() * static_cast<std::uint64_t>(state_.comm.size() - 1);
    }
    mine = state_.guard([&]() -> Status {
      if (all_have_all_)
        name_starts(i, seeds_[i].cells, starts);
      else
        name_starts(i, cells_of(all.data), starts);
      return {};
    });
  }
  PivotOrder order{std::in_place};
  if (mine.is_ok())
    mine = state_.guard([&]() -> Status {
      STRATALOG_ASSIGN_OR_RETURN(order, order_starts(std::move(starts)));
      return {};
    });
  STRATALOG_RETURN_IF_ERROR(agree(state_.comm, mine));
  STRATALOG_ASSIGN_OR_RETURN(const bool goes_on, is_worth_it(order));
  if (!goes_on) {
    space = nullptr;
    return {};
  }
  const auto bytes = std::as_bytes(std::span(std::as_const(*order)));
  Bytes agreed(bytes.begin(), bytes.end());
  STRATALOG_RETURN_IF_ERROR(state_.comm.broadcast(agreed, 0));
  return agree(state_.comm, state_.guard([&] { return take_order(cells_of(agreed), space); }));
}

// Collective. Ranks that have followed the edges in different orders may have come to different
// answers: no, if any says so.
Result<bool> PivotSeeds::is_worth_it(const PivotOrder& order) const {
  std::uint64_t refused = order ? 0 : 1;
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(std::span(&refused, 1), ReduceOp::kSum));
  return refused == 0;
}

Status PivotSeeds::take_order(std::vector<Cell> pivots, Space& space) const {
  const std::uint32_t lanes_in_block =
      PivotRelations::lanes_in_block_of(pivots.size(), state_.comm.size());
  STRATALOG_ASSIGN_OR_RETURN(PivotSpace ordered,
                             PivotSpace::ordered(std::move(pivots), lanes_in_block));
  // Sets of a range of cells are smaller, and so are lanes that need no dictionary.
  if (!ordered.ascends()) space = std::make_shared<const PivotSpace>(std::move(ordered));
  return {};
}

void PivotSeeds::name_starts(std::size_t position, std::span<const Cell> cells,
                             std::vector<PivotStart>& starts) {
  const std::uint32_t arity = seeds_[position].arity;
  for (std::size_t at = 0; at < cells.size(); at += arity)
    starts.push_back({.slot = relations_.slot_of(static_cast<std::uint32_t>(position), &cells[at]),
                      .pivot = cells[at + arity - 1]});
}

// On rank 0: all pivots in order.
Result<PivotSeeds::PivotOrder> PivotSeeds::order_starts(std::vector<PivotStart> starts) {
  STRATALOG_ASSIGN_OR_RETURN(const PivotRelations::SlotNumbers number,
                             relations_.order_slots(starts));
  if (!number) return PivotOrder();
  if (state_.comm.rank() != 0) return PivotOrder(std::in_place);
  for (PivotStart& start : starts) start.slot = (*number)[start.slot];
  relations_.begin_at_own_slots(starts);
  return PivotOrder(order_pivots(std::move(starts)));
}

Status PivotSeeds::plant(std::size_t position, std::span<const Cell> cells) {
  const std::uint32_t arity = seeds_[position].arity;
  PivotClosure& closure = relations_.closure();
  for (std::size_t at = 0; at < cells.size(); at += arity) {
    const SlotId slot = relations_.slot_of(static_cast<std::uint32_t>(position), cells.data() + at);
    STRATALOG_RETURN_IF_ERROR(closure.seed(slot, closure.space().lane_of(cells[at + arity - 1])));
  }
  return {};
}

// Where no seed has to travel: those whose pivots this rank owns.
Status PivotSeeds::plant_own() {
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    const std::vector<Cell> cells = std::exchange(seeds_[i].cells, {});
    const std::uint32_t arity = seeds_[i].arity;
    for (std::size_t at = 0; at < cells.size(); at += arity) {
      const auto seed = std::span(cells).subspan(at, arity);
      // To ask takes as long as to plant.
      if (state_.is_single() || relations_.owner_of_pivot(seed.back()) == state_.comm.rank())
        STRATALOG_RETURN_IF_ERROR(plant(i, seed));
    }
  }
  return {};
}

Status PivotSeeds::deal() {
  if (all_have_all_) return agree(state_.comm, state_.guard([this] { return plant_own(); }));
  Stopwatch watch;
  MailOptions options;
  options.ranks = state_.comm.size();
  options.self = state_.comm.rank();
  for (const Seeds& seeds : seeds_) options.arity_of_stream.push_back(seeds.arity);
  TupleMail mail(options);
  const Status filled = state_.guard([&]() -> Status {
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      Seeds& seeds = seeds_[i];
      for (std::size_t at = 0; at < seeds.cells.size(); at += seeds.arity)
        mail.append(relations_.owner_of_pivot(seeds.cells[at + seeds.arity - 1]),
                    static_cast<int>(i), std::span(seeds.cells).subspan(at, seeds.arity));
      seeds.cells = {};
    }
    return {};
  });
  if (!filled.is_ok()) mail.give_up(filled);
  const Status status = mail.deliver(
      state_.comm, {.on_run =
                        [&](const MailRun& run) {
                          return plant(static_cast<std::size_t>(run.stream), run.cells);
                        },
                    .on_group = {}});
  state_.traffic.mine += mail.counters().bytes_sent;
  state_.times.exchange += watch.seconds();
  return status;
}

}  // namespace stratalog::datalog
