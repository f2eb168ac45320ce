// SPDX-License-Identifier: Apache-2.0
// What generations a store holds and whether they are what their manifests say: listing by number,
// reading manifests, checking names, kinds and sizes of files. No file contents besides the
// manifest. Local; rank 0 calls these.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "commit/manifest.h"
#include "commit/protocol_steps.h"
#include "write/store.h"

namespace stratalog {

// All generation directories, newest first by (epoch, sequence) as numbers.
Result<std::vector<GenerationId>> list_generation_ids(Store& store);

inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 30;

// The manifest's text, which parse_manifest has accepted, and its content.
struct ManifestOnDisk {
  std::string text;
  Manifest manifest;
};

// NotFound: no manifest (an unfinished or removed generation). Corruption: damaged, of another
// store or of another generation.
Result<ManifestOnDisk> read_manifest(Store& store, const GenerationId& id, const Hash128& store_id,
                                     const ProtocolSteps& steps);

// Every file of the manifest is there, a regular file, and of the right size.
Status check_files(Store& store, const Manifest& manifest, const ProtocolSteps& steps);

// Both.
Result<ManifestOnDisk> read_valid_manifest(Store& store, const GenerationId& id,
                                           const Hash128& store_id, const ProtocolSteps& steps);

}  // namespace stratalog
