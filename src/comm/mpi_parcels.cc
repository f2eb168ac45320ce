// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_parcels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "base/memory_end.h"
#include "comm/mpi_status.h"

namespace stratalog {
namespace {

constexpr int kHeadTag = 8;  // and the one after it
constexpr int kRestTag = 10;
// A head is a word, the parcel's size, and so much of it.
constexpr std::uint64_t kHeadWord = sizeof(std::uint64_t);
constexpr std::uint64_t kMostOfHead = 4096 - kHeadWord;

Status wait_for_all(std::vector<MPI_Request>& requests) {
  return mpi_status(
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
      "MPI_Waitall");
}

}  // namespace

struct MpiParcels::Sends {
  Bytes heads;
  std::vector<MPI_Request> requests;
};

MpiParcels::MpiParcels(MPI_Comm handle, int rank, int size, std::uint64_t bytes_per_message)
    : handle_(handle),
      rank_(rank),
      size_(size),
      bytes_per_message_(bytes_per_message),
      head_bytes_(std::min(kMostOfHead, bytes_per_message)) {}

// What is little finds its room there: whoever has none says so while all can still hear of it.
Status MpiParcels::make_room(Heads& told) const {
  return or_no_space("not enough memory to receive parcels", [&]() -> Status {
    told.heads.reserve(static_cast<std::size_t>(size_));
    told.pieces.reserve(kAlwaysThere);
    return Status::ok();
  });
}

Status MpiParcels::receive_head(int tag, Heads& told, bool& came) {
  int is_there = 0;
  MPI_Status envelope;
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Iprobe(MPI_ANY_SOURCE, tag, handle_, &is_there, &envelope), "MPI_Iprobe"));
  came = is_there != 0;
  if (!came) return Status::ok();
  std::array<std::byte, kHeadWord + kMostOfHead> head{};
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Recv(head.data(), static_cast<int>(head.size()), MPI_BYTE, envelope.MPI_SOURCE,
                          tag, handle_, MPI_STATUS_IGNORE),
                 "MPI_Recv"));
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, head.data(), kHeadWord);
  // Without memory it still receives, so that nobody waits for it.
  const Status kept = or_no_space("not enough memory for what others send", [&]() -> Status {
    told.heads.push_back(
        {.parcel = {.rank = envelope.MPI_SOURCE, .bytes = bytes}, .piece = told.pieces.size()});
    const auto piece = std::span(head).subspan(kHeadWord, std::min(bytes, head_bytes_));
    told.pieces.insert(told.pieces.end(), piece.begin(), piece.end());
    return Status::ok();
  });
  if (!kept.is_ok()) told.status = kept;
  return Status::ok();
}

Status MpiParcels::begin_sends(std::span<const std::byte> data, std::span<const Parcel> parcels,
                               int tag, Sends& sends) {
  std::vector<std::size_t> ends;
  const Status packed = or_no_space("not enough memory to send parcels", [&]() -> Status {
    std::uint64_t from = 0;
    for (const Parcel& parcel : parcels) {
      const auto* const word = reinterpret_cast<const std::byte*>(&parcel.bytes);
      sends.heads.insert(sends.heads.end(), word, word + kHeadWord);
      const auto piece = data.subspan(from, std::min(parcel.bytes, head_bytes_));
      sends.heads.insert(sends.heads.end(), piece.begin(), piece.end());
      ends.push_back(sends.heads.size());
      from += parcel.bytes;
    }
    sends.requests.resize(parcels.size(), MPI_REQUEST_NULL);
    return Status::ok();
  });
  STRATALOG_RETURN_IF_ERROR(packed);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Issend(sends.heads.data() + begin, static_cast<int>(ends[i] - begin),
                              MPI_BYTE, parcels[i].rank, tag, handle_, &sends.requests[i]),
                   "MPI_Issend"));
    begin = ends[i];
  }
  return Status::ok();
}

Result<MpiParcels::Heads> MpiParcels::exchange_heads(std::span<const std::byte> data,
                                                     std::span<const Parcel> parcels) {
  const int tag = kHeadTag + (is_odd_ ? 1 : 0);
  is_odd_ = !is_odd_;
  Sends sends;
  Heads told;
  Status begun = make_room(told);
  if (begun.is_ok()) begun = begin_sends(data, parcels, tag, sends);
  if (!begun.is_ok() && begun.code() != StatusCode::kNoSpace) return begun;

  // The largest parcel, and one more than the last rank that could not begin.
  std::array<std::uint64_t, 2> most{0, begun.is_ok() ? 0U : static_cast<std::uint64_t>(rank_) + 1};
  for (const Parcel& parcel : parcels) most[0] = std::max(most[0], parcel.bytes);
  MPI_Request everybody = MPI_REQUEST_NULL;
  for (bool has_begun = false;;) {
    bool came = false;
    STRATALOG_RETURN_IF_ERROR(receive_head(tag, told, came));
    if (came) continue;
    std::this_thread::yield();  // where ranks share cores
    int done = 0;
    if (has_begun) {
      STRATALOG_RETURN_IF_ERROR(
          mpi_status(MPI_Test(&everybody, &done, MPI_STATUS_IGNORE), "MPI_Test"));
      if (done != 0) break;
      continue;
    }
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Testall(static_cast<int>(sends.requests.size()), sends.requests.data(),
                               &done, MPI_STATUSES_IGNORE),
                   "MPI_Testall"));
    if (done == 0) continue;
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Iallreduce(MPI_IN_PLACE, most.data(), static_cast<int>(most.size()),
                                  MPI_UINT64_T, MPI_MAX, handle_, &everybody),
                   "MPI_Iallreduce"));
    has_begun = true;
  }
  if (most[1] != 0)
    return Status::no_space(
        fmt::format("rank {}: not enough memory for a sparse exchange", most[1] - 1));
  told.largest = most[0];
  std::ranges::sort(told.heads, {}, [](const Head& head) { return head.parcel.rank; });
  return told;
}

Status MpiParcels::exchange_rest(std::span<const std::byte> data, std::span<const Parcel> parcels,
                                 const Heads& heads, Bytes& into) {
  std::uint64_t at = 0;
  for (const auto& [parcel, piece] : heads.heads) {
    std::copy_n(heads.pieces.begin() + static_cast<std::ptrdiff_t>(piece),
                std::min(parcel.bytes, head_bytes_),
                into.begin() + static_cast<std::ptrdiff_t>(at));
    at += parcel.bytes;
  }
  std::vector<MPI_Request> requests;
  for (std::uint64_t done = head_bytes_; done < heads.largest; done += bytes_per_message_) {
    requests.clear();
    const auto next = [&](const Parcel& parcel) {
      return static_cast<MPI_Count>(
          std::min(parcel.bytes - std::min(parcel.bytes, done), bytes_per_message_));
    };
    at = 0;
    for (const auto& [parcel, piece] : heads.heads) {
      if (next(parcel) != 0)
        STRATALOG_RETURN_IF_ERROR(
            mpi_status(MPI_Irecv_c(into.data() + at + done, next(parcel), MPI_BYTE, parcel.rank,
                                   kRestTag, handle_, &requests.emplace_back(MPI_REQUEST_NULL)),
                       "MPI_Irecv_c"));
      at += parcel.bytes;
    }
    at = 0;
    for (const Parcel& parcel : parcels) {
      if (next(parcel) != 0)
        STRATALOG_RETURN_IF_ERROR(
            mpi_status(MPI_Isend_c(data.data() + at + done, next(parcel), MPI_BYTE, parcel.rank,
                                   kRestTag, handle_, &requests.emplace_back(MPI_REQUEST_NULL)),
                       "MPI_Isend_c"));
      at += parcel.bytes;
    }
    STRATALOG_RETURN_IF_ERROR(wait_for_all(requests));
  }
  return Status::ok();
}

}  // namespace stratalog
