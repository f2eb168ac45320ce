// SPDX-License-Identifier: Apache-2.0
// Ascending order of many texts by their bytes, as std::string_view compares them. Eight bytes at a
// time: a text is sorted by the number that its next bytes make, and only where those are equal by
// what follows, so that names that begin alike are not compared from their beginning again and
// again. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stratalog {

// The places of `texts` in ascending order of the texts; equal ones in the order of their places.
std::vector<std::uint64_t> order_of_texts(std::span<const std::string_view> texts);

void sort_texts(std::vector<std::string_view>& texts);

}  // namespace stratalog
