// SPDX-License-Identifier: Apache-2.0
// MpiParcels: what many ranks send each other where each has something for few. Nobody knows who
// will send to him: a rank sends its parcels' heads so that it hears when they are received, and
// receives what comes until all ranks say that theirs have been (Hoefler, Siebert, Lumsdaine:
// Scalable communication protocols for dynamic sparse data exchange, PPoPP 2010; their NBX). So a
// rank pays for its partners and one reduction, where an all-to-all pays for all ranks. What does
// not fit a head follows when both sides know how much it is. Calls are collective.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"

namespace stratalog {

class MpiParcels {
 public:
  struct Head {
    Parcel parcel;  // its rank is the sender
    std::size_t piece = 0;  // where its first bytes lie, head_bytes() of them at most
  };
  // What came with the heads.
  struct Heads {
    std::vector<Head> heads;  // ascending by sender
    Bytes pieces;
    std::uint64_t largest = 0;  // bytes of the largest parcel of all ranks
    // Of this rank alone: there was no memory for what came. OK where the largest parcel from every
    // rank is less than kAlwaysThere.
    Status status;
  };

  // `handle` outlives it. At most `bytes_per_message` in one message.
  MpiParcels(MPI_Comm handle, int rank, int size, std::uint64_t bytes_per_message);

  std::uint64_t head_bytes() const { return head_bytes_; }

  // NoSpace on all ranks where one had no memory to begin.
  Result<Heads> exchange_heads(std::span<const std::byte> data, std::span<const Parcel> parcels);
  // `into` has room for all parcels, in the order of the heads; puts them there.
  Status exchange_rest(std::span<const std::byte> data, std::span<const Parcel> parcels,
                       const Heads& heads, Bytes& into);

 private:
  struct Sends;

  Status make_room(Heads& told) const;
  Status begin_sends(std::span<const std::byte> data, std::span<const Parcel> parcels, int tag,
                     Sends& sends);
  Status receive_head(int tag, Heads& told, bool& came);

  MPI_Comm handle_;
  int rank_;
  int size_;
  std::uint64_t bytes_per_message_;
  std::uint64_t head_bytes_;
  // Who leaves an exchange first may send the heads of the next one to who is still in it; nobody
  // can be further ahead.
  bool is_odd_ = false;
};

}  // namespace stratalog
