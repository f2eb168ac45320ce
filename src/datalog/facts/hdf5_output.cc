// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/hdf5_output.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "comm/mpi_comm.h"
#include "datalog/facts/hdf5_errors.h"
#include "datalog/facts/hdf5_layout.h"
#include "write/mpi_held_errors.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kWordBits = 64;

bool has_symbols(const Relation& relation) {
  return std::any_of(relation.attributes.begin(), relation.attributes.end(),
                     [](const Attribute& a) { return a.kind == ValueKind::kSymbol; });
}

// Collective. Which symbols occur: a pass over the relation that sets bits, united over ranks.
Result<SymbolPositions> find_symbols(Comm& comm, const SortedRelation& sorted) {
  SymbolPositions positions;
  if (!has_symbols(sorted.relation)) return positions;
  const std::uint64_t count = sorted.dictionary.symbols().size();
  std::vector<std::uint64_t> seen((count + kWordBits - 1) / kWordBits, 0);
  const std::size_t width = sorted.relation.attributes.size();
  STRATALOG_RETURN_IF_ERROR(for_each_sorted_range(
      comm, sorted.source, sorted.limits, [&](std::span<const OrderCode> rows) {
        for (std::size_t c = 0; c < width; ++c) {
          if (sorted.relation.attributes[c].kind != ValueKind::kSymbol) continue;
          for (std::size_t at = c; at < rows.size(); at += width)
            seen[rows[at] / kWordBits] |= std::uint64_t{1} << (rows[at] % kWordBits);
        }
        return Status::ok();
      }));
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(seen, ReduceOp::kBitOr));
  positions.of_code.resize(count);
  for (std::uint64_t code = 0; code < count; ++code) {
    if (((seen[code / kWordBits] >> (code % kWordBits)) & 1U) == 0) continue;
    positions.of_code[code] = static_cast<std::uint32_t>(positions.used.size());
    positions.used.push_back(static_cast<OrderCode>(code));
  }
  return positions;
}

// Who calls HDF5: all ranks through MPI-IO; or, where ranks are threads, rank 0 alone with what the
// others hand it, as the library is not made for two threads at once.
enum class ColumnWriters : std::uint8_t { kAllRanks, kFirstRank };

ColumnWriters writers_of(const Comm& comm) {
  return comm.size() > 1 && native_mpi_comm(comm) == nullptr ? ColumnWriters::kFirstRank
                                                             : ColumnWriters::kAllRanks;
}

bool is_writer(const Comm& comm) {
  return comm.rank() == 0 || writers_of(comm) == ColumnWriters::kAllRanks;
}

// The relation's open columns, and how this rank writes into them.
class ColumnFile {
 public:
  // Collective over the writers.
  Status open(const Comm& comm, const std::string& path, const Relation& relation) {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    transfer_ = Hdf5Handle(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
    if (comm.size() > 1 && writers_of(comm) == ColumnWriters::kAllRanks) {
      const auto* native = static_cast<const MPI_Comm*>(native_mpi_comm(comm));
      if (H5Pset_fapl_mpio(access.id(), *native, MPI_INFO_NULL) < 0 ||
          H5Pset_dxpl_mpio(transfer_.id(), H5FD_MPIO_COLLECTIVE) < 0)
        return hdf5_error("use MPI-IO");
    }
    file_ = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()), H5Fclose);
    if (!file_.is_open()) return hdf5_error("open the file on all ranks");
    for (const Attribute& attribute : relation.attributes) {
      const std::string name = fmt::format("{}/{}", relation.name, attribute.name);
      columns_.emplace_back(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
      if (!columns_.back().is_open()) return hdf5_error("open column " + name);
    }
    return Status::ok();
  }

  // Collective over the writers; `count` may be 0.
  Status write(std::size_t column, hid_t type, std::uint64_t offset, std::uint64_t count,
               const void* values) {
    const Hdf5Handle space(H5Dget_space(columns_[column].id()), H5Sclose);
    const hsize_t start = offset;
    const hsize_t length = count;
    const hsize_t memory_length = std::max<hsize_t>(1, length);
    const Hdf5Handle memory(H5Screate_simple(1, &memory_length, nullptr), H5Sclose);
    if (length == 0) {
      H5Sselect_none(space.id());
      H5Sselect_none(memory.id());
    } else {
      H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &start, nullptr, &length, nullptr);
    }
    if (H5Dwrite(columns_[column].id(), type, memory.id(), space.id(), transfer_.id(), values) < 0)
      return hdf5_error("write a column");
    return Status::ok();
  }

  Status close() {
    bool is_good = true;
    for (Hdf5Handle& column : columns_) is_good &= column.close() >= 0;
    is_good &= file_.close() >= 0;
    return is_good ? Status::ok() : hdf5_error("close the file");
  }

 private:
  Hdf5Handle file_;
  Hdf5Handle transfer_;
  std::vector<Hdf5Handle> columns_;
};

// Column `c` of rows of order codes, as it lies in the file: 8 bytes a value, 4 for symbols.
std::vector<std::byte> column_values(const SortedRelation& sorted, const SymbolPositions& positions,
                                     std::size_t c, std::span<const OrderCode> rows) {
  const std::size_t width = sorted.relation.attributes.size();
  const std::size_t count = rows.size() / width;
  const bool is_symbol = sorted.relation.attributes[c].kind == ValueKind::kSymbol;
  const std::size_t value_bytes = is_symbol ? 4 : 8;
  // One value even for no rows: HDF5 wants a pointer.
  std::vector<std::byte> values(std::max<std::size_t>(1, count) * value_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const OrderCode code = rows[(i * width) + c];
    if (is_symbol) {
      std::memcpy(values.data() + (i * 4), &positions.of_code[code], 4);
    } else {
      const std::uint64_t bits = sorted.dictionary.decode(sorted.orders[c].cell(code));
      std::memcpy(values.data() + (i * 8), &bits, 8);
    }
  }
  return values;
}

// Collective. This rank's first row of a range that all ranks hold a part of; `next_row` moves
// behind all of them.
Result<std::uint64_t> take_rows(Comm& comm, std::uint64_t count, std::uint64_t& next_row) {
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             comm.allgather(std::as_bytes(std::span(&count, 1))));
  std::vector<std::uint64_t> counts(all.data.size() / sizeof(count));
  std::memcpy(counts.data(), all.data.data(), counts.size() * sizeof(count));
  std::uint64_t first = next_row;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (static_cast<int>(r) < comm.rank()) first += counts[r];
    next_row += counts[r];
  }
  return first;
}

// Rows of one range: where they lie in the file.
struct RowSpan {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Collective. Column `c` of a range, of which this rank's values go to `mine` and all ranks' to
// `whole`. The verdict is each rank's own.
Status write_column(Comm& comm, ColumnFile& file, std::size_t c, ValueKind kind,
                    const RowSpan& mine, const RowSpan& whole,
                    const std::vector<std::byte>& values) {
  if (writers_of(comm) == ColumnWriters::kAllRanks)
    return file.write(c, column_memory_type(kind), mine.first, mine.count, values.data());
  // Without rows there is a value all the same, which is not for the others.
  const auto bytes = mine.count == 0 ? std::span<const std::byte>() : std::span(values);
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.gather(bytes, 0));
  if (comm.rank() != 0 || whole.count == 0) return Status::ok();
  return file.write(c, column_memory_type(kind), whole.first, whole.count, all.data.data());
}

// Collective. After an error everyone stops: the verdict is agreed on for each range.
Status write_columns(Comm& comm, const SortedRelation& sorted, const SymbolPositions& positions,
                     ColumnFile& file, const HeldErrors& held) {
  const std::size_t width = sorted.relation.attributes.size();
  std::uint64_t next_row = 0;
  return for_each_sorted_range(
      comm, sorted.source, sorted.limits, [&](std::span<const OrderCode> rows) -> Status {
        const std::uint64_t count = rows.size() / width;
        RowSpan whole{.first = next_row};
        STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t first, take_rows(comm, count, next_row));
        whole.count = next_row - whole.first;
        Status written;
        for (std::size_t c = 0; c < width; ++c) {
          const std::vector<std::byte> values = column_values(sorted, positions, c, rows);
          const Status one = write_column(comm, file, c, sorted.relation.attributes[c].kind,
                                          {.first = first, .count = count}, whole, values);
          if (written.is_ok()) written = one;
        }
        return agree(comm, written.is_ok() ? held.status() : written);
      });
}

// Collective.
Status write_file(Comm& comm, const std::string& path, const SortedRelation& sorted) {
  STRATALOG_ASSIGN_OR_RETURN(const SymbolPositions positions, find_symbols(comm, sorted));
  const Status laid_out = comm.rank() == 0 ? lay_out_file(path, sorted, positions) : Status::ok();
  STRATALOG_RETURN_IF_ERROR(agree(comm, laid_out));
  if (sorted.total_rows == 0 || sorted.relation.attributes.empty()) return Status::ok();
  std::optional<Hdf5Silence> silence;
  if (is_writer(comm)) silence.emplace();
  const HeldErrors held("the file");
  ColumnFile file;
  const Status opened = is_writer(comm) ? file.open(comm, path, sorted.relation) : Status::ok();
  STRATALOG_RETURN_IF_ERROR(agree(comm, opened));
  const Status written = write_columns(comm, sorted, positions, file, held);
  const Status closed = is_writer(comm) ? file.close() : Status::ok();
  return written.is_ok() ? agree(comm, closed.is_ok() ? held.status() : closed) : written;
}

}  // namespace

Status write_hdf5(Comm& comm, const std::string& path, const SortedRelation& sorted) {
  const Status written = write_file(comm, path, sorted);
  return written.is_ok() ? written : written.with_context(path);
}

}  // namespace stratalog::datalog
