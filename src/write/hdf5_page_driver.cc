// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_page_driver.h"

#include <H5FDdevelop.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/memory_end.h"
#include "write/hdf5_objects.h"

namespace stratalog {
namespace {

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

// The library calls these from C: where there is no memory they say so, and nothing is thrown.
void* copy_properties(const void* properties) {
  return new (std::nothrow)
      PageDriverProperties(*static_cast<const PageDriverProperties*>(properties));
}

herr_t free_properties(void* properties) {
  delete static_cast<PageDriverProperties*>(properties);
  return 0;
}

H5FD_t* open_pages(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*max*/) {
  const auto* properties = static_cast<const PageDriverProperties*>(H5Pget_driver_info(access));
  if (properties == nullptr) return nullptr;
  auto* file = new (std::nothrow) PageDriverFile{};
  if (file == nullptr) return nullptr;
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

// Where data lie at given places, HDF5 must not gather what it writes.
herr_t query_places(const H5FD_t* /*file*/, unsigned long* flags) {
  *flags = 0;
  return 0;
}

// Data where they are, the rest behind all of them.
haddr_t allocate(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer*/, hsize_t size) {
  PageFile& content = *self(file).content;
  std::uint64_t at = 0;
  if (type == H5FD_MEM_DRAW && content.place) {
    at = *content.place;
  } else {
    at = content.own_end;
    content.own_end += size;
  }
  content.allocated_end = std::max<std::uint64_t>(content.allocated_end, at + size);
  return at;
}

haddr_t get_allocated_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return self(file).content->allocated_end;
}

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t end) {
  PageFile& content = *self(file).content;
  content.allocated_end = end;
  // HDF5 extends what lies last without allocating.
  content.own_end = std::max<std::uint64_t>(content.own_end, end);
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

Status write_content(PageFile& content, std::uint64_t address, std::span<const std::byte> bytes) {
  const std::byte* from = bytes.data();
  std::size_t size = bytes.size();
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
  return Status::ok();
}

herr_t write_pages(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer*/, haddr_t address,
                   std::size_t size, const void* buffer) {
  PageFile& content = *self(file).content;
  if (type == H5FD_MEM_DRAW && content.place) return 0;
  const Status written = or_no_space("not enough memory for what HDF5 writes", [&] {
    return write_content(content, address, {static_cast<const std::byte*>(buffer), size});
  });
  return written.is_ok() ? 0 : -1;
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

H5FD_class_t place_driver() {
  H5FD_class_t driver = page_driver();
  driver.value = static_cast<H5FD_class_value_t>(511);
  driver.name = "stratalog_places";
  driver.query = query_places;
  driver.alloc = allocate;
  return driver;
}

// Registered once; the library closes them at its end.
Result<hid_t> page_driver_id(bool has_given_places) {
  static const H5FD_class_t kPages = page_driver();
  static const H5FD_class_t kPlaces = place_driver();
  static const hid_t kPagesId = H5FDregister(&kPages);
  static const hid_t kPlacesId = H5FDregister(&kPlaces);
  const hid_t id = has_given_places ? kPlacesId : kPagesId;
  if (id < 0) return hdf5_error("H5FDregister", "the layout in memory");
  return id;
}

}  // namespace

std::vector<RowFileImage::Piece> PageFile::take_pieces(std::uint64_t file_bytes) {
  std::vector<RowFileImage::Piece> pieces;
  for (auto& [number, page] : pages) {
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

std::mutex& laying_out_files() {
  static std::mutex one_at_a_time;
  return one_at_a_time;
}

Status use_page_driver(hid_t access, PageFile& content) {
  STRATALOG_ASSIGN_OR_RETURN(const hid_t driver, page_driver_id(content.has_given_places));
  const PageDriverProperties properties{.content = &content};
  return hdf5_check(H5Pset_driver(access, driver, &properties), "H5Pset_driver",
                    "the layout in memory");
}

}  // namespace stratalog
