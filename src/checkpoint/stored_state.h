// SPDX-License-Identifier: Apache-2.0
// From a manifest to what callers see: StoredState, and the summaries of listings. Local.
#pragma once

#include "checkpoint/checkpoint.h"
#include "commit/generations.h"
#include "commit/manifest.h"

namespace stratalog {

// InvalidArgument if that is no generation's name; else as read_manifest.
Result<ManifestOnDisk> open_generation(Store& store, const std::string& generation);

// Without sections' content and needs_redistribution.
StoredState state_of(const Manifest& manifest);

// Reads all sections into `state`.
Status read_sections(Store& store, const Manifest& manifest, const ProtocolSteps& steps,
                     StoredState& state);

}  // namespace stratalog
