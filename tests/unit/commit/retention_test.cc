// SPDX-License-Identifier: Apache-2.0
// remove_generation: no file goes before it is durable that the manifest has gone.
#include "commit/retention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "place/checkpoint_names.h"
#include "write/memory_store.h"
#include "write/operation_log.h"

namespace stratalog {
namespace {

constexpr GenerationId kId{.epoch = 1, .sequence = 1};

void put(Store& store, const std::string& path) {
  const Result<std::unique_ptr<File>> file = store.open(path, OpenMode::kCreateExclusive);
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  ASSERT_TRUE(file.value()->close().is_ok());
}

// The manifest is there under its name, or a job that died had hidden it, perhaps without syncing.
TEST(Retention, FilesGoAfterTheManifestHasGoneForGood) {
  for (const char* manifest : {kManifestName, kManifestHiddenName}) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto inner = open_memory_store(disk);
    const std::string directory = generation_name(kId);
    ASSERT_TRUE(inner->make_directory(directory).is_ok());
    put(*inner, directory + "/" + manifest);
    put(*inner, directory + "/data");
    OperationLog log(*disk);
    const auto store = open_recording_store(*inner, log, 0);
    ASSERT_TRUE(remove_generation(*store, {.id = kId, .keep = {}}, CommitRules{}).is_ok());
    const std::vector<Operation> operations = log.take();
    const auto kind_at = [&](OperationKind kind) {
      return std::find_if(operations.begin(), operations.end(),
                          [&](const Operation& operation) { return operation.kind == kind; });
    };
    const auto removal = kind_at(OperationKind::kRemove);
    ASSERT_NE(removal, operations.end()) << manifest;
    EXPECT_LT(kind_at(OperationKind::kSyncDirectory), removal) << manifest;
    EXPECT_FALSE(inner->info(directory).is_ok());
  }
}

}  // namespace
}  // namespace stratalog
