// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/group_file.h"

#include "checkpoint/queued_file.h"
#include "write/patient_open.h"

namespace stratalog {

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
  shared.finish = [file](SyncFiles sync) {
    if (file == nullptr) return Status::ok();
    const Status synced = sync == SyncFiles::kYes ? file->sync() : Status::ok();
    const Status closed = file->close();
    return synced.is_ok() ? closed : synced;
  };
  return shared;
}

Status create_empty_file(Store& store, const std::string& path) {
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> made,
                             store.open(path, OpenMode::kCreateExclusive));
  return made->close();
}

std::string group_file_name(const SaveContext& context, const SaveLayout::Batch& batch,
                            std::size_t number, std::uint32_t group) {
  const LayoutPlan& plan = context.layout.plan;
  if (plan.files > 1 || plan.relations_per_file != 1) return shared_batch_name(number, group);
  const std::size_t index = context.layout.images[batch.begin];
  const RelationImage& image = context.request.images[index];
  return shared_file_name(index, image.name, image.version);
}

Result<SharedFile> create_queued_group_file(const SaveContext& context, const std::string& name,
                                            int leader) {
  const bool leads = !name.empty() && context.comm.rank() == leader;
  STRATALOG_RETURN_IF_ERROR(agree(
      context.comm, leads ? create_empty_file(context.store, context.path(name)) : Status::ok()));
  QueuedFile file(context, name, OpenMode::kWriteExisting, context.sync_files());
  // Nobody else fsyncs a file that stays empty.
  if (leads) STRATALOG_RETURN_IF_ERROR(file.open());
  SharedFile shared;
  shared.write_all = [file](std::uint64_t offset, std::span<const std::byte> bytes) mutable {
    return file.write(offset, bytes);
  };
  shared.finish = [file](SyncFiles sync) mutable { return file.finish(sync); };
  return shared;
}

}  // namespace stratalog
