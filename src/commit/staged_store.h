// SPDX-License-Identifier: Apache-2.0
// StagedStore: a checkpoint directory whose new generations are written to a staging directory
// first (fast, near, perhaps not for ever) and then drained to where they belong, oldest first. It
// looks like one Store that holds both: a file is taken from the stage if it is there, else from
// home. STORE, epochs, lock and rejects lie at home only. At most two generations wait in the
// stage, and nothing goes from home before what replaces it has arrived there. One for each rank.
// On one node all ranks see the same two directories, and rank 0's drains. On several nodes each
// node has a stage that only its own ranks see (checkpoint/node_stages.h has the steps that they
// take together); all see home. Local; thread-compatible, its thread apart.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "commit/vocabulary.h"
#include "place/stage_plan.h"
#include "policy/checkpoint_mode.h"
#include "write/store.h"

namespace stratalog {

// Where a generation lies.
enum class StagePlace : std::uint8_t { kHome, kStage, kBoth };

class StagedStore : public Store {
 public:
  virtual StagePlace place_of(const std::string& generation) = 0;
  // Where staged generations lie, for messages.
  virtual std::string stage_root() const = 0;
  // Waits until everything that was staged has been drained. The error because of which it is not,
  // and will not be before another checkpoint has been staged.
  virtual Status settle() = 0;
  // What draining had to say since the last call: errors, and what was left behind.
  virtual std::vector<std::string> take_notes() = 0;
  virtual void add_note(std::string note) = 0;

  // What the steps of several nodes are made of.
  virtual const StageSeat& seat() const = 0;
  virtual Store& home() = 0;
  // The part of this node's stage that belongs to this directory; kMustExist: NotFound if there is
  // none.
  virtual Result<Store*> stage(RootMode mode) = 0;
  // Until there is room for one generation more. NoSpace: what waits cannot be drained.
  virtual Status wait_for_room() = 0;
  // Of several nodes, on those without rank 0, whose renaming of the manifest says the same: the
  // generation is committed, or may be; its way home begins.
  virtual void drain(const GenerationId& id) = 0;
};

enum class Draining : std::uint8_t {
  kBeside,  // by a thread of its own
  kInSettle,  // by settle() only, and where room is needed; for tests
};

// The staging directory may serve several checkpoint directories: each has a folder of its own in
// it, whose name (with the store's id in it) is given to `open_stage`, which opens or makes it; it
// opens the same every time, before it is first written to, too.
using StageOpener =
    std::function<Result<std::unique_ptr<Store>>(const std::string& name, RootMode mode)>;

// Over how many files ranks that share files are spread (as LayoutWishes::files), where `wished` is
// what was asked for (0: nothing): in the stages of several nodes no file has ranks of two nodes.
// NotSupported, with the reason, where that cannot be. `node_of_rank` is empty or has the node of
// every rank. Pure.
Result<std::uint32_t> plan_stage_files(CheckpointMode mode, std::uint32_t wished,
                                       std::span<const int> node_of_rank);

// `stage_root` is for messages. Nothing is opened, made or drained before it is needed: a reader
// changes nothing. A writer (who claims an epoch) drains what an earlier job left in the stage; on
// several nodes recover_stages does.
std::unique_ptr<StagedStore> open_staged_store(std::unique_ptr<Store> home, StageOpener open_stage,
                                               std::string stage_root, Draining draining,
                                               const StageSeat& seat = {});

}  // namespace stratalog
