// SPDX-License-Identifier: Apache-2.0
#include "api/result_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "datalog/facts/structured_text.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

using datalog::Attribute;
using datalog::KeptRun;
using datalog::Relation;
using datalog::RelationId;

// Where the next value of a column goes.
struct Target {
  char* at = nullptr;  // null: nobody wants the column
  std::int64_t stride = 0;
  bool is_wide = false;  // 64 bits instead of a cell
};

void write(const Target& target, std::uint64_t row, Cell cell, std::uint64_t bits) {
  char* const to = target.at + (static_cast<std::int64_t>(row) * target.stride);
  if (target.is_wide)
    std::memcpy(to, &bits, sizeof bits);
  else
    std::memcpy(to, &cell, sizeof cell);
}

// Copies a stretch of rows out of a walk over groups.
class Extractor {
 public:
  Extractor(const ValueDictionary& dictionary, std::vector<Target> targets, std::uint64_t from,
            std::uint64_t rows)
      : dictionary_(dictionary), targets_(std::move(targets)), skip_(from), rows_(rows) {}

  // `targets` are in the order of the group's columns.
  Status take(const TupleGroup& group) {
    if (skip_ >= group.set.count) {
      skip_ -= group.set.count;
      return Status::ok();
    }
    const std::uint64_t count = std::min(group.set.count - skip_, rows_ - done_);
    if (count == 0) return Status::cancelled("all that was asked for");
    for (std::size_t c = 0; c < group.prefix.size(); ++c)
      repeat(targets_[c], group.prefix[c], count);
    take_set(targets_.back(), group.set, count);
    done_ += count;
    skip_ = 0;
    return Status::ok();
  }
  std::uint64_t done() const { return done_; }

 private:
  std::uint64_t bits_of(const Target& target, Cell cell) const {
    return target.is_wide ? dictionary_.decode(cell) : 0;
  }

  void repeat(const Target& target, Cell cell, std::uint64_t count) const {
    if (target.at == nullptr) return;
    const std::uint64_t bits = bits_of(target, cell);
    for (std::uint64_t r = done_; r < done_ + count; ++r) write(target, r, cell, bits);
  }

  void take_set(const Target& target, const SetView& set, std::uint64_t count) const {
    if (target.at == nullptr) return;
    std::uint64_t at = 0;
    walk_set(set, [&](Cell cell) {
      if (at >= skip_ && at < skip_ + count)
        write(target, done_ + (at - skip_), cell, bits_of(target, cell));
      ++at;
    });
  }

  const ValueDictionary& dictionary_;
  std::vector<Target> targets_;
  std::uint64_t skip_;
  std::uint64_t rows_;
  std::uint64_t done_ = 0;
};

}  // namespace

bool is_read_as_cells(const Attribute& attribute) {
  return attribute.structure != datalog::kNoStructure ||
         attribute.kind == datalog::ValueKind::kSymbol;
}

Result<std::uint64_t> count_tuples(const KeptRun& run, RelationId relation) {
  const RelationImage image = run.image(relation);
  std::uint64_t rows = image.rows;
  if (image.arity == 0) return rows;
  STRATALOG_RETURN_IF_ERROR(image.for_each_group([&](const TupleGroup& group) {
    rows += group.set.count;
    return Status::ok();
  }));
  return rows;
}

Status read_tuples(const KeptRun& run, const Relation& relation, RelationId id, std::uint64_t from,
                   std::uint64_t rows, ColumnForm form,
                   std::span<const stratalog_column_out> columns) {
  const RelationImage image = run.image(id);
  std::uint64_t found = 0;
  if (image.arity == 0) {
    found = image.rows - std::min(image.rows, from);
  } else if (rows > 0) {
    std::vector<Target> targets;
    targets.reserve(columns.size());
    for (const std::uint32_t c : image.column_order)
      targets.push_back(
          {.at = static_cast<char*>(columns[c].values),
           .stride = columns[c].stride,
           .is_wide = form == ColumnForm::kValues && !is_read_as_cells(relation.attributes[c])});
    Extractor extractor(run.dictionary(), std::move(targets), from, rows);
    const Status walked =
        image.for_each_group([&](const TupleGroup& group) { return extractor.take(group); });
    if (!walked.is_ok() && walked.code() != StatusCode::kCancelled) return walked;
    found = extractor.done();
  }
  if (found >= rows) return Status::ok();
  return Status::invalid_argument(
      fmt::format("relation `{}`: {} tuples from number {} on were asked for; this rank has {}",
                  relation.name, rows, from, found));
}

Result<std::string> text_of_cell(const KeptRun& run, const Relation& relation, std::size_t column,
                                 Cell cell) {
  const Attribute& attribute = relation.attributes[column];
  const ValueDictionary& dictionary = run.dictionary();
  if (!is_read_as_cells(attribute))
    return Status::invalid_argument(
        fmt::format("relation `{}`: column `{}` has type {}, which is "
                    "read as numbers; there is no text of a cell",
                    relation.name, attribute.name, attribute.type_name));
  const std::uint64_t known = attribute.kind == datalog::ValueKind::kSymbol
                                  ? dictionary.symbols().size()
                              : attribute.kind == datalog::ValueKind::kRecord
                                  ? dictionary.records().size() + 1
                                  : (*relation.structures)[attribute.structure].branches.size();
  if (cell >= known)
    return Status::invalid_argument(fmt::format("relation `{}`, column `{}`: there is no cell {}",
                                                relation.name, attribute.name, cell));
  if (attribute.structure == datalog::kNoStructure) return std::string(dictionary.text(cell));
  std::string text;
  append_structured(*relation.structures, attribute.structure, dictionary, cell,
                    datalog::SymbolQuotes::kNone, text);
  return text;
}

}  // namespace stratalog
