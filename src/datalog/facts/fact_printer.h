// SPDX-License-Identifier: Apache-2.0
// FactPrinter: sorted rows of order codes to text as Soufflé prints it: fields between delimiters,
// floats with 17 significant digits (so that they read back exactly), symbols as they are or in RFC
// 4180 quotes. Local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datalog/facts/fact_format.h"
#include "datalog/facts/value_order.h"
#include "datalog/program.h"

namespace stratalog::datalog {

class FactPrinter {
 public:
  // All arguments must outlive the printer; `orders` are those of the relation's columns.
  FactPrinter(const Relation& relation, const FactFormat& format, const ValueDictionary& dictionary,
              std::span<const ColumnOrder> orders);

  // The attribute names, or what stands for them, as one line.
  std::string header() const;
  // Appends one line a row. Sorted rows repeat their first columns; those are not formatted again.
  void print(std::span<const OrderCode> rows, std::string& text);

 private:
  struct Column {
    OrderCode code = 0;
    bool is_set = false;
    std::string text;  // of `code`, with what follows it: a delimiter or a line break
  };

  void format_value(std::size_t column, OrderCode code, std::string& text) const;
  void format_structured(std::size_t column, Cell cell, std::string& text) const;

  const Relation& relation_;
  const FactFormat& format_;
  const ValueDictionary& dictionary_;
  std::span<const ColumnOrder> orders_;
  std::vector<Column> columns_;
};

// A float as in Soufflé's files.
void append_float(double value, std::string& text);

}  // namespace stratalog::datalog
