// SPDX-License-Identifier: Apache-2.0
// write_facts: a relation to a file, sorted by its values, byte for byte the same at any number of
// ranks. Ranks sort by range and write their parts of one temporary file, which then takes its name
// in one step. HDF5 is reached through a function, because this room cannot see it; .printsize is
// the command line's business.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/facts/sorted_ranges.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/facts/tuple_source.h"
#include "datalog/facts/value_order.h"
#include "datalog/program.h"
#include "model/tuple_group.h"
#include "write/store.h"

namespace stratalog::datalog {

// What an Hdf5Writer puts into a file.
struct SortedRelation {
  const Relation& relation;
  const ValueDictionary& dictionary;
  std::span<const ColumnOrder> orders;
  const TupleSource& source;  // not to be used for arity 0
  std::uint64_t total_rows = 0;  // of all ranks
  SortLimits limits;
};

// Collective. Fills the file at `path`, which exists and is empty. The same Status on all ranks.
using Hdf5Writer =
    std::function<Status(Comm& comm, const std::string& path, const SortedRelation& sorted)>;

struct WriteOptions {
  SortLimits limits;
  Hdf5Writer hdf5;  // empty: IO=hdf5 is not supported
};

struct WrittenFacts {
  std::string path;  // as a user would type it; empty for IO=stdout
  std::uint64_t rows = 0;  // of all ranks
  std::uint64_t bytes = 0;  // of the file; 0 for IO=hdf5
  std::string console;  // IO=stdout: what to print, on rank 0
};

// Collective. Before anything is computed: whether the program's .output files can be made as far
// as that can be known, which is their format, where they go, and that no two go to one place.
// InvalidArgument, NotSupported or NotFound with the directive's place, the same on all ranks.
Status check_outputs(Comm& comm, Store& store, const Program& program,
                     const WriteOptions& options = {});

// Collective. Every tuple must be on exactly one rank, once; arity 0: present if any rank has a
// row. `store` is the output directory, `order` belongs to the dictionary of the cells. Errors, the
// same on all ranks: InvalidArgument, NotFound, NoSpace or IoError, naming the file; an older file
// of that name is then untouched.
Result<WrittenFacts> write_facts(Comm& comm, Store& store, const Relation& relation,
                                 const IoDirective& directive, ValueOrder& order,
                                 const TupleColumns& tuples, const WriteOptions& options = {});
// The same for a relation that is walked group by group, in bounded memory.
Result<WrittenFacts> write_facts(Comm& comm, Store& store, const Relation& relation,
                                 const IoDirective& directive, ValueOrder& order,
                                 const RelationImage& image, const WriteOptions& options = {});

// The same for rows of order codes.
Result<WrittenFacts> write_facts(Comm& comm, Store& store, const Relation& relation,
                                 const IoDirective& directive, ValueOrder& order,
                                 const TupleSource& source, const WriteOptions& options = {});

}  // namespace stratalog::datalog
