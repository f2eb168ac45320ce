// SPDX-License-Identifier: Apache-2.0
// Names of fact files as users type them: with "..", absolute, through links; and what must not be
// replaced. Needs the real file system, because a Store in memory has no links.
#include "datalog/facts/fact_location.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT: mkdtemp is POSIX
#include <sys/stat.h>
#include <unistd.h>

#include "datalog/facts/fact_reader.h"
#include "datalog/facts/fact_writer.h"
#include "unit/facts/fact_text.h"

namespace stratalog::datalog {
namespace {

class RealDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "facts-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    ASSERT_EQ(::mkdir((root_ + "/in").c_str(), 0700), 0);
    ASSERT_EQ(::mkdir((root_ + "/out").c_str(), 0700), 0);
  }
  void TearDown() override {
    for (const char* file : {"/in/r.facts", "/in/link.facts", "/out/r.csv", "/r.csv",
                             "/out/link.csv", "/out/dangling"})
      ::unlink((root_ + file).c_str());
    ::rmdir((root_ + "/in").c_str());
    ::rmdir((root_ + "/out").c_str());
    EXPECT_EQ(::rmdir(root_.c_str()), 0);
  }
  Result<WrittenFacts> write(const std::string& path) {
    const auto store = open_posix_store(root_ + "/out", RootMode::kMustExist).value();
    const ValueDictionary dictionary;
    ValueOrder order(dictionary);
    return write_facts(*comm_, *store, relation_,
                       make_directive(IoAction::kOutput, {{"filename", path}}), order,
                       TupleColumns{.rows = 2, .columns = {{2, 1}}});
  }
  Result<TupleColumns> load(const std::string& path) {
    const auto store = open_posix_store(root_ + "/in", RootMode::kMustExist).value();
    ValueDictionary dictionary;
    return load_facts(*comm_, *store, relation_,
                      make_directive(IoAction::kInput, {{"filename", path}}), dictionary);
  }
  std::string content(const std::string& path) {
    return get_file(*open_posix_store(root_, RootMode::kMustExist).value(), path);
  }

  std::string root_;
  std::unique_ptr<Comm> comm_ = make_self_comm();
  Relation relation_ = make_relation("r", "x:number");
};

TEST_F(RealDirectory, NamesAsUsersTypeThem) {
  put_file(*open_posix_store(root_ + "/in", RootMode::kMustExist).value(), "r.facts", "1\n2\n");
  ASSERT_EQ(::symlink((root_ + "/in/r.facts").c_str(), (root_ + "/in/link.facts").c_str()), 0);
  for (const std::string& path :
       {std::string("r.facts"), std::string("../in/r.facts"), std::string("./r.facts"),
        root_ + "/in/r.facts", std::string("link.facts")})
    EXPECT_EQ(load(path).status().to_string(), "OK") << path;
  EXPECT_EQ(load("../in").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(load("../none/r.facts").status().code(), StatusCode::kNotFound);

  for (const std::string& path :
       {std::string("r.csv"), std::string("../r.csv"), root_ + "/r.csv", std::string("r.csv")})
    EXPECT_EQ(write(path).status().to_string(), "OK") << path;
  EXPECT_EQ(content("r.csv"), "1\n2\n");
  EXPECT_EQ(content("out/r.csv"), "1\n2\n");
}

TEST_F(RealDirectory, OutputThroughALinkKeepsTheLink) {
  put_file(*open_posix_store(root_, RootMode::kMustExist).value(), "r.csv", "old\n");
  ASSERT_EQ(::symlink((root_ + "/r.csv").c_str(), (root_ + "/out/link.csv").c_str()), 0);
  EXPECT_EQ(write("link.csv").status().to_string(), "OK");
  EXPECT_EQ(content("r.csv"), "1\n2\n");
  struct stat about = {};
  ASSERT_EQ(::lstat((root_ + "/out/link.csv").c_str(), &about), 0);
  EXPECT_TRUE(S_ISLNK(about.st_mode));
}

TEST_F(RealDirectory, RefusesToReplaceWhatIsNoFile) {
  ASSERT_EQ(::symlink((root_ + "/nowhere").c_str(), (root_ + "/out/dangling").c_str()), 0);
  EXPECT_EQ(write("dangling").status().message(),
            "cannot write " + root_ + "/out/dangling: " + root_ +
                "/out/dangling is a link that leads to nothing; remove it or choose another "
                "filename");
  EXPECT_EQ(write("/dev/null").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(write("../out").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(write("missing/r.csv").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(write("out/").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stratalog::datalog
