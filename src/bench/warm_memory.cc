// SPDX-License-Identifier: Apache-2.0
#include "bench/warm_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include "bench/large_pages.h"

namespace stratalog {

void warm_memory(std::uint64_t bytes, int sharers) {
  const auto page = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  const auto free_pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_AVPHYS_PAGES), 0L));
  const std::uint64_t most =
      free_pages / 4 * 3 / static_cast<std::uint64_t>(std::max(sharers, 1)) * page;
  const auto count = static_cast<std::size_t>(std::min(bytes, most));
  if (count == 0) return;
  try {
    LargePages<std::byte> memory;
    std::byte* const block = memory.allocate(count);
    for (std::size_t at = 0; at < count; at += page) {
      auto* const touched = static_cast<volatile std::byte*>(block + at);
      *touched = std::byte{1};
    }
    memory.deallocate(block, count);
  } catch (const std::bad_alloc&) {
    return;  // it will be seen where memory is needed
  }
}

}  // namespace stratalog
