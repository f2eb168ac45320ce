// SPDX-License-Identifier: Apache-2.0
// write_small_facts: many short files at once. A file that all ranks write costs them a dozen
// collective calls; here each file is one rank's, which gets its tuples with those of all the
// others in one exchange. Collective.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datalog/facts/fact_writer.h"

namespace stratalog::datalog {

struct FactOutput {
  const Relation* relation = nullptr;
  const IoDirective* directive = nullptr;
  std::uint64_t total_rows = 0;  // of all ranks, which agree on it
  std::function<RelationImage()> image;  // this rank's tuples; asked for at most once
};

// Which outputs write_small_facts() is for: short files of text, on several ranks. The same on all
// ranks. Pure.
std::vector<bool> are_small(int ranks, std::span<const FactOutput> outputs,
                            const WriteOptions& options);

// Collective. Writes those of `outputs` that are small, as write_facts() would, byte for byte, with
// its errors: of the first output of the first rank that fails. Outputs may have been written then.
Status write_small_facts(Comm& comm, Store& store, std::span<const FactOutput> outputs,
                         ValueOrder& order, const WriteOptions& options);

}  // namespace stratalog::datalog
