// SPDX-License-Identifier: Apache-2.0
// warm_memory: a benchmark in a virtual machine pays for memory that nobody has used for a while:
// the host has taken it back, and hands it out again a page at a time, at a tenth of the speed of
// memory (0.4 GB/s, and 5.3 where it was used just before). Whichever strategy comes after a pause
// would pay that for all. Local.
#pragma once

#include <cstdint>

namespace stratalog {

// Touches so much memory and frees it, so that who allocates next finds it at hand; no more than
// three quarters of a fair share of what is free, among `sharers` processes of this machine.
// Without memory, nothing.
void warm_memory(std::uint64_t bytes, int sharers);

}  // namespace stratalog
