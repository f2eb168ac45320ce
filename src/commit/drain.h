// SPDX-License-Identifier: Apache-2.0
// Draining: a committed generation is copied from staging directories to the directory where it
// belongs. A file gets its name there when its bytes are durable, so a file that has its name and
// its length has arrived; the manifest comes last, by the usual commit protocol, and is the durable
// mark that all of it has. Copying twice, or from two jobs at once, changes nothing. Knows no
// threads. Local.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "commit/generations.h"
#include "commit/publish.h"
#include "place/stage_plan.h"
#include "write/store.h"

namespace stratalog {

// Whether `home` has the generation, drained or written there.
bool is_drained(Store& home, const GenerationId& id);

// The data files in the directory of a generation, ascending; none if there is no directory.
Result<std::vector<StagedFile>> data_files_in(Store& store, const GenerationId& id);
// The files that a generation has itself, as its manifest says.
std::vector<StagedFile> own_files_of(const Manifest& manifest);

// Copies those of `files` that are not at home yet; makes the generation's directory there. `node`
// sets apart what several nodes are about to copy. NotFound: a file is in neither place.
// AlreadyExists: a later job has taken over. Memory: 1 MiB.
Status drain_files(Store& stage, Store& home, const GenerationId& id,
                   std::span<const StagedFile> files, int node, const CommitRules& rules);

// The first of `files` from `from` on that is not at home in its full length; files.size(): none.
Result<std::size_t> first_not_arrived(Store& home, const GenerationId& id,
                                      std::span<const StagedFile> files, std::size_t from);

// All files have arrived: the manifest follows. Generations on which it builds must be there.
Status publish_drained(Store& home, const ManifestOnDisk& staged, const CommitRules& rules);

// All of it, where one stage has what home has not. OK if it is there already. Corruption: what is
// staged is not what its manifest says, and never will be.
Status drain_generation(Store& stage, Store& home, const GenerationId& id,
                        const CommitRules& rules);

}  // namespace stratalog
