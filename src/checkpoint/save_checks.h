// SPDX-License-Identifier: Apache-2.0
// What can be said of a request to save without writing anything: whether it makes sense, and
// whether it is the same on all ranks. Pure; local.
#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"

namespace stratalog {

// `mode` is the one that was chosen for the save.
Status check_request(const SaveRequest& request, CheckpointMode mode, const WriterOptions& options);

// The same on ranks whose requests list the same relations, parts and encoding.
std::uint64_t image_list_digest(const SaveRequest& request, CheckpointMode mode);

}  // namespace stratalog
