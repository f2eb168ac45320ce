// SPDX-License-Identifier: Apache-2.0
// join_tables: ranks that share memory have one table of symbols and one of large numbers instead
// of one each. Only the agreements on new values change it, and only while all ranks are in one:
// what all ranks have read of it so far, they have read before they meet, and they look again after
// the next meeting. Collective.
#pragma once

#include "base/memory_end.h"
#include "comm/comm.h"
#include "model/value_dictionary.h"

namespace stratalog {

// Requires comm.shares_memory() and equal dictionaries. Those that are joint stay so.
Status join_tables(Comm& comm, ValueDictionary& shared);

// One rank's change of the joint tables, `change`, which returns a Status, while the others wait.
// All ranks get its verdict, NoSpace with `no_memory` where memory ended.
template <typename Change>
Status change_for_all(Comm& comm, std::string_view no_memory, Change&& change) {
  return agree(comm, comm.rank() == 0 ? or_no_space(no_memory, change) : Status::ok());
}

}  // namespace stratalog
