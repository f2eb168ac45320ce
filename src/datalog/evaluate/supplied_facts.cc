// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/supplied_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "datalog/facts/remap_columns.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {
namespace {

Status check_shape(const Program& program, std::vector<TupleColumns>& supplied) {
  if (supplied.size() != program.relations.size())
    return Status::invalid_argument(fmt::format("facts for {} relations; the program has {}",
                                                supplied.size(), program.relations.size()));
  for (RelationId r = 0; r < supplied.size(); ++r) {
    TupleColumns& tuples = supplied[r];
    const std::size_t arity = program.relations[r].attributes.size();
    if (tuples.columns.empty() && tuples.rows == 0) tuples.columns.resize(arity);
    const bool fits = tuples.columns.size() == arity &&
                      std::all_of(tuples.columns.begin(), tuples.columns.end(),
                                  [&](const auto& c) { return c.size() == tuples.rows; });
    if (!fits)
      return Status::invalid_argument(
          fmt::format("facts of relation `{}`: expected {} columns of equal length",
                      program.relations[r].name, arity));
  }
  return Status::ok();
}

}  // namespace

Result<std::vector<TupleColumns>> take_supply(Comm& comm, const Program& program,
                                              const FactSupply& supply,
                                              ValueDictionary& dictionary) {
  NewValues values(dictionary);
  auto given = supply(values);
  std::vector<TupleColumns> supplied;
  Status mine = given.status();
  if (mine.is_ok()) {
    supplied = std::move(given).value();
    mine = check_shape(program, supplied);
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, mine));
  STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                             agree_on_new_values(comm, dictionary, values));
  for (RelationId r = 0; r < supplied.size(); ++r)
    remap_columns(program.relations[r], remapping, supplied[r]);
  return supplied;
}

}  // namespace stratalog::datalog
