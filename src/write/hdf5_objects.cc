// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_objects.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/memory_end.h"
#include "write/errno_status.h"

namespace stratalog {
namespace {

herr_t collect_error(unsigned /*depth*/, const H5E_error2_t* error, void* text) {
  auto& words = *static_cast<std::string*>(text);
  // The library calls this from C, through which nothing may be thrown: fewer words, then.
  (void)or_no_space("", [&] {
    if (error->desc != nullptr && words.size() < 2000)
      words += fmt::format("; {}: {}", error->func_name == nullptr ? "?" : error->func_name,
                           error->desc);
    return Status::ok();
  });
  return 0;
}

Status put_attribute(hid_t object, const char* name, hid_t type, hid_t space, const void* value,
                     const std::string& path) {
  const Hdf5Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  if (!attribute.is_open()) return hdf5_error("H5Acreate", path);
  return hdf5_check(H5Awrite(attribute.id(), type, value), "H5Awrite", path);
}

// An array of fixed-length strings.
Status put_texts(hid_t object, const char* name, const std::vector<std::string>& texts,
                 const std::string& path) {
  std::size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, text.size() + 1);
  std::vector<char> cells(width * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i)
    std::memcpy(cells.data() + (i * width), texts[i].data(), texts[i].size());
  const hsize_t count = texts.size();
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  STRATALOG_RETURN_IF_ERROR(hdf5_check(H5Tset_size(type.id(), width), "H5Tset_size", path));
  STRATALOG_RETURN_IF_ERROR(hdf5_check(H5Tset_cset(type.id(), H5T_CSET_UTF8), "H5Tset_cset", path));
  return put_attribute(object, name, type.id(), space.id(), cells.data(), path);
}

H5D_alloc_time_t alloc_time(SpaceTime space) {
  switch (space) {
    case SpaceTime::kDefault:
      return H5D_ALLOC_TIME_DEFAULT;
    case SpaceTime::kEarly:
      return H5D_ALLOC_TIME_EARLY;
    case SpaceTime::kIncremental:
      return H5D_ALLOC_TIME_INCR;
  }
  return H5D_ALLOC_TIME_DEFAULT;
}

// For who opens the file without the documentation.
constexpr const char* kWhatCellsAre =
    "numbers below 2130706432 stand for themselves, from there to 2147483647 for themselves less "
    "2147483648; larger cells, and those of symbols and records, are entries of the dictionary "
    "beside this file (docs/formats/checkpoint.md). Values: stratalog export, or stratalog.open() "
    "in Python";

Hdf5Handle creation_properties(const RowDataset& about, const DatasetPlan& plan) {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (plan.layout == DataLayout::kChunked) {
    const std::array<hsize_t, 2> chunk = {plan.chunk_rows, about.columns};
    H5Pset_chunk(properties.id(), 2, chunk.data());
    H5Pset_deflate(properties.id(), plan.deflate_level);
  } else {
    H5Pset_layout(properties.id(), H5D_CONTIGUOUS);
  }
  H5Pset_alloc_time(properties.id(), alloc_time(plan.space));
  if (plan.fill == FillValues::kNever) H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER);
  return properties;
}

struct ChunkWalk {
  std::vector<StoredChunk> chunks;
  std::uint64_t chunk_rows = 0;
  bool unfiltered = false;
};

int take_chunk(const hsize_t* offset, unsigned filter_mask, haddr_t address, hsize_t bytes,
               void* walk_pointer) {
  auto& walk = *static_cast<ChunkWalk*>(walk_pointer);
  const std::size_t number = offset[0] / walk.chunk_rows;
  if (number >= walk.chunks.size()) return H5_ITER_ERROR;
  walk.chunks[number] = {.file_offset = address, .bytes = bytes};
  walk.unfiltered = walk.unfiltered || filter_mask != 0;
  return H5_ITER_CONT;
}

}  // namespace

// HDF5 tells why in words only.
Status hdf5_error(std::string_view call, std::string_view path) {
  std::string words;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_error, &words);
  H5Eclear2(H5E_DEFAULT);
  if (const auto number = errno_in_words(words))
    return errno_status(*number, fmt::format("finish {} on", call), path);
  const bool full = words.find("MPI_ERR_NO_SPACE") != std::string::npos;
  return {full ? StatusCode::kNoSpace : StatusCode::kIoError,
          fmt::format("{} on {} failed{}", call, path, words)};
}

Status hdf5_check(herr_t result, std::string_view call, std::string_view path) {
  return result >= 0 ? Status::ok() : hdf5_error(call, path);
}

Status put_text(hid_t object, const char* name, const std::string& text, const std::string& path) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  STRATALOG_RETURN_IF_ERROR(
      hdf5_check(H5Tset_size(type.id(), text.size() + 1), "H5Tset_size", path));
  STRATALOG_RETURN_IF_ERROR(hdf5_check(H5Tset_cset(type.id(), H5T_CSET_UTF8), "H5Tset_cset", path));
  return put_attribute(object, name, type.id(), space.id(), text.c_str(), path);
}

namespace {

Status put_u64(hid_t object, const char* name, const Hdf5Handle& space,
               std::span<const std::uint64_t> numbers, const std::string& path) {
  const Hdf5Handle attribute(
      H5Acreate2(object, name, H5T_STD_U64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.is_open()) return hdf5_error("H5Acreate", path);
  return hdf5_check(H5Awrite(attribute.id(), H5T_NATIVE_UINT64, numbers.data()), "H5Awrite", path);
}

}  // namespace

Status put_number(hid_t object, const char* name, std::uint64_t number, const std::string& path) {
  return put_u64(object, name, Hdf5Handle(H5Screate(H5S_SCALAR), H5Sclose), std::span(&number, 1),
                 path);
}

Status put_numbers(hid_t object, const char* name, const std::vector<std::uint64_t>& numbers,
                   const std::string& path) {
  const hsize_t count = numbers.size();
  return put_u64(object, name, Hdf5Handle(H5Screate_simple(1, &count, nullptr), H5Sclose), numbers,
                 path);
}

Status label_file(hid_t file, const FileLabels& labels, const std::string& path) {
  STRATALOG_RETURN_IF_ERROR(put_text(file, "generation", labels.generation, path));
  STRATALOG_RETURN_IF_ERROR(put_text(file, "file", labels.file, path));
  if (labels.builds_on.empty()) return Status::ok();
  return put_text(file, "builds_on", labels.builds_on, path);
}

template <typename About>
Status describe_relation(hid_t object, const About& about, const std::string& path) {
  STRATALOG_RETURN_IF_ERROR(put_text(object, "relation", about.relation, path));
  STRATALOG_RETURN_IF_ERROR(put_text(object, "version", about.version, path));
  STRATALOG_RETURN_IF_ERROR(put_text(object, "part", about.part, path));
  std::vector<std::string> names;
  std::vector<std::string> kinds;
  for (const ColumnLabel& label : about.labels) {
    names.push_back(label.name);
    kinds.push_back(label.kind.empty() ? "unknown" : label.kind);
  }
  STRATALOG_RETURN_IF_ERROR(put_texts(object, "columns", names, path));
  STRATALOG_RETURN_IF_ERROR(put_texts(object, "kinds", kinds, path));
  return put_text(object, "cells", kWhatCellsAre, path);
}

template Status describe_relation(hid_t, const RowDataset&, const std::string&);
template Status describe_relation(hid_t, const StreamRelation&, const std::string&);

Result<Hdf5Handle> add_row_dataset(hid_t file, const RowDataset& about, const DatasetPlan& plan,
                                   const std::string& path) {
  const std::array<hsize_t, 2> shape = {about.rows, about.columns};
  const Hdf5Handle space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
  if (!space.is_open()) return hdf5_error("H5Screate_simple", path);
  const Hdf5Handle properties = creation_properties(about, plan);
  Hdf5Handle dataset(H5Dcreate2(file, about.name.c_str(), H5T_STD_U64LE, space.id(), H5P_DEFAULT,
                                properties.id(), H5P_DEFAULT),
                     H5Dclose);
  if (!dataset.is_open()) return hdf5_error("H5Dcreate", path);
  STRATALOG_RETURN_IF_ERROR(describe_relation(dataset.id(), about, path));
  return dataset;
}

void tune_file_access(hid_t access, const RowFileTuning& tuning) {
  if (tuning.alignment != 0) H5Pset_alignment(access, tuning.align_from, tuning.alignment);
  if (tuning.metadata_cache_bytes != 0) {
    H5AC_cache_config_t config;
    config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    H5Pget_mdc_config(access, &config);
    config.set_initial_size = 1;
    config.max_size = std::max<std::size_t>(config.max_size, tuning.metadata_cache_bytes);
    config.initial_size = tuning.metadata_cache_bytes;
    H5Pset_mdc_config(access, &config);
  }
  if (tuning.cache_call_bytes != 0) H5Pset_cache(access, 0, 521, tuning.cache_call_bytes, 0.75);
  if (tuning.sieve_bytes != 0) H5Pset_sieve_buf_size(access, tuning.sieve_bytes);
}

Result<RowPlacement> placement_of(hid_t dataset, const RowDataset& about, const DatasetPlan& plan,
                                  const std::string& path) {
  RowPlacement placement;
  if (plan.layout == DataLayout::kContiguous) {
    placement.bytes = about.rows * about.columns * 8;
    placement.file_offset = H5Dget_offset(dataset);
    if (placement.file_offset == HADDR_UNDEF) return hdf5_error("H5Dget_offset", path);
    return placement;
  }
  ChunkWalk walk;
  walk.chunk_rows = plan.chunk_rows;
  walk.chunks.resize((about.rows + plan.chunk_rows - 1) / plan.chunk_rows);
  STRATALOG_RETURN_IF_ERROR(
      hdf5_check(H5Dchunk_iter(dataset, H5P_DEFAULT, take_chunk, &walk), "H5Dchunk_iter", path));
  if (walk.unfiltered)
    return Status::not_supported(
        fmt::format("{}: HDF5 left a chunk of {} undeflated", path, about.name));
  placement.chunks = std::move(walk.chunks);
  return placement;
}

}  // namespace stratalog
