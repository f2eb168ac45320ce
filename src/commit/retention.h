// SPDX-License-Identifier: Apache-2.0
// Retention: which generations may go, and how they go so that no crash leaves one that looks
// complete and is not. Also adoption: what a new job makes durable of what it found, before it
// removes anything older. Local; rank 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "commit/generations.h"
#include "commit/publish.h"
#include "write/store.h"

namespace stratalog {

// A file in the directory of a generation.
struct FileOfGeneration {
  GenerationId id;
  std::string name;
  friend auto operator<=>(const FileOfGeneration&, const FileOfGeneration&) = default;
};

// A generation as retention sees it.
struct KnownGeneration {
  GenerationId id;
  bool has_manifest = false;
  bool is_valid = false;  // manifest and sizes
  // Files of older generations that its manifest names.
  std::vector<FileOfGeneration> needs = {};
  // What its manifest remembers of costs, whether its files are what they should be or not.
  std::optional<LearnedRecord> learned = std::nullopt;
  // What this job has left of it, if it has already removed the manifest: sorted names.
  std::optional<std::vector<std::string>> left = std::nullopt;
};

// The files that `manifest` uses but does not own.
std::vector<FileOfGeneration> files_needed(const Manifest& manifest);

// All files of a generation but `keep` (sorted) go, its manifest first; and its directory, if
// nothing is kept.
struct Removal {
  GenerationId id;
  std::vector<std::string> keep;
  friend bool operator==(const Removal&, const Removal&) = default;
};

// Pure. What goes, newest first (so that whatever builds on older files is hidden before they go):
// everything older than the `keep`-th newest valid generation, and unfinished ones of earlier
// epochs, save the files that a generation which stays needs. Never one of our own epoch that was
// not committed (it may be under way), never anything while fewer than `keep` are valid except
// unfinished ones. `known` is sorted newest first.
std::vector<Removal> plan_retention(const std::vector<KnownGeneration>& known, std::uint32_t keep,
                                    std::uint32_t own_epoch);

// Makes the newest `keep` valid generations of earlier jobs durable: a process that died between
// the rename and the directory fsync leaves one that is visible but not durable. Returns all
// generations found.
Result<std::vector<KnownGeneration>> adopt_generations(Store& store, const Hash128& store_id,
                                                       std::uint32_t keep,
                                                       const CommitRules& rules);

// Carries out one removal: hides the manifest, makes that durable, removes files and, if nothing is
// kept, the directory.
Status remove_generation(Store& store, const Removal& removal, const CommitRules& rules);

}  // namespace stratalog
