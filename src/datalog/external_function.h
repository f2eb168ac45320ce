// SPDX-License-Identifier: Apache-2.0
// ExternalFunction: what stands behind a `.functor`: values in, a value out. Must give the same
// for the same, on every rank, as often as it is called. Ranks that are threads call it at once.
// ExternalTables: what stateful ones are handed, tables in which symbols and records are words.
// Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stratalog::datalog {

struct ExternalValue {
  std::uint64_t bits = 0;  // of a number, unsigned or float
  std::string text;  // of a symbol
};

// Words stand for values the way Soufflé has them: a number, unsigned or float is its bits, a
// symbol its number in the table, a record its reference, which is above those of its parts, and
// nil 0. The words are the table's own and mean nothing outside; it only grows.
class ExternalTables {
 public:
  ExternalTables() = default;
  ExternalTables(const ExternalTables&) = delete;
  ExternalTables& operator=(const ExternalTables&) = delete;
  virtual ~ExternalTables() = default;

  // Held by who uses the tables, from the first word of a call to its result.
  std::mutex& in_use() { return in_use_; }

  virtual std::uint64_t symbol(std::string_view text) = 0;
  // Nothing if there is no such symbol; valid as long as the tables.
  virtual std::optional<std::string_view> text(std::uint64_t symbol) const = 0;
  virtual std::uint64_t record(std::span<const std::uint64_t> words) = 0;
  // Nothing if there is no such record or it has another number of words; valid as long as the
  // tables.
  virtual std::optional<std::span<const std::uint64_t>> words(std::uint64_t reference,
                                                              std::size_t count) const = 0;

 private:
  std::mutex in_use_;
};

struct ExternalFunction {
  // One of the two. Neither: no rule calls the functor.
  std::function<Result<ExternalValue>(std::span<const ExternalValue>)> plain;
  std::function<Result<std::uint64_t>(std::span<const std::uint64_t>)> stateful;
  // Of a stateful one; the same for all functions of a program.
  std::shared_ptr<ExternalTables> tables;
};

}  // namespace stratalog::datalog
