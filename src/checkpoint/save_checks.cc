// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/save_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checkpoint/fold.h"
#include "encode/checksum.h"
#include "encode/compact_codec.h"

namespace stratalog {
namespace {

bool is_section_name(std::string_view name) {
  if (name.empty() || name.size() > 40) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

bool is_permutation_of_columns(const RelationImage& image) {
  std::vector<bool> seen(image.arity, false);
  for (const std::uint32_t column : image.column_order) {
    if (column >= image.arity || seen[column]) return false;
    seen[column] = true;
  }
  return image.column_order.size() == image.arity;
}

Status check_backends(CheckpointMode mode, const RowFiles& rows) {
  const bool collective = mode == CheckpointMode::kHdf5 || mode == CheckpointMode::kHdf5Opt;
  if ((stores_rows(mode) && (!rows.lay_out || !rows.lay_out_views)) ||
      (stores_streams(mode) && !rows.lay_out_streams))
    return Status::not_supported(fmt::format("mode {} needs a build with HDF5", mode_name(mode)));
  if (collective && !rows.create)
    return Status::not_supported(fmt::format(
        "mode {} needs a build with MPI and parallel HDF5, and ranks that are MPI processes",
        mode_name(mode)));
  return Status::ok();
}

Status check_sections(const SaveRequest& request) {
  std::set<std::string> names;
  const NamedSection* before = nullptr;
  for (const NamedSection& section : request.sections) {
    const bool continues = section.piece != 0 && before != nullptr &&
                           before->name == section.name && before->piece == section.piece - 1;
    if (!is_section_name(section.name) || (!continues && section.piece != 0) ||
        (section.piece == 0 && !names.insert(section.name).second))
      return Status::invalid_argument(fmt::format(
          "section name \"{}\" is not allowed, not unique, or a piece of it does not follow the "
          "one before",
          section.name));
    if (section.is_unchanged && (request.base.empty() || !section.data.empty()))
      return Status::invalid_argument(
          fmt::format("section {} is said to be unchanged, but there is {}", section.name,
                      request.base.empty() ? "nothing to build on" : "content"));
    before = &section;
  }
  return Status::ok();
}

}  // namespace

Status check_request(const SaveRequest& request, CheckpointMode mode,
                     const WriterOptions& options) {
  for (const RelationImage& image : request.images) {
    if (image.arity > kMaxArity)
      return Status::not_supported(
          fmt::format("relation {} has {} columns; a checkpoint holds up "
                      "to {}",
                      image.name, image.arity, kMaxArity));
    if (image.name.empty() || !is_permutation_of_columns(image))
      return Status::invalid_argument(
          fmt::format("relation \"{}\": no name, or columns that are no permutation", image.name));
    if (image.arity == 0 && image.rows > 1)
      return Status::invalid_argument(
          fmt::format("relation {} of arity 0 with {} rows", image.name, image.rows));
  }
  STRATALOG_RETURN_IF_ERROR(check_backends(mode, options.backends.rows));
  if (!request.parts.empty() && request.parts.size() != request.images.size())
    return Status::invalid_argument("the parts of a checkpoint are not those of its images");
  if (request.encoding == ShardEncoding::kRaw)
    return Status::invalid_argument("encoding raw is not for tuples");
  return check_sections(request);
}

std::uint64_t image_list_digest(const SaveRequest& request, CheckpointMode mode) {
  std::string text = fmt::format("{} {} {}", static_cast<int>(mode),
                                 static_cast<int>(request.encoding), request.base);
  for (const PartPlan& plan : request.parts) text += "wgf"[static_cast<int>(plan.part)];
  for (const RelationImage& image : request.images) {
    text += fmt::format("\n{}.{} {}:", image.name, static_cast<int>(image.version), image.arity);
    for (const std::uint32_t column : image.column_order) text += fmt::format(" {}", column);
  }
  return hash128(text).low;
}

}  // namespace stratalog
