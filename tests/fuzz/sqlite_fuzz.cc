// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of SQLite facts: no bytes may crash it, and every row has a cell in each
// column.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "datalog/facts/sqlite_facts.h"

namespace stratalog::datalog {
namespace {

void fuzz(std::span<const std::byte> image) {
  Relation relation;
  relation.name = "r";
  relation.attributes = {
      {.name = "n", .type_name = "number", .kind = ValueKind::kNumber},
      {.name = "u", .type_name = "unsigned", .kind = ValueKind::kUnsigned},
      {.name = "f", .type_name = "float", .kind = ValueKind::kFloat},
      {.name = "s", .type_name = "symbol", .kind = ValueKind::kSymbol},
      {.name = "l", .type_name = "L", .kind = ValueKind::kRecord, .structure = 0}};
  Structure list{.name = "L", .form = StructureForm::kRecord, .branches = {}};
  list.branches.push_back(
      {.name = "", .fields = {relation.attributes[3], relation.attributes[4]}, .shape = 0});
  relation.structures = std::make_shared<const std::vector<Structure>>(1, list);
  ValueDictionary dictionary;
  dictionary.records().shape({CellClass::kSymbol, CellClass::kRecord});
  NewValues values(dictionary);
  const auto facts = read_sqlite_facts(relation, "r", image, values);
  if (!facts.is_ok() || facts.value().problem) return;
  for (const auto& column : facts.value().tuples.columns)
    if (column.size() != facts.value().tuples.rows) std::abort();
}

}  // namespace
}  // namespace stratalog::datalog

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stratalog::datalog::fuzz(std::as_bytes(std::span(data, size)));
  return 0;
}
