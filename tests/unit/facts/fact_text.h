// SPDX-License-Identifier: Apache-2.0
// What the tests of fact files share: relations in one line, files in memory, tuples as text.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/facts/tuple_columns.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"
#include "write/memory_store.h"

namespace stratalog::datalog {

// "x:number y:symbol"; types other than the four are subtypes of number.
inline Relation make_relation(const std::string& name, std::string_view attributes) {
  Relation relation;
  relation.name = name;
  while (!attributes.empty()) {
    const std::string_view one = attributes.substr(0, attributes.find(' '));
    const std::size_t colon = one.find(':');
    Attribute attribute;
    attribute.name = one.substr(0, colon);
    attribute.type_name = one.substr(colon + 1);
    if (attribute.type_name == "unsigned") attribute.kind = ValueKind::kUnsigned;
    if (attribute.type_name == "float") attribute.kind = ValueKind::kFloat;
    if (attribute.type_name == "symbol") attribute.kind = ValueKind::kSymbol;
    relation.attributes.push_back(attribute);
    attributes.remove_prefix(std::min(attributes.size(), one.size() + 1));
  }
  return relation;
}

inline IoDirective make_directive(IoAction action,
                                  std::map<std::string, std::string> parameters = {}) {
  return {.action = action,
          .parameters = std::move(parameters),
          .place = {.file = "program.dl", .line = 7, .column = 1}};
}

inline void put_file(Store& store, const std::string& path, std::string_view text) {
  auto file = store.open(path, OpenMode::kCreateExclusive);
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  ASSERT_TRUE(file.value()->write_at(0, std::as_bytes(std::span(text))).is_ok());
  ASSERT_TRUE(file.value()->close().is_ok());
}

inline std::string get_file(Store& store, const std::string& path) {
  auto file = store.open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status().to_string();
  std::string text(file.value()->size_bytes().value(), '\0');
  EXPECT_TRUE(file.value()->read_at(0, std::as_writable_bytes(std::span(text))).is_ok());
  return text;
}

}  // namespace stratalog::datalog
