// SPDX-License-Identifier: Apache-2.0
// ValueDictionary: the values behind cells that do not stand for themselves, equal on all ranks
// (symbols, wide numbers and records), which may have the tables of another rank in its memory
// (join_tables, joint_tables.h); and NewValues: values that one rank met or computed and that
// the others may not know yet. New values carry provisional cells until agree_on_new_values
// (value_agreement.h) gives them final ones. Byte images of a dictionary for checkpoints are
// described in docs/formats/facts.md. Local; thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/cell.h"
#include "model/record_table.h"
#include "model/symbol_table.h"
#include "model/wide_table.h"

namespace stratalog {

// How much of a dictionary there is without its records; all tables only grow.
struct DictionarySize {
  std::uint64_t symbols = 0;
  std::uint64_t wides = 0;
  friend bool operator==(const DictionarySize&, const DictionarySize&) = default;
};

class ValueDictionary {
 public:
  const SymbolTable& symbols() const { return *symbols_; }
  const WideTable& wides() const { return *wides_; }
  // To be changed by this rank: copies from now on, where they were those of several.
  SymbolTable& own_symbols() { return leave_joint_tables(), *symbols_; }
  WideTable& own_wides() { return leave_joint_tables(), *wides_; }
  // Of all ranks if is_joint(): to be changed while none of the others looks.
  SymbolTable& joint_symbols() { return *symbols_; }
  WideTable& joint_wides() { return *wides_; }
  // Whether symbols and numbers are in tables of all ranks.
  bool is_joint() const { return joint_ != Joint::kNo; }
  // The tables of symbols and numbers of `first`, who goes on having them, instead of equal ones.
  void join(const ValueDictionary& first);
  // The same on that rank, when the others have joined.
  void be_joined() { joint_ = Joint::kOwner; }
  RecordTable& records() { return records_; }
  const RecordTable& records() const { return records_; }

  // The cell of a symbol, interned where new. Every rank must intern the same values in the same
  // order.
  Cell encode_symbol(std::string_view text) { return own_symbols().intern(text); }
  // The cell of a number, unsigned or float by its 64-bit pattern, interned where it is wide. As
  // above.
  Cell encode(std::uint64_t bits) {
    return is_narrow(bits) ? narrow_cell(bits) : kWideBase + own_wides().intern(bits);
  }
  // The cell of a record, interned where new. As above; the cells are final.
  Cell encode_record(ShapeId shape, std::span<const Cell> cells) {
    return records_.intern(shape, cells) + 1;
  }

  // Requires a final (not provisional) symbol cell.
  std::string_view text(Cell cell) const { return symbols_->text(cell); }
  // Requires a final cell of a number column.
  std::uint64_t decode(Cell cell) const {
    return is_wide_cell(cell) ? wides_->bits(cell - kWideBase) : narrow_bits(cell);
  }
  // Nothing if the cell is nil or no record at all. Valid until a record is added.
  std::optional<RecordCells> record_of(Cell cell) const {
    if (cell == kNilCell || cell > records_.size()) return std::nullopt;
    return records_.record(cell - 1);
  }
  // The cells of a record's fields; nothing also if it is one of another shape.
  std::optional<std::span<const Cell>> fields(ShapeId shape, Cell cell) const {
    const auto record = record_of(cell);
    if (!record || record->shape != shape) return std::nullopt;
    return record->cells;
  }

  DictionarySize size() const { return {.symbols = symbols_->size(), .wides = wides_->size()}; }
  // Tables of several ranks are counted by the one whose they were.
  std::uint64_t memory_bytes() const;

 private:
  enum class Joint : std::uint8_t { kNo, kOwner, kGuest };

  void leave_joint_tables() {
    if (is_joint()) copy_joint_tables();
  }
  void copy_joint_tables();

  std::shared_ptr<SymbolTable> symbols_ = std::make_shared<SymbolTable>();
  std::shared_ptr<WideTable> wides_ = std::make_shared<WideTable>();
  RecordTable records_;
  Joint joint_ = Joint::kNo;
};

// The bytes of the values [from, to) of a dictionary, so that ranks can share the writing and later
// checkpoints can hold only what was added. Requires from <= to <= size().
std::vector<std::byte> encode_dictionary(const ValueDictionary& dictionary, DictionarySize from,
                                         DictionarySize to);

// Appends an image, or several that follow each other, to `dictionary`, whose size must be the
// first one's `from`. Corruption, with the byte offset, if an image is damaged, does not continue
// the one before, repeats a value or holds a number that needs no entry; `dictionary` may then have
// grown by a part.
Status decode_dictionary(std::span<const std::byte> images, ValueDictionary& dictionary);

class NewValues {
 public:
  // `shared` must outlive this object.
  explicit NewValues(const ValueDictionary& shared) : shared_(&shared) {}
  // Where there is one rank: nobody has to agree on a new symbol or number, so that it goes to the
  // dictionary at once and has its final cell. Records stay provisional.
  static NewValues of_only_rank(ValueDictionary& shared) {
    NewValues values(shared);
    values.only_ = &shared;
    return values;
  }

  // The final cell if the dictionary knows the value, else a provisional one. If there are more new
  // values than provisional cells (2^30) or a symbol of 4 GiB, the cell is meaningless and
  // overflowed() stays true: the next agreement then fails on all ranks.
  Cell symbol(std::string_view text) { return symbol(text, SymbolTable::hash(text)); }
  // The same where the caller has the hash at hand.
  Cell symbol(std::string_view text, std::uint64_t text_hash);
  // symbol() of many texts, one after the other, in less time. `cells` has room for as many.
  void symbols(std::span<const SymbolTable::Sought> texts, Cell* cells);
  Cell number(std::uint64_t bits) { return is_narrow(bits) ? narrow_cell(bits) : wide(bits); }
  // The cells that number() would give to many bits that are not narrow, in less time; kNotThere
  // for those for which it would make one. `cells` has room for as many.
  void find_wides(std::span<const std::uint64_t> bits, Cell* cells) const;
  Cell record(ShapeId shape, std::span<const Cell> cells);
  // The cell of a record that all ranks know, kNoRecordCell if there is none: no relation holds it.
  Cell known_record(ShapeId shape, std::span<const Cell> cells) const;

  // Requires a final cell or one given out by this object since the last clear().
  std::string_view text(Cell cell) const {
    return is_provisional_symbol(cell) ? symbols_.text(cell - kProvisionalSymbolBase)
                                       : shared_->text(cell);
  }
  std::uint64_t bits(Cell cell) const {
    return is_provisional_wide(cell) ? wides_.bits(cell - kProvisionalWideBase)
                                     : shared_->decode(cell);
  }

  // As ValueDictionary::record_of and fields.
  std::optional<RecordCells> record_of(Cell cell) const {
    if (!is_provisional_record(cell)) return shared_->record_of(cell);
    const std::uint32_t id = cell - kProvisionalRecordBase;
    if (id >= records_.size()) return std::nullopt;
    return records_.record(id);
  }
  std::optional<std::span<const Cell>> fields(ShapeId shape, Cell cell) const {
    const auto record = record_of(cell);
    if (!record || record->shape != shape) return std::nullopt;
    return record->cells;
  }

  const SymbolTable& symbols() const { return symbols_; }
  const WideTable& wides() const { return wides_; }
  const RecordTable& records() const { return records_; }
  DictionarySize size() const { return {.symbols = symbols_.size(), .wides = wides_.size()}; }
  const ValueDictionary& shared() const { return *shared_; }
  bool overflowed() const { return overflowed_; }
  std::uint64_t memory_bytes() const {
    return symbols_.memory_bytes() + wides_.memory_bytes() + records_.memory_bytes();
  }
  void clear();

 private:
  Cell wide(std::uint64_t bits);

  const ValueDictionary* shared_;
  ValueDictionary* only_ = nullptr;  // the same one, if this is the only rank
  SymbolTable symbols_;
  WideTable wides_;
  RecordTable records_;  // its shapes follow those of the shared table
  bool overflowed_ = false;
};

}  // namespace stratalog
