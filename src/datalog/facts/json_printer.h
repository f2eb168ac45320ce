// SPDX-License-Identifier: Apache-2.0
// JsonPrinter: sorted rows of order codes as tuples of JSON, in Soufflé's text: lists, or objects
// with the names of attributes. Works without recursion. Local.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/facts/fact_format.h"
#include "datalog/facts/value_order.h"
#include "datalog/program.h"

namespace stratalog::datalog {

class JsonPrinter {
 public:
  // All arguments must outlive the printer; `orders` are those of the relation's columns.
  JsonPrinter(const Relation& relation, const FactFormat& format, const ValueDictionary& dictionary,
              std::span<const ColumnOrder> orders)
      : relation_(relation), format_(format), dictionary_(dictionary), orders_(orders) {}

  // Appends one tuple, without what stands between tuples.
  void print(std::span<const OrderCode> row, std::string& text) const;

 private:
  struct Frame;
  void append_value(const Attribute& attribute, Cell cell, std::vector<Frame>& frames,
                    std::string& text) const;
  void append_key(std::string_view name, std::string& text) const;

  const Relation& relation_;
  const FactFormat& format_;
  const ValueDictionary& dictionary_;
  std::span<const ColumnOrder> orders_;
};

}  // namespace stratalog::datalog
