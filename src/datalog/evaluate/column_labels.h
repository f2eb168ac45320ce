// SPDX-License-Identifier: Apache-2.0
// column_labels: names and kinds of a relation's columns, as self-describing files show them. Pure.
#pragma once

#include "datalog/program.h"
#include "datalog/value_kind_name.h"
#include "write/column_label.h"

namespace stratalog::datalog {

inline ColumnLabels column_labels(const Relation& relation) {
  ColumnLabels labels;
  for (const Attribute& attribute : relation.attributes)
    labels.push_back({.name = attribute.name, .kind = value_kind_name(attribute.kind)});
  return labels;
}

}  // namespace stratalog::datalog
