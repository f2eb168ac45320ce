// SPDX-License-Identifier: Apache-2.0
// Where a sender's part lies in what a rank received.
#include <cassert>
#include <numeric>

#include "comm/comm.h"

namespace stratalog {

std::span<const std::byte> Received::from(int sender) const {
  const auto index = static_cast<std::size_t>(sender);
  assert(sender >= 0 && index < counts.size());
  const auto first = counts.begin();
  const std::uint64_t offset =
      std::accumulate(first, first + static_cast<std::ptrdiff_t>(index), std::uint64_t{0});
  return std::span<const std::byte>(data).subspan(offset, counts[index]);
}

}  // namespace stratalog
