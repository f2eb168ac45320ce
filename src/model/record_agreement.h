// SPDX-License-Identifier: Apache-2.0
// The part of both agreements on new values (value_agreement.h, ordered_agreement.h) that makes new
// records known to all ranks. New records may hold each other; they get their numbers level by
// level (first those that hold no new record) and by content within a level, so numbers depend
// neither on the number of ranks nor on which rank made a record first. Collective.
#pragma once

#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "model/value_dictionary.h"

namespace stratalog {

struct CellRemapping;

// The final cells of this rank's new records, by provisional cell - kProvisionalRecordBase.
// `fields` maps the symbols and numbers of `mine` to final cells; its records are not looked at.
// One allgather of all new records. Errors, equal on all ranks: NoSpace if there would be 2^30
// records.
Result<std::vector<Cell>> agree_on_new_records(Comm& comm, ValueDictionary& shared,
                                               const NewValues& mine, const CellRemapping& fields);

// The end of both agreements, when all ranks know each other's symbols and numbers and `known` has
// the final cells of this rank's: records, if any rank has new ones (`are_records`, equal on all
// ranks). Empties `mine`.
Result<CellRemapping> remap_new_values(Comm& comm, ValueDictionary& shared, NewValues& mine,
                                       CellRemapping known, bool are_records);

}  // namespace stratalog
