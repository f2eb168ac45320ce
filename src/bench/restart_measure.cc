// SPDX-License-Identifier: Apache-2.0
#include "bench/restart_measure.h"

#include <memory>
#include <utility>

#include "bench/seconds.h"
#include "checkpoint/phase_times.h"
#include "model/set_walk.h"
#include "route/cell_hash.h"
#include "route/tuple_mail.h"

namespace stratalog {
namespace {

// Takes groups in, or sends them to the rank that owns their first column.
class Receiver {
 public:
  explicit Receiver(Comm& comm) : comm_(comm) {}

  LoadSink sink() {
    return {.begin = [this](const StoredState& state) { return begin(state); },
            .accept = [this](std::size_t index,
                             const TupleGroup& group) { return accept(index, group); },
            .settle = [this] { return settle(); }};
  }
  std::uint64_t bytes_sent() const { return mail_ ? mail_->counters().bytes_sent : 0; }
  std::vector<HeldRelation>& relations() { return relations_; }
  // Spent on sending and receiving, and on waiting for it.
  std::uint64_t shuffle_ns() const { return shuffle_ns_; }

 private:
  Status begin(const StoredState& state);
  Status accept(std::size_t index, const TupleGroup& group);
  Status settle();
  int owner(std::span<const Cell> key) const {
    return static_cast<int>(
        scale_hash(hash_cells(key.first(1)), static_cast<std::uint32_t>(comm_.size())));
  }

  Comm& comm_;
  std::vector<HeldRelation> relations_;
  std::unique_ptr<TupleMail> mail_;  // only where tuples have to move
  MailHandler handler_;
  std::uint64_t shuffle_ns_ = 0;
};

Status Receiver::begin(const StoredState& state) {
  relations_.clear();
  mail_ = nullptr;
  MailOptions options{.ranks = comm_.size(), .self = comm_.rank(), .arity_of_stream = {}};
  for (const StoredRelation& stored : state.relations) {
    relations_.emplace_back(stored.name, stored.version, stored.column_order);
    relations_.back().expect_rows(stored.rows / static_cast<std::uint64_t>(comm_.size()) * 9 / 8);
    options.arity_of_stream.push_back(stored.arity);
  }
  if (state.needs_redistribution) mail_ = std::make_unique<TupleMail>(std::move(options));
  handler_.on_group = [this](const MailGroup& mail) {
    relations_[static_cast<std::size_t>(mail.stream)].add(mail.group);
    return Status::ok();
  };
  handler_.on_run = [this](const MailRun& run) {
    HeldRelation& relation = relations_[static_cast<std::size_t>(run.stream)];
    for (std::size_t at = 0; at < run.count * run.arity; at += run.arity)
      relation.add_array(run.cells.subspan(at, run.arity - 1),
                         run.cells.subspan(at + run.arity - 1, 1));
    return Status::ok();
  };
  return Status::ok();
}

Status Receiver::accept(std::size_t index, const TupleGroup& group) {
  const int stream = static_cast<int>(index);
  if (mail_ == nullptr) {
    relations_[index].add(group);
    return Status::ok();
  }
  if (group.prefix.empty()) {
    walk_set(group.set, [&](Cell cell) {
      const std::span<const Cell> tuple(&cell, 1);
      mail_->append(owner(tuple), stream, tuple);
    });
  } else if (const int to = owner(group.prefix); to != comm_.rank()) {
    mail_->append_group(to, stream, group);
  } else {
    relations_[index].add(group);
    return Status::ok();
  }
  const std::uint64_t start = now_ns();
  const Status sent = mail_->deliver_if_full(
      comm_, (group.prefix.size() + group.set.count + 8) * sizeof(Cell), handler_);
  shuffle_ns_ += now_ns() - start;
  return sent;
}

Status Receiver::settle() {
  if (mail_ == nullptr) return Status::ok();
  const std::uint64_t start = now_ns();
  const Status arrived = mail_->deliver(comm_, handler_);
  shuffle_ns_ += now_ns() - start;
  return arrived;
}

}  // namespace

Result<RestartMeasure> measure_restart(Comm& comm, Store& store, ReadParts parts) {
  Receiver receiver(comm);
  LoadRequest request;
  request.parts = parts;
  STRATALOG_RETURN_IF_ERROR(comm.barrier());
  const std::uint64_t start = now_ns();
  const auto loaded = load_checkpoint(comm, store, request, receiver.sink());
  STRATALOG_RETURN_IF_ERROR(loaded.status());
  const std::uint64_t total_ns = now_ns() - start;
  const LoadReport& report = loaded.value();
  for (std::size_t i = 0; i < report.state.relations.size(); ++i) {
    const HeldRelation& relation = receiver.relations()[i];
    if (relation.arity() == 0) continue;
    STRATALOG_RETURN_IF_ERROR(
        verify_relation(comm, report.state.relations[i], relation.rows(), relation.hash()));
  }
  std::uint64_t most[] = {total_ns - receiver.shuffle_ns(), receiver.shuffle_ns(), total_ns};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(most, ReduceOp::kMax));
  std::uint64_t sums[] = {report.local_rows, report.local_bytes, receiver.bytes_sent()};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(sums, ReduceOp::kSum));
  return RestartMeasure{
      .read_seconds = seconds_of(most[0]),
      .shuffle_seconds = report.state.needs_redistribution ? seconds_of(most[1]) : 0,
      .total_seconds = seconds_of(most[2]),
      .rows = sums[0],
      .bytes = sums[1],
      .moved_bytes = sums[2]};
}

Result<std::vector<HeldRelation>> take_from_checkpoint(Comm& comm, Store& store,
                                                       const std::string& generation) {
  std::vector<HeldRelation> all;
  LoadSink sink;
  sink.begin = [&](const StoredState& state) {
    all.clear();
    for (const StoredRelation& stored : state.relations)
      all.emplace_back(stored.name, stored.version, stored.column_order);
    return Status::ok();
  };
  sink.accept = [&](std::size_t index, const TupleGroup& group) {
    all[index].add(group);
    return Status::ok();
  };
  LoadRequest request;
  request.generation = generation;
  STRATALOG_RETURN_IF_ERROR(load_checkpoint(comm, store, request, sink).status());
  std::vector<HeldRelation> taken;
  for (HeldRelation& relation : all) {
    if (relation.arity() == 0) continue;
    relation.sort_groups();
    taken.push_back(std::move(relation));
  }
  return taken;
}

}  // namespace stratalog
