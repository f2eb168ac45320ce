// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/schema_json.h"

#include <nlohmann/json.hpp>

#include "datalog/relation_storage.h"
#include "datalog/value_kind_name.h"

namespace stratalog::datalog {
namespace {

using Json = nlohmann::json;

const char* form_name(StructureForm form) {
  switch (form) {
    case StructureForm::kRecord:
      return "record";
    case StructureForm::kAlgebraic:
      return "algebraic";
    case StructureForm::kEnumeration:
      return "enumeration";
  }
  return "";
}

Json attributes_json(const std::vector<Attribute>& attributes) {
  Json array = Json::array();
  for (const Attribute& attribute : attributes) {
    array.push_back({{"name", attribute.name},
                     {"type", attribute.type_name},
                     {"kind", value_kind_name(attribute.kind)}});
    if (attribute.structure != kNoStructure) array.back()["structure"] = attribute.structure;
  }
  return array;
}

}  // namespace

Json schema_to_json(const Program& program) {
  Json relations = Json::array();
  for (const Relation& relation : program.relations) {
    relations.push_back(
        {{"name", relation.name}, {"attributes", attributes_json(relation.attributes)}});
    if (is_equivalence(relation)) relations.back()["equivalence"] = true;
  }
  Json structures = Json::array();
  const std::vector<Structure> none;  // of programs that are made by hand
  for (const Structure& structure : program.structures ? *program.structures : none) {
    Json branches = Json::array();
    for (const Branch& branch : structure.branches) {
      branches.push_back({{"name", branch.name}, {"fields", attributes_json(branch.fields)}});
      if (structure.form != StructureForm::kEnumeration) branches.back()["shape"] = branch.shape;
    }
    structures.push_back({{"name", structure.name},
                          {"form", form_name(structure.form)},
                          {"branches", std::move(branches)}});
  }
  return {{"relations", std::move(relations)}, {"structures", std::move(structures)}};
}

}  // namespace stratalog::datalog
