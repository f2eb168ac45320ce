// SPDX-License-Identifier: Apache-2.0
// What the modes of a save have in common: the facts that all ranks agreed on before anything
// is written (SaveContext), what one rank has to show afterwards (LocalOutput), and the walk over
// one image's groups. What is not marked is local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/carry_over.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/fold.h"
#include "checkpoint/phase_times.h"
#include "checkpoint/save_layout.h"
#include "commit/manifest.h"
#include "encode/shard_encoder.h"
#include "policy/overlap.h"
#include "write/write_queue.h"

namespace stratalog {

struct SaveContext {
  Comm& comm;
  Store& store;
  const SaveRequest& request;
  const WriterOptions& options;
  GenerationId id;
  Nonce nonce;
  Hash128 store_id;
  std::vector<std::uint64_t> total_rows;  // per image, over all ranks
  const CarriedOver& carried;  // rank 0: what older generations have already
  const SaveLayout& layout;
  WriteQueue& queue;  // of what goes into files of this rank's own
  const Fold* fold = nullptr;  // where a part is folded
  OverlapWay overlap = OverlapWay::kNone;  // of this save

  std::string path(const std::string& file) const { return generation_name(id) + "/" + file; }
  // What a rank stages for one write, at most.
  std::uint64_t round_bytes() const {
    const std::uint64_t planned = layout.plan.round_bytes;
    return planned == 0 ? options.stage_bytes : std::min(planned, options.stage_bytes);
  }
  // Those that share this rank's cores, itself included.
  std::uint32_t ranks_on_node() const {
    const std::vector<int>& nodes = layout.facts.node_of_rank;
    if (nodes.empty()) return static_cast<std::uint32_t>(comm.size());
    const int mine = nodes[static_cast<std::size_t>(comm.rank())];
    return static_cast<std::uint32_t>(std::count(nodes.begin(), nodes.end(), mine));
  }
  bool syncs_shards() const {
    return options.durability != Durability::kNone &&
           options.steps.includes(ProtocolStep::kSyncShards);
  }
  SyncFiles sync_files() const { return syncs_shards() ? SyncFiles::kYes : SyncFiles::kNo; }
};

struct LocalOutput {
  std::string file_lines;  // rank 0's, or those of the rank's own files
  std::string shard_lines;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::uint64_t groups = 0;
  std::uint64_t staging_bytes = 0;
  PhaseTimes times;
  std::vector<std::string> lasting_notes;  // rank 0's, of what will be so for each save of the job
  // What this rank does when all ranks have written well, where that went on beside the caller:
  // local, and what comes of it is added here.
  std::vector<std::function<Status()>> when_written;
};

// Encodes this rank's shard of image `index`, of no bytes where it has no groups, with times. The
// sink adds to times.write_ns itself. Internal if the groups are not the rows announced.
Result<ShardSummary> pack_shard(const SaveContext& context, std::size_t index, ByteSink sink,
                                PhaseTimes& times);
// Adds bytes to a shard's extents.
void append_extent(const Extent& bytes, std::vector<Extent>& extents);

// Internal if the groups walked are not the rows announced: what would be a wrong checkpoint.
Status check_rows(const RelationImage& image, std::uint64_t walked);

ShardHeader shard_header(const SaveContext& context, std::size_t image, int rank);
// This rank's shard of `image` lies in `extents` of `file`: what the manifest will say of it.
void note_shard(const SaveContext& context, std::size_t image, const ShardSummary& summary,
                const std::string& file, std::vector<Extent> extents, LocalOutput& out);

// Mode kFilePerProcess. Local.
Status write_own_files(const SaveContext& context, LocalOutput& out);
// Modes kShared and kSharedOpt, while the caller waits. Collective; the Status is this rank's own.
Status write_shared_files(const SaveContext& context, LocalOutput& out);
// Mode kShared where writing goes on beside the caller. Collective; the Status is this rank's own.
Status write_shared_in_rounds(const SaveContext& context, LocalOutput& out);
// Modes kHdf5 and kHdf5Opt. Collective; the Status is this rank's own.
Status write_row_files(const SaveContext& context, LocalOutput& out);
// Mode kHdf5Direct. Collective; the Status is this rank's own.
Status write_rows_directly(const SaveContext& context, LocalOutput& out);
// The same in two steps where writing goes on beside the caller: collective, with one verdict for
// all, what comes before the first byte waits to be written; and what is returned, which is local
// unless blocks must not be shared.
Result<std::function<Status()>> begin_rows_directly(const SaveContext& context, LocalOutput& out);
// Mode kHdf5Streams. Collective; the Status is this rank's own.
Status write_stream_files(const SaveContext& context, LocalOutput& out);
// The section files; rank 0 only. Local.
Status write_sections(const SaveContext& context, std::vector<ManifestSection>& sections,
                      LocalOutput& out);

}  // namespace stratalog
