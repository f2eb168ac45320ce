// SPDX-License-Identifier: Apache-2.0
// Checks of the arguments of collective calls, shared by all implementations of Comm so that they
// refuse the same things with the same words. Pure; local: a rank whose call is refused must still
// join the call with zero bytes.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "comm/comm.h"

namespace stratalog {

// InvalidArgument unless 0 <= root < size.
Status check_root(int root, int size);

// InvalidArgument unless there is one count per rank and the counts add up to `bytes`.
Status check_exchange(std::uint64_t bytes, std::span<const std::uint64_t> counts, int size);

// InvalidArgument unless the parcels go by ascending rank of the group, hold a byte at least each
// and add up to `bytes`.
Status check_parcels(std::uint64_t bytes, std::span<const Parcel> parcels, int size);

}  // namespace stratalog
