// SPDX-License-Identifier: Apache-2.0
// The load driver: rank 0 picks a generation by content, all ranks read disjoint parts of it,
// verify and hand out; if any part turns out damaged, all go back to the next older one.
// Collective.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/memory_end.h"
#include "checkpoint/candidates.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/phase_times.h"
#include "checkpoint/stored_state.h"
#include "checkpoint/told.h"
#include "commit/store_file.h"
#include "place/prefetch_order.h"
#include "place/read_ranges.h"
#include "read/file_frame.h"
#include "read/shard_reader.h"

namespace stratalog {
namespace {

// Rows, and what is inflated, do not lie as their shards count: they are one piece each.
std::vector<ShardPlace> places_of(const Manifest& manifest) {
  std::map<std::pair<std::uint32_t, std::string_view>, std::size_t> files;
  std::vector<ShardPlace> places;
  places.reserve(manifest.shards.size());
  for (const ManifestShard& shard : manifest.shards) {
    const std::size_t file =
        files.try_emplace({shard.link, shard.file}, files.size()).first->second;
    places.push_back({.file = file, .pieces = {}});
    if (!stores_blocks(manifest.mode_of(shard.link))) {
      places.back().pieces.push_back({.offset = 0, .bytes = shard.bytes()});
      continue;
    }
    for (const Extent& extent : shard.extents)
      places.back().pieces.push_back({.offset = extent.offset, .bytes = extent.bytes});
  }
  return places;
}

// Ranges that are read together.
using RangeRun = std::span<const ShardRange>;

// Ranges in which a shard takes turns with others of its file; every other range by itself.
std::vector<RangeRun> runs_of(const Manifest& manifest, RangeRun ranges) {
  std::vector<RangeRun> runs;
  for (std::size_t begin = 0; begin < ranges.size();) {
    const ManifestShard& first = manifest.shards[ranges[begin].shard];
    std::size_t end = begin + 1;
    for (; end < ranges.size() && first.extents.size() > 1; ++end) {
      const ManifestShard& next = manifest.shards[ranges[end].shard];
      if (next.link != first.link || next.file != first.file || next.extents.size() < 2) break;
    }
    if (!stores_blocks(manifest.mode_of(first.link))) end = begin + 1;
    runs.push_back(ranges.subspan(begin, end - begin));
    begin = end;
  }
  return runs;
}

constexpr std::string_view kNoMemory = "not enough memory to read a checkpoint";

bool is_want_of_memory(const Status& status) { return status.code() == StatusCode::kNoSpace; }

class Loader {
 public:
  Loader(Comm& comm, Store& store, const LoadRequest& request, const LoadSink& sink)
      : comm_(comm), store_(store), request_(request), sink_(sink) {}

  Result<LoadReport> run();

 private:
  struct Attempt {
    bool is_final = false;  // success, or an error that no other generation would cure
    Status status;
  };
  Result<Manifest> choose();
  Result<Manifest> choose_alone(std::string& text);
  Attempt attempt(const Manifest& manifest);
  Status get_sections(const Manifest& manifest);
  Status check_frames(const Manifest& manifest);
  bool is_wanted(const ManifestShard& shard) const;
  ReadOutcome read_part(const Manifest& manifest);
  ReadOutcome read_all_parts(const Manifest& manifest);
  ReadOutcome read_run(const Manifest& manifest, RangeRun run, ReadCounts& counts);
  std::vector<ShardRange> my_ranges(const Manifest& manifest) const;

  Comm& comm_;
  Store& store_;
  const LoadRequest& request_;
  const LoadSink& sink_;
  std::optional<Candidates> candidates_;  // rank 0
  LoadReport report_;
};

// On rank 0: the next candidate.
Result<Manifest> Loader::choose_alone(std::string& text) {
  if (!candidates_) {
    STRATALOG_ASSIGN_OR_RETURN(candidates_, Candidates::find(store_, request_, request_.steps));
  }
  STRATALOG_ASSIGN_OR_RETURN(ManifestOnDisk next, candidates_->next());
  text = std::move(next.text);
  return std::move(next.manifest);
}

// Rank 0 finds the next candidate and tells everybody else its manifest.
Result<Manifest> Loader::choose() {
  Result<Manifest> manifest = Manifest();
  Result<std::string> choice = std::string();
  if (comm_.rank() == 0) {
    manifest = or_no_space(kNoMemory, [&] { return choose_alone(choice.value()); });
    if (!manifest.is_ok()) choice = manifest.status();
  }
  STRATALOG_ASSIGN_OR_RETURN(const std::string text, tell(comm_, choice));
  const auto check = request_.steps.includes(ProtocolStep::kCheckManifest) ? CheckManifest::kYes
                                                                           : CheckManifest::kNo;
  STRATALOG_RETURN_IF_ERROR(agree(comm_, or_no_space(kNoMemory, [&]() -> Status {
                                    if (comm_.rank() != 0) manifest = parse_manifest(text, check);
                                    if (manifest.is_ok())
                                      report_.state = state_of(manifest.value());
                                    return manifest.status();
                                  })));
  return manifest;
}

// Rank 0 reads the sections, everybody gets them.
Status Loader::get_sections(const Manifest& manifest) {
  Status status;
  if (comm_.rank() == 0)
    status = or_no_space(
        kNoMemory, [&] { return read_sections(store_, manifest, request_.steps, report_.state); });
  STRATALOG_RETURN_IF_ERROR(tell_status(comm_, status));
  if (comm_.rank() != 0)
    for (const ManifestSection& section : manifest.sections)
      if (section.piece == 0) report_.state.sections.push_back({.name = section.name, .data = {}});
  for (NamedSection& section : report_.state.sections)
    STRATALOG_RETURN_IF_ERROR(comm_.broadcast(section.data, 0));
  return Status::ok();
}

// Row files: everything around the rows is as it was written.
Status Loader::check_frames(const Manifest& manifest) {
  Status status;
  const bool has_frames =
      std::any_of(manifest.files.begin(), manifest.files.end(),
                  [](const ManifestFile& file) { return !(file.frame == Hash128{}); });
  if (has_frames && comm_.rank() == 0)
    status = or_no_space(kNoMemory, [&] { return check_row_file_frames(store_, manifest); });
  return tell_status(comm_, status);
}

std::vector<ShardRange> Loader::my_ranges(const Manifest& manifest) const {
  if (report_.state.needs_redistribution) {
    return plan_reads_in_place(places_of(manifest), comm_.size(), comm_.rank());
  }
  std::vector<ShardRange> ranges;
  for (std::size_t i = 0; i < manifest.shards.size(); ++i)
    if (manifest.shards[i].rank == static_cast<std::uint32_t>(comm_.rank()))
      ranges.push_back({.shard = i, .begin = 0, .end = manifest.shards[i].bytes()});
  return ranges;
}

bool Loader::is_wanted(const ManifestShard& shard) const {
  return !sink_.wants || sink_.wants(shard.relation);
}

ReadOutcome Loader::read_part(const Manifest& manifest) {
  ReadCounts counts;
  ReadOutcome outcome;
  std::vector<ShardRange> ranges = my_ranges(manifest);
  std::erase_if(ranges,
                [&](const ShardRange& range) { return !is_wanted(manifest.shards[range.shard]); });
  const std::vector<RangeRun> runs = runs_of(manifest, ranges);
  std::vector<std::uint64_t> bytes(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const ShardRange& range : runs[i]) bytes[i] += range.end - range.begin;
  PrefetchOrder order(std::move(bytes));
  for (std::size_t i = 0; i < runs.size() && outcome.is_ok(); ++i) {
    const PrefetchOrder::Part part = order.before(i);
    for (std::size_t k = part.begin; k < part.end; ++k)
      for (const ShardRange& range : runs[k])
        prefetch_shard(store_, manifest, manifest.shards[range.shard], range.begin, range.end,
                       order.asked(k));
    outcome = read_run(manifest, runs[i], counts);
  }
  report_.local_rows = counts.rows;
  report_.local_bytes = counts.bytes;
  return outcome;
}

ReadOutcome Loader::read_run(const Manifest& manifest, RangeRun run, ReadCounts& counts) {
  if (run.size() > 1)
    return read_in_turns(
        store_, manifest, run, request_.steps,
        [&](const ManifestShard& shard, const TupleGroup& group) {
          return sink_.accept(shard.relation, group);
        },
        counts);
  const ManifestShard& shard = manifest.shards[run.front().shard];
  return read_shard(
      store_, manifest, shard, run.front().begin, run.front().end, request_.steps,
      [&](const TupleGroup& group) { return sink_.accept(shard.relation, group); }, counts);
}

// No other generation takes less memory.
ReadOutcome Loader::read_all_parts(const Manifest& manifest) {
  ReadOutcome outcome;
  const Status ended = or_no_space(kNoMemory, [&] {
    outcome = read_part(manifest);
    return Status::ok();
  });
  if (!ended.is_ok()) outcome.visitor = ended;
  return outcome;
}

Loader::Attempt Loader::attempt(const Manifest& manifest) {
  report_.state.needs_redistribution = request_.parts == ReadParts::kBalanced ||
                                       manifest.ranks != static_cast<std::uint32_t>(comm_.size());
  Status status = get_sections(manifest);
  if (status.is_ok()) status = check_frames(manifest);
  if (!status.is_ok()) return {.is_final = is_want_of_memory(status), .status = status};
  status = agree(comm_, or_no_space(kNoMemory, [&] { return sink_.begin(report_.state); }));
  if (!status.is_ok()) return {.is_final = true, .status = status};

  const ReadOutcome outcome = read_all_parts(manifest);
  const Status arrived = sink_.settle ? sink_.settle() : Status::ok();
  status = agree(comm_, outcome.visitor);
  if (!status.is_ok()) return {.is_final = true, .status = status};
  status = agree(comm_, outcome.read);
  if (!status.is_ok()) return {.is_final = is_want_of_memory(status), .status = status};
  status = agree(comm_, arrived);
  if (!status.is_ok()) return {.is_final = true, .status = status};

  std::uint64_t expected = 0;
  for (const ManifestShard& shard : manifest.shards) expected += is_wanted(shard) ? shard.rows : 0;
  std::uint64_t rows[] = {report_.local_rows};
  status = comm_.allreduce(rows, ReduceOp::kSum);
  if (!status.is_ok()) return {.is_final = true, .status = status};
  if (rows[0] != expected)
    return {
        .is_final = false,
        .status = Status::corruption(fmt::format("{} rows expected, {} read", expected, rows[0]))};
  return {.is_final = true, .status = {}};
}

Result<LoadReport> Loader::run() {
  const std::uint64_t start = now_ns();
  while (true) {
    STRATALOG_ASSIGN_OR_RETURN(const Manifest manifest, choose());
    const Attempt tried = attempt(manifest);
    if (!tried.is_final) {
      if (comm_.rank() == 0) candidates_->refuse(manifest.id, tried.status.to_string());
      continue;
    }
    STRATALOG_RETURN_IF_ERROR(tried.status);
    break;
  }
  std::string skipped;
  if (comm_.rank() == 0) skipped = fmt::format("{}", fmt::join(candidates_->skipped(), "\n"));
  STRATALOG_ASSIGN_OR_RETURN(skipped, tell(comm_, skipped));
  for (std::size_t at = 0; at < skipped.size();) {
    const std::size_t end = std::min(skipped.find('\n', at), skipped.size());
    report_.skipped.push_back(skipped.substr(at, end - at));
    at = end + 1;
  }
  report_.seconds = static_cast<double>(now_ns() - start) / 1e9;
  return std::move(report_);
}

}  // namespace

Result<LoadReport> load_checkpoint(Comm& comm, Store& store, const LoadRequest& request,
                                   const LoadSink& sink) {
  return Loader(comm, store, request, sink).run();
}

Status verify_relation(Comm& comm, const StoredRelation& stored, std::uint64_t local_rows,
                       const MultisetHash& local_hash) {
  std::uint64_t sums[] = {local_rows, local_hash.low, local_hash.high};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(sums, ReduceOp::kSum));
  if (sums[0] == stored.rows && sums[1] == stored.hash.low && sums[2] == stored.hash.high)
    return Status::ok();
  return Status::corruption(
      fmt::format("relation {}, version {}: {} rows with hash {}{} expected, {} rows with hash "
                  "{}{} arrived",
                  stored.name, version_name(stored.version), stored.rows, to_hex(stored.hash.high),
                  to_hex(stored.hash.low), sums[0], to_hex(sums[2]), to_hex(sums[1])));
}

Status remember_reject(Comm& comm, Store& store, const std::string& generation,
                       const std::string& reason) {
  Status status;
  if (!parse_generation_name(generation))
    status = Status::invalid_argument("\"" + generation + "\" is no generation's name");
  else if (comm.rank() == 0)
    status =
        write_text_file(store, reject_name(generation), reason.substr(0, 4096), Durability::kFull);
  if (status.code() == StatusCode::kAlreadyExists) status = Status::ok();
  return agree(comm, status);
}

}  // namespace stratalog
