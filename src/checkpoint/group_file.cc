// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/group_file.h"

#include "checkpoint/queued_file.h"
#include "checkpoint/striped_folder.h"
#include "write/patient_open.h"

namespace stratalog {
namespace {

bool leads_group(const SaveContext& context) {
  const int rank = context.comm.rank();
  return context.layout.leader_of(context.layout.file_of(rank)) == rank;
}

}  // namespace

Result<SharedFile> create_group_file(Comm& comm, Store& store, const std::string& path,
                                     int leader) {
  std::shared_ptr<File> file;
  Status status;
  if (!path.empty() && comm.rank() == leader) {
    Result<std::unique_ptr<File>> made = store.open(path, OpenMode::kCreateExclusive);
    status = made.status();
    if (made.is_ok()) file = std::move(made).value();
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  if (!path.empty() && comm.rank() != leader) {
    Result<std::unique_ptr<File>> opened = open_patiently(store, path, OpenMode::kWriteExisting);
    status = opened.status();
    if (opened.is_ok()) file = std::move(opened).value();
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  SharedFile shared;
  shared.write_all = [file](std::uint64_t offset, std::span<const std::byte> bytes) {
    return bytes.empty() ? Status::ok() : file->write_at(offset, bytes);
  };
  shared.finish = [file](SyncFiles sync) { return file ? close_file(*file, sync) : Status::ok(); };
  return shared;
}

Status create_empty_files(const SaveContext& context, std::span<const std::string> names,
                          LocalOutput& out) {
  const auto create = [&]() -> Status {
    if (!leads_group(context)) return Status::ok();
    for (const std::string& name : names) {
      STRATALOG_ASSIGN_OR_RETURN(
          const std::unique_ptr<File> made,
          open_patiently(context.store, context.path(name), OpenMode::kCreateExclusive));
      STRATALOG_RETURN_IF_ERROR(made->close());
    }
    return Status::ok();
  };
  return write_striped(context.comm, context.store, striped_folder(context), out.lasting_notes,
                       [&] { return agree(context.comm, create()); });
}

std::string group_file_name(const SaveContext& context, const SaveLayout::Batch& batch,
                            std::size_t number, std::uint32_t group) {
  const LayoutPlan& plan = context.layout.plan;
  if (plan.files > 1 || plan.relations_per_file != 1) return shared_batch_name(number, group);
  const std::size_t index = context.layout.images[batch.begin];
  const RelationImage& image = context.request.images[index];
  return shared_file_name(index, image.name, image.version);
}

SharedFile queued_group_file(const SaveContext& context, const std::string& name) {
  QueuedFile file(context, name, OpenMode::kWriteExisting, context.sync_files());
  // Nobody but the leader fsyncs a file that stays empty.
  const bool leads = !name.empty() && leads_group(context);
  SharedFile shared;
  shared.write_all = [file](std::uint64_t offset, std::span<const std::byte> bytes) mutable {
    return file.write(offset, bytes);
  };
  shared.finish = [file, leads](SyncFiles sync) mutable {
    if (leads) STRATALOG_RETURN_IF_ERROR(file.open());
    return file.finish(sync);
  };
  return shared;
}

}  // namespace stratalog
