// SPDX-License-Identifier: Apache-2.0
// agree_on_values_in_order: what agree_on_new_values (value_agreement.h) is for values that were
// made, for values that were read. What is read has an order of its own, so nothing is sorted: new
// symbols and numbers get their ids in the order in which one reader would have met them. What is
// next to each other in a file is so in the sets, too. Collective.
#pragma once

#include <span>

#include "base/result.h"
#include "comm/comm.h"
#include "model/value_agreement.h"
#include "model/value_dictionary.h"

namespace stratalog {

// Collective. The ranks have read the same parts (files) in the same order, and of each part lower
// ranks have read what stands before that of higher ones. `ends`: the size of `mine` after each
// part. `shared` must be equal on all ranks and the dictionary that `mine` was made for; afterwards
// it is equal again, with ids that do not depend on the number of ranks, and `mine` is empty.
// New records are numbered by content, as in agree_on_new_values. One reduction if nothing is new.
// Ranks that share memory look into each other's symbols and numbers. Others send symbols them all
// to all if they are few, else first to the rank that their hash names, which keeps the first one
// of each. Errors, equal on all ranks: as agree_on_new_values.
Result<CellRemapping> agree_on_values_in_order(Comm& comm, ValueDictionary& shared, NewValues& mine,
                                               std::span<const DictionarySize> ends);

}  // namespace stratalog
