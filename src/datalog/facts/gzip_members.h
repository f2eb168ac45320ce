// SPDX-License-Identifier: Apache-2.0
// GzipMembers: a gzip file by whole members, in less time than zlib takes for a stream. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "write/store.h"

namespace stratalog::datalog {

class GzipMembers {
 public:
  // Null where the build found no libdeflate, or the file is larger than 32 MiB: it is held whole.
  // IoError where it cannot be read, NoSpace without memory for the tables.
  static Result<std::unique_ptr<GzipMembers>> open(File& file, std::uint64_t size_bytes);

  virtual ~GzipMembers() = default;
  GzipMembers(const GzipMembers&) = delete;
  GzipMembers& operator=(const GzipMembers&) = delete;

  // Where the next member begins; the file's size at the end.
  virtual std::uint64_t offset() const = 0;
  // The text of the next member, until the next call. False, and nothing taken, where it is damaged
  // or has more than 64 MiB, or more than there is memory for: whoever reads on from piece to piece
  // can, or knows what is wrong.
  virtual bool next(std::span<const char>& text) = 0;

 protected:
  GzipMembers() = default;
};

}  // namespace stratalog::datalog
