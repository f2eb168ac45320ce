// SPDX-License-Identifier: Apache-2.0
// agree_on_new_values: makes what single ranks met or computed known to all. The union of all
// ranks' new values is appended to the shared dictionary in ascending order of content, so ids
// depend neither on the number of ranks nor on which rank met a value first. Collective; the only
// code that changes a shared dictionary during evaluation.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "model/cell.h"
#include "model/value_dictionary.h"

namespace stratalog {

// From one rank's provisional cells to final ones. Final cells map to themselves.
struct CellRemapping {
  std::vector<Cell> symbols;  // by provisional cell - kProvisionalSymbolBase
  std::vector<Cell> wides;  // by provisional cell - kProvisionalWideBase
  std::vector<Cell> records;  // by provisional cell - kProvisionalRecordBase

  bool empty() const { return symbols.empty() && wides.empty() && records.empty(); }
  // For cells of a column or field of this class.
  Cell of(CellClass column, Cell cell) const {
    switch (column) {
      case CellClass::kSymbol:
        return symbol(cell);
      case CellClass::kRecord:
        return record(cell);
      case CellClass::kNumber:
        break;
    }
    return number(cell);
  }
  // For cells of symbol columns.
  Cell symbol(Cell cell) const {
    return is_provisional_symbol(cell) ? symbols[cell - kProvisionalSymbolBase] : cell;
  }
  // For cells of record columns. kNoRecordCell stays what it is.
  Cell record(Cell cell) const {
    return is_provisional_record(cell) && cell - kProvisionalRecordBase < records.size()
               ? records[cell - kProvisionalRecordBase]
               : cell;
  }
  // For cells of all other columns.
  Cell number(Cell cell) const {
    return is_provisional_wide(cell) ? wides[cell - kProvisionalWideBase] : cell;
  }
};

// Collective. `shared` must be equal on all ranks and the dictionary that `mine` was made for;
// afterwards it is equal again and `mine` is empty. Costs one allreduce if no rank has anything
// new, one allgather more if there is little, else a sample sort (each rank sorts its share of the
// union) and an allgather of the union; new records take one allgather more. Errors, equal on all
// ranks: NoSpace if the dictionary would hold 2^30 values of a sort, or a rank's new values
// overflowed.
Result<CellRemapping> agree_on_new_values(Comm& comm, ValueDictionary& shared, NewValues& mine);

}  // namespace stratalog
