// SPDX-License-Identifier: Apache-2.0
// Whole buffers as zlib streams (RFC 1950), as HDF5's deflate filter stores chunks. Where the build
// found libdeflate, it inflates, in a fifth to a half of zlib's time, and deflates at levels from 2
// on, quicker and smaller than zlib. Level 1 is zlib's always: on the long runs that sorted streams
// consist of it is as quick, and any reader inflates what it writes in a third of the time. Local;
// one thread each.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"

namespace stratalog {

// Keeps its tables from buffer to buffer.
class ZlibDeflater {
 public:
  // `level` 1 to 9.
  explicit ZlibDeflater(int level);
  ~ZlibDeflater();
  ZlibDeflater(ZlibDeflater&&) noexcept;
  ZlibDeflater& operator=(ZlibDeflater&&) noexcept;

  // Bytes written to `to`; 0 where the stream does not fit there, or without memory for tables.
  std::size_t deflate(std::span<const std::byte> from, std::span<std::byte> to);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

class ZlibInflater {
 public:
  ZlibInflater();
  ~ZlibInflater();
  ZlibInflater(ZlibInflater&&) noexcept;
  ZlibInflater& operator=(ZlibInflater&&) noexcept;

  // OK where `from` is one whole stream, and of exactly `to`. Corruption, or NoSpace without memory
  // for tables.
  Status inflate(std::span<const std::byte> from, std::span<std::byte> to);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace stratalog
