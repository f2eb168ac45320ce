// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_row_layout.h"

#include <H5FDdevelop.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>

#include "write/hdf5_objects.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

// Pages that HDF5 wrote; what it did not write is zero.
struct PageFile {
  std::map<std::uint64_t, Bytes> pages;
  std::uint64_t end = 0;  // of what was written
  std::uint64_t allocated_end = 0;  // what HDF5 takes the file to need
};

// HDF5's view of a PageFile: `base` must come first, the library casts between the two.
struct PageDriverFile {
  H5FD_t base;
  PageFile* content;
};

// Driver properties hold where the pages go.
struct PageDriverProperties {
  PageFile* content;
};

PageDriverFile& self(H5FD_t* file) { return *reinterpret_cast<PageDriverFile*>(file); }
const PageDriverFile& self(const H5FD_t* file) {
  return *reinterpret_cast<const PageDriverFile*>(file);
}

void* copy_properties(const void* properties) {
  return new PageDriverProperties(*static_cast<const PageDriverProperties*>(properties));
}

herr_t free_properties(void* properties) {
  delete static_cast<PageDriverProperties*>(properties);
  return 0;
}

H5FD_t* open_pages(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*max*/) {
  const auto* properties = static_cast<const PageDriverProperties*>(H5Pget_driver_info(access));
  if (properties == nullptr) return nullptr;
  auto* file = new PageDriverFile{};
  file->content = properties->content;
  return &file->base;
}

herr_t close_pages(H5FD_t* file) {
  delete &self(file);
  return 0;
}

herr_t query_pages(const H5FD_t* /*file*/, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA;
  return 0;
}

haddr_t get_allocated_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return self(file).content->allocated_end;
}

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t end) {
  self(file).content->allocated_end = end;
  return 0;
}

// HDF5 compares this with the allocated end: the file is always as long as it needs to be.
haddr_t get_file_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return std::max(self(file).content->end, self(file).content->allocated_end);
}

herr_t read_pages(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address,
                  std::size_t size, void* buffer) {
  const PageFile& content = *self(file).content;
  auto* to = static_cast<std::byte*>(buffer);
  while (size > 0) {
    const std::uint64_t within = address % kPageBytes;
    const std::size_t piece = std::min<std::uint64_t>(size, kPageBytes - within);
    const auto page = content.pages.find(address / kPageBytes);
    if (page == content.pages.end())
      std::memset(to, 0, piece);
    else
      std::memcpy(to, page->second.data() + within, piece);
    address += piece;
    to += piece;
    size -= piece;
  }
  return 0;
}

herr_t write_pages(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address,
                   std::size_t size, const void* buffer) {
  PageFile& content = *self(file).content;
  const auto* from = static_cast<const std::byte*>(buffer);
  content.end = std::max<std::uint64_t>(content.end, address + size);
  while (size > 0) {
    const std::uint64_t within = address % kPageBytes;
    const std::size_t piece = std::min<std::uint64_t>(size, kPageBytes - within);
    Bytes& page = content.pages[address / kPageBytes];
    page.resize(kPageBytes);
    std::memcpy(page.data() + within, from, piece);
    address += piece;
    from += piece;
    size -= piece;
  }
  return 0;
}

H5FD_class_t page_driver() {
  H5FD_class_t driver = {};
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(510);  // of the range for unregistered drivers
  driver.name = "stratalog_pages";
  driver.maxaddr = HADDR_MAX;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(PageDriverProperties);
  driver.fapl_copy = copy_properties;
  driver.fapl_free = free_properties;
  driver.open = open_pages;
  driver.close = close_pages;
  driver.query = query_pages;
  driver.get_eoa = get_allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = get_file_end;
  driver.read = read_pages;
  driver.write = write_pages;
  const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;  // rows apart from everything else
  std::copy(std::begin(map), std::end(map), std::begin(driver.fl_map));
  return driver;
}

// Registered once; the library closes it at its end.
Result<hid_t> page_driver_id() {
  static const H5FD_class_t kDriver = page_driver();
  static const hid_t kId = H5FDregister(&kDriver);
  if (kId < 0) return hdf5_error("H5FDregister", "the layout in memory");
  return kId;
}

// Neighbouring pages in one piece; nothing beyond the file's end.
std::vector<RowFileImage::Piece> take_pieces(PageFile& content, std::uint64_t file_bytes) {
  std::vector<RowFileImage::Piece> pieces;
  for (auto& [number, page] : content.pages) {
    const std::uint64_t offset = number * kPageBytes;
    if (offset >= file_bytes) break;
    page.resize(std::min(kPageBytes, file_bytes - offset));
    const bool adjoins =
        !pieces.empty() && pieces.back().offset + pieces.back().bytes.size() == offset;
    if (!adjoins) pieces.push_back({.offset = offset, .bytes = {}});
    Bytes& bytes = pieces.back().bytes;
    bytes.insert(bytes.end(), page.begin(), page.end());
  }
  return pieces;
}

Status create_datasets(hid_t file, const std::vector<RowDataset>& datasets,
                       const RowFileSettings& settings, RowFileImage& image) {
  const std::string path = "the layout in memory";
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    STRATALOG_ASSIGN_OR_RETURN(const Hdf5Handle dataset,
                               add_row_dataset(file, datasets[i], settings.plans[i], path));
    RowPlacement placement;
    if (settings.plans[i].layout == DataLayout::kContiguous &&
        settings.plans[i].space == SpaceTime::kEarly) {
      STRATALOG_ASSIGN_OR_RETURN(placement,
                                 placement_of(dataset.id(), datasets[i], settings.plans[i], path));
    }
    image.placements.push_back(std::move(placement));
  }
  return Status::ok();
}

}  // namespace

Result<RowFileImage> lay_out_rows(const std::vector<RowDataset>& datasets,
                                  const RowFileSettings& settings) {
  // Virtual ranks are threads, and HDF5 is not built for those.
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we report errors ourselves
  STRATALOG_ASSIGN_OR_RETURN(const hid_t driver, page_driver_id());
  PageFile content;
  const PageDriverProperties properties{.content = &content};
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  STRATALOG_RETURN_IF_ERROR(hdf5_check(H5Pset_driver(access.id(), driver, &properties),
                                       "H5Pset_driver", "the layout in memory"));
  tune_file_access(access.id(), settings.tuning);
  // All headers and attributes in front, the rows behind them.
  H5Pset_meta_block_size(access.id(), std::bit_ceil(4096 + (datasets.size() * 2048)));
  Hdf5Handle file(H5Fcreate("layout", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose);
  if (!file.is_open()) return hdf5_error("H5Fcreate", "the layout in memory");
  RowFileImage image;
  const Status created = create_datasets(file.id(), datasets, settings, image);
  const Status closed = hdf5_check(file.close(), "H5Fclose", "the layout in memory");
  STRATALOG_RETURN_IF_ERROR(created);
  STRATALOG_RETURN_IF_ERROR(closed);
  image.file_bytes = content.allocated_end;
  image.pieces = take_pieces(content, image.file_bytes);
  return image;
}

RowFiles hdf5_serial_files() { return {.create = {}, .lay_out = lay_out_rows, .open = {}}; }

}  // namespace stratalog
