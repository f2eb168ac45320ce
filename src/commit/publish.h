// SPDX-License-Identifier: Apache-2.0
// The steps that make a generation exist: its directory at the beginning, its manifest at the end.
// The rename of the manifest is the commit point. Local; rank 0 calls these between the collectives
// of checkpoint/save.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "commit/manifest.h"
#include "commit/protocol_steps.h"
#include "write/store.h"

namespace stratalog {

struct CommitRules {
  std::uint32_t epoch = 0;  // ours
  Durability durability = Durability::kFull;
  ProtocolSteps steps;
};

// Makes the generation's directory, durably.
Status begin_generation(Store& store, const GenerationId& id, const CommitRules& rules);

enum class PublishOutcome : std::uint8_t { kCommitted, kFailed, kUnknown };

struct PublishResult {
  PublishOutcome outcome = PublishOutcome::kFailed;
  bool superseded = false;  // a later job took the store over; this one must not go on
  Status status;  // why it is not kCommitted
};

// All data files are durable and all ranks agree. Writes MANIFEST.tmp, makes it durable, renames
// it, makes that durable.
PublishResult publish_manifest(Store& store, const GenerationId& id, std::string_view text,
                               const CommitRules& rules);

// Removes all files of the directory but `keep` (sorted names). Best effort; the first error.
Status discard_files(Store& store, const GenerationId& id, std::span<const std::string> keep);

// Removes what a failed save left: all files of the directory, then the directory. Best effort; the
// first error.
Status discard_generation(Store& store, const GenerationId& id);

}  // namespace stratalog
