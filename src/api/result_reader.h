// SPDX-License-Identifier: Apache-2.0
// Reads a relation that a run has left in memory into columns of the caller's: 64-bit values, or
// cells. Changes nothing. Local.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/stratalog.h"
#include "base/result.h"
#include "datalog/evaluate/kept_run.h"
#include "datalog/program.h"

namespace stratalog {

enum class ColumnForm : std::uint8_t {
  kValues,  // numbers as 64 bits, symbols and structured values as 32-bit cells
  kCells,  // all as 32-bit cells
};

// This rank's tuples.
Result<std::uint64_t> count_tuples(const datalog::KeptRun& run, datalog::RelationId relation);

// Tuples number `from` to `from + rows`, in the order of the image. InvalidArgument if there are
// not as many; some may be written then. Requires a column for each attribute.
Status read_tuples(const datalog::KeptRun& run, const datalog::Relation& relation,
                   datalog::RelationId id, std::uint64_t from, std::uint64_t rows, ColumnForm form,
                   std::span<const stratalog_column_out> columns);

// Whether read_tuples writes a column's values as 32-bit cells.
bool is_read_as_cells(const datalog::Attribute& attribute);

// The text of a symbol's or structured value's cell. InvalidArgument if there is none such.
Result<std::string> text_of_cell(const datalog::KeptRun& run, const datalog::Relation& relation,
                                 std::size_t column, Cell cell);

}  // namespace stratalog
