// SPDX-License-Identifier: Apache-2.0
// ExtentStream: a stream of bytes that lies in several extents of one file, read at offsets of the
// stream. Local; thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "commit/manifest.h"
#include "place/read_ranges.h"
#include "write/store.h"

namespace stratalog {

class ExtentStream {
 public:
  ExtentStream() = default;  // of nothing
  static Result<ExtentStream> open(Store& store, std::string path, std::vector<Extent> extents);
  // In a file that is open for reading. Streams that take turns in a file should share one: the
  // kernel reads ahead by what one open file was asked for.
  ExtentStream(std::shared_ptr<File> file, std::string path, std::vector<Extent> extents);

  // Fills `bytes`; Corruption if the stream ends before.
  Status read(std::uint64_t offset, std::span<std::byte> bytes);
  // Where these bytes lie in the file: in several pieces, if extents end between. Fewer bytes where
  // the stream ends.
  std::vector<ShardPlace::Piece> pieces(std::uint64_t offset, std::uint64_t bytes) const;
  // A hint: most of it will be read, front to back.
  void will_read();
  // A hint: these bytes will be read soon, and a file may be opened or another be read before.
  void begin_reading(std::uint64_t offset, std::uint64_t bytes);
  // Where stream offset `offset` lies, for messages.
  std::string place(std::uint64_t offset) const;
  // Stream offset at which extent `number` begins.
  std::uint64_t begin_of(std::uint64_t number) const { return begins_[number]; }

 private:
  // The extent that holds `offset`; the number of extents if none does.
  std::size_t extent_at(std::uint64_t offset) const;

  std::shared_ptr<File> file_;
  std::string path_;
  std::vector<Extent> extents_;
  std::vector<std::uint64_t> begins_;  // of each extent in the stream, and the stream's end
};

}  // namespace stratalog
