// SPDX-License-Identifier: Apache-2.0
#include "model/record_image.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "model/image_sequence.h"

namespace stratalog {
namespace {

// The image's header, see docs/formats/facts.md. All numbers little-endian.
struct RecordImageHeader {
  std::array<char, 8> magic;
  std::uint64_t shape_words;  // 32-bit words that describe the shapes
  std::uint64_t record_count;
  std::uint64_t record_words;  // 32-bit words of all records
  std::uint64_t payload_hash;  // XXH3_64bits of everything after the header
};
static_assert(sizeof(RecordImageHeader) == 40);

constexpr std::array<char, 8> kRecordMagic = {'S', 'L', 'R', 'E', 'C', 'S', '0', '1'};

Status damaged_records(std::uint64_t offset, std::string_view what) {
  return Status::corruption(fmt::format("records, offset {}: {}", offset, what));
}

// A walk over the words of the payload that knows where it is in the image.
struct Words {
  std::vector<std::uint32_t> words;
  std::size_t at = 0;
  std::size_t end = 0;

  std::size_t left() const { return end - at; }
  std::uint64_t offset() const { return sizeof(RecordImageHeader) + (at * sizeof(std::uint32_t)); }
};

Status decode_shapes(Words& words, RecordTable& records) {
  while (words.left() > 0) {
    const std::uint64_t offset = words.offset();
    const std::uint32_t fields = words.words[words.at++];
    if (fields > words.left())
      return damaged_records(offset, fmt::format("a shape of {} fields", fields));
    Shape shape;
    for (std::uint32_t f = 0; f < fields; ++f) {
      const std::uint32_t field = words.words[words.at++];
      if (field > static_cast<std::uint32_t>(CellClass::kRecord))
        return damaged_records(words.offset() - sizeof(field),
                               fmt::format("{} is no class of cells", field));
      shape.push_back(static_cast<CellClass>(field));
    }
    const std::uint64_t known = records.shapes().size();
    if (known >= RecordTable::kMaxShapes || records.shape(shape) != known)
      return damaged_records(offset, "a shape occurs twice, or there are too many");
  }
  return Status::ok();
}

bool is_known(const ValueDictionary& dictionary, CellClass field, Cell cell) {
  switch (field) {
    case CellClass::kSymbol:
      return cell < dictionary.symbols().size();
    case CellClass::kRecord:
      return cell <= dictionary.records().size();
    case CellClass::kNumber:
      break;
  }
  return !is_wide_cell(cell) || cell - kWideBase < dictionary.wides().size();
}

Status decode_one(Words& words, ValueDictionary& dictionary) {
  RecordTable& records = dictionary.records();
  const std::uint64_t offset = words.offset();
  if (words.left() == 0) return damaged_records(offset, "a record is missing");
  const ShapeId id = words.words[words.at++];
  if (id >= records.shapes().size())
    return damaged_records(offset, fmt::format("there is no shape {}", id));
  const Shape& shape = records.fields_of(id);
  if (shape.size() > words.left()) return damaged_records(offset, "a record is cut");
  const std::span<const Cell> cells = std::span(words.words).subspan(words.at, shape.size());
  for (std::size_t f = 0; f < shape.size(); ++f)
    if (!is_known(dictionary, shape[f], cells[f]))
      return damaged_records(offset + (4 * (f + 1)),
                             fmt::format("{:#x} is not in the dictionary", cells[f]));
  const std::uint64_t known = records.size();
  if (!records.has_room() || records.intern(id, cells) != known)
    return damaged_records(offset, "a record occurs twice, or there are too many");
  words.at += shape.size();
  return Status::ok();
}

}  // namespace

std::vector<std::byte> encode_records(const ValueDictionary& dictionary, RecordCounts from) {
  const RecordTable& records = dictionary.records();
  std::vector<std::uint32_t> words;
  for (const Shape& shape : records.shapes().subspan(from.shapes)) {
    words.push_back(static_cast<std::uint32_t>(shape.size()));
    for (const CellClass field : shape) words.push_back(static_cast<std::uint32_t>(field));
  }
  RecordImageHeader header{.magic = kRecordMagic,
                           .shape_words = words.size(),
                           .record_count = records.size() - from.records,
                           .record_words = 0,
                           .payload_hash = 0};
  if (from.records == 0) words.reserve(words.size() + records.cell_count());
  for (auto id = static_cast<std::uint32_t>(from.records); id < records.size(); ++id) {
    words.push_back(records.shape_of(id));
    const std::span<const Cell> cells = records.cells(id);
    words.insert(words.end(), cells.begin(), cells.end());
  }
  header.record_words = words.size() - header.shape_words;
  const std::size_t bytes = words.size() * sizeof(std::uint32_t);
  header.payload_hash = XXH3_64bits(words.data(), bytes);
  std::vector<std::byte> image(sizeof(header) + bytes);
  std::memcpy(image.data(), &header, sizeof(header));
  if (bytes != 0) std::memcpy(image.data() + sizeof(header), words.data(), bytes);
  return image;
}

namespace {

// The image at the front of `images`, of which it takes its bytes away.
Status decode_record_image(std::span<const std::byte>& images, ValueDictionary& dictionary) {
  RecordImageHeader header{};
  if (images.size() < sizeof(header))
    return damaged_records(images.size(),
                           fmt::format("expected a header of {} bytes", sizeof(header)));
  std::memcpy(&header, images.data(), sizeof(header));
  if (header.magic != kRecordMagic) return damaged_records(0, "expected the magic bytes SLRECS01");
  const std::uint64_t most = (images.size() - sizeof(header)) / sizeof(std::uint32_t);
  if (header.shape_words > most || header.record_words > most - header.shape_words)
    return damaged_records(
        8, fmt::format("expected {} and {} words, found {} bytes after the header",
                       header.shape_words, header.record_words, images.size() - sizeof(header)));
  const std::uint64_t all = header.shape_words + header.record_words;
  const auto payload = images.subspan(sizeof(header), all * sizeof(std::uint32_t));
  const std::uint64_t found = XXH3_64bits(payload.data(), payload.size());
  if (found != header.payload_hash)
    return damaged_records(
        32, fmt::format("expected checksum {:016x}, found {:016x}", header.payload_hash, found));
  Words words;
  words.words.resize(all);
  if (all != 0) std::memcpy(words.words.data(), payload.data(), payload.size());
  words.end = header.shape_words;
  STRATALOG_RETURN_IF_ERROR(decode_shapes(words, dictionary.records()));
  words.end = all;
  for (std::uint64_t i = 0; i < header.record_count; ++i)
    STRATALOG_RETURN_IF_ERROR(decode_one(words, dictionary));
  if (words.left() != 0)
    return damaged_records(16, fmt::format("{} words belong to no record", words.left()));
  images = images.subspan(sizeof(header) + payload.size());
  return Status::ok();
}

}  // namespace

Status decode_records(std::span<const std::byte> images, ValueDictionary& dictionary) {
  return decode_images(images, [&](std::span<const std::byte>& left) {
    return decode_record_image(left, dictionary);
  });
}

}  // namespace stratalog
