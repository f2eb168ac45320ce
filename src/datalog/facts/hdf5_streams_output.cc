// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/hdf5_streams_output.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <vector>

#include "datalog/facts/hdf5_errors.h"
#include "datalog/facts/hdf5_layout.h"
#include "datalog/facts/key_streams.h"
#include "encode/shuffled_chunk.h"
#include "write/hdf5_stream_filters.h"

namespace stratalog::datalog {
namespace {

constexpr hsize_t kChunkNumbers = 1 << 18;  // 1 MiB: what a reader inflates for a small range
constexpr H5Z_filter_t kBloscFilter = 32001;
constexpr unsigned kDeflateLevel = 1;
constexpr OrderCode kMostIndexed = 1 << 26;  // 256 MiB

// How the numbers of one column stand for its values.
struct ColumnNumbers {
  OrderCode lowest = ~OrderCode{0};
  OrderCode highest = 0;
  bool has_table = false;  // numbers are positions in `used`; else code - origin + base
  std::uint64_t base = 0;  // of a column without table
  OrderCode origin = 0;
  std::vector<OrderCode> used;  // ascending
  std::vector<std::uint32_t> position;  // by code - used.front(), where that is not too long

  std::uint32_t number(OrderCode code) const {
    if (!has_table) return code - origin;
    if (!position.empty()) return position[code - used.front()];
    return static_cast<std::uint32_t>(std::lower_bound(used.begin(), used.end(), code) -
                                      used.begin());
  }
  void index_table() {
    if (used.empty() || used.back() - used.front() >= kMostIndexed) return;
    position.resize(used.back() - used.front() + 1);
    for (std::size_t i = 0; i < used.size(); ++i)
      position[used[i] - used.front()] = static_cast<std::uint32_t>(i);
  }
};

void keep_distinct(std::vector<OrderCode>& codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
}

class StreamsFile {
 public:
  StreamsFile(Comm& comm, const SortedRelation& sorted, StreamFilter filter)
      : comm_(comm),
        sorted_(sorted),
        filter_(filter),
        width_(sorted.relation.attributes.size()),
        columns_(width_) {}

  Status write(const std::string& path) {
    const Hdf5Silence silence;
    STRATALOG_RETURN_IF_ERROR(check_filter());
    STRATALOG_RETURN_IF_ERROR(number_columns());
    Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    if (!file.is_open()) return hdf5_error("create the file");
    STRATALOG_RETURN_IF_ERROR(write_text(file.id(), "format", "stratalog streams"));
    STRATALOG_RETURN_IF_ERROR(write_number(file.id(), "format_version", 1));
    STRATALOG_RETURN_IF_ERROR(fill(file.id()));
    return file.close() < 0 ? hdf5_error("close the file") : Status::ok();
  }

 private:
  const Attribute& attribute(std::size_t column) const {
    return sorted_.relation.attributes[column];
  }
  bool is_symbol(std::size_t column) const { return attribute(column).kind == ValueKind::kSymbol; }
  std::uint64_t value(std::size_t column, OrderCode code) const {
    return sorted_.dictionary.decode(sorted_.orders[column].cell(code));
  }

  Status check_filter() const {
    if (filter_ == StreamFilter::kBlosc && H5Zfilter_avail(kBloscFilter) <= 0)
      return Status::not_supported(
          "HDF5 does not find the blosc filter (32001); name the folder of its plugin in "
          "HDF5_PLUGIN_PATH, or choose the format hdf5-streams, which every HDF5 reads");
    return Status::ok();
  }

  // Passes over the relation: which codes occur, as far as that matters.
  Status number_columns() {
    if (width_ == 0 || sorted_.total_rows == 0) return Status::ok();
    STRATALOG_RETURN_IF_ERROR(collect([](ColumnNumbers& column, OrderCode code) {
      column.lowest = std::min(column.lowest, code);
      column.highest = std::max(column.highest, code);
    }));
    bool has_tables = false;
    for (std::size_t c = 0; c < width_; ++c) {
      choose_numbers(c);
      has_tables = has_tables || columns_[c].has_table;
    }
    if (!has_tables) return Status::ok();
    STRATALOG_RETURN_IF_ERROR(collect([](ColumnNumbers& column, OrderCode code) {
      if (!column.has_table) return;
      // Neighbours are often equal; sorted and thinned out whenever it has doubled.
      if (column.used.empty() || column.used.back() != code) column.used.push_back(code);
      if (column.used.size() == column.used.capacity()) {
        keep_distinct(column.used);
        column.used.reserve(std::max<std::size_t>(1 << 16, 2 * column.used.size()));
      }
    }));
    for (ColumnNumbers& column : columns_) keep_distinct(column.used);
    share_symbols();
    for (ColumnNumbers& column : columns_) column.index_table();
    return Status::ok();
  }

  template <typename See>
  Status collect(See&& see) {
    return for_each_sorted_range(comm_, sorted_.source, sorted_.limits,
                                 [&](std::span<const OrderCode> rows) {
                                   for (std::size_t c = 0; c < width_; ++c)
                                     for (std::size_t at = c; at < rows.size(); at += width_)
                                       see(columns_[c], rows[at]);
                                   return Status::ok();
                                 });
  }

  // Codes grow with values. Where the highest code is as far from the lowest as their values are,
  // codes are the values but for where they begin.
  void choose_numbers(std::size_t c) {
    ColumnNumbers& column = columns_[c];
    const ValueKind kind = attribute(c).kind;
    const std::uint64_t low = value(c, column.lowest);
    const std::uint64_t high = value(c, column.highest);
    column.has_table = is_symbol(c) || kind == ValueKind::kFloat ||
                       high - low != std::uint64_t{column.highest} - column.lowest;
    column.base = low;
    column.origin = column.lowest;
    // Values that fit stand for themselves.
    if (!column.has_table && high >= low && high >> 32 == 0) {
      column.base = 0;
      column.origin = column.lowest - static_cast<OrderCode>(low);
    }
  }

  // All columns of symbols have one table.
  void share_symbols() {
    std::vector<OrderCode> all;
    for (std::size_t c = 0; c < width_; ++c)
      if (is_symbol(c)) all.insert(all.end(), columns_[c].used.begin(), columns_[c].used.end());
    keep_distinct(all);
    for (std::size_t c = 0; c < width_; ++c)
      if (is_symbol(c)) columns_[c].used = all;
  }

  Status fill(hid_t file) {
    const Hdf5Handle group(
        H5Gcreate2(file, sorted_.relation.name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Gclose);
    if (!group.is_open()) return hdf5_error("create the relation's group");
    STRATALOG_RETURN_IF_ERROR(describe_relation(group.id(), sorted_));
    if (width_ == 0) return Status::ok();
    STRATALOG_RETURN_IF_ERROR(write_bases(group.id()));
    STRATALOG_RETURN_IF_ERROR(write_tables(group.id()));
    return write_streams(group.id());
  }

  Status write_bases(hid_t group) {
    std::vector<std::uint64_t> bases;
    bases.reserve(width_);
    for (const ColumnNumbers& column : columns_)
      bases.push_back(column.has_table ? 0 : column.base);
    return write_signed(group, "base", bases);
  }

  Status write_tables(hid_t group) {
    bool symbols_written = false;
    for (std::size_t c = 0; c < width_; ++c) {
      if (is_symbol(c)) {
        if (symbols_written) continue;
        symbols_written = true;
        STRATALOG_RETURN_IF_ERROR(write_symbols(group, sorted_, sorted_.orders[c],
                                                {.used = columns_[c].used, .of_code = {}}));
      } else if (columns_[c].has_table) {
        STRATALOG_RETURN_IF_ERROR(write_values(group, c));
      }
    }
    return Status::ok();
  }

  Status write_values(hid_t group, std::size_t c) {
    std::vector<std::uint64_t> bits;
    bits.reserve(columns_[c].used.size());
    for (const OrderCode code : columns_[c].used) bits.push_back(value(c, code));
    const std::string name = fmt::format("values:{}", attribute(c).name);
    const hsize_t count = bits.size();
    const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const Hdf5Handle dataset(H5Dcreate2(group, name.c_str(), column_file_type(attribute(c).kind),
                                        space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                             H5Dclose);
    if (!dataset.is_open() || H5Dwrite(dataset.id(), column_memory_type(attribute(c).kind), H5S_ALL,
                                       H5S_ALL, H5P_DEFAULT, bits.data()) < 0)
      return hdf5_error("write " + name);
    return Status::ok();
  }

  Hdf5Handle stream_properties() const {
    Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(properties.id(), 1, &kChunkNumbers);
    H5Pset_obj_track_times(properties.id(), false);
    if (filter_ == StreamFilter::kBlosc) {
      // Of the plugin: four numbers that it fills in, then level, byte shuffle, LZ4.
      const unsigned values[] = {0, 0, 0, 0, 5, 1, 1};
      // Optional: a chunk that does not get smaller is stored as it is, not an error.
      H5Pset_filter(properties.id(), kBloscFilter, H5Z_FLAG_OPTIONAL, 7, values);
    } else {
      set_shuffle_and_deflate(properties.id(), kDeflateLevel);
    }
    return properties;
  }

  Status write_streams(hid_t group) {
    KeyStreams streams(static_cast<std::uint32_t>(width_));
    std::vector<Hdf5Handle> datasets;
    datasets.reserve(streams.size());
    const Hdf5Handle properties = stream_properties();
    const hsize_t none = 0;
    const hsize_t unlimited = H5S_UNLIMITED;
    const Hdf5Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      datasets.emplace_back(H5Dcreate2(group, streams.name(s).c_str(), H5T_STD_U32LE, space.id(),
                                       H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                            H5Dclose);
      if (!datasets.back().is_open()) return hdf5_error("create stream " + streams.name(s));
    }
    std::vector<hsize_t> written(streams.size(), 0);
    std::vector<std::uint32_t> numbers;
    if (sorted_.total_rows != 0)
      STRATALOG_RETURN_IF_ERROR(for_each_sorted_range(
          comm_, sorted_.source, sorted_.limits, [&](std::span<const OrderCode> rows) {
            to_numbers(rows, numbers);
            streams.add(numbers);
            return flush(streams, datasets, written, kChunkNumbers);
          }));
    streams.finish();
    return flush(streams, datasets, written, 1);
  }

  void to_numbers(std::span<const OrderCode> rows, std::vector<std::uint32_t>& numbers) const {
    numbers.resize(rows.size());
    for (std::size_t c = 0; c < width_; ++c)
      for (std::size_t at = c; at < rows.size(); at += width_)
        numbers[at] = columns_[c].number(rows[at]);
  }

  // Appends what streams hold, in multiples of `unit` numbers.
  Status flush(KeyStreams& streams, const std::vector<Hdf5Handle>& datasets,
               std::vector<hsize_t>& written, hsize_t unit) {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      KeyStreams::Stream& stream = streams.stream(s);
      const std::span numbers = std::span(stream).first(stream.size() / unit * unit);
      if (numbers.empty()) continue;
      const hsize_t end = written[s] + numbers.size();
      if (H5Dset_extent(datasets[s].id(), &end) < 0)
        return hdf5_error("extend stream " + streams.name(s));
      const bool is_written = filter_ == StreamFilter::kDeflate
                                  ? write_deflated(datasets[s].id(), written[s], numbers)
                                  : write_filtered(datasets[s].id(), written[s], numbers);
      if (!is_written) return hdf5_error("write stream " + streams.name(s));
      written[s] = end;
      stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(numbers.size()));
    }
    return Status::ok();
  }

  // Chunk by chunk, as HDF5's filters would store it; they take longer.
  bool write_deflated(hid_t dataset, hsize_t begin, std::span<const std::uint32_t> numbers) {
    for (; !numbers.empty(); begin += kChunkNumbers) {
      std::span<const std::uint32_t> chunk =
          numbers.first(std::min<std::size_t>(numbers.size(), kChunkNumbers));
      numbers = numbers.subspan(chunk.size());
      if (chunk.size() < kChunkNumbers) {  // chunks are whole in the file
        last_chunk_.assign(chunk.begin(), chunk.end());
        last_chunk_.resize(kChunkNumbers, 0);
        chunk = last_chunk_;
      }
      stored_.clear();
      const std::size_t bytes = deflater_.append(chunk, stored_);
      if (H5Dwrite_chunk(dataset, H5P_DEFAULT, filters_skipped(bytes, chunk.size_bytes()), &begin,
                         bytes, stored_.data()) < 0)
        return false;
    }
    return true;
  }

  static bool write_filtered(hid_t dataset, hsize_t begin, std::span<const std::uint32_t> numbers) {
    const hsize_t count = numbers.size();
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    const Hdf5Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
    return H5Dwrite(dataset, H5T_NATIVE_UINT32, memory.id(), space.id(), H5P_DEFAULT,
                    numbers.data()) >= 0;
  }

  Comm& comm_;
  const SortedRelation& sorted_;
  StreamFilter filter_;
  std::size_t width_;
  std::vector<ColumnNumbers> columns_;
  ChunkDeflater deflater_{kDeflateLevel};
  std::vector<std::uint32_t> last_chunk_;
  std::vector<std::byte> stored_;
};

}  // namespace

Status write_hdf5_streams(Comm& comm, const std::string& path, const SortedRelation& sorted,
                          StreamFilter filter) {
  if (comm.size() > 1) return Status::not_supported("streams are written by one rank");
  const Status written = StreamsFile(comm, sorted, filter).write(path);
  return written.is_ok() ? written : written.with_context(path);
}

}  // namespace stratalog::datalog
