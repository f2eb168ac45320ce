// SPDX-License-Identifier: Apache-2.0
// The kinds of values as programs, files and messages call them. Pure.
#pragma once

#include "datalog/program.h"

namespace stratalog::datalog {

constexpr const char* value_kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return "number";
    case ValueKind::kUnsigned:
      return "unsigned";
    case ValueKind::kFloat:
      return "float";
    case ValueKind::kSymbol:
      return "symbol";
    case ValueKind::kRecord:
      return "record";
  }
  return "unknown";
}

constexpr const char* value_kind_with_article(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kUnsigned:
      return "an unsigned";
    case ValueKind::kFloat:
      return "a float";
    case ValueKind::kSymbol:
      return "a symbol";
    case ValueKind::kRecord:
      return "a record";
  }
  return "unknown";
}

}  // namespace stratalog::datalog
