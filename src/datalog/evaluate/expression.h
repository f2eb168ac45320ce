// SPDX-License-Identifier: Apache-2.0
// Evaluates expressions and comparisons over the rows of a batch, with Soufflé's meaning in a
// 64-bit domain: numbers wrap around, shifts take the amount modulo 64, symbols compare bytewise.
// Values that no rank knows yet get provisional cells (model/value_dictionary.h). Local; one
// evaluator per rank.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/external_values.h"
#include "datalog/evaluate/text_pattern.h"
#include "datalog/external_function.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

// Cells of floats that are equal as numbers.
struct EqualFloats {
  std::array<Cell, 2> cells{};
  std::size_t count = 0;
};

class ExpressionEvaluator {
 public:
  // `values` outlives the evaluator.
  explicit ExpressionEvaluator(NewValues& values) : values_(&values) {}

  // Where in the user's program we are, for error messages.
  void set_place(const SourcePlace* place) { place_ = place; }

  // The functions behind the program's external functors, by number; both are borrowed.
  void set_externals(std::span<const ExternalFunction> externals, const Program& program) {
    externals_ = externals;
    program_ = &program;
    external_values_.emplace(*program.structures, *values_);
  }

  // RunHooks::is_abandoned; may be empty.
  void set_is_abandoned(std::function<bool()> is_abandoned) {
    is_abandoned_ = std::move(is_abandoned);
  }
  // For each batch of bindings: Cancelled once the run is abandoned.
  Status go_on() {
    if (!is_abandoned_ || ++batches_ % kBatchesBetweenLooks != 0 || !is_abandoned_()) return {};
    return Status::cancelled("the run was stopped before its end");
  }

  // What `recursive_iteration_cnt()` gives from now on.
  void set_iteration(std::uint64_t iteration) { iteration_ = iteration; }

  // The cell of `expression` for one row. Errors (division by zero, a text that is no number) are
  // kept in status(); the cell is then meaningless.
  Cell evaluate(const Expression& expression, const Batch& batch, std::uint32_t row);
  bool compare(Comparison comparison, const Expression& left, const Expression& right,
               const Batch& batch, std::uint32_t row);
  // 64-bit pattern of a number, unsigned or float expression.
  std::uint64_t bits(const Expression& expression, const Batch& batch, std::uint32_t row);
  std::uint64_t bits_of(Cell number) const { return values_->bits(number); }
  Cell number(std::uint64_t bits) { return values_->number(bits); }  // the reverse
  std::string text(const Expression& expression, const Batch& batch, std::uint32_t row);
  // The cell of the record that a kPack stands for if all ranks know it, else kNoRecordCell.
  Cell find_record(const Expression& record, const Batch& batch, std::uint32_t row);
  // What a relation can hold that is equal to the float of `cell`: 0 for -0 as well, and nothing
  // for NaN.
  EqualFloats equal_floats(Cell cell) const;
  // The cells of a record's fields; nothing if it is nil or of another shape.
  std::optional<std::span<const Cell>> fields(std::uint32_t shape, Cell cell) const {
    return values_->fields(shape, cell);
  }

  const Status& status() const { return status_; }
  // What this rank met that is odd but no error, each once; complete sentences with a place.
  const std::set<std::string>& warnings() const { return warnings_; }
  void note_warning(std::string warning) { warnings_.insert(std::move(warning)); }

 private:
  std::uint64_t functor_bits(const Expression& e, const Batch& batch, std::uint32_t row);
  std::uint64_t integer_functor(const Expression& e, std::uint64_t a, std::uint64_t b);
  std::uint64_t float_functor(const Expression& e, double a, double b);
  std::uint64_t convert(const Expression& e, const Batch& batch, std::uint32_t row);
  std::uint64_t parse_number(const Expression& e, const std::string& text);
  bool is_stateful(const Expression& e) const;
  ExternalValue call(const Expression& e, const Batch& batch, std::uint32_t row);
  Cell call_stateful(const Expression& e, const Batch& batch, std::uint32_t row);
  Cell record(const Expression& e, const Batch& batch, std::uint32_t row);
  std::vector<Cell> record_cells(const Expression& e, const Batch& batch, std::uint32_t row);
  bool compare_text(Comparison comparison, const std::string& left, const std::string& right);
  void fail(std::string message);

  static constexpr std::uint64_t kBatchesBetweenLooks = 64;

  NewValues* values_;
  std::function<bool()> is_abandoned_;
  std::uint64_t batches_ = 0;
  const SourcePlace* place_ = nullptr;
  std::uint64_t iteration_ = 0;
  std::span<const ExternalFunction> externals_;
  const Program* program_ = nullptr;  // whose externals these are
  std::optional<ExternalValues> external_values_;
  Status status_;
  std::unordered_map<std::string, std::optional<TextPattern>> patterns_;  // nothing: malformed
  std::set<std::string> warnings_;
};

}  // namespace stratalog::datalog
