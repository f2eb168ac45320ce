// SPDX-License-Identifier: Apache-2.0
// TextSink: what ranks print, in (call, rank) order, to one file: as it is, or as gzip members of a
// fixed amount of text each, so that the bytes of the file do not depend on who printed how much.
// Collective; every call ends with the same Status on all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "datalog/facts/output_file.h"

namespace stratalog::datalog {

// Text per gzip member. Part of the file format: changing it changes the bytes of outputs.
inline constexpr std::uint64_t kGzipMemberTextBytes = std::uint64_t{1} << 20;

class PlainSink {
 public:
  explicit PlainSink(OutputFile& file) : file_(file) {}
  Status append(Comm& comm, std::string_view text);
  Status finish(Comm& /*comm*/) { return Status::ok(); }
  std::uint64_t bytes_written() const { return file_bytes_; }

 private:
  OutputFile& file_;
  std::uint64_t file_bytes_ = 0;
};

class GzipSink {
 public:
  explicit GzipSink(OutputFile& file) : file_(file) {}
  Status append(Comm& comm, std::string_view text);
  // Writes the last, shorter member; an empty file gets one, too.
  Status finish(Comm& comm);
  std::uint64_t bytes_written() const { return file_bytes_; }

 private:
  struct Members;
  Status write_members(Comm& comm, const std::string& carried, const std::string& own);

  OutputFile& file_;
  std::uint64_t text_bytes_ = 0;  // of all ranks so far
  std::uint64_t file_bytes_ = 0;
  int carry_rank_ = 0;  // who holds the text of the member that is not full
  std::string carry_;  // that text, on that rank
};

}  // namespace stratalog::datalog
