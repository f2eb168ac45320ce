// SPDX-License-Identifier: Apache-2.0
// Space that is reserved for a file before many ranks write it: it changes no length, fails where
// writing would fail, and goes back.
#include "write/reserve_space.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stratalog {
namespace {

class ReserveSpace : public testing::Test {
 protected:
  ReserveSpace() { std::ofstream(path_) << "rows"; }
  ~ReserveSpace() override { std::filesystem::remove(path_); }

  // On the disk, in units of 512 bytes.
  std::uint64_t blocks() const {
    struct stat about = {};
    EXPECT_EQ(::stat(path_.c_str(), &about), 0);
    return static_cast<std::uint64_t>(about.st_blocks);
  }

  std::string path_ = testing::TempDir() + "reserve_space_" + std::to_string(::getpid());
};

TEST_F(ReserveSpace, LiesBehindTheEndAndGoesBack) {
  ASSERT_TRUE(reserve_space(path_, 1 << 20).is_ok());
  EXPECT_EQ(std::filesystem::file_size(path_), 4U);
  const std::uint64_t reserved = blocks();
  if (reserved * 512 < 1 << 20) GTEST_SKIP() << "this file system cannot reserve";
  ASSERT_TRUE(release_reserved(path_).is_ok());
  EXPECT_EQ(std::filesystem::file_size(path_), 4U);
  EXPECT_LT(blocks(), reserved);
}

TEST_F(ReserveSpace, ALimitOfFileSizesCounts) {
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit limited = before;
  limited.rlim_cur = 1 << 16;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  const Status below = reserve_space(path_, 1 << 16);
  const Status beyond = reserve_space(path_, (1 << 16) + 1);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(below.is_ok()) << below.to_string();
  ASSERT_FALSE(beyond.is_ok());
  EXPECT_NE(beyond.message().find("ulimit -f"), std::string::npos) << beyond.to_string();
}

TEST_F(ReserveSpace, AMissingFileIsAnError) {
  EXPECT_EQ(reserve_space(path_ + ".none", 1).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace stratalog
