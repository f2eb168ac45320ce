// SPDX-License-Identifier: Apache-2.0
// What readers of self-describing files are told of a column. Pure value.
#pragma once

#include <string>
#include <vector>

namespace stratalog {

struct ColumnLabel {
  std::string name;
  std::string kind;  // of its values: number, unsigned, float, symbol, record; empty: not known
};
using ColumnLabels = std::vector<ColumnLabel>;

}  // namespace stratalog
