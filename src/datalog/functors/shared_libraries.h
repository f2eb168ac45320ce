// SPDX-License-Identifier: Apache-2.0
// The functions behind a program's `.functor` declarations, out of shared libraries, with Soufflé's
// plain C signature in a domain of 64 bits: number is int64_t, unsigned uint64_t, float double,
// symbol const char*. Stateful ones are handed tables (souffle_tables.h) before their arguments,
// which are all RamDomain, as is the result. Runs whatever code the libraries hold. Local.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/external_function.h"
#include "datalog/program.h"

namespace stratalog::datalog {

struct LibrarySearch {
  // NAME for libNAME.so; none: "functors", as in Soufflé. A name with a slash is a file.
  std::vector<std::string> libraries;
  std::vector<std::string> directories;  // searched in order; none: the current one
};

// By number in Program::external_functors, empty where no rule calls the functor; they keep their
// libraries loaded. Reads nothing if nothing is called. NotFound, with the place of the
// declaration, for a library or function that is missing; NotSupported without libffi.
Result<std::vector<ExternalFunction>> load_external_functions(const Program& program,
                                                              const LibrarySearch& search);

}  // namespace stratalog::datalog
