// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_end.h"
#include "bench/large_pages.h"
#include "bench/seconds.h"
#include "checkpoint/phase_times.h"
#include "model/multiset_hash.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kCallBytes = 1 << 20;
constexpr std::uint64_t kBufferBytes = 8 * kCallBytes;  // more than a core's cache

struct Place {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t sum = 0;  // bytes of all ranks
  std::uint64_t writers = 0;  // ranks with bytes
};

Result<Place> place_of(Comm& comm, RawFiles files, std::uint64_t local_bytes) {
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(comm.size()));
  bytes[static_cast<std::size_t>(comm.rank())] = local_bytes;
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(bytes, ReduceOp::kSum));
  Place place;
  for (int r = 0; r < comm.size(); ++r) {
    const std::uint64_t count = bytes[static_cast<std::size_t>(r)];
    if (files == RawFiles::kShared && r < comm.rank()) place.offset += count;
    place.sum += count;
    place.writers += count > 0 ? 1 : 0;
  }
  place.path = files == RawFiles::kShared ? "raw" : fmt::format("raw.{}", comm.rank());
  return place;
}

Result<std::unique_ptr<File>> create(Comm& comm, Store& store, RawFiles files,
                                     const std::string& path, std::uint64_t local_bytes) {
  Result<std::unique_ptr<File>> file = std::unique_ptr<File>();
  const bool makes = files == RawFiles::kOwn ? local_bytes > 0 : comm.rank() == 0;
  if (makes) file = store.open(path, OpenMode::kCreateExclusive);
  if (files == RawFiles::kShared) {
    STRATALOG_RETURN_IF_ERROR(agree(comm, file.status()));
    if (!makes && local_bytes > 0) file = store.open(path, OpenMode::kWriteExisting);
  }
  return file;
}

Status write_all(File& file, std::uint64_t offset, std::uint64_t bytes,
                 std::span<const std::byte> buffer) {
  for (std::uint64_t at = 0; at < bytes; at += kCallBytes) {
    const auto piece = buffer.subspan(at % kBufferBytes, std::min(kCallBytes, bytes - at));
    STRATALOG_RETURN_IF_ERROR(file.write_at(offset + at, piece));
  }
  return Status::ok();
}

Bytes noise(int rank) {
  Bytes buffer(kBufferBytes);
  std::uint64_t state = static_cast<std::uint64_t>(rank) << 32U;
  for (std::size_t at = 0; at < buffer.size(); at += 8) {
    const std::uint64_t word = splitmix64(++state);
    std::copy_n(reinterpret_cast<const std::byte*>(&word), 8,
                buffer.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return buffer;
}

// This rank's part; the times go to `write`.
Status write_part(Store& store, File* file, const Place& place, std::uint64_t local_bytes,
                  std::span<const std::byte> buffer, Durability durability, RawWrite& write) {
  std::uint64_t write_ns = 0;
  std::uint64_t sync_ns = 0;
  if (file != nullptr) {
    {
      const Stopwatch watch(write_ns);
      STRATALOG_RETURN_IF_ERROR(write_all(*file, place.offset, local_bytes, buffer));
    }
    const Stopwatch watch(sync_ns);
    if (durability != Durability::kNone) STRATALOG_RETURN_IF_ERROR(file->sync());
    STRATALOG_RETURN_IF_ERROR(file->close());
    if (durability == Durability::kFull) STRATALOG_RETURN_IF_ERROR(store.sync_directory("."));
  }
  write.write_seconds = seconds_of(write_ns);
  write.sync_seconds = seconds_of(sync_ns);
  return Status::ok();
}

struct FreeBlock {
  std::size_t bytes = 0;
  void operator()(std::byte* block) const { LargePages<std::byte>().deallocate(block, bytes); }
};
using Block = std::unique_ptr<std::byte, FreeBlock>;

// This rank's bytes of the files, one file behind the other.
Status read_share(Store& store, const std::vector<std::string>& paths,
                  std::span<const std::uint64_t> begins, std::uint64_t from, std::uint64_t to,
                  std::span<std::byte> buffer) {
  const bool holds_all = buffer.size() >= to - from + kCallBytes;
  for (std::size_t f = 0; f < paths.size(); ++f) {
    const std::uint64_t begin = std::max(from, begins[f]);
    const std::uint64_t end = std::min(to, begins[f + 1]);
    if (begin >= end) continue;
    STRATALOG_ASSIGN_OR_RETURN(const auto file, store.open(paths[f], OpenMode::kRead));
    for (std::uint64_t at = begin; at < end; at += kCallBytes) {
      const auto piece = buffer.subspan(holds_all ? at - from : (at - begin) % kBufferBytes,
                                        std::min(kCallBytes, end - at));
      STRATALOG_RETURN_IF_ERROR(file->read_at(at - begins[f], piece));
    }
  }
  return Status::ok();
}

Status list_folder(Store& store, const std::string& folder, std::vector<std::string>& paths,
                   std::vector<std::uint64_t>& begins) {
  STRATALOG_ASSIGN_OR_RETURN(const auto names, store.list(folder));
  for (const std::string& name : names) {
    paths.push_back(folder == "." ? name : fmt::format("{}/{}", folder, name));
    STRATALOG_ASSIGN_OR_RETURN(const FileInfo info, store.info(paths.back()));
    begins.push_back(begins.back() + info.size_bytes);
  }
  return Status::ok();
}

}  // namespace

Result<RawWrite> write_raw(Comm& comm, Store& store, RawFiles files, std::uint64_t local_bytes,
                           Durability durability) {
  STRATALOG_ASSIGN_OR_RETURN(const Place place, place_of(comm, files, local_bytes));
  const Bytes buffer = noise(comm.rank());
  RawWrite write;
  STRATALOG_RETURN_IF_ERROR(comm.barrier());
  const std::uint64_t start = now_ns();
  auto file = create(comm, store, files, place.path, local_bytes);
  std::uint64_t most[4] = {now_ns() - start};
  Status status = file.status();
  if (status.is_ok())
    status = write_part(store, file.value().get(), place, local_bytes, buffer, durability, write);
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  most[1] = now_ns() - start;
  most[2] = static_cast<std::uint64_t>(write.write_seconds * 1e9);
  most[3] = static_cast<std::uint64_t>(write.sync_seconds * 1e9);
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(most, ReduceOp::kMax));
  write.create_seconds = seconds_of(most[0]);
  write.total_seconds = seconds_of(most[1]);
  write.write_seconds = seconds_of(most[2]);
  write.sync_seconds = seconds_of(most[3]);
  write.bytes = place.sum;
  write.files = files == RawFiles::kOwn ? place.writers : 1;
  return write;
}

Result<RawRead> read_raw(Comm& comm, Store& store, RawFiles files, std::uint64_t local_bytes) {
  STRATALOG_ASSIGN_OR_RETURN(const Place place, place_of(comm, files, local_bytes));
  Bytes buffer(kBufferBytes);
  STRATALOG_RETURN_IF_ERROR(comm.barrier());
  const std::uint64_t start = now_ns();
  Status status;
  if (local_bytes > 0) {
    auto file = store.open(place.path, OpenMode::kRead);
    status = file.status();
    for (std::uint64_t at = 0; status.is_ok() && at < local_bytes; at += kCallBytes) {
      const auto piece =
          std::span(buffer).subspan(at % kBufferBytes, std::min(kCallBytes, local_bytes - at));
      status = file.value()->read_at(place.offset + at, piece);
    }
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  std::uint64_t most[] = {now_ns() - start};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(most, ReduceOp::kMax));
  return RawRead{.total_seconds = seconds_of(most[0]), .bytes = place.sum};
}

Result<RawRead> read_folder_raw(Comm& comm, Store& store, const std::string& folder, RawInto into) {
  std::vector<std::string> paths;
  std::vector<std::uint64_t> begins = {0};
  STRATALOG_RETURN_IF_ERROR(agree(comm, list_folder(store, folder, paths, begins)));
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  const std::uint64_t from = begins.back() / ranks * rank;
  const std::uint64_t to = rank + 1 == ranks ? begins.back() : begins.back() / ranks * (rank + 1);
  const std::size_t room = into == RawInto::kOneBuffer ? kBufferBytes : to - from + kCallBytes;
  Block block(nullptr, {});  // goes when the time has been taken
  STRATALOG_RETURN_IF_ERROR(agree(comm, or_no_space("not enough memory for what is read", [&] {
                                    block = Block(LargePages<std::byte>().allocate(room), {room});
                                    return Status::ok();
                                  })));
  const std::span<std::byte> buffer(block.get(), room);
  // Fresh memory is touched by the reading first.
  if (into == RawInto::kOneBuffer) std::ranges::fill(buffer, std::byte{0});
  STRATALOG_RETURN_IF_ERROR(comm.barrier());
  const std::uint64_t start = now_ns();
  const Status status = read_share(store, paths, begins, from, to, buffer);
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  std::uint64_t most[] = {now_ns() - start};
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(most, ReduceOp::kMax));
  return RawRead{.total_seconds = seconds_of(most[0]), .bytes = begins.back()};
}

}  // namespace stratalog
