// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/hdf5_layout.h"
#include "datalog/value_kind_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace stratalog::datalog {
namespace {

constexpr std::size_t kStringsPerWrite = std::size_t{1} << 16;

}  // namespace

hid_t column_file_type(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return H5T_STD_I64LE;
    case ValueKind::kUnsigned:
      return H5T_STD_U64LE;
    case ValueKind::kFloat:
      return H5T_IEEE_F64LE;
    case ValueKind::kSymbol:
    case ValueKind::kRecord:
      return H5T_STD_U32LE;
  }
  return H5I_INVALID_HID;
}

namespace {

Hdf5Handle string_type() {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), H5T_VARIABLE);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

Hdf5Handle line_space(hsize_t count) { return {H5Screate_simple(1, &count, nullptr), H5Sclose}; }

Status write_attribute(hid_t object, const char* name, hid_t type, const Hdf5Handle& space,
                       const void* data) {
  const Hdf5Handle attribute(H5Acreate2(object, name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  if (!attribute.is_open() || H5Awrite(attribute.id(), type, data) < 0)
    return hdf5_error(fmt::format("write attribute {}", name));
  return Status::ok();
}

}  // namespace

Status write_text(hid_t object, const char* name, const std::string& text) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const char* characters = text.c_str();
  return write_attribute(object, name, string_type().id(), space,
                         static_cast<const void*>(&characters));
}

Status write_number(hid_t object, const char* name, std::uint64_t number) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  return write_attribute(object, name, H5T_NATIVE_UINT64, space, &number);
}

Status write_signed(hid_t object, const char* name, const std::vector<std::uint64_t>& numbers) {
  return write_attribute(object, name, H5T_NATIVE_INT64, line_space(numbers.size()),
                         numbers.data());
}

namespace {

Status write_texts(hid_t object, const char* name, const std::vector<std::string>& texts) {
  if (texts.empty()) return Status::ok();
  std::vector<const char*> characters;
  characters.reserve(texts.size());
  for (const std::string& text : texts) characters.push_back(text.c_str());
  return write_attribute(object, name, string_type().id(), line_space(texts.size()),
                         static_cast<const void*>(characters.data()));
}

}  // namespace

Status describe_relation(hid_t group, const SortedRelation& sorted) {
  std::vector<std::string> names;
  std::vector<std::string> types;
  std::vector<std::string> kinds;
  for (const Attribute& attribute : sorted.relation.attributes) {
    names.push_back(attribute.name);
    types.push_back(attribute.type_name);
    kinds.emplace_back(value_kind_name(attribute.kind));
  }
  STRATALOG_RETURN_IF_ERROR(write_text(group, "relation", sorted.relation.name));
  STRATALOG_RETURN_IF_ERROR(write_number(group, "rows", sorted.total_rows));
  STRATALOG_RETURN_IF_ERROR(write_number(group, "arity", names.size()));
  STRATALOG_RETURN_IF_ERROR(write_texts(group, "column_names", names));
  STRATALOG_RETURN_IF_ERROR(write_texts(group, "column_types", types));
  return write_texts(group, "column_kinds", kinds);
}

namespace {

// Columns are contiguous, allocated now and never filled: every element will be written.
Status create_columns(hid_t group, const SortedRelation& sorted) {
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(properties.id(), false);
  const Hdf5Handle space = line_space(sorted.total_rows);
  for (const Attribute& attribute : sorted.relation.attributes) {
    const Hdf5Handle column(
        H5Dcreate2(group, attribute.name.c_str(), column_file_type(attribute.kind), space.id(),
                   H5P_DEFAULT, properties.id(), H5P_DEFAULT),
        H5Dclose);
    if (!column.is_open()) return hdf5_error(fmt::format("create column {}", attribute.name));
    STRATALOG_RETURN_IF_ERROR(write_text(column.id(), "type", attribute.type_name));
    STRATALOG_RETURN_IF_ERROR(write_text(column.id(), "kind", value_kind_name(attribute.kind)));
    if (attribute.kind == ValueKind::kSymbol)
      STRATALOG_RETURN_IF_ERROR(write_text(column.id(), "symbols", kSymbolsDataset));
  }
  return Status::ok();
}

}  // namespace

Status write_symbols(hid_t group, const SortedRelation& sorted, const ColumnOrder& order,
                     const SymbolPositions& positions) {
  const Hdf5Handle type = string_type();
  const Hdf5Handle space = line_space(positions.used.size());
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.id(), false);
  const Hdf5Handle dataset(H5Dcreate2(group, kSymbolsDataset, type.id(), space.id(), H5P_DEFAULT,
                                      properties.id(), H5P_DEFAULT),
                           H5Dclose);
  if (!dataset.is_open()) return hdf5_error("create the dataset of symbols");
  for (std::size_t from = 0; from < positions.used.size(); from += kStringsPerWrite) {
    const std::size_t to = std::min(from + kStringsPerWrite, positions.used.size());
    std::vector<std::string> texts;
    for (std::size_t i = from; i < to; ++i) {
      texts.emplace_back(sorted.dictionary.text(order.cell(positions.used[i])));
      if (texts.back().find('\0') != std::string::npos)
        return Status::not_supported(
            fmt::format("relation {}: a symbol holds a NUL byte, which HDF5 strings cannot; choose "
                        "IO=file",
                        sorted.relation.name));
    }
    std::vector<const char*> characters;
    characters.reserve(texts.size());
    for (const std::string& text : texts) characters.push_back(text.c_str());
    const hsize_t offset = from;
    const hsize_t count = to - from;
    const Hdf5Handle memory = line_space(count);
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &offset, nullptr, &count, nullptr);
    if (H5Dwrite(dataset.id(), type.id(), memory.id(), space.id(), H5P_DEFAULT,
                 static_cast<const void*>(characters.data())) < 0)
      return hdf5_error("write symbols");
  }
  return Status::ok();
}

hid_t column_memory_type(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return H5T_NATIVE_INT64;
    case ValueKind::kUnsigned:
      return H5T_NATIVE_UINT64;
    case ValueKind::kFloat:
      return H5T_NATIVE_DOUBLE;
    case ValueKind::kSymbol:
    case ValueKind::kRecord:
      return H5T_NATIVE_UINT32;
  }
  return H5I_INVALID_HID;
}

Status lay_out_file(const std::string& path, const SortedRelation& sorted,
                    const SymbolPositions& positions) {
  const Hdf5Silence silence;
  Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!file.is_open()) return hdf5_error("create the file");
  STRATALOG_RETURN_IF_ERROR(write_text(file.id(), "format", "stratalog relation"));
  STRATALOG_RETURN_IF_ERROR(write_number(file.id(), "format_version", 1));
  {
    const Hdf5Handle group(
        H5Gcreate2(file.id(), sorted.relation.name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Gclose);
    if (!group.is_open()) return hdf5_error("create the relation's group");
    STRATALOG_RETURN_IF_ERROR(describe_relation(group.id(), sorted));
    STRATALOG_RETURN_IF_ERROR(create_columns(group.id(), sorted));
    const auto& attributes = sorted.relation.attributes;
    for (std::size_t c = 0; c < attributes.size(); ++c) {
      if (attributes[c].kind != ValueKind::kSymbol) continue;
      STRATALOG_RETURN_IF_ERROR(write_symbols(group.id(), sorted, sorted.orders[c], positions));
      break;
    }
  }
  if (file.close() < 0) return hdf5_error("close the file");
  return Status::ok();
}

}  // namespace stratalog::datalog
