// SPDX-License-Identifier: Apache-2.0
// load_facts: a fact file to tuples, read by all ranks together. Each rank parses the lines that
// begin in its share of the bytes (gzip and RFC 4180 files: one rank reads all), then the ranks
// agree on new values and on what was wrong. Does not deal tuples to their owners; every tuple is
// on the rank that happened to read it.
#pragma once

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"
#include "write/store.h"

namespace stratalog::datalog {

// Collective. `store` is the directory of fact files; `dictionary` must be equal on all ranks and
// is so afterwards, with ids that do not depend on the number of ranks. Repeated lines give
// repeated tuples. Errors, the same on all ranks: NotFound for a missing file (with what to do),
// InvalidArgument with the first ten malformed lines ("file:line: field N (attribute `x`, type
// number): expected ..., found ..."), Corruption for a damaged gzip file, IoError. Nothing is added
// to the dictionary then.
Result<TupleColumns> load_facts(Comm& comm, Store& store, const Relation& relation,
                                const IoDirective& directive, ValueDictionary& dictionary);

}  // namespace stratalog::datalog
