// SPDX-License-Identifier: Apache-2.0
// A sparse exchange as a plain one: how groups of few ranks do it, where a count for every rank
// costs nothing.
#include <utility>

#include "comm/call_check.h"
#include "comm/comm.h"

namespace stratalog {

Result<ReceivedParcels> Comm::exchange_parcels(std::span<const std::byte> data,
                                               std::span<const Parcel> parcels) {
  const Status valid = check_parcels(data.size(), parcels, size());
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(size()), 0);
  if (valid.is_ok())
    for (const Parcel& parcel : parcels)
      counts[static_cast<std::size_t>(parcel.rank)] = parcel.bytes;
  STRATALOG_ASSIGN_OR_RETURN(Received received,
                             exchange(valid.is_ok() ? data : std::span<const std::byte>(), counts));
  STRATALOG_RETURN_IF_ERROR(valid);
  ReceivedParcels sparse{.data = std::move(received.data), .parcels = {}};
  for (int sender = 0; sender < size(); ++sender)
    if (const std::uint64_t bytes = received.counts[static_cast<std::size_t>(sender)]; bytes != 0)
      sparse.parcels.push_back({.rank = sender, .bytes = bytes});
  return sparse;
}

}  // namespace stratalog
