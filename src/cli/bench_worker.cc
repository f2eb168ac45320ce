// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "bench/case_order.h"
#include "bench/raw_peer.h"
#include "bench/restart_measure.h"
#include "bench/saved_sequence.h"
#include "bench/synthetic_relation.h"
#include "bench/warm_memory.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/told.h"
#include "cli/console.h"

namespace stratalog::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A restart must find the files on the disk, as far as this kernel is concerned.
void forget_cached_pages(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; at != end && !error;
       at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    const int file = ::open(at->path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    (void)::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    (void)::close(file);
  }
}

// What a learned mode has chosen for a generation, as it says itself.
Result<std::string> chosen_layout(Store& store, const std::string& generation) {
  STRATALOG_ASSIGN_OR_RETURN(const StoredState state, inspect_generation(store, generation));
  std::string chosen;
  for (const Reason& reason : state.layout_reasons)
    if (reason.about == "auto: choice" || (reason.about == "auto" && chosen.empty()))
      chosen = reason.text;
  return chosen;
}

// Whether the bare reading of the same bytes is measured, too.
enum class ReadPeer : std::uint8_t { kNone, kBare };

class Bench {
 public:
  Bench(World& world, const BenchSpec& spec)
      : world_(world), comm_(world.comm()), spec_(spec), start_(Clock::now()) {}
  Status run();

 private:
  using Clock = std::chrono::steady_clock;

  Status say(const json& line);
  Result<HeldRelation> make_synthetic_part(const BenchData& data, const SyntheticSpec& spec);
  Result<SavedSequence> make(const BenchData& data);
  Status prepare(const BenchData& data);
  Status go_to(std::uint32_t checkpoint);
  Status measure(const BenchCase& one, std::uint32_t repeat);
  Status measure_saved(const BenchCase& one, Store& store);
  Status save(const BenchCase& one, CheckpointWriter& writer, Store& store);
  Status measure_raw(const BenchCase& one, RawFiles files);
  // Checkpoints that a case writes.
  std::uint32_t saves_of(const BenchCase& one) const {
    return sequence_.grows() ? static_cast<std::uint32_t>(sequence_.checkpoints()) : one.saves;
  }
  Result<double> read_bare(Store& store, RawInto into);
  Status restart(Store& store, ReadPeer peer);
  Result<std::unique_ptr<Store>> fresh_folder(const std::string& path);
  Result<std::unique_ptr<Store>> open_folder(const std::string& path, RootMode mode);
  Status forget(const std::string& folder);
  Status warm();
  Status remove(const std::string& folder);
  Result<std::string> is_late();
  json line(const char* event) const;

  World& world_;
  Comm& comm_;
  const BenchSpec& spec_;
  Clock::time_point start_;
  SavedSequence sequence_;
  std::uint32_t checkpoint_ = 0;  // of the sequence
  std::vector<std::uint64_t> row_bytes_of_rank_;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t rows_ = 0;
  std::string data_name_;
  std::string case_name_;
  std::uint32_t repeat_ = 0;
  WarmMemory memory_;
};

json Bench::line(const char* event) const {
  return {{"event", event},    {"data", data_name_},    {"case", case_name_},
          {"repeat", repeat_}, {"ranks", comm_.size()}, {"row_bytes", row_bytes_}};
}

Status Bench::say(const json& one) {
  Status printed;
  if (comm_.rank() == 0) {
    printed = print_result(one.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
  return tell_status(comm_, printed);
}

Result<std::unique_ptr<Store>> Bench::open_folder(const std::string& path, RootMode mode) {
  Result<std::unique_ptr<Store>> store = Status::internal("not opened yet");
  if (comm_.rank() == 0) store = open_posix_store(path, mode);
  STRATALOG_RETURN_IF_ERROR(tell_status(comm_, store.status()));
  if (comm_.rank() != 0) store = open_posix_store(path, RootMode::kMustExist);
  STRATALOG_RETURN_IF_ERROR(agree(comm_, store.status()));
  return store;
}

Status Bench::remove(const std::string& folder) {
  Status status;
  if (comm_.rank() == 0) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error)
      status = Status::io_error(fmt::format("cannot remove {}: {}", folder, error.message()));
  }
  return tell_status(comm_, status);
}

Result<std::unique_ptr<Store>> Bench::fresh_folder(const std::string& path) {
  STRATALOG_RETURN_IF_ERROR(remove(path));
  return open_folder(path, RootMode::kCreate);
}

Status Bench::forget(const std::string& folder) {
  STRATALOG_RETURN_IF_ERROR(comm_.barrier());
  if (comm_.rank() == 0) forget_cached_pages(folder);
  return warm();
}

// For what is measured next: the rows, or their bytes in the page cache, and as much beside them.
// Half of them again while it goes on.
Status Bench::warm() {
  STRATALOG_RETURN_IF_ERROR(comm_.barrier());
  const std::uint64_t mine = row_bytes_ / static_cast<std::uint64_t>(comm_.size());
  memory_.warm(2 * mine, mine / 2, comm_.size());
  return comm_.barrier();
}

// Rank 0's clock counts: "" or why no further case begins.
Result<std::string> Bench::is_late() {
  const double passed = std::chrono::duration<double>(Clock::now() - start_).count();
  const bool late = spec_.seconds > 0 && passed > spec_.seconds;
  return tell(comm_, late ? fmt::format("{:.1f} s have passed", passed) : std::string());
}

Result<HeldRelation> Bench::make_synthetic_part(const BenchData& data, const SyntheticSpec& spec) {
  auto relation = make_synthetic({.name = spec.name,
                                  .version = spec.version,
                                  .rows = spec.rows,
                                  .arity = data.columns,
                                  .share = data.share,
                                  .texture = data.texture,
                                  .seed = spec.seed},
                                 comm_.rank(), comm_.size());
  STRATALOG_RETURN_IF_ERROR(agree(comm_, relation.status()));
  return relation;
}

Result<SavedSequence> Bench::make(const BenchData& data) {
  if (!data.checkpoint.empty()) {
    STRATALOG_ASSIGN_OR_RETURN(const auto store,
                               open_folder(data.checkpoint, RootMode::kMustExist));
    STRATALOG_ASSIGN_OR_RETURN(auto taken, take_from_checkpoint(comm_, *store, data.generation));
    return SavedSequence(std::move(taken));
  }
  const std::uint64_t rows = data.bytes / 8 / std::max(1U, data.columns);
  if (!data.grows.empty()) {
    STRATALOG_ASSIGN_OR_RETURN(auto path,
                               make_synthetic_part(data, {.rows = rows, .seed = data.seed}));
    STRATALOG_ASSIGN_OR_RETURN(
        auto edges,
        make_synthetic_part(data, {.name = "edge", .rows = rows / 64, .seed = data.seed + 1}));
    return SavedSequence(std::move(path), std::move(edges), data.grows);
  }
  // As the papers save a recursive relation: all of it, and what the last rounds added.
  std::vector<HeldRelation> made;
  for (const RelationVersion version : {RelationVersion::kTotal, RelationVersion::kDelta}) {
    const bool is_delta = version == RelationVersion::kDelta;
    STRATALOG_ASSIGN_OR_RETURN(
        auto relation, make_synthetic_part(data, {.version = version,
                                                  .rows = is_delta ? rows / 16 : rows - (rows / 16),
                                                  .seed = data.seed + (is_delta ? 1 : 0)}));
    made.push_back(std::move(relation));
  }
  return SavedSequence(std::move(made));
}

// What is saved at a checkpoint of the sequence, and how much it is on all ranks.
Status Bench::go_to(std::uint32_t checkpoint) {
  checkpoint_ = checkpoint;
  sequence_.go_to(checkpoint);
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(comm_.size()) + 1);
  bytes[static_cast<std::size_t>(comm_.rank())] = sequence_.row_bytes();
  bytes.back() = sequence_.rows();
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(bytes, ReduceOp::kSum));
  rows_ = bytes.back();
  bytes.pop_back();
  row_bytes_ = 0;
  for (const std::uint64_t count : bytes) row_bytes_ += count;
  row_bytes_of_rank_ = std::move(bytes);
  return Status::ok();
}

Status Bench::prepare(const BenchData& data) {
  data_name_ = data.name;
  case_name_.clear();
  sequence_ = SavedSequence();
  STRATALOG_ASSIGN_OR_RETURN(sequence_, make(data));
  STRATALOG_RETURN_IF_ERROR(
      go_to(sequence_.grows() ? static_cast<std::uint32_t>(sequence_.checkpoints()) - 1 : 0));
  json out = line("data");
  out["rows"] = rows_;
  out["row_bytes_of_rank"] = row_bytes_of_rank_;
  return say(out);
}

// Seconds for reading the bytes of the newest checkpoint and doing nothing with them.
Result<double> Bench::read_bare(Store& store, RawInto into) {
  Result<std::string> newest = std::string();
  if (comm_.rank() == 0) {
    const auto listed = list_generations(store);
    newest = !listed.is_ok()          ? Result<std::string>(listed.status())
             : listed.value().empty() ? Result<std::string>(Status::not_found("no generation"))
                                      : Result<std::string>(listed.value().front().name);
  }
  STRATALOG_ASSIGN_OR_RETURN(const std::string generation, tell(comm_, newest));
  STRATALOG_RETURN_IF_ERROR(forget(store.root()));
  STRATALOG_ASSIGN_OR_RETURN(const RawRead read, read_folder_raw(comm_, store, generation, into));
  return read.total_seconds;
}

Status Bench::restart(Store& store, ReadPeer peer) {
  for (const ReadParts parts : spec_.restarts) {
    // Between two of them: pages that were free for long cost more when they are first used again
    // (the host of a virtual machine takes them back), which is not to fall to one of both.
    double bare = 0;
    if (peer == ReadPeer::kBare) {
      STRATALOG_ASSIGN_OR_RETURN(bare, read_bare(store, RawInto::kOneBuffer));
    }
    STRATALOG_RETURN_IF_ERROR(forget(store.root()));
    STRATALOG_ASSIGN_OR_RETURN(const RestartMeasure measured, measure_restart(comm_, store, parts));
    json out = line("restart");
    out["parts"] = parts == ReadParts::kAsWritten ? "as-written" : "balanced";
    out["seconds"] = {{"read", measured.read_seconds},
                      {"shuffle", measured.shuffle_seconds},
                      {"total", measured.total_seconds}};
    if (peer == ReadPeer::kBare) {
      STRATALOG_ASSIGN_OR_RETURN(const double again, read_bare(store, RawInto::kOneBuffer));
      out["seconds"]["bare"] = (bare + again) / 2;
      STRATALOG_ASSIGN_OR_RETURN(out["seconds"]["bare_held"],
                                 read_bare(store, RawInto::kOwnMemory));
    }
    out["rows"] = measured.rows;
    out["bytes"] = measured.bytes;
    out["moved_bytes"] = measured.moved_bytes;
    out["verified"] = true;
    STRATALOG_RETURN_IF_ERROR(say(out));
  }
  return Status::ok();
}

// A store of its own for each checkpoint: write_raw wants an empty one.
Status Bench::measure_raw(const BenchCase& one, RawFiles files) {
  const std::string folder = fmt::format("{}/{}", spec_.directory, one.name);
  for (std::uint32_t at = 0; at < saves_of(one); ++at) {
    if (at != checkpoint_) STRATALOG_RETURN_IF_ERROR(go_to(at));
    STRATALOG_ASSIGN_OR_RETURN(const auto store, fresh_folder(folder));
    STRATALOG_ASSIGN_OR_RETURN(
        const RawWrite write,
        write_raw(comm_, *store, files, sequence_.row_bytes(), one.durability));
    json out = line("save");
    out["seconds"] = {{"metadata", write.create_seconds},
                      {"write", write.write_seconds},
                      {"sync", write.sync_seconds},
                      {"total", write.total_seconds}};
    out["bytes"] = write.bytes;
    out["files"] = write.files;
    if (saves_of(one) > 1) out["checkpoint"] = at;
    STRATALOG_RETURN_IF_ERROR(say(out));
    if (spec_.restarts.empty() || at + 1 < saves_of(one)) continue;
    STRATALOG_RETURN_IF_ERROR(forget(store->root()));
    STRATALOG_ASSIGN_OR_RETURN(const RawRead read,
                               read_raw(comm_, *store, files, sequence_.row_bytes()));
    out = line("restart");
    out["parts"] = "as-written";
    out["seconds"] = {
        {"read", read.total_seconds}, {"shuffle", 0.0}, {"total", read.total_seconds}};
    out["bytes"] = read.bytes;
    STRATALOG_RETURN_IF_ERROR(say(out));
  }
  return Status::ok();
}

Status Bench::measure_saved(const BenchCase& one, Store& store) {
  WriterOptions options;
  options.durability = one.durability;
  options.backends = world_.backends(one.mode);
  options.layout.ladder = one.ladder;
  options.layout.files = one.files;
  STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm_, store, options));
  for (std::uint32_t at = 0; at < saves_of(one); ++at) {
    if (at != checkpoint_) STRATALOG_RETURN_IF_ERROR(go_to(at));
    STRATALOG_RETURN_IF_ERROR(save(one, *writer, store));
  }
  return Status::ok();
}

Status Bench::save(const BenchCase& one, CheckpointWriter& writer, Store& store) {
  STRATALOG_ASSIGN_OR_RETURN(SaveRequest request, sequence_.request(comm_, writer, one.parts));
  request.mode = one.mode;
  request.encoding = one.encoding;
  STRATALOG_RETURN_IF_ERROR(comm_.barrier());
  STRATALOG_ASSIGN_OR_RETURN(const SaveReport report, writer.save(request));
  json out = line("save");
  out["seconds"] = {{"metadata", report.metadata_seconds}, {"pack", report.pack_seconds},
                    {"route", report.route_seconds},       {"encode", report.encode_seconds},
                    {"write", report.write_seconds},       {"sync", report.sync_seconds},
                    {"commit", report.commit_seconds},     {"total", report.total_seconds}};
  out["rows"] = report.rows;
  out["bytes"] = report.bytes;
  out["files"] = report.files;
  out["staging_bytes"] = report.staging_bytes;
  if (saves_of(one) > 1) {
    out["checkpoint"] = checkpoint_;
    out["growth_images"] = report.growth_images;
  }
  if (!is_learned(one.mode)) return say(out);
  Result<std::string> chosen = std::string();
  if (comm_.rank() == 0) chosen = chosen_layout(store, report.generation);
  STRATALOG_ASSIGN_OR_RETURN(out["chosen"], tell(comm_, chosen));
  return say(out);
}

Status Bench::measure(const BenchCase& one, std::uint32_t repeat) {
  case_name_ = one.name;
  repeat_ = repeat;
  const bool has_folder = !one.stored.empty();
  const std::string folder =
      has_folder ? one.stored : fmt::format("{}/{}", spec_.directory, one.name);
  Status status = warm();
  if (!status.is_ok()) return status;
  if (one.raw) {
    status = measure_raw(one, *one.raw);
  } else {
    STRATALOG_ASSIGN_OR_RETURN(const auto store, has_folder
                                                     ? open_folder(folder, RootMode::kMustExist)
                                                     : fresh_folder(folder));
    if (!has_folder) status = measure_saved(one, *store);
    if (status.is_ok()) status = restart(*store, has_folder ? ReadPeer::kBare : ReadPeer::kNone);
  }
  const bool stays =
      has_folder || (one.keep == KeepFiles::kYes && repeat + 1 == spec_.repeats && status.is_ok());
  const Status removed = stays ? Status::ok() : remove(folder);
  return status.is_ok() ? removed : status;
}

Status Bench::run() {
  STRATALOG_RETURN_IF_ERROR(open_folder(spec_.directory, RootMode::kCreate).status());
  for (const BenchData& data : spec_.data) {
    STRATALOG_RETURN_IF_ERROR(prepare(data));
    for (std::uint32_t repeat = 0; repeat < spec_.repeats; ++repeat) {
      for (const std::size_t i : case_order(spec_.cases.size(), spec_.earlier_repeats + repeat)) {
        STRATALOG_ASSIGN_OR_RETURN(const std::string late, is_late());
        if (!late.empty()) {
          json out = line("out_of_time");
          out["message"] = late;
          return say(out);
        }
        const BenchCase& one = spec_.cases[i];
        Status status = measure(one, repeat);
        if (status.is_ok()) continue;
        if (status.code() == StatusCode::kRanksDisagree) return status;
        json out = line("failed");
        out["message"] = status.to_string();
        STRATALOG_RETURN_IF_ERROR(say(out));
      }
    }
  }
  return Status::ok();
}

}  // namespace

Status run_bench(World& world, const BenchSpec& spec) { return Bench(world, spec).run(); }

}  // namespace stratalog::cli
