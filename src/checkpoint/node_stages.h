// SPDX-License-Identifier: Apache-2.0
// The steps that ranks take together where each node has a staging directory of its own: the
// folders of a generation are made and sealed in every stage, every node drains what lies in its
// own, and rank 0 publishes at home what has arrived from all. Plans are made by
// place/stage_plan.h. Every function is collective unless marked local, and ends in one verdict.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "comm/comm.h"
#include "commit/protocol_steps.h"
#include "commit/staged_store.h"
#include "commit/vocabulary.h"
#include "write/store.h"

namespace stratalog {

// The stages behind `store`, if they lie on several nodes; null otherwise. Local.
StagedStore* stages_of_nodes(Store& store);

// Rank 0 has claimed the store: all nodes see the same one. InvalidArgument if not.
Status check_home_is_shared(Comm& comm, StagedStore& store);
// Every node has a stage of its own. InvalidArgument, with advice, where several were given one
// folder: each would drain, free and miss what the others put there.
Status check_stages_are_apart(Comm& comm, StagedStore& store);
// Before a generation begins: every stage has room for it. NoSpace: one has not, because what waits
// there cannot be drained.
Status make_room_in_stages(Comm& comm, StagedStore& store);
// Rank 0 has begun the generation: its folder is in every stage, durably.
Status begin_in_stages(Comm& comm, StagedStore& store, const GenerationId& id,
                       Durability durability);
// All files are durable: so are their names, in every stage.
Status seal_in_stages(Comm& comm, StagedStore& store, const GenerationId& id, Durability durability,
                      const ProtocolSteps& steps);
// Removes what lies of a generation in this rank's stage, if it looks after one. Local.
void discard_in_stage(StagedStore& store, const GenerationId& id);

// Until everything that was staged has been drained and published. The first error because of
// which it is not. What draining had to say on all nodes is told by rank 0's store.
Status settle_stages(Comm& comm, StagedStore& store);

// What an earlier job left: generations newer than the newest at home of which every file is at
// home or in the stage of some node of this job are drained and published, oldest first; of others
// the reason why they cannot be is returned on rank 0. To be called before anything is loaded:
// ranks cannot read each other's stages. An error of a copy leaves the generation where it is.
Result<std::vector<std::string>> recover_stages(Comm& comm, StagedStore& store,
                                                Durability durability);

}  // namespace stratalog
