// SPDX-License-Identifier: Apache-2.0
// Writes the stores of tests/golden/checkpoint_v1 into the directory that STRATALOG_WRITE_GOLDEN
// names; skipped otherwise. (Among tests of faults, because these can write HDF5 files.) Stores
// that are in the tree are never written anew: old bytes must stay readable. (What wrote the stores
// "copies" and "pools" is gone; their tuples are those of "run_pools".)
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint.h"
#include "fault/sample_relations.h"
#include "one_core.h"
#include "write/hdf5_row_layout.h"

namespace stratalog {
namespace {

// Sets that use every form of the compact encoding.
std::vector<sample::SampleRelation> golden_relations() {
  auto relations = sample::sample_relations(5, 20);
  auto& path = relations[1].tuples;  // column order (1, 0): groups by the second column
  for (Cell x = 1000; x < 1400; ++x) path.insert({x, 77});  // a run
  for (Cell x = 1000; x < 1512; x += 3) path.insert({x, 78});  // bitmap
  for (Cell x = 0; x < 40; ++x) path.insert({x * 90 + 5, 79});  // gaps of one byte
  for (Cell x = 0; x < 10; ++x) path.insert({x * 100000, 80});  // gaps as varints
  for (Cell x = 0; x < 512; ++x)
    if (splitmix64(x) % 2 == 0) path.insert({x, 81});  // words
  for (Cell x = 0; x < 2000; ++x)
    if (x / 8 % 5 == 0 && splitmix64(x) % 2 == 0) path.insert({x, 82});  // sparse bytes
  return relations;
}

// The same and many sets that are equal, with prefixes of one and of two cells that go up and down.
std::vector<sample::SampleRelation> golden_relations_with_copies() {
  auto relations = golden_relations();
  auto& path = relations[1].tuples;  // column order (1, 0)
  auto& triple = relations[4].tuples;
  for (Cell y = 2000; y < 2300; ++y) {
    const Cell prefix = y % 3 == 0 ? y * 1000 : y;
    for (Cell x = 0; x < 4 + (y % 5); ++x) path.insert({(x * 3) + (y % 4), prefix});
    for (Cell x = 0; x < 2 + (y % 2); ++x) {
      std::vector<Cell> tuple(3);
      const auto& order = relations[4].column_order;
      tuple[order[0]] = y / 7;
      tuple[order[1]] = (y * 37) % 5000;
      tuple[order[2]] = x * 5;
      triple.insert(tuple);
    }
  }
  return relations;
}

void write_tuples(const std::string& path, const std::vector<sample::SampleRelation>& relations) {
  std::ofstream out(path);
  for (const auto& relation : relations) {
    for (const sample::Tuple& tuple : relation.tuples) {
      if (relation.arity == 0) continue;
      out << relation.name << '.'
          << (relation.version == RelationVersion::kTotal ? "total" : "delta");
      for (const Cell cell : tuple) out << '\t' << cell;
      out << '\n';
    }
  }
}

TEST(GoldenWriter, WritesStoresOnDemand) {
  const char* target = std::getenv("STRATALOG_WRITE_GOLDEN");
  if (target == nullptr) GTEST_SKIP() << "STRATALOG_WRITE_GOLDEN is not set";
  struct Kind {
    const char* name;
    CheckpointMode mode;
    ShardEncoding encoding;
    bool has_copies = false;
  };
  for (const Kind& kind :
       {Kind{"fpp", CheckpointMode::kFilePerProcess, ShardEncoding::kCompact},
        Kind{"shared", CheckpointMode::kShared, ShardEncoding::kCompact},
        Kind{"rows", CheckpointMode::kFilePerProcess, ShardEncoding::kRowsU64},
        Kind{"streams", CheckpointMode::kFilePerProcess, ShardEncoding::kStreams},
        Kind{"auto", CheckpointMode::kShared, ShardEncoding::kAuto},
        Kind{"run_pools", CheckpointMode::kFilePerProcess, ShardEncoding::kCompact, true},
        Kind{"hdf5_direct", CheckpointMode::kHdf5Direct, ShardEncoding::kRowsU64},
        Kind{"hdf5_streams", CheckpointMode::kHdf5Streams, ShardEncoding::kStreams}}) {
    const auto relations = kind.has_copies ? golden_relations_with_copies() : golden_relations();
    const std::string root = std::string(target) + "/" + kind.name;
    ASSERT_FALSE(std::filesystem::exists(root)) << root << " exists; it is not overwritten";
    std::filesystem::create_directories(root);
    const Status run = sim_run_on_one_core(3, [&](Comm& comm) -> Status {
      STRATALOG_ASSIGN_OR_RETURN(const auto store, open_posix_store(root, RootMode::kMustExist));
      WriterOptions options;
      options.block_bytes = 512;
      options.backends.rows = hdf5_serial_files();
      STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
      SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
      if (kind.has_copies) sample::walk_in_batches(request);
      request.mode = kind.mode;
      request.encoding = kind.encoding;
      request.iteration = 5;
      request.engine_state = "{\"golden\":true}";
      request.program_hash = "0123456789abcdef";
      if (comm.rank() == 0)
        request.sections.push_back({.name = "symbols", .data = Bytes(300, std::byte{'s'})});
      return writer->save(request).status();
    });
    ASSERT_TRUE(run.is_ok()) << run.to_string();
  }
  write_tuples(std::string(target) + "/tuples.tsv", golden_relations());
  write_tuples(std::string(target) + "/copies.tsv", golden_relations_with_copies());
}

}  // namespace
}  // namespace stratalog
