// SPDX-License-Identifier: Apache-2.0
// How an ascending set of cells is best written into mail: as cells, or cut at multiples of 2^16
// into 16-bit offsets and bitmaps (the containers of Roaring, Chambi et al. 2016). Pure; local.
#pragma once

#include <cstdint>
#include <span>

#include "model/cell.h"
#include "route/mail_format.h"

namespace stratalog {

// Appends `prefix` x `set` as groups, in the smallest form. `set` is ascending, distinct and not
// empty.
void encode_set(int stream, std::span<const Cell> prefix, std::span<const Cell> set,
                MailWords& out);

// Words that encode_set would write if it wrote the set as cells.
std::uint64_t array_words(std::size_t prefix_cells, std::size_t elements);

}  // namespace stratalog
