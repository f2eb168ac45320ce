// SPDX-License-Identifier: Apache-2.0
// In which order a benchmark measures its cases, repeat after repeat. What one leaves behind (a
// disk's credit, memory that a host has taken back from its virtual machine meanwhile) is paid by
// the next, so none may always follow the same. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stratalog {

// The numbers below `cases`, for a repeat that counts from 0. A Williams design (E. J. Williams,
// 1949): in so many repeats as there are cases, each follows each other one exactly once; where
// their number is odd, in twice as many exactly twice.
std::vector<std::size_t> case_order(std::size_t cases, std::uint64_t repeat);

}  // namespace stratalog
