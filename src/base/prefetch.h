// SPDX-License-Identifier: Apache-2.0
// prefetch_for_reading: memory that will be looked at soon is asked for now. Local.
#pragma once

namespace stratalog {

// GCC takes functions that only prefetch for pure and drops calls of those that it has not inlined
// by then, and loops of such calls. The empty statement says that there is something to be done.
inline void prefetch_for_reading(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

}  // namespace stratalog
