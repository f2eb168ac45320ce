// SPDX-License-Identifier: Apache-2.0
// HeldRelation keeps groups of every kind as they came; restarts and raw peers on virtual ranks.
#include "bench/held_relation.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "bench/raw_peer.h"
#include "bench/restart_measure.h"
#include "bench/synthetic_relation.h"
#include "model/multiset_hash.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

TEST(HeldRelation, SetsOfEveryKindComeBackAsTheyWere) {
  HeldRelation relation("r", RelationVersion::kTotal, {1, 0});
  const Cell prefix[] = {9};
  const Cell lower[] = {3};
  const Cell values[] = {5, 70};
  const std::uint16_t offsets[] = {1, 9, 400};
  const std::uint16_t runs[] = {10, 4, 90, 0};
  const std::uint64_t words[] = {0, 0x8001};
  relation.add({.prefix = prefix,
                .set = {.kind = SetKind::kBitmap, .base = 64, .words = words, .count = 2}});
  relation.add(
      {.prefix = prefix, .set = {.kind = SetKind::kRuns, .base = 7, .offsets = runs, .count = 6}});
  relation.add({.prefix = lower,
                .set = {.kind = SetKind::kOffsets, .base = 2, .offsets = offsets, .count = 3}});
  relation.add_array(lower, values);
  EXPECT_EQ(relation.rows(), 13U);
  EXPECT_EQ(relation.row_bytes(), 13U * 16);
  relation.sort_groups();
  std::vector<std::vector<Cell>> sets;
  MultisetHash expected;
  const Status walked = relation.for_each_group([&](const TupleGroup& group) {
    sets.push_back({group.prefix[0]});
    walk_set(group.set, [&](Cell cell) {
      sets.back().push_back(cell);
      const Cell tuple[] = {cell, group.prefix[0]};  // declared order
      expected += hash_tuple(tuple);
    });
    return Status::ok();
  });
  ASSERT_TRUE(walked.is_ok());
  const std::vector<std::vector<Cell>> ascending = {
      {3, 3, 11, 402}, {3, 5, 70}, {9, 17, 18, 19, 20, 21, 97}, {9, 128, 143}};
  EXPECT_EQ(sets, ascending);
  EXPECT_TRUE(relation.hash() == expected);
}

class Folder {
 public:
  explicit Folder(const char* name) : path_(std::filesystem::path(::testing::TempDir()) / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Restart, EveryWayOfReadingBringsAllTuplesBack) {
  const Folder folder("stratalog-bench-restart");
  const Status ran = sim_run(3, [&](Comm& comm) -> Status {
    STRATALOG_ASSIGN_OR_RETURN(const auto store,
                               open_posix_store(folder.path(), RootMode::kMustExist));
    auto made = make_synthetic({.rows = 30000, .arity = 3, .share = RankShare::kHalfEmpty},
                               comm.rank(), comm.size());
    STRATALOG_RETURN_IF_ERROR(made.status());
    const HeldRelation& relation = made.value();
    STRATALOG_ASSIGN_OR_RETURN(
        const auto writer, open_checkpoint_writer(comm, *store, {.durability = Durability::kNone}));
    SaveRequest request;
    request.images.push_back(relation.image(relation.hash()));
    STRATALOG_RETURN_IF_ERROR(writer->save(request).status());
    STRATALOG_ASSIGN_OR_RETURN(const RestartMeasure own,
                               measure_restart(comm, *store, ReadParts::kAsWritten));
    EXPECT_EQ(own.rows, 30000U);
    EXPECT_EQ(own.moved_bytes, 0U);
    EXPECT_EQ(own.shuffle_seconds, 0.0);
    STRATALOG_ASSIGN_OR_RETURN(const RestartMeasure dealt,
                               measure_restart(comm, *store, ReadParts::kBalanced));
    EXPECT_EQ(dealt.rows, 30000U);
    EXPECT_GT(dealt.moved_bytes, 0U);
    STRATALOG_ASSIGN_OR_RETURN(const auto taken, take_from_checkpoint(comm, *store, ""));
    EXPECT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken.front().rows(), relation.rows());
    EXPECT_TRUE(taken.front().hash() == relation.hash());
    return Status::ok();
  });
  EXPECT_TRUE(ran.is_ok()) << ran.to_string();
}

TEST(RawPeer, RanksWriteAndReadTheirBytesAndEmptyOnesTakePart) {
  for (const RawFiles files : {RawFiles::kOwn, RawFiles::kShared}) {
    const Folder folder("stratalog-bench-raw");
    const std::uint64_t mib = 1 << 20;
    const std::uint64_t sizes[] = {3 * mib + 17, 0, 11 * mib};
    const Status ran = sim_run(3, [&](Comm& comm) -> Status {
      STRATALOG_ASSIGN_OR_RETURN(const auto store,
                                 open_posix_store(folder.path(), RootMode::kMustExist));
      const std::uint64_t mine = sizes[comm.rank()];
      STRATALOG_ASSIGN_OR_RETURN(const RawWrite write,
                                 write_raw(comm, *store, files, mine, Durability::kFull));
      EXPECT_EQ(write.bytes, (14 * mib) + 17);
      EXPECT_EQ(write.files, files == RawFiles::kOwn ? 2U : 1U);
      STRATALOG_ASSIGN_OR_RETURN(const RawRead read, read_raw(comm, *store, files, mine));
      EXPECT_EQ(read.bytes, write.bytes);
      STRATALOG_ASSIGN_OR_RETURN(const RawRead shared, read_folder_raw(comm, *store, "."));
      EXPECT_EQ(shared.bytes, write.bytes);
      STRATALOG_ASSIGN_OR_RETURN(const RawRead held,
                                 read_folder_raw(comm, *store, ".", RawInto::kOwnMemory));
      EXPECT_EQ(held.bytes, write.bytes);
      return Status::ok();
    });
    EXPECT_TRUE(ran.is_ok()) << ran.to_string();
    std::uint64_t stored = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      stored += file.file_size();
    EXPECT_EQ(stored, (14 * mib) + 17);
  }
}

}  // namespace
}  // namespace stratalog
