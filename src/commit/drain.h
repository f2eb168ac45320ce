// SPDX-License-Identifier: Apache-2.0
// Draining: one committed generation is copied from a staging directory to the directory where it
// belongs, by the same commit protocol as if it had been written there. Its manifest there, renamed
// and fsynced last, is the durable mark that all of it has arrived. Knows no threads. Local.
#pragma once

#include "base/status.h"
#include "commit/publish.h"
#include "commit/vocabulary.h"
#include "write/store.h"

namespace stratalog {

// Whether `home` has the generation, drained or written there.
bool is_drained(Store& home, const GenerationId& id);

// Copies `id` from `stage` to `home`; what an earlier attempt left is written anew. OK if it is
// there already. Generations on which it builds must have been drained before. Corruption: what is
// staged is not what its manifest says, and never will be. AlreadyExists: a later job has taken
// over. Memory: 1 MiB.
Status drain_generation(Store& stage, Store& home, const GenerationId& id,
                        const CommitRules& rules);

}  // namespace stratalog
