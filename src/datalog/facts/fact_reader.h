// SPDX-License-Identifier: Apache-2.0
// load_facts: fact files to tuples, read by all ranks together. Each rank parses the lines that
// begin in its share of the bytes of a file; small files, and those that cannot be cut (gzip, RFC
// 4180, JSON, SQLite), are read by one rank each. Then the ranks agree, once for many files, on
// what was wrong and on new values. Does not deal tuples to their owners; every tuple is on the
// rank that happened to read it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/facts/fact_text_source.h"
#include "datalog/facts/parsed_facts.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"
#include "write/store.h"

namespace stratalog::datalog {

// A file to read. Both must outlive the call.
struct FactInput {
  const Relation* relation = nullptr;
  const IoDirective* directive = nullptr;
  bool may_be_missing = false;  // then there are no tuples
};

// A part of the rows of a file that several ranks read.
struct RowShare {
  std::uint64_t part = 0;
  std::uint64_t parts = 1;

  std::uint64_t begin_of(std::uint64_t rows, std::uint64_t a_part) const {
    return (rows / parts * a_part) + (rows % parts * a_part / parts);
  }
};

// What an Hdf5Reader reads.
struct Hdf5Input {
  const Relation& relation;
  std::string path;  // for the system
  std::string group;  // of the relation in the file
  RowShare share;
};

// Local. A problem's line is a row of the file.
using Hdf5Reader = std::function<Result<ParsedFacts>(const Hdf5Input& input, NewValues& values)>;

struct ReadOptions {
  // For IO=stdin; counts on rank 0 only, which reads it to its end for the first input that has it;
  // later ones get nothing. Empty: they are not supported.
  FactTextSource standard_input;
  Hdf5Reader hdf5;  // empty: IO=hdf5 is not supported
  // Whether files of text that are missing have no tuples. Others (JSON, SQLite, HDF5) must be
  // there, as in Soufflé.
  bool missing_texts_are_empty = false;
  // What else the caller offers where such a file is missing: ends the error. Empty: nothing.
  std::string_view missing_advice = {};
};

// Collective. The tuples of each input. `store` is the directory of fact files; `dictionary` must
// be equal on all ranks and is so afterwards: new symbols and large numbers have ids in the order
// in which the files mention them, at any number of ranks. Repeated lines give repeated tuples.
// `missing`, if given, gets the names of files that were missing and may be, on rank 0; not of
// those that may be by the options. Errors, the same on all ranks: NotFound for a missing file
// (with what to do), InvalidArgument with the first ten malformed lines of a file ("file:line:
// field N (attribute `x`, type number): expected
// ..., found ..."), Corruption for a damaged gzip file, IoError. The dictionary may hold some
// values of the files then.
Result<std::vector<TupleColumns>> load_facts(Comm& comm, Store& store,
                                             std::span<const FactInput> inputs,
                                             ValueDictionary& dictionary,
                                             const ReadOptions& options = {},
                                             std::vector<std::string>* missing = nullptr);

// Collective. The same for one file.
Result<TupleColumns> load_facts(Comm& comm, Store& store, const Relation& relation,
                                const IoDirective& directive, ValueDictionary& dictionary,
                                const ReadOptions& options = {});

}  // namespace stratalog::datalog
