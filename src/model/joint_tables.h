// SPDX-License-Identifier: Apache-2.0
// join_tables: ranks that share memory have one table of symbols and one of large numbers instead
// of one each. Only the agreements on new values change it, and only while all ranks are in one:
// what all ranks have read of it so far, they have read before they meet, and they look again after
// the next meeting. Collective.
#pragma once

#include <string_view>

#include "base/memory_end.h"
#include "comm/comm.h"
#include "model/value_dictionary.h"

namespace stratalog {

// Requires comm.shares_memory() and equal dictionaries. Those that are joint stay so.
Status join_tables(Comm& comm, ValueDictionary& shared);

// What all ranks would do alike to their tables, `change`, which returns a Status: done by each, or
// to joint ones by one rank while the others wait. Those get its verdict, NoSpace where memory
// ended.
template <typename Change>
Status change_tables(Comm& comm, const ValueDictionary& shared, Change&& change) {
  if (!shared.is_joint()) return change();
  constexpr std::string_view kNoMemory = "not enough memory for new symbols and large numbers";
  return agree(comm, comm.rank() == 0 ? or_no_space(kNoMemory, change) : Status::ok());
}

}  // namespace stratalog
