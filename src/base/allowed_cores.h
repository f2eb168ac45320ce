// SPDX-License-Identifier: Apache-2.0
// How many cores the calling thread may run on (taskset, the binding of an MPI launcher), which may
// be fewer than the machine has. What containers grant comes on top: read/usable_cores.h. Local.
#pragma once

#include <cstdint>

namespace stratalog {

// At least one.
std::uint32_t allowed_core_count();

}  // namespace stratalog
