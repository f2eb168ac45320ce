// SPDX-License-Identifier: Apache-2.0
#include "base/allowed_cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace stratalog {

std::uint32_t allowed_core_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more cores than the set has room for; then those of the machine count.
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace stratalog
