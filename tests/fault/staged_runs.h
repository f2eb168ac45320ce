// SPDX-License-Identifier: Apache-2.0
// What tests of staging directories share: stages that are folders of one disk in memory, the
// promises to a reader who has lost one, stores that are full for a while.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commit/staged_store.h"
#include "fault/crash_explorer.h"
#include "fault/loaded_samples.h"
#include "fault/subdirectory_store.h"

namespace stratalog::sample {

// Opens stages as subdirectories of `folder`.
inline StageOpener stages_in(std::shared_ptr<Store> disk, std::string folder) {
  return [disk = std::move(disk), folder = std::move(folder)](
             const std::string& name, RootMode mode) -> Result<std::unique_ptr<Store>> {
    const std::string path = folder + "/" + name;
    if (mode == RootMode::kCreate && !disk->info(path).is_ok()) {
      // Another rank may have made it meanwhile.
      const Status made = disk->make_directory(path);
      if (made.code() != StatusCode::kAlreadyExists) STRATALOG_RETURN_IF_ERROR(made);
      STRATALOG_RETURN_IF_ERROR(disk->sync_directory(folder));
    }
    STRATALOG_RETURN_IF_ERROR(disk->info(path).status());
    return std::unique_ptr<Store>(std::make_unique<SubdirectoryStore>(disk, path));
  };
}

// "drained I" for the `count` iterations up to `last`.
inline void mark_drained(OperationLog& log, std::uint64_t last, std::uint64_t count) {
  for (std::uint64_t i = last - count + 1; i <= last; ++i)
    log.mark(0, "drained " + std::to_string(i));
}

// What a reader who has lost a stage was promised: drained is done.
inline std::vector<Operation> without_stages(const std::vector<Operation>& log) {
  std::vector<Operation> promised;
  for (Operation operation : log) {
    if (operation.kind == OperationKind::kMark && operation.name.starts_with("done ")) continue;
    if (operation.kind == OperationKind::kMark && operation.name.starts_with("drained "))
      operation.name.replace(0, 7, "done");
    promised.push_back(std::move(operation));
  }
  return promised;
}

// The iteration of the generation that a load takes, its tuples compared; 0 if there is none.
inline std::uint64_t loaded(Store& store) {
  const auto report = load_and_compare(store, kCrashTestSize);
  if (!report.is_ok()) return 0;
  EXPECT_TRUE(report.value().skipped.empty());
  return report.value().state.iteration;
}

// A folder that takes no new files of checkpoints while it is full.
class FullStore final : public SubdirectoryStore {
 public:
  FullStore(std::shared_ptr<Store> inner, std::string folder, const std::atomic<bool>& is_full)
      : SubdirectoryStore(std::move(inner), std::move(folder)), is_full_(is_full) {}
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    if (is_full_ && mode == OpenMode::kCreateExclusive && path.find('/') != std::string::npos)
      return Status::no_space("the disk is full");
    return SubdirectoryStore::open(path, mode);
  }

 private:
  const std::atomic<bool>& is_full_;
};

}  // namespace stratalog::sample
