// SPDX-License-Identifier: Apache-2.0
// KeyStreams: sorted rows of 32-bit numbers as plain streams of such numbers, without bit packing:
// what differs from the row before, level by level. Streams of relations in key order are short
// and repetitive, so that general compressors (shuffle + deflate, shuffle + LZ4) do well on them.
// docs/formats/facts.md defines them. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stratalog::datalog {

// What streams pass through on their way into an HDF5 file.
enum class StreamFilter : std::uint8_t {
  kDeflate,  // HDF5's own shuffle and deflate 1: every reader has them
  kBlosc,  // blosc's shuffle and LZ4, filter 32001: where its plugin is present
};

class KeyStreams {
 public:
  using Stream = std::vector<std::uint32_t>;

  // Rows of `columns` >= 1 numbers.
  explicit KeyStreams(std::uint32_t columns);

  // The rows that follow those of earlier calls; ascending, no two alike. O(numbers).
  void add(std::span<const std::uint32_t> rows);
  // After the last row: closes what is open.
  void finish();

  // "key"; "count", "first", "gap" of the second column; "count2", ... of the third, and so on.
  std::size_t size() const { return streams_.size(); }
  std::string name(std::size_t stream) const;
  // What has come since it was last emptied; the caller takes it away when it has enough.
  Stream& stream(std::size_t stream) { return streams_[stream]; }

 private:
  enum Part : std::uint8_t { kCount, kFirst, kGap };
  Stream& part(std::size_t column, Part part) { return streams_[((column - 1) * 3) + 1 + part]; }
  void add_pairs(std::span<const std::uint32_t> rows);
  void add_row(std::span<const std::uint32_t> row);
  // From column `column` on the row begins something new.
  void begin(std::span<const std::uint32_t> row, std::size_t column);

  std::size_t columns_;
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> last_;  // the row before; empty: none
  std::vector<std::uint32_t> open_;  // per column from the second on: children so far
};

}  // namespace stratalog::datalog
