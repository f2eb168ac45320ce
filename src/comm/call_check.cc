// SPDX-License-Identifier: Apache-2.0
#include "comm/call_check.h"

#include <fmt/format.h>

namespace stratalog {

Status check_root(int root, int size) {
  if (root >= 0 && root < size) return Status::ok();
  return Status::invalid_argument(
      fmt::format("root {} is not a rank of a group of {}; pass 0 to {}", root, size, size - 1));
}

Status check_exchange(std::uint64_t bytes, std::span<const std::uint64_t> counts, int size) {
  if (counts.size() != static_cast<std::size_t>(size))
    return Status::invalid_argument(
        fmt::format("exchange needs one count per rank: {} ranks, {} counts", size, counts.size()));
  std::uint64_t left = bytes;
  for (const std::uint64_t count : counts) {
    if (count > left)
      return Status::invalid_argument(
          fmt::format("exchange: the counts add up to more than the {} bytes of data", bytes));
    left -= count;
  }
  if (left != 0)
    return Status::invalid_argument(fmt::format(
        "exchange: the counts add up to {} bytes, the data has {}", bytes - left, bytes));
  return Status::ok();
}

Status check_parcels(std::uint64_t bytes, std::span<const Parcel> parcels, int size) {
  std::uint64_t left = bytes;
  int next = 0;
  for (const Parcel& parcel : parcels) {
    if (parcel.rank < next || parcel.rank >= size)
      return Status::invalid_argument(
          fmt::format("exchange_parcels: a parcel for rank {} after those for ranks below {} in a "
                      "group of {}; parcels go by ascending rank, one each",
                      parcel.rank, next, size));
    if (parcel.bytes == 0)
      return Status::invalid_argument(fmt::format(
          "exchange_parcels: the parcel for rank {} is empty; leave it out", parcel.rank));
    if (parcel.bytes > left)
      return Status::invalid_argument(fmt::format(
          "exchange_parcels: the parcels add up to more than the {} bytes of data", bytes));
    left -= parcel.bytes;
    next = parcel.rank + 1;
  }
  if (left != 0)
    return Status::invalid_argument(fmt::format(
        "exchange_parcels: the parcels add up to {} bytes, the data has {}", bytes - left, bytes));
  return Status::ok();
}

}  // namespace stratalog
