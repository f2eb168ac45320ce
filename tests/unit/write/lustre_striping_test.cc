// SPDX-License-Identifier: Apache-2.0
// The stripes of new files: what `lfs` is asked for, and what becomes of its answers. A script on
// the PATH stands for it.
#include "write/lustre_striping.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "write/store.h"

namespace stratalog {
namespace {

using Words = std::vector<std::string>;

constexpr StripingPlan kStripes{.stripe_count = 48, .stripe_bytes = std::uint64_t{8} << 20};

TEST(SetstripeArguments, CountSizeAndFolder) {
  EXPECT_EQ(setstripe_arguments("ck/gen-1", kStripes),
            (Words{"lfs", "setstripe", "-c", "48", "-S", "8388608", "ck/gen-1"}));
  EXPECT_EQ(setstripe_arguments("ck/gen-1", {}), (Words{"lfs", "setstripe", "-d", "ck/gen-1"}));
}

TEST(SetstripeArguments, NamesAreNoOptions) {
  EXPECT_EQ(setstripe_arguments("-d/gen-1", kStripes).back(), "./-d/gen-1");
}

class SetNewFileStriping : public testing::Test {
 protected:
  SetNewFileStriping() {
    std::filesystem::create_directory(folder_);
    ::setenv("PATH", (folder_ + ":" + before_).c_str(), 1);
  }
  ~SetNewFileStriping() override {
    ::setenv("PATH", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  void put_lfs(const std::string& script) const {
    std::ofstream(folder_ + "/lfs") << "#!/bin/sh\n" << script;
    ::chmod((folder_ + "/lfs").c_str(), 0700);
  }

  std::string before_ = std::getenv("PATH");
  std::string folder_ = testing::TempDir() + "lustre_striping_" + std::to_string(::getpid());
};

TEST_F(SetNewFileStriping, AStoreAsksForOneOfItsFolders) {
  put_lfs("for word; do echo \"$word\"; done >> \"$(dirname \"$0\")/told\"");
  const auto store = open_posix_store(folder_, RootMode::kMustExist);
  ASSERT_TRUE(store.is_ok());
  const Status set = store.value()->stripe_new_files("a generation", kStripes);
  ASSERT_TRUE(set.is_ok()) << set.to_string();
  ASSERT_TRUE(store.value()->stripe_new_files("a generation", {}).is_ok());
  std::ifstream told(folder_ + "/told");
  Words words;
  for (std::string line; std::getline(told, line);) words.push_back(line);
  const std::string name = folder_ + "/a generation";
  EXPECT_EQ(words,
            (Words{"setstripe", "-c", "48", "-S", "8388608", name, "setstripe", "-d", name}));
}

TEST_F(SetNewFileStriping, WhatLfsSaysOfAFailureIsTold) {
  put_lfs("echo 'stripe count too large' >&2; exit 22");
  const Status set = set_new_file_striping("ck", kStripes);
  EXPECT_EQ(set.code(), StatusCode::kIoError);
  EXPECT_EQ(set.message(), "`lfs setstripe -c 48 -S 8388608 ck` failed: stripe count too large");
}

TEST_F(SetNewFileStriping, NoLfsIsNotSupported) {
  ::setenv("PATH", folder_.c_str(), 1);
  EXPECT_EQ(set_new_file_striping("ck", kStripes).code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace stratalog
