// SPDX-License-Identifier: Apache-2.0
#include "encode/block_decoder.h"

#include <fmt/format.h>

#include <cstring>

#include "pack/row_packer.h"

namespace stratalog {

BlockDecoder::BlockDecoder(std::span<const std::uint32_t> column_order)
    : column_order_(column_order.begin(), column_order.end()),
      compact_(column_order.empty() ? 0 : column_order.size() - 1),
      streams_(column_order.empty() ? 1 : column_order.size()),
      pool_(column_order.empty() ? 0 : column_order.size() - 1) {}

Status decode_rows(std::span<const std::byte> rows, std::span<const std::uint32_t> column_order,
                   const GroupVisitor& visit) {
  const std::size_t row_bytes = column_order.size() * 8;
  if (row_bytes == 0 || rows.size() % row_bytes != 0)
    return Status::corruption(
        fmt::format("{} bytes are no whole number of rows of {} bytes", rows.size(), row_bytes));
  GroupCollector collector(column_order, visit);
  STRATALOG_RETURN_IF_ERROR(collector.add_rows(rows));
  return collector.flush();
}

Status BlockDecoder::decode(const BlockHeader& header, std::span<const std::byte> payload,
                            const GroupVisitor& visit) {
  if (column_order_.empty() || header.prefix_cells != column_order_.size() - 1)
    return Status::corruption(fmt::format("the block has {} prefix cells, the relation {}",
                                          header.prefix_cells, column_order_.size()));
  switch (header.encoding) {
    case ShardEncoding::kCompact:
      return compact_.decode(payload, header.groups, header.rows, visit);
    case ShardEncoding::kRowsU64:
      if (payload.size() / 8 / column_order_.size() != header.rows)
        return Status::corruption(
            fmt::format("{} rows expected in {} bytes", header.rows, payload.size()));
      return decode_rows(payload, column_order_, visit);
    case ShardEncoding::kStreams:
      return streams_.decode(payload, header.groups, header.rows, visit);
    case ShardEncoding::kPool:
      return pool_.decode(payload, PoolForm::kGroups, header.groups, header.rows, visit);
    case ShardEncoding::kRunPool:
      return pool_.decode(payload, PoolForm::kRuns, header.groups, header.rows, visit);
    case ShardEncoding::kRaw:
    case ShardEncoding::kAuto:
      break;
  }
  return Status::corruption("the block holds no tuples");
}

}  // namespace stratalog
