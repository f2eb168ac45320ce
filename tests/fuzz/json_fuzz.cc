// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of JSON facts: no text may crash it, and every row has a cell in each column.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "datalog/facts/json_facts.h"

namespace stratalog::datalog {
namespace {

void fuzz(std::string_view text) {
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
  const ParsedFacts facts = parse_json_facts(relation, text, values);
  if (facts.problem) return;
  for (const auto& column : facts.tuples.columns)
    if (column.size() != facts.tuples.rows) std::abort();
}

}  // namespace
}  // namespace stratalog::datalog

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stratalog::datalog::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
