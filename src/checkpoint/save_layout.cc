// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/save_layout.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/told.h"

namespace stratalog {
namespace {

// Compact sets cost about a byte per tuple or less, and most relations have two columns.
constexpr std::uint32_t kCompactMilli = 62;

// What travels of FileSystemFacts.
struct FileSystemWire {
  std::uint64_t kind;
  std::uint64_t block_bytes;
  std::uint64_t stripe_bytes;
  std::uint64_t stripe_count;
};

std::string pack_facts(const FileSystemFacts& facts) {
  const FileSystemWire wire{.kind = static_cast<std::uint64_t>(facts.kind),
                            .block_bytes = facts.block_bytes,
                            .stripe_bytes = facts.stripe_bytes,
                            .stripe_count = facts.stripe_count};
  return std::string(reinterpret_cast<const char*>(&wire), sizeof(wire)) + facts.name;
}

Result<FileSystemFacts> unpack_facts(const std::string& text) {
  FileSystemWire wire{};
  if (text.size() < sizeof(wire)) return Status::internal("file system facts of odd length");
  std::memcpy(&wire, text.data(), sizeof(wire));
  FileSystemFacts facts;
  facts.kind = static_cast<FileSystemKind>(wire.kind);
  facts.block_bytes = wire.block_bytes;
  facts.stripe_bytes = wire.stripe_bytes;
  facts.stripe_count = static_cast<std::uint32_t>(wire.stripe_count);
  facts.name = text.substr(sizeof(wire));
  return facts;
}

// Everyone learns everyone's rows: [rank][image].
Result<std::vector<std::uint64_t>> gather_rows(Comm& comm, const SaveRequest& request) {
  std::vector<std::uint64_t> mine;
  mine.reserve(request.images.size());
  for (const RelationImage& image : request.images) mine.push_back(image.rows);
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(std::as_bytes(std::span(mine))));
  std::vector<std::uint64_t> table(mine.size() * static_cast<std::size_t>(comm.size()));
  if (all.data.size() != table.size() * 8) return Status::internal("row counts of odd length");
  if (!table.empty())
    std::copy_n(all.data.data(), all.data.size(), std::as_writable_bytes(std::span(table)).data());
  return table;
}

}  // namespace

int SaveLayout::leader_of(std::uint32_t file) const {
  if (plan.file_of_rank.empty()) return 0;
  const auto found = std::find(plan.file_of_rank.begin(), plan.file_of_rank.end(), file);
  return static_cast<int>(found - plan.file_of_rank.begin());
}

std::vector<SaveLayout::Batch> SaveLayout::batches() const {
  const std::size_t step = plan.relations_per_file == 0 ? images.size() : plan.relations_per_file;
  std::vector<Batch> all;
  for (std::size_t begin = 0; begin < images.size(); begin += step)
    all.push_back({.begin = begin, .end = std::min(begin + step, images.size())});
  return all;
}

std::vector<std::uint64_t> SaveLayout::first_rows(std::size_t dataset, std::uint32_t file) const {
  const std::vector<std::uint64_t>& rows = facts.datasets[dataset].rows_of_rank;
  std::vector<std::uint64_t> first = {0};
  first.reserve(rows.size() + 1);
  for (std::size_t r = 0; r < rows.size(); ++r)
    first.push_back(first.back() + (file_of(static_cast<int>(r)) == file ? rows[r] : 0));
  return first;
}

std::uint32_t encoded_milli(ShardEncoding encoding) {
  return encoding == ShardEncoding::kRowsU64 ? 1000 : kCompactMilli;
}

Result<JobFacts> gather_job_facts(Comm& comm, Store& store) {
  Result<std::string> told = std::string();
  if (comm.rank() == 0) {
    // Not to know is no reason to fail.
    const Result<FileSystemFacts> facts = store.file_system();
    told = pack_facts(facts.is_ok() ? facts.value() : FileSystemFacts{});
  }
  STRATALOG_ASSIGN_OR_RETURN(const std::string text, tell(comm, told));
  JobFacts job;
  STRATALOG_ASSIGN_OR_RETURN(job.file_system, unpack_facts(text));
  STRATALOG_ASSIGN_OR_RETURN(const Topology topology, comm.topology());
  if (topology.nodes > 1) job.node_of_rank = topology.node_of_rank;
  STRATALOG_ASSIGN_OR_RETURN(job.cores, gather_core_share(comm, topology.node_of_rank));
  return job;
}

Result<SaveLayout> plan_save(Comm& comm, const JobFacts& job, const SaveRequest& request,
                             const LayoutWishes& wishes, ShardEncoding encoding) {
  SaveLayout layout;
  layout.encoding = encoding;
  layout.facts.ranks = comm.size();
  layout.facts.node_of_rank = job.node_of_rank;
  layout.facts.file_system = job.file_system;
  layout.facts.encoded_milli = encoded_milli(encoding);
  // Own files need no exchange.
  if (wishes.mode == CheckpointMode::kFilePerProcess) {
    STRATALOG_ASSIGN_OR_RETURN(layout.plan, plan_layout(layout.facts, wishes));
    return layout;
  }
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> table, gather_rows(comm, request));
  const std::size_t images = request.images.size();
  for (std::size_t i = 0; i < images; ++i) {
    DatasetFacts dataset{.columns = request.images[i].arity, .rows_of_rank = {}};
    if (dataset.columns == 0) continue;
    std::uint64_t total = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(comm.size()); ++r) {
      const std::uint64_t rows = table[(r * images) + i];
      constexpr std::uint64_t kMostRows = std::uint64_t{1} << 50;
      if (rows > kMostRows - total)
        return Status::not_supported("more than 2^50 rows in one relation");
      total += rows;
      dataset.rows_of_rank.push_back(rows);
    }
    if (total == 0) continue;
    layout.facts.datasets.push_back(std::move(dataset));
    layout.images.push_back(i);
  }
  STRATALOG_ASSIGN_OR_RETURN(layout.plan, plan_layout(layout.facts, wishes));
  return layout;
}

}  // namespace stratalog
