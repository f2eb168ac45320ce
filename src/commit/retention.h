// SPDX-License-Identifier: Apache-2.0
// Retention: which generations may go, and how they go so that no crash leaves one that looks
// complete and is not. Also adoption: what a new job makes durable of what it found, before it
// removes anything older. Local; rank 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "commit/generations.h"
#include "commit/publish.h"
#include "write/store.h"

namespace stratalog {

// A generation as retention sees it.
struct KnownGeneration {
  GenerationId id;
  bool has_manifest = false;
  bool is_valid = false;  // manifest and sizes
};

// Pure. Which to remove: everything older than the `keep`-th newest valid one, and unfinished ones
// of earlier epochs. Never one of our own epoch without manifest (it may be under way), never
// anything while fewer than `keep` are valid except unfinished ones. `known` is sorted newest
// first.
std::vector<GenerationId> plan_retention(const std::vector<KnownGeneration>& known,
                                         std::uint32_t keep, std::uint32_t own_epoch);

// Makes the newest `keep` valid generations of earlier jobs durable: a process that died between
// the rename and the directory fsync leaves one that is visible but not durable. Returns all
// generations found.
Result<std::vector<KnownGeneration>> adopt_generations(Store& store, const Hash128& store_id,
                                                       std::uint32_t keep,
                                                       const CommitRules& rules);

// Removes one generation: hides its manifest, makes that durable, removes files and directory.
Status remove_generation(Store& store, const GenerationId& id, const CommitRules& rules);

}  // namespace stratalog
