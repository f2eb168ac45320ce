// SPDX-License-Identifier: Apache-2.0
// The parts of an output file that one rank writes alone: groups, attributes, empty column
// datasets, symbols. For hdf5_*.cc files only. Local.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/facts/fact_writer.h"
#include "datalog/facts/hdf5_errors.h"

namespace stratalog::datalog {

// Maps order codes of symbols to positions in the file's dataset of strings.
struct SymbolPositions {
  std::vector<OrderCode> used;  // ascending order codes that occur in the relation
  std::vector<std::uint32_t> of_code;  // by order code; meaningful for used ones
};

// What a column is in memory and in the file.
hid_t column_memory_type(ValueKind kind);
hid_t column_file_type(ValueKind kind);

// Attributes. write_signed: one of int64 for each number, which is its 64 bits.
Status write_text(hid_t object, const char* name, const std::string& text);
Status write_number(hid_t object, const char* name, std::uint64_t number);
Status write_signed(hid_t object, const char* name, const std::vector<std::uint64_t>& numbers);
// The attributes that say what a relation is.
Status describe_relation(hid_t group, const SortedRelation& sorted);
// The dataset of strings.
Status write_symbols(hid_t group, const SortedRelation& sorted, const ColumnOrder& order,
                     const SymbolPositions& positions);

// The name of a column's dataset inside the relation's group, and of the dataset of strings, which
// no attribute can have.
inline constexpr const char* kSymbolsDataset = "symbols:";

// Creates everything but the columns' contents in the existing, empty file at `path`. Local, on one
// rank.
Status lay_out_file(const std::string& path, const SortedRelation& sorted,
                    const SymbolPositions& positions);

}  // namespace stratalog::datalog
