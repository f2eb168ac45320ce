// SPDX-License-Identifier: Apache-2.0
// What one process can say about a checkpoint directory without the job that wrote it: list,
// inspect, verify, and walk the stored tuples for export. Local; no Comm.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "checkpoint/checkpoint.h"
#include "checkpoint/stored_state.h"
#include "checkpoint/stored_tuples.h"
#include "commit/generations.h"
#include "commit/store_file.h"
#include "model/multiset_hash.h"
#include "model/set_walk.h"
#include "read/file_frame.h"
#include "read/shard_reader.h"

namespace stratalog {
namespace {

GenerationSummary summarise(Store& store, const GenerationId& id, const Hash128& store_id) {
  GenerationSummary summary;
  summary.name = generation_name(id);
  const Result<ManifestOnDisk> found = read_manifest(store, id, store_id, ProtocolSteps{});
  if (!found.is_ok()) {
    const bool unfinished = found.status().code() == StatusCode::kNotFound;
    summary.condition =
        unfinished ? GenerationCondition::kUnfinished : GenerationCondition::kDamaged;
    summary.reason = unfinished ? "it was never committed" : found.status().to_string();
    return summary;
  }
  const Manifest& manifest = found.value().manifest;
  summary.iteration = manifest.iteration;
  summary.ranks = manifest.ranks;
  summary.mode = manifest.mode;
  summary.durability = manifest.durability;
  summary.engine_state = manifest.engine_state;
  for (const ManifestRelation& relation : manifest.relations) summary.rows += relation.rows;
  summary.bytes = found.value().text.size();
  for (const ManifestFile& file : manifest.files)
    (file.link == kOwnFiles ? summary.bytes : summary.linked_bytes) += file.bytes;
  for (const ManifestLink& link : manifest.links)
    summary.builds_on.push_back(generation_name(link.id));
  const Status files = check_files(store, manifest, ProtocolSteps{});
  const Result<std::string> rejected = read_text_file(store, reject_name(summary.name), 65536);
  if (!files.is_ok()) {
    const bool is_gone = was_removed(store, summary.name);
    summary.condition = is_gone ? GenerationCondition::kUnfinished : GenerationCondition::kDamaged;
    summary.reason = is_gone ? "a running job removed it meanwhile" : files.to_string();
  } else if (rejected.is_ok()) {
    summary.condition = GenerationCondition::kRejected;
    summary.reason = rejected.value();
  }
  return summary;
}

// Content of all shards: blocks, rows, hashes.
class DeepCheck {
 public:
  DeepCheck(Store& store, const Manifest& manifest, VerifyReport& report)
      : store_(store), manifest_(manifest), report_(report), hashes_(manifest.relations.size()) {}

  void run() {
    for (std::size_t i = 0; i < manifest_.sections.size(); ++i)
      note(read_section(store_, manifest_, i, ProtocolSteps{}).status());
    note(check_row_file_frames(store_, manifest_));
    // The tuple of a relation without attributes is in the manifest only.
    for (const ManifestRelation& relation : manifest_.relations)
      if (relation.arity == 0) report_.rows += relation.rows;
    bool all_read = true;
    for (const ManifestShard& shard : manifest_.shards) all_read = check_shard(shard) && all_read;
    if (all_read) compare_hashes();
    check_extra_files();
    check_padding();
  }

 private:
  // Once, also where several shards meet it: they may lie in one chunk.
  void note(const Status& status) {
    if (status.is_ok()) return;
    std::string problem = status.to_string();
    if (std::ranges::find(report_.problems, problem) == report_.problems.end())
      report_.problems.push_back(std::move(problem));
  }

  bool check_shard(const ManifestShard& shard) {
    const auto& order = manifest_.relations[shard.relation].column_order;
    GroupHasher hasher(order);
    ReadCounts counts;
    std::uint64_t outside = 0;
    const ReadOutcome outcome = read_shard(
        store_, manifest_, shard, 0, shard.bytes(), ProtocolSteps{},
        [&](const TupleGroup& group) {
          hashes_[shard.relation] += hasher.hash(group);
          if (!shard.zones.empty() && !is_inside(group, shard, order, counts.blocks - 1)) ++outside;
          return Status::ok();
        },
        counts);
    if (outside != 0)
      note(Status::corruption(fmt::format(
          "{}: {} groups have cells outside of the zones that the manifest gives for their blocks",
          shard.file, outside)));
    report_.blocks += counts.blocks;
    report_.rows += counts.rows;
    note(outcome.read);
    if (outcome.read.is_ok() && counts.rows != shard.rows)
      note(Status::corruption(
          fmt::format("{}: {} rows expected, {} found", shard.file, shard.rows, counts.rows)));
    return outcome.is_ok();
  }

  static bool is_inside(const TupleGroup& group, const ManifestShard& shard,
                        const std::vector<std::uint32_t>& order, std::uint64_t block) {
    const Cell* const zone = shard.zones.data() + (block * order.size() * 2);
    const auto contains = [zone](std::uint32_t column, Cell cell) {
      return cell >= zone[column * 2] && cell <= zone[(column * 2) + 1];
    };
    for (std::size_t i = 0; i < group.prefix.size(); ++i)
      if (!contains(order[i], group.prefix[i])) return false;
    return contains(order.back(), first_of(group.set)) &&
           contains(order.back(), last_of(group.set));
  }

  void compare_hashes() {
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      const ManifestRelation& relation = manifest_.relations[i];
      if (relation.arity == 0 || hashes_[i] == relation.hash) continue;
      note(
          Status::corruption(fmt::format("relation {}, version {}: its tuples do not have the "
                                         "hash that the engine announced",
                                         relation.name, version_name(relation.version))));
    }
  }

  void check_extra_files() {
    std::set<std::string> expected = {kManifestName};
    for (const ManifestFile& file : manifest_.files)
      if (file.link == kOwnFiles) expected.insert(file.name);
    const auto names = store_.list(generation_name(manifest_.id));
    note(names.status());
    if (!names.is_ok()) return;
    for (const std::string& name : names.value())
      if (expected.count(name) == 0 && !is_unfinished_copy(name))
        note(Status::corruption(
            fmt::format("{}/{} does not belong there", generation_name(manifest_.id), name)));
  }

  // What a job that ended left of bringing it home from a stage, or of freeing the stage then; the
  // next one removes it.
  static bool is_unfinished_copy(const std::string& name) {
    return is_draining_name(name) || name == kManifestTemporaryName || name == kManifestHiddenName;
  }

  // Between the extents of a file with several shards there are only zeros.
  void check_padding() {
    for (const ManifestFile& file : manifest_.files) {
      if (!stores_blocks(manifest_.mode_of(file.link))) continue;  // the frame's hash covers it
      std::vector<Extent> used = file.others;
      for (const ManifestShard& shard : manifest_.shards)
        if (shard.link == file.link && shard.file == file.name)
          used.insert(used.end(), shard.extents.begin(), shard.extents.end());
      if (used.empty()) continue;  // a section
      std::sort(used.begin(), used.end(),
                [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
      note(check_gaps(file, used));
    }
  }

  Status check_gaps(const ManifestFile& file, const std::vector<Extent>& used) {
    const std::string path = manifest_.path(file.link, file.name);
    STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> open,
                               store_.open(path, OpenMode::kRead));
    std::uint64_t at = 0;
    std::vector<std::byte> gap;
    for (const Extent& extent : used) {
      while (at < extent.offset) {
        gap.resize(std::min<std::uint64_t>(extent.offset - at, 1 << 20));
        STRATALOG_RETURN_IF_ERROR(open->read_at(at, gap));
        const auto bad =
            std::find_if(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte{0}; });
        if (bad != gap.end())
          return Status::corruption(fmt::format(
              "{}, offset {}: padding must be zero, {} found", path,
              at + static_cast<std::uint64_t>(bad - gap.begin()), static_cast<unsigned>(*bad)));
        at += gap.size();
      }
      at = extent.offset + extent.bytes;
    }
    return Status::ok();
  }

  Store& store_;
  const Manifest& manifest_;
  VerifyReport& report_;
  std::vector<MultisetHash> hashes_;
};

// Of a running job that commits and removes generations while they are looked at, all that were
// there at first may be gone.
constexpr int kMostLooks = 50;

bool is_unfinished(const GenerationSummary& summary) {
  return summary.condition == GenerationCondition::kUnfinished;
}

Result<std::vector<GenerationSummary>> summarise_all(Store& store,
                                                     std::span<const GenerationId> ids) {
  const Result<Hash128> store_id = read_store_id(store);
  std::vector<GenerationSummary> summaries;
  if (!store_id.is_ok() && (store_id.status().code() != StatusCode::kNotFound || !ids.empty()))
    return store_id.status();
  std::set<std::string> bases;
  for (const GenerationId& id : ids) {
    GenerationSummary summary = summarise(store, id, store_id.value());
    // Newest first: whatever builds on this one has been seen.
    if (summary.condition == GenerationCondition::kUnfinished && bases.count(summary.name) != 0) {
      summary.condition = GenerationCondition::kBase;
      summary.reason = "retired; newer generations build on what is left of it";
    }
    bases.insert(summary.builds_on.begin(), summary.builds_on.end());
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace

bool was_removed(Store& store, const std::string& generation) {
  return store.info(fmt::format("{}/{}", generation, kManifestName)).status().code() ==
         StatusCode::kNotFound;
}

Result<std::vector<GenerationSummary>> list_generations(Store& store) {
  STRATALOG_ASSIGN_OR_RETURN(auto ids, list_generation_ids(store));
  for (int looks = 1;; ++looks) {
    STRATALOG_ASSIGN_OR_RETURN(auto summaries, summarise_all(store, ids));
    if (looks == kMostLooks || std::ranges::none_of(summaries, is_unfinished)) return summaries;
    STRATALOG_ASSIGN_OR_RETURN(auto now, list_generation_ids(store));
    if (now == ids) return summaries;
    ids = std::move(now);
  }
}

Result<StoredState> inspect_generation(Store& store, const std::string& generation) {
  STRATALOG_ASSIGN_OR_RETURN(const ManifestOnDisk found, open_generation(store, generation));
  StoredState state = state_of(found.manifest);
  STRATALOG_RETURN_IF_ERROR(read_sections(store, found.manifest, ProtocolSteps{}, state));
  return state;
}

Result<VerifyReport> verify_generation(Store& store, const std::string& generation,
                                       VerifyDepth depth) {
  VerifyReport report;
  report.generation = generation;
  Result<ManifestOnDisk> found = open_generation(store, generation);
  if (!found.is_ok()) {
    if (found.status().code() != StatusCode::kCorruption) return found.status();
    report.problems.push_back(found.status().to_string());
    return report;
  }
  const Manifest& manifest = found.value().manifest;
  report.files = manifest.files.size() + 1;
  report.bytes = found.value().text.size();
  for (const ManifestFile& file : manifest.files) report.bytes += file.bytes;
  const Status files = check_files(store, manifest, ProtocolSteps{});
  if (!files.is_ok()) report.problems.push_back(files.to_string());
  if (depth == VerifyDepth::kContent) DeepCheck(store, manifest, report).run();
  return report;
}

Status for_each_stored_group(Store& store, const std::string& generation, std::size_t index,
                             const GroupVisitor& visit) {
  ReadExtent extent;
  return for_each_wanted_group(store, generation, index, TupleFilter({}), visit, extent);
}

Status for_each_wanted_group(Store& store, const std::string& generation, std::size_t index,
                             const TupleFilter& filter, const GroupVisitor& visit,
                             ReadExtent& extent) {
  extent = {};
  STRATALOG_ASSIGN_OR_RETURN(const ManifestOnDisk found, open_generation(store, generation));
  STRATALOG_RETURN_IF_ERROR(check_files(store, found.manifest, ProtocolSteps{}));
  STRATALOG_RETURN_IF_ERROR(check_row_file_frames(store, found.manifest));
  const GroupVisitor pass = [&](const TupleGroup& group) { return filter.pass(group, visit); };
  for (const ManifestShard& shard : found.manifest.shards) {
    if (shard.relation != index) continue;
    ReadCounts counts;
    const ReadOutcome outcome =
        read_shard(store, found.manifest, shard, 0, shard.bytes(), ProtocolSteps{},
                   filter.wants_all() ? visit : pass, counts, &filter);
    STRATALOG_RETURN_IF_ERROR(outcome.read);
    STRATALOG_RETURN_IF_ERROR(outcome.visitor);
    extent.blocks += shard.blocks;
    extent.blocks_read += counts.blocks;
  }
  return Status::ok();
}

}  // namespace stratalog
