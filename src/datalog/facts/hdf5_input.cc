// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/hdf5_input.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datalog/facts/hdf5_errors.h"
#include "datalog/facts/hdf5_layout.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kRowsPerRead = std::uint64_t{1} << 16;

// HDF5 as we build it is not made for two threads at once.
std::mutex& library_lock() {
  static std::mutex lock;
  return lock;
}

// How many elements a dataset of one dimension has; nothing for other shapes.
std::optional<std::uint64_t> length_of(const Hdf5Handle& dataset) {
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  hsize_t length = 0;
  if (H5Sget_simple_extent_ndims(space.id()) != 1 ||
      H5Sget_simple_extent_dims(space.id(), &length, nullptr) != 1)
    return std::nullopt;
  return length;
}

// Elements [from, from + count) of a dataset of one dimension.
Status read_elements(const Hdf5Handle& dataset, hid_t type, std::uint64_t from, std::uint64_t count,
                     void* values) {
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const hsize_t start = from;
  const hsize_t length = count;
  const Hdf5Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose);
  H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &start, nullptr, &length, nullptr);
  if (H5Dread(dataset.id(), type, memory.id(), space.id(), H5P_DEFAULT, values) < 0)
    return hdf5_error("read a dataset");
  return Status::ok();
}

// Whether every value of the dataset is one of the attribute's kind. HDF5 would cut others.
bool holds_kind(const Hdf5Handle& dataset, ValueKind kind) {
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const H5T_class_t form = H5Tget_class(type.id());
  const std::size_t bytes = H5Tget_size(type.id());
  if (kind == ValueKind::kFloat) return form == H5T_FLOAT && bytes <= sizeof(double);
  if (form != H5T_INTEGER || bytes > sizeof(std::uint64_t)) return false;
  const bool is_signed = H5Tget_sign(type.id()) == H5T_SGN_2;
  if (kind == ValueKind::kNumber) return is_signed || bytes < sizeof(std::uint64_t);
  return !is_signed && (kind == ValueKind::kUnsigned || bytes <= sizeof(std::uint32_t));
}

std::string_view expected_type(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return "signed integers of at most 64 bits";
    case ValueKind::kUnsigned:
      return "unsigned integers of at most 64 bits";
    case ValueKind::kFloat:
      return "floats of at most 64 bits";
    case ValueKind::kSymbol:
    case ValueKind::kRecord:
      return "unsigned integers of at most 32 bits, positions in the dataset of symbols";
  }
  return "";
}

// The strings that columns of symbols point to, with the cells of those that were met.
class Symbols {
 public:
  explicit Symbols(NewValues& values) : values_(values) {}

  Status open(const Hdf5Handle& group) {
    const Hdf5Handle dataset(H5Dopen2(group.id(), kSymbolsDataset, H5P_DEFAULT), H5Dclose);
    if (!dataset.is_open())
      return hdf5_error(fmt::format("open the dataset of symbols, \"{}\"", kSymbolsDataset));
    const Hdf5Handle stored(H5Dget_type(dataset.id()), H5Tclose);
    const std::optional<std::uint64_t> length = length_of(dataset);
    if (!length || H5Tis_variable_str(stored.id()) <= 0)
      return Status::invalid_argument(
          fmt::format("\"{}\" is not a list of strings of variable length", kSymbolsDataset));
    texts_.reserve(*length);
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), H5T_VARIABLE);
    H5Tset_cset(type.id(), H5Tget_cset(stored.id()));
    std::vector<char*> piece;
    for (std::uint64_t from = 0; from < *length; from += piece.size()) {
      piece.assign(std::min(kRowsPerRead, *length - from), nullptr);
      STRATALOG_RETURN_IF_ERROR(
          read_elements(dataset, type.id(), from, piece.size(), static_cast<void*>(piece.data())));
      for (char* text : piece) {
        texts_.emplace_back(text != nullptr ? text : "");
        H5free_memory(text);
      }
    }
    cells_.assign(texts_.size(), kUnmet);
    return Status::ok();
  }

  std::uint64_t size() const { return texts_.size(); }
  Cell cell(std::uint64_t position) {
    std::uint64_t& cell = cells_[position];
    if (cell == kUnmet) cell = values_.symbol(texts_[position]);
    return static_cast<Cell>(cell);
  }

 private:
  static constexpr std::uint64_t kUnmet = std::numeric_limits<std::uint64_t>::max();

  NewValues& values_;
  std::vector<std::string> texts_;
  std::vector<std::uint64_t> cells_;  // by position; kUnmet, or a Cell
};

// One dataset of the relation's group.
struct Column {
  Hdf5Handle dataset;
  std::vector<std::uint64_t> bits;  // of the rows at hand
};

class RelationFile {
 public:
  RelationFile(const Hdf5Input& input, NewValues& values)
      : relation_(input.relation), values_(values), symbols_(values) {}

  Status open(const Hdf5Input& input) {
    file_ = Hdf5Handle(H5Fopen(input.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file_.is_open()) return hdf5_error("open the file");
    group_ = Hdf5Handle(H5Gopen2(file_.id(), input.group.c_str(), H5P_DEFAULT), H5Gclose);
    if (!group_.is_open())
      return Status::invalid_argument(
          fmt::format("the file has no relation \"{}\"; name one with name=\"...\"", input.group));
    if (relation_.attributes.empty()) return read_row_count();
    for (const Attribute& attribute : relation_.attributes)
      STRATALOG_RETURN_IF_ERROR(open_column(attribute));
    const bool has_symbols =
        std::any_of(relation_.attributes.begin(), relation_.attributes.end(),
                    [](const Attribute& a) { return a.kind == ValueKind::kSymbol; });
    return has_symbols ? symbols_.open(group_) : Status::ok();
  }

  Result<ParsedFacts> read(const RowShare& share) {
    ParsedFacts facts;
    facts.tuples.columns.resize(relation_.attributes.size());
    const std::uint64_t from = share.begin_of(rows_, share.part);
    const std::uint64_t to = share.begin_of(rows_, share.part + 1);
    if (relation_.attributes.empty()) {
      facts.tuples.rows = to - from;
      return facts;
    }
    for (std::uint64_t at = from; at < to && !facts.problem; at += kRowsPerRead)
      STRATALOG_RETURN_IF_ERROR(read_rows(at, std::min(kRowsPerRead, to - at), facts));
    return facts;
  }

 private:
  // A relation without attributes is there or not.
  Status read_row_count() {
    const Hdf5Handle attribute(H5Aopen(group_.id(), "rows", H5P_DEFAULT), H5Aclose);
    std::uint64_t rows = 0;
    if (!attribute.is_open() || H5Aread(attribute.id(), H5T_NATIVE_UINT64, &rows) < 0)
      return hdf5_error("read the attribute \"rows\"");
    rows_ = std::min<std::uint64_t>(rows, 1);
    return Status::ok();
  }

  Status open_column(const Attribute& attribute) {
    Column& column = columns_.emplace_back();
    column.dataset =
        Hdf5Handle(H5Dopen2(group_.id(), attribute.name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!column.dataset.is_open())
      return Status::invalid_argument(
          fmt::format("it has no dataset for attribute `{}`", attribute.name));
    const std::optional<std::uint64_t> length = length_of(column.dataset);
    if (!length || (columns_.size() > 1 && *length != rows_))
      return Status::invalid_argument(
          fmt::format("the dataset of attribute `{}` is not a column as long as the first one",
                      attribute.name));
    rows_ = *length;
    if (holds_kind(column.dataset, attribute.kind)) return Status::ok();
    return Status::invalid_argument(
        fmt::format("the dataset of attribute `{}` (type {}) does not hold {}", attribute.name,
                    attribute.type_name, expected_type(attribute.kind)));
  }

  Status read_rows(std::uint64_t from, std::uint64_t count, ParsedFacts& facts) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      Column& column = columns_[c];
      column.bits.resize(count);
      const ValueKind kind = relation_.attributes[c].kind;
      const hid_t type = kind == ValueKind::kSymbol ? H5T_NATIVE_UINT64 : column_memory_type(kind);
      STRATALOG_RETURN_IF_ERROR(
          read_elements(column.dataset, type, from, count, column.bits.data()));
    }
    // Row by row, so that new values have the order of the file.
    for (std::uint64_t i = 0; i < count; ++i, ++facts.tuples.rows) {
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const std::uint64_t bits = columns_[c].bits[i];
        const Attribute& attribute = relation_.attributes[c];
        const bool is_symbol = attribute.kind == ValueKind::kSymbol;
        if (is_symbol && bits >= symbols_.size()) {
          facts.problem = FactProblem{
              .line = from + i,
              .text = fmt::format("attribute `{}`: position {} in a dataset of {} symbols",
                                  attribute.name, bits, symbols_.size())};
          return Status::ok();
        }
        facts.tuples.columns[c].push_back(is_symbol ? symbols_.cell(bits) : values_.number(bits));
      }
    }
    return Status::ok();
  }

  const Relation& relation_;
  NewValues& values_;
  Hdf5Handle file_;
  Hdf5Handle group_;
  std::vector<Column> columns_;
  Symbols symbols_;
  std::uint64_t rows_ = 0;
};

}  // namespace

Result<ParsedFacts> read_hdf5(const Hdf5Input& input, NewValues& values) {
  const std::lock_guard lock(library_lock());
  const Hdf5Silence silence;
  RelationFile file(input, values);
  STRATALOG_RETURN_IF_ERROR(file.open(input));
  return file.read(input.share);
}

}  // namespace stratalog::datalog
