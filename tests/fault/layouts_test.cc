// SPDX-License-Identifier: Apache-2.0
// Every layout that needs no MPI: numbers of files and of relations in a file, file systems whose
// blocks must not be shared, ranks without tuples; saved on some ranks, loaded on others, verified
// in depth, and with every sampled bit of hdf5-direct's files flipped.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "checkpoint/checkpoint.h"
#include "fault/loaded_samples.h"
#include "fault/small_writer_options.h"
#include "one_core.h"
#include "place/write_edges.h"
#include "write/hdf5_row_layout.h"
#include "write/memory_store.h"
#include "write/operation_log.h"

namespace stratalog {
namespace {

using sample::Collected;
using sample::SampleRelation;

struct Layout {
  CheckpointMode mode = CheckpointMode::kHdf5Direct;
  std::uint32_t files = 0;
  std::uint32_t relations_per_file = 0;
  FileSystemKind file_system = FileSystemKind::kLocal;
  std::uint64_t alignment = 0;
};

WriterOptions options_of(const Layout& layout) {
  WriterOptions options = sample::small_writer_options();
  options.layout.files = layout.files;
  options.layout.relations_per_file = layout.relations_per_file;
  options.layout.alignment = layout.alignment;
  return options;
}

Status save(const std::shared_ptr<MemoryDisk>& disk, int ranks, const Layout& layout,
            const std::vector<SampleRelation>& relations) {
  return sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, options_of(layout)));
    SaveRequest request = sample::request_of(relations, comm.rank(), ranks);
    request.mode = layout.mode;
    request.iteration = 7;
    STRATALOG_ASSIGN_OR_RETURN(const SaveReport report, writer->save(request));
    std::uint64_t rows = 0;
    for (const SampleRelation& relation : relations) rows += relation.tuples.size();
    EXPECT_EQ(report.rows, rows);
    return Status::ok();
  });
}

void load_and_compare(const std::shared_ptr<MemoryDisk>& disk, int ranks,
                      const std::vector<SampleRelation>& relations) {
  Collected collected;
  const Status status = sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    std::vector<StoredRelation> stored;
    return load_checkpoint(comm, *store, {}, sample::sink_into(collected, comm, stored)).status();
  });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  sample::expect_collected(collected, relations);
}

std::vector<std::string> data_files(MemoryDisk& disk) {
  std::vector<std::string> names;
  const NodeId directory = disk.find("gen-00000001-0000000001").value();
  for (const auto& [name, id] : disk.node(directory).entries)
    if (name != "MANIFEST") names.push_back(name);
  return names;
}

void check(const Layout& layout, int writers, std::uint64_t size, std::size_t expected_files) {
  SCOPED_TRACE(::testing::Message()
               << mode_name(layout.mode) << ", files " << layout.files << ", relations per file "
               << layout.relations_per_file << ", " << writers << " writers, alignment "
               << layout.alignment << ", size " << size);
  const auto relations = sample::sample_relations(static_cast<std::uint64_t>(writers), size);
  const auto disk = std::make_shared<MemoryDisk>();
  disk->file_system.kind = layout.file_system;
  const Status saved = save(disk, writers, layout, relations);
  ASSERT_TRUE(saved.is_ok()) << saved.to_string();
  if (expected_files != 0) {
    // A group without rows in a batch makes no HDF5 file.
    EXPECT_LE(data_files(*disk).size(), expected_files);
    EXPECT_GE(data_files(*disk).size(), expected_files * 3 / 4);
  }
  for (const int readers : {1, 3, 7}) load_and_compare(disk, readers, relations);
  const auto verified =
      verify_generation(*open_memory_store(disk), "gen-00000001-0000000001", VerifyDepth::kContent);
  ASSERT_TRUE(verified.is_ok());
  for (const std::string& problem : verified.value().problems) ADD_FAILURE() << problem;
}

constexpr CheckpointMode kModes[] = {CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                     CheckpointMode::kSharedOpt, CheckpointMode::kHdf5Direct,
                                     CheckpointMode::kHdf5Streams};

TEST(Layouts, EveryModeOnEveryNumberOfRanks) {
  for (const CheckpointMode mode : kModes)
    for (const int writers : {1, 2, 3, 7})
      for (const std::uint64_t size : {0, 200}) check({.mode = mode}, writers, size, 0);
}

TEST(Layouts, NumbersOfFilesAndOfRelationsInThem) {
  // Five of the seven relations have rows in shards.
  for (const CheckpointMode mode : {CheckpointMode::kShared, CheckpointMode::kSharedOpt,
                                    CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams})
    for (const std::uint32_t files : {1U, 2U, 4U})
      for (const std::uint32_t relations : {1U, 2U, 5U}) {
        const std::size_t batches = (5 + relations - 1) / relations;
        const bool has_view = mode == CheckpointMode::kHdf5Direct && batches * files > 1;
        check({.mode = mode, .files = files, .relations_per_file = relations}, 4, 300,
              batches * files + (has_view ? 1 : 0));
      }
  for (const std::uint32_t relations : {1U, 2U, 9U})
    check({.mode = CheckpointMode::kFilePerProcess, .relations_per_file = relations}, 3, 300, 0);
  // Groups of ranks that hold nothing of some relations.
  for (const CheckpointMode mode : kModes) {
    const std::uint32_t files = mode == CheckpointMode::kFilePerProcess ? 0 : 7;
    check({.mode = mode, .files = files, .relations_per_file = 1}, 7, 2, 0);
    check({.mode = mode, .files = files}, 7, 2, 0);
  }
}

TEST(Layouts, BlocksThatRanksMustNotShare) {
  for (const CheckpointMode mode : {CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams})
    for (const std::uint64_t alignment : {0, 8, 512, 65536})
      for (const int writers : {2, 3, 7})
        for (const std::uint64_t size : {2, 300})
          for (const std::uint32_t files : {0U, 3U})
            check({.mode = mode,
                   .files = files,
                   .file_system = FileSystemKind::kNetwork,
                   .alignment = alignment},
                  writers, size, 0);
}

// Blocks of a file of streams that several ranks write, and blocks that any but the first one does.
struct SharedBlocks {
  std::size_t shared = 0;
  std::size_t others = 0;
};

SharedBlocks shared_blocks(const Layout& layout, int ranks, std::uint64_t block) {
  const auto relations = sample::sample_relations(5, 3000);
  const auto disk = std::make_shared<MemoryDisk>();
  disk->file_system.kind = layout.file_system;
  OperationLog log(*disk);
  const Status saved = sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    const auto recording = open_recording_store(*store, log, comm.rank());
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *recording, options_of(layout)));
    SaveRequest request = sample::request_of(relations, comm.rank(), ranks);
    request.mode = layout.mode;
    return writer->save(request).status();
  });
  EXPECT_TRUE(saved.is_ok()) << saved.to_string();
  std::map<std::pair<NodeId, std::uint64_t>, std::set<int>> writers;
  for (const Operation& operation : log.operations())
    for (std::uint64_t at = operation.offset;
         operation.kind == OperationKind::kWrite && at < operation.offset + operation.data.size();
         at = (at / block + 1) * block)
      writers[{operation.node, at / block}].insert(operation.rank);
  SharedBlocks found;
  for (const auto& [place, ranks_of_block] : writers) {
    if (ranks_of_block.size() > 1) ++found.shared;
    if (*ranks_of_block.rbegin() > 0) ++found.others;
  }
  return found;
}

TEST(Layouts, StreamsHaveOneWriterForEachBlock) {
  for (const int ranks : {2, 3, 7}) {
    const auto of = [&](FileSystemKind kind, std::uint64_t alignment, std::uint64_t block) {
      return shared_blocks(
          {.mode = CheckpointMode::kHdf5Streams, .file_system = kind, .alignment = alignment},
          ranks, block);
    };
    // Pages never; blocks of other sizes where it is asked for.
    EXPECT_EQ(of(FileSystemKind::kLocal, 0, 4096).shared, 0U);
    EXPECT_GT(of(FileSystemKind::kLocal, 0, 8192).shared, 0U);
    const SharedBlocks of_network = of(FileSystemKind::kNetwork, 0, 4096);
    EXPECT_EQ(of_network.shared, 0U);
    EXPECT_GT(of_network.others, 0U);
    // All of a round fits into one block.
    const SharedBlocks of_large = of(FileSystemKind::kNetwork, 1 << 20, 4096);
    EXPECT_EQ(of_large.shared, 0U);
    EXPECT_LT(of_large.others, of_network.others / 2);
  }
}

TEST(Layouts, WhatABuildCannotDoIsRefused) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto relations = sample::sample_relations(1, 3);
  EXPECT_EQ(save(disk, 2, {.mode = CheckpointMode::kHdf5}, relations).code(),
            StatusCode::kNotSupported);
  EXPECT_EQ(save(disk, 2, {.mode = CheckpointMode::kFilePerProcess, .files = 2}, relations).code(),
            StatusCode::kInvalidArgument);
}

// Backends of which the second group's files cannot be made. `open` counts those that are not
// closed yet.
ParallelBackends backends_without_second_group(std::atomic<int>& open) {
  ParallelBackends backends;
  backends.rows = hdf5_serial_files();
  const auto refuse = [](const FileGroup& group) {
    return group.mine == 1 ? Status::no_space("no room for it") : Status::ok();
  };
  backends.shared.create = [&open, refuse](
                               Comm&, Store&, const std::string&,
                               const SharedFileSettings& settings) -> Result<SharedFile> {
    STRATALOG_RETURN_IF_ERROR(refuse(settings.group));
    ++open;
    return SharedFile{
        .write_all = [](std::uint64_t, std::span<const std::byte>) { return Status::ok(); },
        .finish =
            [&open](SyncFiles) {
              --open;
              return Status::ok();
            }};
  };
  backends.rows.create = [&open, refuse](Comm&, Store&, const std::string&,
                                         const std::vector<RowDataset>&,
                                         const RowFileSettings& settings) -> Result<RowFile> {
    STRATALOG_RETURN_IF_ERROR(refuse(settings.group));
    ++open;
    return RowFile{.write_all = [](std::size_t, std::span<const RowRun>,
                                   std::span<const std::uint64_t>) { return Status::ok(); },
                   .finish = [&open](SyncFiles) -> Result<std::vector<RowPlacement>> {
                     --open;
                     return std::vector<RowPlacement>();
                   }};
  };
  backends.rows.open = backends.rows.create;
  return backends;
}

TEST(Layouts, WhereOneGroupHasNoFileTheOthersCloseTheirs) {
  const auto relations = sample::sample_relations(1, 300);
  for (const CheckpointMode mode :
       {CheckpointMode::kShared, CheckpointMode::kHdf5, CheckpointMode::kHdf5Opt}) {
    std::atomic<int> open = 0;
    const Layout layout{.mode = mode, .files = 2};
    const auto disk = std::make_shared<MemoryDisk>();
    const Status saved = sim_run_on_one_core(4, [&](Comm& comm) -> Status {
      const auto store = open_memory_store(disk);
      WriterOptions options = options_of(layout);
      options.backends = backends_without_second_group(open);
      STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
      SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
      request.mode = mode;
      return writer->save(request).status();
    });
    EXPECT_EQ(saved.code(), StatusCode::kNoSpace) << static_cast<int>(mode) << saved.to_string();
    EXPECT_EQ(open.load(), 0) << static_cast<int>(mode);
  }
}

// One relation of some MiB a rank: the extents of a shared file are large enough to be read in the
// order of the file.
class LargePairs {
 public:
  static constexpr std::uint64_t kGroups = 160;  // a rank

  LargePairs() : values_(2048) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<Cell>(3 * i);
    set_.values = values_;
    set_.count = values_.size();
  }
  RelationImage image(int rank) const {
    RelationImage image{.name = "pairs", .arity = 2, .column_order = {0, 1}};
    image.rows = kGroups * values_.size();
    image.for_each_group = [this, rank](const GroupVisitor& visit) {
      for (std::uint64_t g = 0; g < kGroups; ++g) {
        const Cell prefix[] = {static_cast<Cell>((static_cast<std::uint64_t>(rank) << 20U) + g)};
        STRATALOG_RETURN_IF_ERROR(visit({.prefix = prefix, .set = set_}));
      }
      return Status::ok();
    };
    (void)image.for_each_group([&](const TupleGroup& group) {
      image.hash += hash_group(group, image.column_order);
      return Status::ok();
    });
    return image;
  }

 private:
  std::vector<Cell> values_;
  SetView set_;
};

Status save_pairs(const std::shared_ptr<MemoryDisk>& disk, int ranks, CheckpointMode mode,
                  const LargePairs& pairs) {
  return sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    WriterOptions options = options_of({.mode = mode});
    options.block_bytes = 1 << 16;
    options.stage_bytes = 2 << 20;
    STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
    SaveRequest request;
    request.mode = mode;
    request.encoding = ShardEncoding::kRowsU64;
    request.images.push_back(pairs.image(comm.rank()));
    return writer->save(request).status();
  });
}

// Rows and hash are those of the manifest; `shares` are the rows of each rank.
Status load_pairs(const std::shared_ptr<MemoryDisk>& disk, int ranks,
                  std::vector<std::uint64_t>& shares) {
  shares.assign(static_cast<std::size_t>(ranks), 0);
  return sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    MultisetHash hash;
    std::uint64_t& rows = shares[static_cast<std::size_t>(comm.rank())];
    StoredRelation stored;
    LoadSink sink;
    sink.begin = [&](const StoredState& state) {
      stored = state.relations.at(0);
      return Status::ok();
    };
    sink.accept = [&](std::size_t, const TupleGroup& group) {
      rows += group.set.count;
      hash += hash_group(group, stored.column_order);
      return Status::ok();
    };
    LoadRequest request;
    request.parts = ReadParts::kBalanced;
    STRATALOG_RETURN_IF_ERROR(load_checkpoint(comm, *store, request, sink).status());
    return verify_relation(comm, stored, rows, hash);
  });
}

TEST(Layouts, SharedFilesAreReadInTheirOrderByAnyNumberOfRanks) {
  const LargePairs pairs;
  std::vector<std::uint64_t> shares;
  for (const CheckpointMode mode : {CheckpointMode::kShared, CheckpointMode::kSharedOpt}) {
    const auto disk = std::make_shared<MemoryDisk>();
    ASSERT_TRUE(save_pairs(disk, 2, mode, pairs).is_ok());
    for (const int readers : {1, 2, 3, 5}) {
      const Status status = load_pairs(disk, readers, shares);
      EXPECT_TRUE(status.is_ok()) << status.to_string();
      for (const std::uint64_t share : shares)  // give or take a block
        EXPECT_NEAR(static_cast<double>(share), 2.0 * 160 * 2048 / readers, 2.0 * 65536 / 16);
    }
    // Damage anywhere is found, and said to be in that file.
    for (const std::string& name : data_files(*disk)) {
      const std::string path = "gen-00000001-0000000001/" + name;
      Bytes& data = disk->change(disk->find(path).value()).data;
      for (std::size_t at = data.size() / 7; at + 8192 < data.size(); at += data.size() / 5) {
        data[at] ^= std::byte{4};
        const Status status = load_pairs(disk, 3, shares);
        EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.to_string();
        EXPECT_NE(status.to_string().find(name), std::string::npos) << status.to_string();
        data[at] ^= std::byte{4};
      }
    }
  }
}

class DamagedHdf5Files : public ::testing::TestWithParam<CheckpointMode> {};

// All but the padding between datasets, which the frame covers as well: every sampled bit is found.
TEST_P(DamagedHdf5Files, AreFound) {
  const auto relations = sample::sample_relations(2, 30);
  const auto disk = std::make_shared<MemoryDisk>();
  ASSERT_TRUE(save(disk, 2, {.mode = GetParam()}, relations).is_ok());
  Bytes& data = disk->change(disk->find("gen-00000001-0000000001/relations.h5").value()).data;
  std::size_t flips = 0;
  for (std::size_t bit = 0; bit < data.size() * 8; bit += 61) {
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto store = open_memory_store(disk);
    const auto self = make_self_comm();
    Collected collected;
    std::vector<StoredRelation> stored;
    EXPECT_FALSE(
        load_checkpoint(*self, *store, {}, sample::sink_into(collected, *self, stored)).is_ok())
        << bit;
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ++flips;
  }
  EXPECT_GE(flips, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DamagedHdf5Files,
                         ::testing::Values(CheckpointMode::kHdf5Direct,
                                           CheckpointMode::kHdf5Streams));

// Nobody needs the view of several files for a restart, but it is verified as they are.
TEST(Layouts, DamageOfAViewIsFound) {
  const auto relations = sample::sample_relations(2, 30);
  const auto disk = std::make_shared<MemoryDisk>();
  const Layout layout{.mode = CheckpointMode::kHdf5Direct, .files = 2};
  ASSERT_TRUE(save(disk, 2, layout, relations).is_ok());
  const auto problems = [&] {
    return verify_generation(*open_memory_store(disk), "gen-00000001-0000000001",
                             VerifyDepth::kContent)
        .value()
        .problems;
  };
  EXPECT_TRUE(problems().empty());
  Bytes& data = disk->change(disk->find("gen-00000001-0000000001/relations.h5").value()).data;
  ASSERT_GE(data.size(), 4096U);
  for (std::size_t bit = 0; bit < data.size() * 8; bit += 997) {
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const std::vector<std::string> found = problems();
    ASSERT_EQ(found.size(), 1U) << bit;
    EXPECT_NE(found[0].find("relations.h5"), std::string::npos) << found[0];
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  load_and_compare(disk, 3, relations);
}

TEST(Layouts, AViewHasTheRowsOfItsSources) {
  RowView view{.about = {.name = "path.total", .rows = 5, .labels = ColumnLabels(2), .columns = 2},
               .sources = {{.file = "a.h5", .rows = 3}, {.file = "b.h5", .rows = 2}}};
  EXPECT_TRUE(hdf5_serial_files().lay_out_views({view}, {}).is_ok());
  view.sources.pop_back();
  EXPECT_EQ(hdf5_serial_files().lay_out_views({view}, {}).status().code(),
            StatusCode::kInvalidArgument);
  view.sources = {{.file = "a.h5", .rows = 6}};
  EXPECT_FALSE(hdf5_serial_files().lay_out_views({view}, {}).is_ok());
}

// Where nobody chooses, ranks that have much to write on a file system of one kernel have files of
// their own.
TEST(Layouts, LargeRowsOfOneKernelGoIntoSeveralFiles) {
  const LargePairs pairs;  // 5.2 MB of rows a rank
  std::vector<std::uint64_t> shares;
  for (const auto& [kind, files] :
       {std::pair(FileSystemKind::kMemory, 3), std::pair(FileSystemKind::kNetwork, 1)}) {
    const auto disk = std::make_shared<MemoryDisk>();
    disk->file_system.kind = kind;
    ASSERT_TRUE(save_pairs(disk, 7, CheckpointMode::kHdf5Direct, pairs).is_ok());
    const std::vector<std::string> names = data_files(*disk);
    EXPECT_EQ(std::count_if(names.begin(), names.end(),
                            [](const std::string& name) { return name.ends_with(".h5"); }),
              files);
    for (const int readers : {1, 2, 7}) {
      const Status status = load_pairs(disk, readers, shares);
      EXPECT_TRUE(status.is_ok()) << status.to_string();
    }
  }
}

// Streams of several chunks, which ranks share where they meet.
TEST(Layouts, StreamsAreReadByAnyNumberOfRanks) {
  const LargePairs pairs;
  std::vector<std::uint64_t> shares;
  const auto disk = std::make_shared<MemoryDisk>();
  const Status saved = save_pairs(disk, 3, CheckpointMode::kHdf5Streams, pairs);
  ASSERT_TRUE(saved.is_ok()) << saved.to_string();
  for (const int readers : {1, 2, 3, 5, 7}) {
    const Status status = load_pairs(disk, readers, shares);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    for (const std::uint64_t share : shares)  // give or take a block
      EXPECT_NEAR(static_cast<double>(share), 3.0 * 160 * 2048 / readers, (1 << 13) + 2048.0);
  }
}

// Every block has one writer, who has its first byte; nothing is lost; 16,384 ranks.
TEST(WriteEdges, EveryBlockHasOneWriter) {
  for (const std::size_t ranks : {1, 2, 5, 300, 16384})
    for (const std::uint64_t alignment : {1, 16, 4096, 1 << 20})
      for (const std::uint64_t offset : {0, 2048, 4096 * 7}) {
        std::vector<std::uint64_t> begins = {0};
        for (std::size_t r = 0; r < ranks; ++r) {
          const std::uint64_t random = splitmix64((ranks * 31) + r);
          begins.push_back(begins.back() + (random % 3 == 0 ? 0 : (random >> 8) % 9000 * 16));
        }
        std::uint64_t last_block = ~std::uint64_t{0};
        int last_writer = -1;
        for (std::size_t r = 0; r < ranks; ++r) {
          const auto rank = static_cast<int>(r);
          const WriteEdge edge =
              plan_write_edge(begins, rank, {.offset = offset, .alignment = alignment});
          const std::uint64_t bytes = begins[r + 1] - begins[r];
          ASSERT_LE(edge.shipped_bytes, bytes);
          ASSERT_EQ(edge.shipped_bytes == 0, edge.writer == rank);
          if (bytes == 0) continue;
          const std::uint64_t first = (offset + begins[r]) / alignment;
          const std::uint64_t kept = begins[r] + edge.shipped_bytes;
          if (edge.shipped_bytes != 0) {
            ASSERT_EQ(first, last_block);
            ASSERT_EQ(edge.writer, last_writer);
          } else {
            ASSERT_NE(first, last_block);
          }
          if (kept < begins[r + 1]) {
            last_block = (offset + begins[r + 1] - 1) / alignment;
            last_writer = rank;
          }
        }
      }
}

}  // namespace
}  // namespace stratalog
