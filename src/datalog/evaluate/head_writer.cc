// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/head_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/memory_limit.h"
#include "datalog/evaluate/mirror.h"
#include "datalog/evaluate/placement.h"
#include "datalog/facts/cell_class.h"

namespace stratalog::datalog {
namespace {

// Looking at what all relations hold takes some microseconds.
constexpr std::uint64_t kRowsBetweenLooks = std::uint64_t{1} << 16;

// So many cells of tuples that wait for the agreement on new values are looked through for
// duplicates; then as many again as were left.
constexpr std::size_t kLeastCreated = std::size_t{4} << 20;

// Marks cells that only this rank knows.
void mark_new_values(CellClass column, std::span<const Cell> cells, std::uint8_t* marks) {
  const auto mark = [&](auto is_new) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      marks[i] |= static_cast<std::uint8_t>(is_new(cells[i]));
  };
  switch (column) {
    case CellClass::kSymbol:
      return mark(is_provisional_symbol);
    case CellClass::kRecord:
      return mark(is_provisional_record);
    case CellClass::kNumber:
      return mark(is_provisional_wide);
  }
}

}  // namespace

HeadWriter::HeadWriter(EngineState& state, const RulePlan& plan)
    : state_(state),
      plan_(plan),
      rule_(state.program.rules[plan.rule]),
      head_(state.relations[rule_.head]),
      columns_(head_.arity),
      most_created_(kLeastCreated),
      tuple_(head_.arity) {}

void HeadWriter::bind(const RuleExecutor& executor) {
  creates_values_ = executor.creates_values();
  target_.reset();
  chooses_ = !state_.program.relations[rule_.head].choice_keys.empty();
  if (chooses_) return;  // no target: candidates stay here until the round ends
  if (plan_.carries)
    for (std::uint32_t c = 0; c < head_.arity; ++c)
      if (rule_.head_arguments[c].kind == ExpressionKind::kVariable &&
          rule_.head_arguments[c].variable == plan_.carried)
        carried_column_ = c;
  if (!head_.shards.empty()) {
    // Where there is a mirror, it alone takes what is derived here; otherwise the home does, and
    // other shards hear what is new at the end of the round.
    Shard& shard = head_.mirrored ? mirror_of(head_) : head_.shards.front();
    Target target;
    target.shard = &shard;
    const auto order = shard.primary_index().order();
    target.order.assign(order.begin(), order.end());
    target.placement = shard.placement.columns;
    Location location;
    for (const std::uint32_t c : target.placement)
      location.push_back(executor.token_of(rule_.head_arguments[c]));
    const bool known =
        std::none_of(location.begin(), location.end(), [](LocationToken t) { return t < 0; });
    if (shard.buckets) target.buckets = &*shard.buckets;
    // The parts of a split bucket lie apart, and so may the elements of a set.
    target.always_mine =
        state_.is_single() || head_.mirrored ||
        (known && target.buckets == nullptr && location == executor.final_location());
    target.takes_sets =
        plan_.carries && target.buckets == nullptr && order.back() == carried_column_ &&
        (target.always_mine ||
         !std::binary_search(target.placement.begin(), target.placement.end(), carried_column_));
    if (state_.joint != nullptr) box_ = state_.joint->heads_of(rule_.head);
    if (box_ != nullptr) {
      target.takes_sets = plan_.carries && order.back() == carried_column_ && box_->takes_sets();
      target.always_mine = true;  // nothing to send
    }
    local_ &= target.always_mine;
    // Where bindings ended was found before their new values had their cells.
    if (creates_values_ && box_ == nullptr)
      target.always_mine = state_.is_single() || head_.mirrored;
    target_ = std::move(target);
  }
  if (head_.arity == 0) local_ = true;  // settled in the fixpoint test
}

int HeadWriter::owner(std::span<const Cell> tuple) {
  if (target_->always_mine) return state_.comm.rank();
  placed_.clear();
  for (const std::uint32_t c : target_->placement) placed_.push_back(tuple[c]);
  return owner_of(placed_, tuple, target_->buckets, state_.comm.size());
}

void HeadWriter::form_columns(const Batch& batch) {
  // Most rules of large programs derive nothing.
  for (auto& column : columns_)
    if (column.empty()) column.resize(kBatchRows);
  for (std::uint32_t c = 0; c < head_.arity; ++c) {
    const Expression& e = rule_.head_arguments[c];
    if (plan_.carries && c == carried_column_) continue;
    if (e.kind == ExpressionKind::kVariable) {
      std::copy_n(batch.columns[e.variable].begin(), batch.rows, columns_[c].begin());
    } else if (e.kind == ExpressionKind::kConstant) {
      std::fill_n(columns_[c].begin(), batch.rows, state_.evaluator.evaluate(e, batch, 0));
    } else {
      state_.evaluator.set_place(&rule_.place);
      for (std::uint32_t r = 0; r < batch.rows; ++r)
        columns_[c][r] = state_.evaluator.evaluate(e, batch, r);
    }
  }
}

Status HeadWriter::write(const Batch& batch) {
  if (batch.rows == 0) return {};
  if (head_.arity == 0) {
    head_.queued_holds = true;
    return {};
  }
  form_columns(batch);
  STRATALOG_RETURN_IF_ERROR(state_.evaluator.status());
  const std::uint32_t rows = creates_values_ ? keep_waiting(batch) : batch.rows;
  if (rows != 0) STRATALOG_RETURN_IF_ERROR(write_batch(batch, rows));
  if (state_.options.memory_limit_bytes == 0) return {};
  if (rows_to_look_ > batch.rows) {
    rows_to_look_ -= batch.rows;
    return {};
  }
  rows_to_look_ = kRowsBetweenLooks;
  return check_memory();
}

// A rule may derive more in one round than the machine can hold.
Status HeadWriter::check_memory() {
  const std::uint64_t limit = state_.options.memory_limit_bytes;
  const std::uint64_t memory = state_.memory_bytes() + (box_ != nullptr ? box_->held_bytes() : 0);
  if (memory <= limit) return {};
  return over_memory_limit(memory,
                           fmt::format("of tuples and indices while the rule at {}:{} runs",
                                       rule_.place.file, rule_.place.line),
                           limit);
}

Status HeadWriter::write_batch(const Batch& batch, std::uint32_t rows) {
  if (chooses_) {
    for (std::uint32_t r = 0; r < rows; ++r)
      for (std::uint32_t c = 0; c < head_.arity; ++c) head_.candidates.push_back(columns_[c][r]);
  }
  if (head_.equivalence) write_pairs(batch, rows);
  if (!target_) return {};
  if (box_ != nullptr) {
    box_batch(batch, rows);
    return {};
  }
  if (!plan_.carries)
    write_tuples(rows);
  else if (target_->takes_sets)
    write_sets(batch);
  else
    expand_sets(batch);
  target_->shard->primary_index().bound_queue(state_.scratch, Freshness::kUnknown);
  return {};
}

// Takes the rows that wait out of `columns_`, and returns how many others there are. Where sets are
// carried, all wait or none.
std::uint32_t HeadWriter::keep_waiting(const Batch& batch) {
  const auto& attributes = state_.program.relations[rule_.head].attributes;
  waits_.assign(batch.rows, 0);
  for (std::uint32_t c = 0; c < head_.arity; ++c)
    if (!plan_.carries || c != carried_column_)
      mark_new_values(cell_class(attributes[c].kind), std::span(columns_[c]).first(batch.rows),
                      waits_.data());
  if (std::find(waits_.begin(), waits_.end(), 1) == waits_.end()) return batch.rows;
  std::uint32_t kept = 0;
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
    const auto add_row = [&](Cell carried) {
      for (std::uint32_t c = 0; c < head_.arity; ++c)
        created_.push_back(plan_.carries && c == carried_column_ ? carried : columns_[c][r]);
    };
    if (plan_.carries) {
      batch.sets[r]->walk(add_row);
    } else if (waits_[r] != 0) {
      add_row(0);
    } else {
      for (auto& column : columns_) column[kept] = column[r];
      ++kept;
    }
    if (created_.size() > most_created_) forget_duplicates();
  }
  return kept;
}

// Of the tuples that wait.
void HeadWriter::forget_duplicates() {
  const std::size_t arity = head_.arity;
  const auto tuple = [&](std::size_t i) { return std::span(created_).subspan(i * arity, arity); };
  std::vector<std::uint32_t> order(created_.size() / arity);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::ranges::lexicographical_compare(tuple(a), tuple(b));
  });
  const auto repeated = std::ranges::unique(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::ranges::equal(tuple(a), tuple(b));
  });
  order.erase(repeated.begin(), repeated.end());
  std::vector<Cell> once;
  once.reserve(order.size() * arity);
  for (const std::uint32_t i : order) once.insert(once.end(), tuple(i).begin(), tuple(i).end());
  created_ = std::move(once);
  most_created_ = std::max(kLeastCreated, 2 * created_.size());
}

// What others may be reading is changed at the end of the round, by its owners.
void HeadWriter::box_batch(const Batch& batch, std::uint32_t rows) {
  const Target& target = *target_;
  const std::uint32_t arity = head_.arity;
  keys_.resize(arity);
  for (std::uint32_t r = 0; r < rows; ++r) {
    std::uint32_t carried_at = 0;
    for (std::uint32_t i = 0; i < arity; ++i) {
      if (plan_.carries && target.order[i] == carried_column_)
        carried_at = i;
      else
        keys_[i] = columns_[target.order[i]][r];
    }
    if (!plan_.carries) {
      box_->add(keys_);
      continue;
    }
    if (!target.takes_sets) {
      box_->add_each(keys_, carried_at, batch.sets[r]->view());
    } else {
      const auto prefix = std::span<const Cell>(keys_).first(arity - 1);
      if (batch.has_brief_sets)
        box_->add_view(prefix, batch.sets[r]->view());
      else
        box_->add_set(prefix, batch.sets[r]);
    }
    box_->bound(state_.scratch);
  }
  box_->bound(state_.scratch);
}

// Into the classes of an equivalence relation, whose pairs have no side.
void HeadWriter::write_pairs(const Batch& batch, std::uint32_t rows) {
  Equivalence& equivalence = *head_.equivalence;
  for (std::uint32_t r = 0; r < rows; ++r) {
    if (!plan_.carries) {
      equivalence.unite(columns_[0][r], columns_[1][r]);
      continue;
    }
    const Cell other = columns_[1 - carried_column_][r];
    batch.sets[r]->walk([&](Cell cell) { equivalence.unite(other, cell); });
  }
}

// Tuples of `columns_`: all are laid back to back first, so that the cache misses of their rows
// overlap.
void HeadWriter::write_tuples(std::uint32_t rows) {
  Target& target = *target_;
  Index& index = target.shard->primary_index();
  const std::uint32_t arity = head_.arity;
  keys_.clear();
  for (std::uint32_t r = 0; r < rows; ++r) {
    if (!target.always_mine) {
      placed_.clear();
      for (const std::uint32_t c : target.placement) placed_.push_back(columns_[c][r]);
      if (target.buckets != nullptr)
        for (std::uint32_t c = 0; c < arity; ++c) tuple_[c] = columns_[c][r];
      const int to = owner_of(placed_, tuple_, target.buckets, state_.comm.size());
      if (to != state_.comm.rank()) {
        leaving_.resize(arity);
        for (std::uint32_t i = 0; i < arity; ++i) leaving_[i] = columns_[target.order[i]][r];
        outbound_->add(leaving_, state_.scratch);
        continue;
      }
    }
    for (std::uint32_t i = 0; i < arity; ++i) keys_.push_back(columns_[target.order[i]][r]);
  }
  index.queue_tuples(keys_);
}

void HeadWriter::write_sets(const Batch& batch) {
  Target& target = *target_;
  Index& index = target.shard->primary_index();
  const std::uint32_t width = head_.arity - 1;
  std::vector<Cell>& prefix = keys_;
  prefix.resize(width);
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
    for (std::uint32_t i = 0; i < width; ++i) prefix[i] = columns_[target.order[i]][r];
    if (!target.always_mine) {
      for (std::uint32_t i = 0; i < width; ++i) tuple_[target.order[i]] = prefix[i];
      const int to = owner(tuple_);
      if (to != state_.comm.rank()) {
        if (batch.has_brief_sets)
          outbound_->add_view(prefix, batch.sets[r]->view(), state_.scratch);
        else
          outbound_->add_set(prefix, batch.sets[r], state_.scratch);
        continue;
      }
    }
    if (batch.has_brief_sets)
      index.queue_view(prefix.data(), batch.sets[r]->view());
    else
      index.queue_set(prefix.data(), batch.sets[r]);
  }
}

void HeadWriter::expand_sets(const Batch& batch) {
  Target& target = *target_;
  Index& index = target.shard->primary_index();
  const std::uint32_t arity = head_.arity;
  keys_.resize(arity);
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
    for (std::uint32_t c = 0; c < arity; ++c)
      if (c != carried_column_) tuple_[c] = columns_[c][r];
    batch.sets[r]->walk([&](Cell cell) {
      tuple_[carried_column_] = cell;
      for (std::uint32_t i = 0; i < arity; ++i) keys_[i] = tuple_[target.order[i]];
      const int to = owner(tuple_);
      if (to == state_.comm.rank())
        index.queue_tuple(keys_.data());
      else
        outbound_->add(keys_, state_.scratch);
    });
    index.bound_queue(state_.scratch, Freshness::kUnknown);
  }
}

void HeadWriter::release_sets() {
  if (box_ != nullptr) {
    box_->unite_parts(state_.scratch);
    return;
  }
  if (outbound_ != nullptr) outbound_->unite(state_.scratch);
  if (target_) target_->shard->primary_index().unite_queued(state_.scratch, Freshness::kUnknown);
}

void HeadWriter::release(const CellRemapping& remapping) {
  const auto& attributes = state_.program.relations[rule_.head].attributes;
  for (std::size_t at = 0; at < created_.size(); at += head_.arity) {
    for (std::uint32_t c = 0; c < head_.arity; ++c)
      tuple_[c] = remapping.of(cell_class(attributes[c].kind), created_[at + c]);
    if (chooses_) head_.candidates.insert(head_.candidates.end(), tuple_.begin(), tuple_.end());
    if (head_.equivalence) head_.equivalence->unite(tuple_[0], tuple_[1]);
    if (!target_) continue;
    if (box_ != nullptr) {
      keys_.resize(head_.arity);
      for (std::uint32_t i = 0; i < head_.arity; ++i) keys_[i] = tuple_[target_->order[i]];
      box_->add(keys_);
      continue;
    }
    const int to = owner(tuple_);
    if (to == state_.comm.rank()) {
      queue_tuple(*target_->shard, tuple_);
      continue;
    }
    leaving_.resize(head_.arity);
    for (std::uint32_t i = 0; i < head_.arity; ++i) leaving_[i] = tuple_[target_->order[i]];
    outbound_->add(leaving_, state_.scratch);
  }
  if (box_ != nullptr) box_->bound(state_.scratch);
  created_.clear();
}

}  // namespace stratalog::datalog
