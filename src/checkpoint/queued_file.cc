// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/queued_file.h"

#include "write/patient_open.h"
#include "write/write_behind.h"

namespace stratalog {

// Of whoever carries out the queue.
struct QueuedFile::Opened {
  Store& store;
  std::string path;
  OpenMode mode;
  WriteBehind behind;
  std::unique_ptr<File> file;

  Status open() {
    if (file) return Status::ok();
    STRATALOG_ASSIGN_OR_RETURN(file, open_patiently(store, path, mode));
    return Status::ok();
  }

  Status write(std::uint64_t at, std::span<const std::byte> bytes) {
    STRATALOG_RETURN_IF_ERROR(open());
    STRATALOG_RETURN_IF_ERROR(file->write_at(at, bytes));
    behind.wrote(*file, at, bytes.size());
    return Status::ok();
  }

  Status pause() {
    if (file) behind.pause(*file);
    return Status::ok();
  }

  Status finish(SyncFiles sync) const { return file ? close_file(*file, sync) : Status::ok(); }
};

QueuedFile::QueuedFile(const SaveContext& context, const std::string& name, OpenMode mode,
                       SyncFiles sync)
    : queue_(&context.queue),
      opened_(std::make_shared<Opened>(Opened{.store = context.store,
                                              .path = context.path(name),
                                              .mode = mode,
                                              .behind = WriteBehind(sync),
                                              .file = nullptr})) {}

Status QueuedFile::write(std::uint64_t at, std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status::ok();
  return queue_->add(bytes, [opened = opened_, at](std::span<const std::byte> whole) {
    return opened->write(at, whole);
  });
}

Status QueuedFile::open() {
  return queue_->add([opened = opened_] { return opened->open(); });
}

Status QueuedFile::pause() {
  return queue_->add([opened = opened_] { return opened->pause(); });
}

Status QueuedFile::finish(SyncFiles sync) {
  return queue_->add([opened = opened_, sync] { return opened->finish(sync); });
}

}  // namespace stratalog
