// SPDX-License-Identifier: Apache-2.0
#include "bench/case_order.h"

#include <algorithm>

namespace stratalog {

std::vector<std::size_t> case_order(std::size_t cases, std::uint64_t repeat) {
  std::vector<std::size_t> order;
  if (cases == 0) return order;
  const bool is_odd = cases % 2 != 0;
  const std::size_t row = (is_odd ? repeat / 2 : repeat) % cases;
  // 0, 1, n - 1, 2, n - 2, ...: neighbours differ by another number each time.
  for (std::size_t i = 0; i < cases; ++i) {
    const std::size_t at = i % 2 != 0 ? (i + 1) / 2 : (cases - (i / 2)) % cases;
    order.push_back((at + row) % cases);
  }
  if (is_odd && repeat % 2 != 0) std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace stratalog
