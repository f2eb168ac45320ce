// SPDX-License-Identifier: Apache-2.0
// load_facts: fact files to tuples, read by all ranks together. Each rank parses the lines that
// begin in its share of the bytes of a file; small files, and those that cannot be cut (gzip, RFC
// 4180, JSON, SQLite), are read by one rank each. Then the ranks agree, once for many files, on
// what was wrong and on new values. Does not deal tuples to their owners; every tuple is on the
// rank that happened to read it.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/facts/fact_text_source.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"
#include "write/store.h"

namespace stratalog::datalog {

// A file to read. Both must outlive the call.
struct FactInput {
  const Relation* relation = nullptr;
  const IoDirective* directive = nullptr;
};

// Collective. The tuples of each input. `standard_input` counts on rank 0 only, which reads it to
// its end for the first input with IO=stdin; later ones get nothing. Without it they are
// NotSupported. `store` is the directory of fact files; `dictionary` must
// be equal on all ranks and is so afterwards: new symbols and large numbers have ids in the order
// in which the files mention them, at any number of ranks. Repeated lines give repeated tuples.
// Errors, the same on all ranks: NotFound for a missing file (with what to do), InvalidArgument
// with the first ten malformed lines of a file ("file:line: field N (attribute `x`, type number):
// expected
// ..., found ..."), Corruption for a damaged gzip file, IoError. The dictionary may hold some
// values of the files then.
Result<std::vector<TupleColumns>> load_facts(Comm& comm, Store& store,
                                             std::span<const FactInput> inputs,
                                             ValueDictionary& dictionary,
                                             const FactTextSource& standard_input = {});

// Collective. The same for one file.
Result<TupleColumns> load_facts(Comm& comm, Store& store, const Relation& relation,
                                const IoDirective& directive, ValueDictionary& dictionary,
                                const FactTextSource& standard_input = {});

}  // namespace stratalog::datalog
