// SPDX-License-Identifier: Apache-2.0
// Comm: what a program can ask of a group of ranks. One of the project's two virtual interfaces
// (the other is Store). Implementations: SelfComm (one rank, no MPI), SimComm (ranks that are
// threads of one process), MpiComm (the only code that sees <mpi.h>). Every call here is collective
// over the group unless marked Local: all ranks must make the same calls in the same order, also
// ranks that hold nothing. Counts are 64-bit bytes; implementations split what MPI cannot carry.
// Where a rank has no memory for what arrives, the call is NoSpace on all ranks, and the group goes
// on (of less than 1 MiB it may be an exception).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "comm/topology.h"

namespace stratalog {

using Bytes = std::vector<std::byte>;

// For less that arrives there is always room, or an exception.
inline constexpr std::uint64_t kAlwaysThere = std::uint64_t{1} << 20;

enum class ReduceOp : std::uint8_t { kSum, kMin, kMax, kBitOr };

// What one rank received in an exchange: the parts of all senders in rank order in one buffer.
struct Received {
  Bytes data;
  std::vector<std::uint64_t> counts;  // bytes per sender, size() entries

  // Bytes that `sender` sent; O(sender) unless walked in order.
  std::span<const std::byte> from(int sender) const;
};

// What one rank sends to, or gets from, one of the few ranks that it has something for.
struct Parcel {
  int rank = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Parcel&, const Parcel&) = default;
};

// What one rank received in a sparse exchange: the parcels of those who sent one, ascending by
// sender, back to back in one buffer.
struct ReceivedParcels {
  Bytes data;
  std::vector<Parcel> parcels;
};

// Bytes that one rank sent another beside the collective calls.
struct Post {
  int sender = 0;
  Bytes data;
};

// So many posts of a rank may be under way.
inline constexpr int kMostPostsUnderWay = 64;

// A reduction that ranks begin at different times and do not wait for.
class ReductionUnderWay {
 public:
  ReductionUnderWay() = default;
  ReductionUnderWay(const ReductionUnderWay&) = delete;
  ReductionUnderWay& operator=(const ReductionUnderWay&) = delete;
  // May wait for it.
  virtual ~ReductionUnderWay() = default;

  // Local. Whether all ranks have begun it; then values() is the result.
  virtual Result<bool> is_done() = 0;
  virtual Status wait() = 0;
  std::span<const std::uint64_t> values() const { return values_; }

 protected:
  std::vector<std::uint64_t> values_;
};

class Comm {
 public:
  Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  virtual ~Comm() = default;

  // Local.
  virtual int rank() const = 0;
  // Local.
  virtual int size() const = 0;

  virtual Status barrier() = 0;
  // Element-wise reduction in place; all ranks pass the same length and get the same result.
  virtual Status allreduce(std::span<std::uint64_t> values, ReduceOp op) = 0;
  // The same, but a rank may do other things until the others have begun it: so they ask each other
  // something while they work. One at a time; the next collective call comes when it is done. Where
  // reduces_beside() is false, it is done when this returns.
  virtual Result<std::unique_ptr<ReductionUnderWay>> begin_allreduce(
      std::vector<std::uint64_t> values, ReduceOp op);
  // Local.
  virtual bool reduces_beside() const { return false; }
  // `root`'s bytes replace everyone's `data` (sizes need not agree beforehand).
  virtual Status broadcast(Bytes& data, int root) = 0;
  // Everyone's bytes on everyone, in rank order; sizes may differ.
  virtual Result<Received> allgather(std::span<const std::byte> mine) = 0;
  // Everyone's bytes on `root`, in rank order; others receive an empty Received.
  virtual Result<Received> gather(std::span<const std::byte> mine, int root) = 0;
  // All-to-all: `data` holds the parts for rank 0, 1, ... back to back, `counts[r]` bytes each.
  virtual Result<Received> exchange(std::span<const std::byte> data,
                                    std::span<const std::uint64_t> counts) = 0;
  // The same where each rank has something for few others: `data` holds the parcels back to back,
  // ascending by rank, each rank at most once, none empty. What it costs a rank goes by its
  // parcels, not by the ranks there are, where the implementation can do that; here it is an
  // exchange.
  virtual Result<ReceivedParcels> exchange_parcels(std::span<const std::byte> data,
                                                   std::span<const Parcel> parcels);
  // Local, the same on all ranks. Whether ranks can post to each other.
  virtual bool has_post() const { return false; }
  // Local. Whether so few of this rank's posts are under way that another one may follow: they take
  // memory until they are taken. Gets those on their way that it can.
  virtual bool may_post() { return false; }
  // Local; waits for nobody. Sends bytes to another rank beside the collective calls. Posts of one
  // sender arrive in their order, and each has to be taken: ranks tell each other by a collective
  // call how many there were.
  virtual Status post(int to, Bytes data);
  // Local; waits for nobody. A post that has arrived here, if there is one. Where there is no
  // memory for it (std::bad_alloc), it can be taken later.
  virtual Result<std::optional<Post>> take_post();
  // Local; waits for the next post of `sender`. NoSpace where there was no memory for it; then it
  // is lost.
  virtual Result<Bytes> await_post(int sender);
  // Local. Whether the ranks are threads that may read each other's memory.
  virtual bool shares_memory() const { return false; }
  // Local. Whether a rank that has failed where the others do not expect it can tell them.
  virtual bool can_give_up() const { return size() == 1; }
  // Local; waits for nobody; requires can_give_up(). This rank makes no more collective calls.
  // Those of the others end with `why`, also those that they wait in.
  virtual void give_up(const Status& /*why*/) {}
  // Threads that read each other's memory, and have something that the others may look at: returns
  // when all ranks have come here, also where collective calls fail. Those of ranks that are still
  // to come end with the error `done`, or as for a rank that has returned.
  virtual void part(const Status& /*done*/) {}
  // Which ranks share a node. Unless an implementation knows better: all do.
  virtual Result<Topology> topology() { return uniform_topology(size(), size()); }
};

// One verdict for all: the worst code, of the lowest rank that has it, with that rank's message
// prefixed by "rank R: " when size() > 1. Collective. Two collectives at most, one when all are OK.
Status agree(Comm& comm, const Status& mine);

// A group of one, without MPI. Every call succeeds at once.
std::unique_ptr<Comm> make_self_comm();

// Runs `body(comm)` on `ranks` ranks that are threads of this process, with in-memory mail, and
// returns when all have returned. A rank that returns early while others wait in a collective makes
// those calls fail with RanksDisagree instead of hanging. For runs on one machine (`run -j`), tests
// and simulation; ranks <= 16,384. With kSeparate nobody reads another rank's memory, as if the
// ranks were processes.
enum class AddressSpace : std::uint8_t { kSeparate, kShared };
Status sim_run(int ranks, const std::function<Status(Comm&)>& body,
               AddressSpace space = AddressSpace::kSeparate);

}  // namespace stratalog
