// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/choice_filter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "datalog/evaluate/placement.h"
#include "datalog/evaluate/redistribute.h"

namespace stratalog::datalog {

ChoiceFilter::ChoiceFilter(EngineState& state, RelationId relation)
    : state_(state),
      relation_(relation),
      arity_(state.relations[relation].arity),
      keys_(state.program.relations[relation].choice_keys),
      order_(state.dictionary) {
  for (const std::vector<std::uint32_t>& key : keys_)
    taken_.emplace_back(static_cast<std::uint32_t>(key.size()));
}

std::span<const Cell> ChoiceFilter::key_of(std::span<const Cell> tuple, std::size_t key) {
  key_.clear();
  for (const std::uint32_t column : keys_[key]) key_.push_back(tuple[column]);
  return key_;
}

int ChoiceFilter::judge_of(std::span<const Cell> tuple) const {
  const int ranks = state_.comm.size();
  if (keys_.size() > 1) return static_cast<int>(relation_ % static_cast<std::uint32_t>(ranks));
  std::vector<Cell> key;
  for (const std::uint32_t column : keys_[0]) key.push_back(tuple[column]);
  return owner_of(key, ranks);
}

Status ChoiceFilter::gather(std::span<const Cell> rows, std::vector<Cell>& gathered) {
  if (state_.is_single()) {
    gathered.assign(rows.begin(), rows.end());
    return {};
  }
  MailOptions options;
  options.ranks = state_.comm.size();
  options.self = state_.comm.rank();
  options.arity_of_stream = {arity_};
  TupleMail mail(options);
  const Status filled = state_.guard([&]() -> Status {
    for (std::size_t at = 0; at < rows.size(); at += arity_) {
      const auto tuple = rows.subspan(at, arity_);
      mail.append(judge_of(tuple), 0, tuple);
    }
    return {};
  });
  if (!filled.is_ok()) mail.give_up(filled);
  return mail.deliver(state_.comm, {.on_run = [&](const MailRun& run) -> Status {
                                      gathered.insert(gathered.end(), run.cells.begin(),
                                                      run.cells.end());
                                      return {};
                                    },
                                    .on_group = {}});
}

Status ChoiceFilter::admit(const TupleColumns& tuples) {
  std::vector<Cell> rows;
  const Status listed = state_.guard([&]() -> Status {
    rows.reserve(tuples.rows * arity_);
    for (std::uint64_t r = 0; r < tuples.rows; ++r)
      for (std::uint32_t c = 0; c < arity_; ++c) rows.push_back(tuples.columns[c][r]);
    return {};
  });
  std::vector<Cell> gathered;
  STRATALOG_RETURN_IF_ERROR(gather(rows, gathered));
  const Status decided = state_.guard([&]() -> Status {
    decide(gathered, Decision::kAll);
    return {};
  });
  return agree(state_.comm, listed.is_ok() ? decided : listed);
}

Status ChoiceFilter::admit_home() {
  TupleColumns tuples;
  // What it lacks for want of memory is told by admit().
  (void)state_.guard([&]() -> Status {
    list_home(tuples);
    return {};
  });
  return admit(tuples);
}

void ChoiceFilter::list_home(TupleColumns& tuples) const {
  tuples.columns.resize(arity_);
  const Index& home = state_.relations[relation_].shards.front().primary_index();
  for (RowId row = 0; row < home.row_count(); ++row) {
    home.total(row).walk([&](Cell last) {
      for (std::size_t i = 0; i + 1 < arity_; ++i)
        tuples.columns[home.order()[i]].push_back(home.prefix(row)[i]);
      tuples.columns[home.order().back()].push_back(last);
      ++tuples.rows;
    });
  }
}

Status ChoiceFilter::choose() {
  std::vector<Cell> gathered;
  STRATALOG_RETURN_IF_ERROR(
      gather(std::exchange(state_.relations[relation_].candidates, {}), gathered));
  TupleColumns kept;
  // Dealing ends with a verdict of all, of which want of memory here is a part.
  (void)state_.guard([&]() -> Status {
    kept = decide(gathered, Decision::kFirst);
    return {};
  });
  return deal_tuples(state_, relation_, kept);
}

// Positions of the rows in ascending order of their values.
std::vector<std::uint64_t> ChoiceFilter::in_order(const std::vector<Cell>& rows) {
  const std::vector<OrderCode> codes = order_.codes_of(state_.program.relations[relation_], rows);
  std::vector<std::uint64_t> positions(rows.size() / arity_);
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  const auto row = [&](std::uint64_t position) {
    return std::span(codes).subspan(position * arity_, arity_);
  };
  std::sort(positions.begin(), positions.end(), [&](std::uint64_t a, std::uint64_t b) {
    const auto left = row(a);
    const auto right = row(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  });
  return positions;
}

TupleColumns ChoiceFilter::decide(const std::vector<Cell>& rows, Decision decision) {
  TupleColumns kept;
  kept.columns.resize(arity_);
  if (decision == Decision::kAll) {
    for (std::size_t at = 0; at < rows.size(); at += arity_)
      take(std::span(rows).subspan(at, arity_));
    return kept;
  }
  for (const std::uint64_t position : in_order(rows)) {
    const auto tuple = std::span(rows).subspan(position * arity_, arity_);
    if (is_taken(tuple)) continue;
    take(tuple);
    for (std::uint32_t c = 0; c < arity_; ++c) kept.columns[c].push_back(tuple[c]);
    ++kept.rows;
  }
  return kept;
}

bool ChoiceFilter::is_taken(std::span<const Cell> tuple) {
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    if (taken_[k].find(key_of(tuple, k).data()) != PrefixMap::kAbsent) return true;
  }
  return false;
}

void ChoiceFilter::take(std::span<const Cell> tuple) {
  for (std::size_t k = 0; k < keys_.size(); ++k) taken_[k].find_or_add(key_of(tuple, k).data());
}

std::uint64_t ChoiceFilter::heap_bytes() const {
  std::uint64_t bytes = order_.memory_bytes();
  for (const PrefixMap& keys : taken_) bytes += keys.heap_bytes();
  return bytes;
}

}  // namespace stratalog::datalog
