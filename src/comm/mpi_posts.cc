// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_posts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/memory_end.h"
#include "comm/mpi_status.h"

namespace stratalog {
namespace {

constexpr int kPostTag = 7;

// Buffers of messages that nobody took: they belong to MPI until the process ends.
std::deque<Bytes>& abandoned() {
  static std::deque<Bytes> buffers;
  return buffers;
}

Result<std::uint64_t> size_of(const MPI_Status& envelope) {
  MPI_Count bytes = 0;
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Get_count_c(&envelope, MPI_BYTE, &bytes), "MPI_Get_count_c"));
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

MpiPosts::~MpiPosts() {
  if (receiving_) (void)MPI_Wait(&request_, MPI_STATUS_IGNORE);  // its sender has begun
  forget_sent();
  for (Sending& sending : sent_) {
    (void)MPI_Request_free(&sending.request);
    abandoned().push_back(std::move(sending.data));
  }
}

void MpiPosts::forget_sent() {
  const auto has_left = [](Sending& sending) {
    int done = 0;
    return MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
  };
  std::erase_if(sent_, has_left);
}

bool MpiPosts::may_post() {
  forget_sent();
  return sent_.size() < static_cast<std::size_t>(kMostPostsUnderWay);
}

Status MpiPosts::post(int to, Bytes data) {
  Sending& sending = sent_.emplace_back();
  sending.data = std::move(data);
  const Status begun =
      mpi_status(MPI_Isend_c(sending.data.data(), static_cast<MPI_Count>(sending.data.size()),
                             MPI_BYTE, to, kPostTag, handle_, &sending.request),
                 "MPI_Isend_c");
  if (!begun.is_ok()) sent_.pop_back();
  return begun;
}

Status MpiPosts::finish_receiving(bool& is_done) {
  int done = 0;
  STRATALOG_RETURN_IF_ERROR(mpi_status(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test"));
  is_done = done != 0;
  return Status::ok();
}

Result<std::optional<Post>> MpiPosts::take() {
  std::optional<Post> post;
  if (!held_.empty()) {
    post = std::move(held_.front());
    held_.pop_front();
    return post;
  }
  if (!receiving_) {
    int is_there = 0;
    MPI_Status envelope;
    STRATALOG_RETURN_IF_ERROR(mpi_status(
        MPI_Iprobe(MPI_ANY_SOURCE, kPostTag, handle_, &is_there, &envelope), "MPI_Iprobe"));
    if (is_there == 0) return post;
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t bytes, size_of(envelope));
    Post next{.sender = envelope.MPI_SOURCE, .data = Bytes(bytes)};
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Irecv_c(next.data.data(), static_cast<MPI_Count>(bytes), MPI_BYTE,
                               next.sender, kPostTag, handle_, &request_),
                   "MPI_Irecv_c"));
    receiving_ = std::move(next);
  }
  bool is_done = false;
  STRATALOG_RETURN_IF_ERROR(finish_receiving(is_done));
  if (is_done) post = std::exchange(receiving_, std::nullopt);
  return post;
}

Result<Bytes> MpiPosts::await(int sender) {
  const auto held = std::ranges::find(held_, sender, &Post::sender);
  if (held != held_.end()) {
    Bytes data = std::move(held->data);
    held_.erase(held);
    return data;
  }
  if (receiving_) {
    STRATALOG_RETURN_IF_ERROR(mpi_status(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"));
    Post arrived = *std::exchange(receiving_, std::nullopt);
    if (arrived.sender == sender) return std::move(arrived.data);
    held_.push_back(std::move(arrived));
  }
  MPI_Status envelope;
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Probe(sender, kPostTag, handle_, &envelope), "MPI_Probe"));
  return receive(sender, envelope);
}

Result<Bytes> MpiPosts::receive(int sender, MPI_Status& envelope) {
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t bytes, size_of(envelope));
  Bytes data;
  const Status room =
      or_no_space("not enough memory for what another rank has posted", [&]() -> Status {
        data.resize(bytes);
        return Status::ok();
      });
  if (!room.is_ok()) {
    // Cut to nothing, so that the sender gets rid of it.
    (void)MPI_Recv(nullptr, 0, MPI_BYTE, sender, kPostTag, handle_, MPI_STATUS_IGNORE);
    return room;
  }
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Recv_c(data.data(), static_cast<MPI_Count>(bytes), MPI_BYTE, sender, kPostTag,
                            handle_, MPI_STATUS_IGNORE),
                 "MPI_Recv_c"));
  return data;
}

}  // namespace stratalog
