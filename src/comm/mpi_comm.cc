// SPDX-License-Identifier: Apache-2.0
// MpiComm's calls. Sizes travel first, then the bytes, in rounds of at most bytes_per_message per
// pair of ranks. All ranks derive the number of rounds from the same numbers, so they always agree
// on it. A rank with wrong arguments takes part with zero bytes and reports its error afterwards.
#include "comm/mpi_comm.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/memory_end.h"
#include "comm/call_check.h"
#include "comm/mpi_parcels.h"
#include "comm/mpi_posts.h"
#include "comm/mpi_status.h"
#include "comm/topology.h"

#if MPI_VERSION < 4
#error \
    "Stratalog needs MPI 4 (large counts): MPICH >= 4.0, Open MPI >= 5.0 or a vendor's MPI built on them"
#endif

namespace stratalog {
namespace {

// A slot of an exchange: two words, then inline_bytes().
constexpr std::uint64_t kSlotHead = 2 * sizeof(std::uint64_t);
constexpr std::uint64_t kMostInline = 496;
constexpr std::uint64_t kInlineBudget = 8192;

// The pieces of one all-to-one, one-to-all or all-to-all round, in MPI's types.
struct RoundPieces {
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> offsets;

  explicit RoundPieces(std::size_t parts) : counts(parts), offsets(parts) {}

  // The piece [round * limit, (round + 1) * limit) of each part, parts lying back to back.
  void cut(std::span<const std::uint64_t> parts, std::uint64_t round, std::uint64_t limit) {
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::uint64_t done = std::min(parts[i], round * limit);
      counts[i] = static_cast<MPI_Count>(std::min(parts[i] - done, limit));
      offsets[i] = static_cast<MPI_Aint>(begin + done);
      begin += parts[i];
    }
  }
};

std::uint64_t sum_of(std::span<const std::uint64_t> parts) {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
}

std::uint64_t largest_of(std::span<const std::uint64_t> parts) {
  return parts.empty() ? 0 : *std::ranges::max_element(parts);
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return MPI_SUM;
    case ReduceOp::kMin:
      return MPI_MIN;
    case ReduceOp::kMax:
      return MPI_MAX;
    case ReduceOp::kBitOr:
      return MPI_BOR;
  }
  return MPI_OP_NULL;
}

class MpiReduction final : public ReductionUnderWay {
 public:
  explicit MpiReduction(std::vector<std::uint64_t> values) { values_ = std::move(values); }
  // The buffer belongs to MPI until then.
  ~MpiReduction() override { (void)wait(); }
  MpiReduction(const MpiReduction&) = delete;
  MpiReduction& operator=(const MpiReduction&) = delete;

  Status begin(ReduceOp op, MPI_Comm handle) {
    return mpi_status(
        MPI_Iallreduce_c(MPI_IN_PLACE, values_.data(), static_cast<MPI_Count>(values_.size()),
                         MPI_UINT64_T, mpi_op(op), handle, &request_),
        "MPI_Iallreduce_c");
  }
  Result<bool> is_done() override {
    int done = 0;
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test"));
    return done != 0;
  }
  Status wait() override { return mpi_status(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class MpiComm final : public Comm {
 public:
  // Takes ownership of `handle`.
  MpiComm(MPI_Comm handle, int rank, int size, const MpiCommOptions& options)
      : handle_(handle),
        rank_(rank),
        size_(size),
        options_(options),
        posts_(handle),
        parcels_(handle, rank, size, options.bytes_per_message) {}
  // MPI keeps the communicator until what is under way has arrived.
  ~MpiComm() override { MPI_Comm_free(&handle_); }
  MpiComm(const MpiComm&) = delete;
  MpiComm& operator=(const MpiComm&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const MPI_Comm* native() const { return &handle_; }

  Status barrier() override { return mpi_status(MPI_Barrier(handle_), "MPI_Barrier"); }
  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override;
  Result<std::unique_ptr<ReductionUnderWay>> begin_allreduce(std::vector<std::uint64_t> values,
                                                             ReduceOp op) override;
  bool reduces_beside() const override { return true; }
  Status broadcast(Bytes& data, int root) override;
  Result<Received> allgather(std::span<const std::byte> mine) override;
  Result<Received> gather(std::span<const std::byte> mine, int root) override;
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override;
  Result<ReceivedParcels> exchange_parcels(std::span<const std::byte> data,
                                           std::span<const Parcel> parcels) override;
  Result<Topology> topology() override;
  bool has_post() const override { return true; }
  bool may_post() override { return posts_.may_post(); }
  Status post(int to, Bytes data) override {
    STRATALOG_RETURN_IF_ERROR(check_root(to, size_));
    return posts_.post(to, std::move(data));
  }
  Result<std::optional<Post>> take_post() override { return posts_.take(); }
  Result<Bytes> await_post(int sender) override {
    STRATALOG_RETURN_IF_ERROR(check_root(sender, size_));
    return posts_.await(sender);
  }

 private:
  std::uint64_t limit() const { return options_.bytes_per_message; }
  std::uint64_t rounds_for(std::uint64_t largest) const {
    return largest == 0 ? 0 : ((largest - 1) / limit()) + 1;
  }
  // The largest part that travels in a slot; shrinks with the group, as every pair of ranks pays
  // for it.
  std::uint64_t inline_bytes() const {
    return std::min({kMostInline, kInlineBudget / static_cast<std::uint64_t>(size_), limit()});
  }
  Result<Bytes> exchange_slots(std::span<const std::byte> data,
                               std::span<const std::uint64_t> counts);
  Status exchange_parts(std::span<const std::byte> data, std::span<const std::uint64_t> counts,
                        std::uint64_t largest, Received& received);
  // Room for `bytes` in `data`, or NoSpace on all ranks; `most` is the same on all, and at least
  // what any of them needs. Collective where that is much.
  // `mine` is an error where this rank found already that it has none for so much.
  Status make_room(Bytes& data, std::uint64_t bytes, std::uint64_t most, const Status& mine = {});
  // Every rank's `word` on every rank.
  Result<std::vector<std::uint64_t>> allgather_word(std::uint64_t word);

  MPI_Comm handle_;
  int rank_;
  int size_;
  MpiCommOptions options_;
  MpiPosts posts_;
  MpiParcels parcels_;
};

Status MpiComm::allreduce(std::span<std::uint64_t> values, ReduceOp op) {
  const std::size_t step = limit() / sizeof(std::uint64_t);
  for (std::size_t at = 0; at < values.size(); at += step) {
    const auto part = values.subspan(at, std::min(step, values.size() - at));
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Allreduce_c(MPI_IN_PLACE, part.data(), static_cast<MPI_Count>(part.size()),
                                   MPI_UINT64_T, mpi_op(op), handle_),
                   "MPI_Allreduce_c"));
  }
  return Status::ok();
}

Result<std::unique_ptr<ReductionUnderWay>> MpiComm::begin_allreduce(
    std::vector<std::uint64_t> values, ReduceOp op) {
  auto reduction = std::make_unique<MpiReduction>(std::move(values));
  STRATALOG_RETURN_IF_ERROR(reduction->begin(op, handle_));
  return std::unique_ptr<ReductionUnderWay>(std::move(reduction));
}

Status MpiComm::make_room(Bytes& data, std::uint64_t bytes, std::uint64_t most,
                          const Status& mine) {
  if (most < kAlwaysThere) {
    data.resize(bytes);
    return mine;
  }
  return agree(*this, or_no_space("not enough memory for what others send", [&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(mine);
    data.resize(bytes);
    return Status::ok();
  }));
}

Status MpiComm::broadcast(Bytes& data, int root) {
  STRATALOG_RETURN_IF_ERROR(check_root(root, size_));
  std::uint64_t bytes = data.size();
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Bcast(&bytes, 1, MPI_UINT64_T, root, handle_), "MPI_Bcast"));
  STRATALOG_RETURN_IF_ERROR(make_room(data, bytes, bytes));
  for (std::uint64_t at = 0; at < bytes; at += limit())
    STRATALOG_RETURN_IF_ERROR(mpi_status(
        MPI_Bcast_c(data.data() + at, static_cast<MPI_Count>(std::min(limit(), bytes - at)),
                    MPI_BYTE, root, handle_),
        "MPI_Bcast_c"));
  return Status::ok();
}

Result<std::vector<std::uint64_t>> MpiComm::allgather_word(std::uint64_t word) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(size_));
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Allgather(&word, 1, MPI_UINT64_T, words.data(), 1, MPI_UINT64_T, handle_),
                 "MPI_Allgather"));
  return words;
}

Result<Received> MpiComm::allgather(std::span<const std::byte> mine) {
  Received received;
  STRATALOG_ASSIGN_OR_RETURN(received.counts, allgather_word(mine.size()));
  const std::uint64_t sum = sum_of(received.counts);
  STRATALOG_RETURN_IF_ERROR(make_room(received.data, sum, sum));
  RoundPieces pieces(received.counts.size());
  const std::uint64_t rounds = rounds_for(largest_of(received.counts));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    pieces.cut(received.counts, round, limit());
    const auto part = mine.subspan(std::min<std::uint64_t>(mine.size(), round * limit()));
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Allgatherv_c(part.data(), pieces.counts[static_cast<std::size_t>(rank_)],
                                    MPI_BYTE, received.data.data(), pieces.counts.data(),
                                    pieces.offsets.data(), MPI_BYTE, handle_),
                   "MPI_Allgatherv_c"));
  }
  return received;
}

Result<Received> MpiComm::gather(std::span<const std::byte> mine, int root) {
  STRATALOG_RETURN_IF_ERROR(check_root(root, size_));
  Received received;
  STRATALOG_ASSIGN_OR_RETURN(received.counts, allgather_word(mine.size()));
  const std::uint64_t sum = sum_of(received.counts);
  STRATALOG_RETURN_IF_ERROR(make_room(received.data, rank_ == root ? sum : 0, sum));
  RoundPieces pieces(received.counts.size());
  const std::uint64_t rounds = rounds_for(largest_of(received.counts));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    pieces.cut(received.counts, round, limit());
    const auto part = mine.subspan(std::min<std::uint64_t>(mine.size(), round * limit()));
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Gatherv_c(part.data(), pieces.counts[static_cast<std::size_t>(rank_)],
                                 MPI_BYTE, received.data.data(), pieces.counts.data(),
                                 pieces.offsets.data(), MPI_BYTE, root, handle_),
                   "MPI_Gatherv_c"));
  }
  if (rank_ != root) std::ranges::fill(received.counts, 0);
  return received;
}

// Each rank sends each other one slot: how much it has for it, the most it has for anybody, and the
// part itself if it is small. So all ranks know the global largest part, hence whether the slots
// were all there is to send (the usual case in the thousands of small rounds of a long recursion),
// and else the number of rounds.
Result<Received> MpiComm::exchange(std::span<const std::byte> data,
                                   std::span<const std::uint64_t> counts) {
  const Status valid = check_exchange(data.size(), counts, size_);
  const std::vector<std::uint64_t> nothing(valid.is_ok() ? 0 : static_cast<std::size_t>(size_), 0);
  if (!valid.is_ok()) counts = nothing;

  const std::uint64_t slot = kSlotHead + inline_bytes();
  STRATALOG_ASSIGN_OR_RETURN(const Bytes slots, exchange_slots(data, counts));
  Received received;
  std::uint64_t largest = 0;
  for (std::size_t at = 0; at < slots.size(); at += slot) {
    std::array<std::uint64_t, 2> head{};
    std::memcpy(head.data(), slots.data() + at, kSlotHead);
    received.counts.push_back(head[0]);
    largest = std::max(largest, head[1]);
  }
  STRATALOG_RETURN_IF_ERROR(make_room(received.data, sum_of(received.counts),
                                      largest * static_cast<std::uint64_t>(size_)));
  if (largest <= inline_bytes()) {
    std::uint64_t into = 0;
    for (std::size_t r = 0; r < received.counts.size(); ++r) {
      const auto part = std::span(slots).subspan((r * slot) + kSlotHead, received.counts[r]);
      std::ranges::copy(part, received.data.begin() + static_cast<std::ptrdiff_t>(into));
      into += part.size();
    }
  } else {
    STRATALOG_RETURN_IF_ERROR(exchange_parts(data, counts, largest, received));
  }
  STRATALOG_RETURN_IF_ERROR(valid);
  return received;
}

Result<Bytes> MpiComm::exchange_slots(std::span<const std::byte> data,
                                      std::span<const std::uint64_t> counts) {
  const std::uint64_t slot = kSlotHead + inline_bytes();
  Bytes told(counts.size() * slot);
  Bytes heard(told.size());
  const std::uint64_t my_largest = largest_of(counts);
  std::uint64_t from = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    std::byte* const into = told.data() + (r * slot);
    const std::array<std::uint64_t, 2> head{counts[r], my_largest};
    std::memcpy(into, head.data(), kSlotHead);
    if (my_largest <= inline_bytes())
      std::ranges::copy(data.subspan(from, counts[r]), into + kSlotHead);
    from += counts[r];
  }
  const auto bytes = static_cast<int>(slot);
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Alltoall(told.data(), bytes, MPI_BYTE, heard.data(), bytes, MPI_BYTE, handle_),
                 "MPI_Alltoall"));
  return heard;
}

Status MpiComm::exchange_parts(std::span<const std::byte> data,
                               std::span<const std::uint64_t> counts, std::uint64_t largest,
                               Received& received) {
  RoundPieces sent(counts.size());
  RoundPieces got(counts.size());
  const std::uint64_t rounds = rounds_for(largest);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    sent.cut(counts, round, limit());
    got.cut(received.counts, round, limit());
    STRATALOG_RETURN_IF_ERROR(
        mpi_status(MPI_Alltoallv_c(data.data(), sent.counts.data(), sent.offsets.data(), MPI_BYTE,
                                   received.data.data(), got.counts.data(), got.offsets.data(),
                                   MPI_BYTE, handle_),
                   "MPI_Alltoallv_c"));
  }
  return Status::ok();
}

Result<ReceivedParcels> MpiComm::exchange_parcels(std::span<const std::byte> data,
                                                  std::span<const Parcel> parcels) {
  if (size_ < options_.sparse_from_ranks) return Comm::exchange_parcels(data, parcels);
  const Status valid = check_parcels(data.size(), parcels, size_);
  if (!valid.is_ok()) parcels = {};
  STRATALOG_ASSIGN_OR_RETURN(const MpiParcels::Heads heads, parcels_.exchange_heads(data, parcels));
  ReceivedParcels received;
  std::uint64_t bytes = 0;
  for (const auto& [parcel, piece] : heads.heads) bytes += parcel.bytes;
  STRATALOG_RETURN_IF_ERROR(make_room(
      received.data, bytes, heads.largest * static_cast<std::uint64_t>(size_), heads.status));
  STRATALOG_RETURN_IF_ERROR(parcels_.exchange_rest(data, parcels, heads, received.data));
  for (const auto& [parcel, piece] : heads.heads) received.parcels.push_back(parcel);
  STRATALOG_RETURN_IF_ERROR(valid);
  return received;
}

Result<Topology> MpiComm::topology() {
  if (options_.ranks_per_virtual_node > 0)
    return uniform_topology(size_, options_.ranks_per_virtual_node);
  MPI_Comm node = MPI_COMM_NULL;
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
                 "MPI_Comm_split_type"));
  // The node is named by its lowest rank.
  auto lowest = static_cast<std::uint64_t>(rank_);
  const Status found = mpi_status(
      MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_UINT64_T, MPI_MIN, node), "MPI_Allreduce");
  MPI_Comm_free(&node);
  STRATALOG_RETURN_IF_ERROR(found);
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> keys, allgather_word(lowest));
  return topology_of_keys(keys);
}

}  // namespace

Result<std::unique_ptr<Comm>> duplicate_mpi_comm(const void* mpi_comm,
                                                 const MpiCommOptions& options) {
  if (options.bytes_per_message < sizeof(std::uint64_t))
    return Status::invalid_argument(fmt::format("bytes_per_message is {}; at least {} are needed",
                                                options.bytes_per_message, sizeof(std::uint64_t)));
  int started = 0;
  STRATALOG_RETURN_IF_ERROR(mpi_status(MPI_Initialized(&started), "MPI_Initialized"));
  if (started == 0)
    return Status::internal("MPI has not been started; keep an MpiSession alive around its use");
  MPI_Comm handle = MPI_COMM_NULL;
  STRATALOG_RETURN_IF_ERROR(
      mpi_status(MPI_Comm_dup(*static_cast<const MPI_Comm*>(mpi_comm), &handle), "MPI_Comm_dup"));
  int rank = 0;
  int size = 0;
  Status made =
      mpi_status(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (made.is_ok()) made = mpi_status(MPI_Comm_rank(handle, &rank), "MPI_Comm_rank");
  if (made.is_ok()) made = mpi_status(MPI_Comm_size(handle, &size), "MPI_Comm_size");
  if (!made.is_ok()) {
    MPI_Comm_free(&handle);
    return made;
  }
  return std::unique_ptr<Comm>(std::make_unique<MpiComm>(handle, rank, size, options));
}

const void* native_mpi_comm(const Comm& comm) {
  const auto* mpi = dynamic_cast<const MpiComm*>(&comm);
  return mpi == nullptr ? nullptr : mpi->native();
}

}  // namespace stratalog
