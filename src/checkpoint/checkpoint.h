// SPDX-License-Identifier: Apache-2.0
// The two drivers of the road: CheckpointWriter::save turns the relations of all ranks into one
// committed generation, load turns the newest valid generation back into groups, on any number of
// ranks. They wire the stations (pack, encode, place, write, commit, read) and agree on errors;
// algorithms live in the rooms. Collective unless marked Local: every rank makes the same calls and
// gets the same Status. Bytes on disk: docs/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "checkpoint/backends.h"
#include "checkpoint/part_plan.h"
#include "comm/comm.h"
#include "commit/protocol_steps.h"
#include "commit/vocabulary.h"
#include "model/group_batch.h"
#include "model/tuple_group.h"
#include "policy/layout_plan.h"
#include "policy/overlap.h"
#include "write/column_label.h"
#include "write/store.h"

namespace stratalog {

// Opaque bytes that travel with a checkpoint: symbols, wide values, program text. A section may be
// saved in pieces that stand one after the other in the list, so that of one which only grows what
// is new suffices; it is loaded as one.
struct NamedSection {
  std::string name;  // [A-Za-z0-9_-]{1,40}, unique save for pieces
  Bytes data;
  std::uint32_t piece = 0;  // 0, 1, ... of one name
  // To be taken over from SaveRequest::base, which has this piece of the name; `data` is empty. Not
  // where the generation stands alone.
  bool is_unchanged = false;
};

struct SaveRequest {
  // One that is_learned: the writer chooses for each save, by policy and by what its saves have
  // cost (policy/learning.h).
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  ShardEncoding encoding = ShardEncoding::kCompact;  // ignored by modes that store plain rows
  // The same list (name, version, arity, column order) in the same order on every rank; rows and
  // hash are local.
  std::vector<RelationImage> images;
  // Where an entry is set: another way to walk that image, which encoders prefer. Empty, or one for
  // each image.
  std::vector<BatchWalk> batch_walks;
  // What is written of each image; empty: everything. An image whose part is kGrowth hands out only
  // the tuples that are new since `base`, and its rows and hash are theirs; none at all means that
  // it is unchanged. The same on every rank. Of one whose part is kFolded the same is new, but it
  // hands out a group for each prefix of the relation, with an empty set where nothing is, and
  // every generation since the whole part had these prefixes in the same order. Only where
  // can_fold(), and not where a thread writes what the caller has packed.
  std::vector<PartPlan> parts;
  // Where an entry is set: the local hash of that image, valid once its groups have been walked; it
  // takes the place of the image's own. Empty, or one for each image.
  std::vector<std::shared_ptr<const MultisetHash>> walked_hashes;
  // The generation on which the parts build: CheckpointWriter::base(), or empty if all are whole
  // and nothing is to be taken over. Sections that are the same as in the base are then taken over,
  // too.
  std::string base;
  // Of the declared columns of each image, for readers of HDF5 files; empty, or one list for each.
  std::vector<ColumnLabels> labels;
  std::uint64_t iteration = 0;  // for listings; rank 0's counts
  std::string program_hash;  // printable ASCII; rank 0's counts
  std::string engine_state;  // opaque UTF-8 text, by custom a JSON object; rank 0's counts
  std::vector<NamedSection> sections;  // rank 0's count; other ranks may leave it empty
};

// Whether the generation needs none of another one's files: each of its parts is whole.
bool stands_alone(const SaveRequest& request);

// What a save cost. Times are the maximum over ranks; rows and bytes are sums over ranks. Pack and
// encode are told apart by timing a sample of the groups, so their sum is exact and their split is
// an estimate.
struct SaveReport {
  std::string generation;  // "gen-00000001-0000000003"
  double metadata_seconds = 0;  // sizes exchanged, layout planned, files created
  double route_seconds = 0;  // rows sent to the rank that writes them
  double pack_seconds = 0;  // walking the engine's containers
  double encode_seconds = 0;  // compressing groups and hashing blocks
  double write_seconds = 0;
  double sync_seconds = 0;
  double commit_seconds = 0;  // agreements, manifest, rename, directory syncs, retention
  double total_seconds = 0;
  double held_seconds = 0;  // of these, the caller was held up: all, or begin() and finish()
  OverlapWay overlap = OverlapWay::kNone;  // who packed, and whether the caller waited
  std::uint64_t rows = 0;  // written
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;  // of all files of the generation, without those of older ones
  std::uint64_t files = 0;
  std::uint64_t growth_images = 0;  // images of which only the growth was written, if any
  std::uint64_t folded_images = 0;  // images whose chains were read back and written as one
  std::uint64_t staging_bytes = 0;  // largest buffer space that one rank used
  std::vector<std::string>
      notes;  // for the log: for example old generations that could not be removed
};

enum class SaveOutcome : std::uint8_t {
  kNone,  // nothing saved yet
  kCommitted,  // acknowledged: survives what the durability level promises
  kFailed,  // the generation does not exist; older ones are intact
  kUnknown,  // renamed, but its durability could not be confirmed: it may or may not be there after
             // a crash
};

struct WriterOptions {
  Durability durability = Durability::kFull;
  std::uint32_t keep_generations = 2;  // >= 2
  std::uint64_t block_bytes = 1 << 20;  // payload size at which a block is closed; 256 .. 1 MiB
  std::uint64_t stage_bytes =
      32 << 20;  // shared and hdf5 modes: bytes that one rank stages for one collective write;
                 // OverlapWay::kWrite: bytes that are packed and not yet written
  std::optional<OverlapWay> overlap;  // of begin(); none: as the policy thinks best
  ParallelBackends backends;  // MPI-IO and HDF5; empty ones: shared modes go through the Store, the
                              // hdf5 modes are NotSupported
  LayoutWishes layout;  // what the policy must respect; its mode is ignored, see SaveRequest::mode
  ProtocolSteps steps;  // tests only: leaves out steps of the commit protocol
};

// One job's right to add generations to a checkpoint directory. Memory per rank during save: one
// block (<= 1.2 MiB), plus stage_bytes in shared and hdf5 mode, plus stage_bytes where
// OverlapWay::kWrite is begun, plus 24 bytes per block written; rank 0 holds the manifest.
class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  virtual ~CheckpointWriter() = default;

  // Writes one generation. On error nothing older is harmed and nothing of the new one is left,
  // save that an outcome kUnknown may have become durable. The writer stays usable unless the error
  // says that a newer job took over.
  virtual Result<SaveReport> save(const SaveRequest& request) = 0;

  // The same in two halves. begin() starts a generation and leaves to a thread of its own what
  // overlap() says: writing what begin() has packed, or packing, too. Until finish() nobody else
  // may use the store, and where the thread packs, what the images show must stay as it is.
  // finish() waits for the thread and commits; an error of packing or writing comes out there.
  // Between the two no other save may begin. Only where something can go on beside the caller
  // (most_overlap(mode)); NotSupported elsewhere; where a learned mode chooses a mode in which
  // nothing can, begin() writes before it returns. After an error of begin() there is nothing to
  // finish.
  virtual Status begin(SaveRequest request) = 0;
  virtual Result<SaveReport> finish() = 0;
  // Local, the same on every rank: how the next begin() in that mode goes about it, and why. What a
  // learned mode chooses, and what its layout needs, may allow less.
  virtual OverlapPlan overlap(CheckpointMode mode) const = 0;
  // Local, the same on every rank: whether ranks can read back what they have saved.
  virtual bool can_fold() const = 0;
  // Local. Whether advance(), or finish() if nothing is left for that, would not have to wait for
  // this rank.
  virtual bool is_written() const = 0;
  // Where ranks need each other on the way, and is_written() on all of them: goes on with it, so
  // that the thread does. Whether that was not so, and finish() is due. An error comes out there.
  virtual bool advance() = 0;

  // Local, the same on every rank. The generation on which the next one may build: the last one
  // that this writer committed. Empty before the first: what other jobs wrote may be collected by
  // them. And after a fold has found it damaged.
  virtual const std::string& base() const = 0;
  // Collective, before a save is planned. Whether the files that base() needs still have their
  // names; if not, says which one has not, and there is no base any more: others may clean up where
  // checkpoints lie. OK without a base, and where stages lie on several nodes.
  virtual Status confirm_base() = 0;
  // Local, the same on every rank. How a relation version lies in base().
  virtual ChainFacts chain(const std::string& relation, RelationVersion version) const = 0;
  // Local. Outcome of the last save.
  virtual SaveOutcome last_outcome() const = 0;
  // Local. What opening found worth telling.
  virtual const std::vector<std::string>& notes() const = 0;
};

// Opens the directory at the store's root for writing: creates the STORE file if there is none,
// takes the lock where locks exist (AlreadyExists while another job holds it) and claims a new
// epoch. `comm` and `store` outlive the writer.
Result<std::unique_ptr<CheckpointWriter>> open_checkpoint_writer(Comm& comm, Store& store,
                                                                 const WriterOptions& options);

// One relation version of a checkpoint, whole (all ranks together).
struct StoredRelation {
  std::string name;
  RelationVersion version = RelationVersion::kTotal;
  std::uint32_t arity = 0;
  std::vector<std::uint32_t> column_order;
  std::uint64_t rows = 0;
  MultisetHash hash;
  PartChoice choice = {};  // how it was written, and why
};

// What a generation says about itself. The same on every rank.
struct StoredState {
  std::string generation;
  std::uint32_t ranks = 0;  // that wrote it
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  ShardEncoding encoding = ShardEncoding::kCompact;
  Durability durability = Durability::kFull;
  std::uint64_t iteration = 0;
  std::string program_hash;
  std::string engine_state;
  std::vector<Reason> layout_reasons;  // what the policy decided, and what it had measured; may be
                                       // empty
  std::vector<StoredRelation> relations;  // in the order of SaveRequest::images
  std::vector<std::string> builds_on;  // older generations whose files it uses, oldest first
  std::vector<NamedSection> sections;
  // False when the rank count is that of the writers (and the request did not ask for kBalanced):
  // each rank then receives exactly the groups that it saved, in order. True otherwise: ranks
  // receive disjoint parts, balanced by bytes, and the caller deals them anew.
  bool needs_redistribution = false;
};

// Null if there is none of that name.
const NamedSection* find_section(const StoredState& state, std::string_view name);

// Where loaded tuples go.
struct LoadSink {
  // Before the groups of a generation, on every rank with the same state. Called again when the
  // generation turned out to be damaged and an older one follows: forget everything received so
  // far. An error ends the load.
  std::function<Status(const StoredState&)> begin;
  // Local, but see settle: a group of relation `index` in its column order. A large set may come in
  // several groups of one prefix. Views stay valid during the call only. Arity 0: no call; see
  // StoredRelation::rows.
  std::function<Status(std::size_t index, const TupleGroup&)> accept;
  // Collective. Called once by every rank behind its last group of a generation, also after an
  // error: what is on its way between ranks arrives here. So accept may take part in exchanges that
  // this one meets. An error ends the load. Empty: nothing travels.
  std::function<Status()> settle = {};
  // After begin; the same on all ranks. Files of relations that are not wanted are not read. Empty:
  // all are wanted.
  std::function<bool(std::size_t index)> wants = {};
};

// Who reads what of a generation.
enum class ReadParts : std::uint8_t {
  kAsWritten,  // each rank what it saved, where the rank count is that of the writers
  kBalanced,  // always parts balanced by bytes, as on another rank count
};

struct LoadRequest {
  // Empty: the newest valid one.
  std::string generation;
  ReadParts parts = ReadParts::kAsWritten;
  // Generations that the caller has refused; they get no further look.
  std::vector<std::string> excluded;
  // Tests only: leaves out checks.
  ProtocolSteps steps;
};

struct LoadReport {
  StoredState state;
  std::vector<std::string>
      skipped;  // "gen-...: reason" for each newer generation that was passed over
  std::vector<std::string> notes;
  std::uint64_t local_rows = 0;
  std::uint64_t local_bytes = 0;
  double seconds = 0;
};

// Finds the newest valid generation (by epoch and sequence number, validated by content) and hands
// out its groups. NotFound: no committed generation at all (unfinished ones are named in the
// message). Corruption: there are generations, none is valid; the message lists why. Every block is
// verified before its groups are handed out.
Result<LoadReport> load_checkpoint(Comm& comm, Store& store, const LoadRequest& request,
                                   const LoadSink& sink);

// After redistribution: the relation on all ranks together must be what the manifest says.
// `local_rows` and `local_hash` are this rank's part. Corruption otherwise.
Status verify_relation(Comm& comm, const StoredRelation& stored, std::uint64_t local_rows,
                       const MultisetHash& local_hash);

// Remembers, in a side file of the store, that `generation` must not be chosen again while an older
// valid one exists. Rank 0 writes; failures to write are reported, not fatal.
Status remember_reject(Comm& comm, Store& store, const std::string& generation,
                       const std::string& reason);

enum class GenerationCondition : std::uint8_t {
  kValid,
  kUnfinished,
  kDamaged,
  kRejected,
  kBase,  // retired; only files on which newer generations build are left
};

// Whether the generation claims to be a checkpoint, sound or not.
constexpr bool was_committed(GenerationCondition condition) {
  return condition != GenerationCondition::kUnfinished && condition != GenerationCondition::kBase;
}

struct GenerationSummary {
  std::string name;
  GenerationCondition condition = GenerationCondition::kValid;
  std::string reason;  // why it is not kValid
  std::uint64_t iteration = 0;
  std::uint32_t ranks = 0;
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  Durability durability = Durability::kFull;
  std::uint64_t rows = 0;  // total and delta versions of all relations
  std::uint64_t bytes = 0;  // of all its own files
  std::uint64_t linked_bytes = 0;  // of the files of older generations that it uses
  std::vector<std::string> builds_on;  // those generations, oldest first
  std::string engine_state;
};

// Local (no Comm): every generation, newest first, judged by manifest and file sizes (not by
// content of the files).
Result<std::vector<GenerationSummary>> list_generations(Store& store);

// Local: whether a generation that was there is not any more. A running job removes those that
// newer ones supersede, also while they are looked at.
bool was_removed(Store& store, const std::string& generation);

// Local: the manifest's content, without relations' tuples; sections included.
Result<StoredState> inspect_generation(Store& store, const std::string& generation);

enum class VerifyDepth : std::uint8_t {
  kSizes,  // manifest, names, sizes
  kContent,  // every block decoded, rows counted, multiset hashes recomputed, padding and extra
             // files checked
};

struct VerifyReport {
  std::string generation;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t rows = 0;
  std::vector<std::string> problems;  // empty: all is well
};

// Local. Finds as many problems as it can; an error only if the store cannot be read at all.
Result<VerifyReport> verify_generation(Store& store, const std::string& generation,
                                       VerifyDepth depth);

// Local: all groups of relation `index` of a generation, shard after shard (for export). Verifies
// blocks on the way.
Status for_each_stored_group(Store& store, const std::string& generation, std::size_t index,
                             const GroupVisitor& visit);

}  // namespace stratalog
