// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/head_writer.h"

#include <algorithm>

#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/mirror.h"
#include "datalog/evaluate/placement.h"
#include "datalog/facts/cell_class.h"

namespace stratalog::datalog {
namespace {

// So many queued derivations (16 bytes each with the sorting space) are united before the round
// ends.
constexpr std::uint64_t kHeadQueueLimit = 16U << 20;
// And so many bytes of sets that were made on the way.
constexpr std::uint64_t kDerivedHeldBytes = 256U << 20;

}  // namespace

HeadWriter::HeadWriter(EngineState& state, const RulePlan& plan)
    : state_(state),
      plan_(plan),
      rule_(state.program.rules[plan.rule]),
      head_(state.relations[rule_.head]),
      columns_(head_.arity),
      tuple_(head_.arity) {
  for (auto& column : columns_) column.resize(kBatchRows);
}

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
  if (creates_values_) {
    for (std::uint32_t r = 0; r < batch.rows; ++r) {
      const auto add_row = [&](Cell carried) {
        for (std::uint32_t c = 0; c < head_.arity; ++c)
          created_.push_back(plan_.carries && c == carried_column_ ? carried : columns_[c][r]);
      };
      if (plan_.carries)
        batch.sets[r]->walk(add_row);
      else
        add_row(0);
    }
    return {};
  }
  if (chooses_) {
    for (std::uint32_t r = 0; r < batch.rows; ++r)
      for (std::uint32_t c = 0; c < head_.arity; ++c) head_.candidates.push_back(columns_[c][r]);
  }
  if (head_.equivalence) write_pairs(batch);
  if (!target_) return {};
  if (box_ != nullptr) {
    box_batch(batch);
    return {};
  }
  if (!plan_.carries)
    write_tuples(batch.rows);
  else if (target_->takes_sets)
    write_sets(batch);
  else
    expand_sets(batch);
  Index& index = target_->shard->primary_index();
  if (index.queued() > kHeadQueueLimit || index.held_bytes() > kDerivedHeldBytes)
    index.unite_queued(state_.scratch, Freshness::kUnknown);
  return {};
}

// What others may be reading is changed at the end of the round, by its owners.
void HeadWriter::box_batch(const Batch& batch) {
  const Target& target = *target_;
  const std::uint32_t arity = head_.arity;
  keys_.resize(arity);
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
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
void HeadWriter::write_pairs(const Batch& batch) {
  Equivalence& equivalence = *head_.equivalence;
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
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
    const RowId row = index.find_or_add_row(prefix.data());
    if (batch.has_brief_sets)
      index.queue_view(row, batch.sets[r]->view());
    else
      index.queue_set(row, batch.sets[r]);
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
    if (index.queued() > kHeadQueueLimit) index.unite_queued(state_.scratch, Freshness::kUnknown);
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
    // Where bindings ended was found before their new values had their cells.
    const bool is_mine = state_.is_single() || head_.mirrored;
    const int to =
        is_mine || (target_->always_mine && !creates_values_) ? state_.comm.rank() : owner(tuple_);
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
