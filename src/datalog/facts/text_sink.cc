// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/text_sink.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "datalog/facts/gzip_window.h"

namespace stratalog::datalog {
namespace {

constexpr int kGzipLevel = 6;
constexpr int kGzipMemory = 8;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

template <std::size_t kCount>
using Sizes = std::array<std::uint64_t, kCount>;

// Collective. Everyone's numbers, by rank.
template <std::size_t kCount>
Result<std::vector<Sizes<kCount>>> share_sizes(Comm& comm, const Sizes<kCount>& mine) {
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(std::as_bytes(std::span(mine))));
  std::vector<Sizes<kCount>> sizes(static_cast<std::size_t>(comm.size()));
  if (all.data.size() != sizes.size() * sizeof(mine))
    return Status::internal("sizes of output: cut message");
  std::memcpy(sizes.data(), all.data.data(), all.data.size());
  return sizes;
}

Status append_member(std::string_view text, std::string& out) {
  z_stream stream = {};
  if (deflateInit2(&stream, kGzipLevel, Z_DEFLATED, kGzipWindow, kGzipMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return Status::internal("zlib does not start; is memory short?");
  const std::size_t before = out.size();
  out.resize(before + deflateBound(&stream, text.size()));
  // zlib's field lacks a const that its manual promises.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
  stream.avail_out = static_cast<uInt>(out.size() - before);
  const int outcome = deflate(&stream, Z_FINISH);
  out.resize(before + stream.total_out);
  deflateEnd(&stream);
  return outcome == Z_STREAM_END ? Status::ok() : Status::internal("zlib does not compress");
}

// Compresses the full members at the start of `text` and removes them.
Status take_full_members(std::string& text, std::string& out) {
  std::size_t done = 0;
  for (; text.size() - done >= kGzipMemberTextBytes; done += kGzipMemberTextBytes)
    STRATALOG_RETURN_IF_ERROR(
        append_member(std::string_view(text).substr(done, kGzipMemberTextBytes), out));
  text.erase(0, done);
  return Status::ok();
}

}  // namespace

Status PlainSink::append(Comm& comm, std::string_view text) {
  STRATALOG_ASSIGN_OR_RETURN(const auto sizes, share_sizes(comm, Sizes<1>{text.size()}));
  std::uint64_t offset = file_bytes_;
  for (int r = 0; r < comm.size(); ++r) {
    if (r < comm.rank()) offset += sizes[static_cast<std::size_t>(r)][0];
    file_bytes_ += sizes[static_cast<std::size_t>(r)][0];
  }
  return agree(comm, file_.write_at(offset, bytes_of(text)));
}

// Member i holds the text [i * kGzipMemberTextBytes, ...) and belongs to the rank that printed its
// first byte. So each rank hands at most the start of its text to one other rank.
Status GzipSink::append(Comm& comm, std::string_view text) {
  STRATALOG_ASSIGN_OR_RETURN(const auto sizes, share_sizes(comm, Sizes<1>{text.size()}));
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  std::vector<std::uint64_t> starts(ranks + 1, text_bytes_);
  for (std::size_t r = 0; r < ranks; ++r) starts[r + 1] = starts[r] + sizes[r][0];
  // Whose is the member that holds or would hold the byte at `offset`?
  const auto owner_of = [&](std::uint64_t offset) {
    const std::uint64_t member = offset / kGzipMemberTextBytes * kGzipMemberTextBytes;
    if (member < text_bytes_) return static_cast<std::size_t>(carry_rank_);
    const auto after = std::upper_bound(starts.begin(), starts.end() - 1, member);
    return static_cast<std::size_t>(after - starts.begin()) - 1;
  };
  const auto head_bytes =
      [&](std::size_t rank) {  // of the member that began before the rank's text
        const std::uint64_t into = starts[rank] % kGzipMemberTextBytes;
        return into == 0 ? 0 : std::min(sizes[rank][0], kGzipMemberTextBytes - into);
      };
  std::vector<std::uint64_t> counts(ranks, 0);
  counts[owner_of(starts[me])] = head_bytes(me);
  STRATALOG_ASSIGN_OR_RETURN(const Received heads,
                             comm.exchange(bytes_of(text.substr(0, head_bytes(me))), counts));

  std::string own(text.substr(head_bytes(me)));
  std::size_t at = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::uint64_t bytes = heads.counts[r];
    const std::uint64_t member = starts[r] / kGzipMemberTextBytes * kGzipMemberTextBytes;
    std::string& target = member < text_bytes_ ? carry_ : own;
    target.append(reinterpret_cast<const char*>(heads.data.data()) + at, bytes);
    at += bytes;
  }
  std::string carried_members;
  std::string own_members;
  Status packed = take_full_members(carry_, carried_members);
  if (packed.is_ok()) packed = take_full_members(own, own_members);
  STRATALOG_RETURN_IF_ERROR(agree(comm, packed));
  const std::uint64_t end = starts[ranks];
  const std::uint64_t open_member = end / kGzipMemberTextBytes * kGzipMemberTextBytes;
  if (open_member >= text_bytes_ && open_member != end) {
    carry_rank_ = static_cast<int>(owner_of(open_member));
    carry_ = std::move(own);  // empty on all other ranks
  }
  text_bytes_ = end;
  return write_members(comm, carried_members, own_members);
}

// The carried member comes before all that began in this call.
Status GzipSink::write_members(Comm& comm, const std::string& carried, const std::string& own) {
  STRATALOG_ASSIGN_OR_RETURN(const auto sizes,
                             share_sizes(comm, Sizes<2>{carried.size(), own.size()}));
  std::uint64_t offset = file_bytes_;
  for (const auto& size : sizes) offset += size[0];
  const std::uint64_t carried_at = file_bytes_;
  file_bytes_ = offset;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    if (static_cast<int>(r) < comm.rank()) offset += sizes[r][1];
    file_bytes_ += sizes[r][1];
  }
  Status written = file_.write_at(carried_at, bytes_of(carried));  // one rank at most has some
  if (written.is_ok()) written = file_.write_at(offset, bytes_of(own));
  return agree(comm, written);
}

Status GzipSink::finish(Comm& comm) {
  std::string member;
  Status packed;
  const bool has_rest = text_bytes_ % kGzipMemberTextBytes != 0 || text_bytes_ == 0;
  if (has_rest && comm.rank() == carry_rank_) packed = append_member(carry_, member);
  carry_.clear();
  STRATALOG_RETURN_IF_ERROR(agree(comm, packed));
  return write_members(comm, member, {});
}

}  // namespace stratalog::datalog
