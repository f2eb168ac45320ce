// SPDX-License-Identifier: Apache-2.0
// From a manifest to what callers see: StoredState, and the summaries of listings. Local.
#pragma once

#include "checkpoint/checkpoint.h"
#include "commit/manifest.h"

namespace stratalog {

// Without sections' content and needs_redistribution.
StoredState state_of(const Manifest& manifest);

// Reads all sections into `state`.
Status read_sections(Store& store, const Manifest& manifest, const ProtocolSteps& steps,
                     StoredState& state);

}  // namespace stratalog
