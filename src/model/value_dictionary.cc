// SPDX-License-Identifier: Apache-2.0
#include "model/value_dictionary.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>

#include "model/image_sequence.h"

namespace stratalog {
namespace {

static_assert(std::endian::native == std::endian::little, "images are little-endian");

// The image's header, see docs/formats/facts.md. All numbers little-endian.
struct ImageHeader {
  std::array<char, 8> magic;
  std::uint64_t first_symbol;
  std::uint64_t symbol_count;
  std::uint64_t symbol_bytes;
  std::uint64_t first_wide;
  std::uint64_t wide_count;
  std::uint64_t payload_hash;  // XXH3_64bits of everything after the header
};
static_assert(sizeof(ImageHeader) == 56);

constexpr std::array<char, 8> kMagic = {'S', 'L', 'D', 'I', 'C', 'T', '0', '1'};

Status damaged(std::uint64_t offset, std::string_view what) {
  return Status::corruption(fmt::format("value dictionary, offset {}: {}", offset, what));
}

// Checks the header against what follows it and the dictionary's size, so that the caller can walk
// without further checks.
Status check_header(const ImageHeader& header, std::uint64_t bytes_left, DictionarySize size) {
  if (header.magic != kMagic) return damaged(0, "expected the magic bytes SLDICT01");
  if (header.first_symbol != size.symbols || header.first_wide != size.wides)
    return damaged(8,
                   fmt::format("expected values from symbol {} and wide number {} on, found {} "
                               "and {}; images must be read in the order they were written",
                               size.symbols, size.wides, header.first_symbol, header.first_wide));
  if (header.symbol_count > SymbolTable::kMaxSymbols - size.symbols)
    return damaged(16, fmt::format("{} symbols are too many", header.symbol_count));
  if (header.wide_count > WideTable::kMaxValues - size.wides)
    return damaged(40, fmt::format("{} wide numbers are too many", header.wide_count));
  const std::uint64_t fixed = (header.symbol_count * 4) + (header.wide_count * 8);
  if (header.symbol_bytes > bytes_left || fixed > bytes_left - header.symbol_bytes)
    return damaged(24,
                   fmt::format("expected {} bytes of symbols and {} of the rest, found {} bytes "
                               "after the header",
                               header.symbol_bytes, fixed, bytes_left));
  return Status::ok();
}

Status decode_symbols(const ImageHeader& header, std::span<const std::byte> payload,
                      SymbolTable& symbols) {
  std::uint64_t at = header.symbol_count * 4;
  const std::uint64_t end = at + header.symbol_bytes;
  for (std::uint64_t i = 0; i < header.symbol_count; ++i) {
    std::uint32_t length = 0;
    std::memcpy(&length, payload.data() + (i * 4), 4);
    if (length > end - at)
      return damaged(sizeof(header) + (i * 4),
                     fmt::format("symbol {} has {} bytes, {} are left", i, length, end - at));
    const std::string_view text(reinterpret_cast<const char*>(payload.data() + at), length);
    const Cell expected = static_cast<Cell>(symbols.size());
    if (symbols.intern(text) != expected)
      return damaged(sizeof(header) + at, fmt::format("symbol {} occurs twice", i));
    at += length;
  }
  if (at != end) return damaged(24, fmt::format("{} bytes belong to no symbol", end - at));
  return Status::ok();
}

}  // namespace

void ValueDictionary::join(const ValueDictionary& first) {
  symbols_ = first.symbols_;
  wides_ = first.wides_;
  joint_ = Joint::kGuest;
}

void ValueDictionary::copy_joint_tables() {
  symbols_ = std::make_shared<SymbolTable>(*symbols_);
  wides_ = std::make_shared<WideTable>(*wides_);
  joint_ = Joint::kNo;
}

std::uint64_t ValueDictionary::memory_bytes() const {
  const std::uint64_t tables =
      joint_ == Joint::kGuest ? 0 : symbols_->memory_bytes() + wides_->memory_bytes();
  return tables + records_.memory_bytes();
}

std::vector<std::byte> encode_dictionary(const ValueDictionary& dictionary, DictionarySize from,
                                         DictionarySize to) {
  ImageHeader header{.magic = kMagic,
                     .first_symbol = from.symbols,
                     .symbol_count = to.symbols - from.symbols,
                     .symbol_bytes = 0,
                     .first_wide = from.wides,
                     .wide_count = to.wides - from.wides,
                     .payload_hash = 0};
  for (std::uint64_t id = from.symbols; id < to.symbols; ++id)
    header.symbol_bytes += dictionary.text(static_cast<Cell>(id)).size();
  std::vector<std::byte> image(sizeof(header) + (header.symbol_count * 4) + header.symbol_bytes +
                               (header.wide_count * 8));
  std::byte* length_at = image.data() + sizeof(header);
  std::byte* text_at = length_at + (header.symbol_count * 4);
  for (std::uint64_t id = from.symbols; id < to.symbols; ++id) {
    const std::string_view text = dictionary.text(static_cast<Cell>(id));
    const auto length = static_cast<std::uint32_t>(text.size());
    std::memcpy(length_at, &length, 4);
    if (length != 0) std::memcpy(text_at, text.data(), length);
    length_at += 4;
    text_at += length;
  }
  if (header.wide_count != 0)
    std::memcpy(text_at, dictionary.wides().values().data() + from.wides, header.wide_count * 8);
  header.payload_hash = XXH3_64bits(image.data() + sizeof(header), image.size() - sizeof(header));
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

namespace {

// The image at the front of `images`, of which it takes its bytes away.
Status decode_value_image(std::span<const std::byte>& images, ValueDictionary& dictionary) {
  ImageHeader header{};
  if (images.size() < sizeof(header))
    return damaged(images.size(), fmt::format("expected a header of {} bytes", sizeof(header)));
  std::memcpy(&header, images.data(), sizeof(header));
  STRATALOG_RETURN_IF_ERROR(
      check_header(header, images.size() - sizeof(header), dictionary.size()));
  const std::span<const std::byte> payload = images.subspan(
      sizeof(header), (header.symbol_count * 4) + header.symbol_bytes + (header.wide_count * 8));
  const std::uint64_t found = XXH3_64bits(payload.data(), payload.size());
  if (found != header.payload_hash)
    return damaged(
        48, fmt::format("expected checksum {:016x}, found {:016x}", header.payload_hash, found));
  STRATALOG_RETURN_IF_ERROR(decode_symbols(header, payload, dictionary.own_symbols()));
  const std::uint64_t wides_at = (header.symbol_count * 4) + header.symbol_bytes;
  for (std::uint64_t i = 0; i < header.wide_count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, payload.data() + wides_at + (i * 8), 8);
    const std::uint64_t offset = sizeof(header) + wides_at + (i * 8);
    if (is_narrow(bits)) return damaged(offset, fmt::format("{:#x} is no wide number", bits));
    if (dictionary.own_wides().intern(bits) != header.first_wide + i)
      return damaged(offset, fmt::format("wide number {:#x} occurs twice", bits));
  }
  images = images.subspan(sizeof(header) + payload.size());
  return Status::ok();
}

}  // namespace

Status decode_dictionary(std::span<const std::byte> images, ValueDictionary& dictionary) {
  return decode_images(images, [&](std::span<const std::byte>& left) {
    return decode_value_image(left, dictionary);
  });
}

namespace {

// The cells of those that `table` has, of what has none yet.
template <typename Table, typename Value>
void find_missing(const Table& table, std::span<const Value> values, Cell base, Cell* cells) {
  if (table.size() == 0) return;
  constexpr std::size_t kAtOnce = 256;
  std::array<Value, kAtOnce> sought{};
  std::array<Cell*, kAtOnce> wanted{};
  std::array<Cell, kAtOnce> found{};
  for (std::size_t at = 0; at < values.size();) {
    std::size_t count = 0;
    for (; at < values.size() && count < kAtOnce; ++at) {
      if (cells[at] != Table::kNotThere) continue;
      sought[count] = values[at];
      wanted[count++] = &cells[at];
    }
    table.find_all(std::span<const Value>(sought).first(count), found.data());
    for (std::size_t i = 0; i < count; ++i)
      if (found[i] != Table::kNotThere) *wanted[i] = base + found[i];
  }
}

}  // namespace

Cell NewValues::symbol(std::string_view text, std::uint64_t text_hash) {
  if (only_ != nullptr && only_->symbols().has_room_for(text))
    return only_->own_symbols().intern(text, text_hash);
  if (const auto known = shared_->symbols().find(text, text_hash)) return *known;
  if (!symbols_.has_room_for(text)) {
    overflowed_ = true;
    if (symbols_.size() == 0) symbols_.intern({});  // so that the cell has some text
    return kProvisionalSymbolBase;
  }
  return kProvisionalSymbolBase + symbols_.intern(text, text_hash);
}

void NewValues::symbols(std::span<const SymbolTable::Sought> texts, Cell* cells) {
  // Where those that were not found belong is still near the processor when they get there.
  constexpr std::size_t kAtOnce = 256;
  for (; !texts.empty(); texts = texts.subspan(std::min(texts.size(), kAtOnce)), cells += kAtOnce) {
    const auto some = texts.first(std::min(texts.size(), kAtOnce));
    shared_->symbols().find_all(some, cells);
    find_missing(symbols_, some, kProvisionalSymbolBase, cells);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (cells[i] == SymbolTable::kNotThere) cells[i] = symbol(some[i].text, some[i].hash);
  }
}

void NewValues::find_wides(std::span<const std::uint64_t> bits, Cell* cells) const {
  static_assert(WideTable::kNotThere == SymbolTable::kNotThere);
  shared_->wides().find_all(bits, cells);
  for (Cell& cell : std::span(cells, bits.size()))
    if (cell != WideTable::kNotThere) cell += kWideBase;
  find_missing(wides_, bits, kProvisionalWideBase, cells);
}

Cell NewValues::wide(std::uint64_t bits) {
  if (only_ != nullptr && only_->wides().has_room())
    return kWideBase + only_->own_wides().intern(bits);
  if (const auto known = shared_->wides().find(bits)) return kWideBase + *known;
  if (!wides_.has_room()) {
    overflowed_ = true;
    return kProvisionalWideBase;
  }
  return kProvisionalWideBase + wides_.intern(bits);
}

namespace {

bool is_provisional(CellClass field, Cell cell) {
  return field == CellClass::kNumber ? is_provisional_wide(cell) : is_provisional_record(cell);
}

static_assert(kProvisionalSymbolBase == kProvisionalRecordBase);

}  // namespace

Cell NewValues::known_record(ShapeId shape, std::span<const Cell> cells) const {
  const Shape& fields = shared_->records().fields_of(shape);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (is_provisional(fields[i], cells[i])) return kNoRecordCell;
  const auto known = shared_->records().find(shape, cells);
  return known ? *known + 1 : kNoRecordCell;
}

Cell NewValues::record(ShapeId shape, std::span<const Cell> cells) {
  const Cell known = known_record(shape, cells);
  if (known != kNoRecordCell) return known;
  const std::span<const Shape> shapes = shared_->records().shapes();
  for (std::size_t s = records_.shapes().size(); s < shapes.size(); ++s) records_.shape(shapes[s]);
  if (!records_.has_room()) {
    overflowed_ = true;
    return kNilCell;
  }
  return kProvisionalRecordBase + records_.intern(shape, cells);
}

void NewValues::clear() {
  symbols_.clear();
  wides_.clear();
  records_.clear();
  overflowed_ = false;
}

}  // namespace stratalog
