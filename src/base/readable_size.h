// SPDX-License-Identifier: Apache-2.0
// Sizes in messages: "312.4 MiB", "48.3 KiB", "17 B". Pure.
#pragma once

#include <cstdint>
#include <string>

namespace stratalog {

std::string readable_size(std::uint64_t size_bytes);

}  // namespace stratalog
