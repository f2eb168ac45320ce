// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/row_view.h"

#include <fmt/format.h>

#include "base/memory_end.h"
#include "checkpoint/row_datasets.h"

namespace stratalog {
namespace {

// Each data set of the layout, and in which files its rows lie.
std::vector<RowView> views_of(const SaveContext& context) {
  const SaveLayout& layout = context.layout;
  const std::uint32_t files = layout.plan.files;
  const std::vector<SaveLayout::Batch> batches = layout.batches();
  std::vector<RowView> views;
  for (std::size_t b = 0; b < batches.size(); ++b)
    for (std::size_t d = batches[b].begin; d < batches[b].end; ++d) {
      const DatasetFacts& facts = layout.facts.datasets[d];
      std::vector<std::uint64_t> rows(files, 0);
      for (std::size_t r = 0; r < facts.rows_of_rank.size(); ++r)
        rows[layout.file_of(static_cast<int>(r))] += facts.rows_of_rank[r];
      RowView view{.about = row_dataset(context, d, facts.rows()), .sources = {}};
      for (std::uint32_t f = 0; f < files; ++f)
        if (rows[f] != 0)
          view.sources.push_back(
              {.file = row_file_name(b, batches.size(), f, files), .rows = rows[f]});
      views.push_back(std::move(view));
    }
  return views;
}

std::size_t row_files(const SaveLayout& layout) {
  return layout.batches().size() * layout.plan.files;
}

Status begin_view(const SaveContext& context, QueuedFile& file) {
  STRATALOG_ASSIGN_OR_RETURN(
      const RowFileImage image,
      context.options.backends.rows.lay_out_views(
          views_of(context), {.generation = generation_name(context.id),
                              .file = fmt::format("a view of {}", row_files(context.layout)),
                              .builds_on = context.request.base}));
  for (const RowFileImage::Piece& piece : image.pieces)
    STRATALOG_RETURN_IF_ERROR(file.write(piece.offset, piece.bytes));
  return file.pause();
}

}  // namespace

bool RowViewFile::is_due(const SaveContext& context) { return row_files(context.layout) > 1; }

Status RowViewFile::begin(const SaveContext& context, LocalOutput& out) {
  if (context.comm.rank() != 0 || !is_due(context)) return Status::ok();
  const Stopwatch watch(out.times.metadata_ns);
  return or_no_space("not enough memory for a view of several files", [&] {
    file_.emplace(context, kRowFileName, OpenMode::kCreateExclusive, context.sync_files());
    return begin_view(context, *file_);
  });
}

Status RowViewFile::finish(const SaveContext& context, LocalOutput& out) {
  if (!file_) return Status::ok();
  {
    const Stopwatch watch(out.times.sync_ns);
    STRATALOG_RETURN_IF_ERROR(file_->finish(context.sync_files()));
  }
  return describe_file(context, kRowFileName, {}, out);
}

}  // namespace stratalog
