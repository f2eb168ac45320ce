// SPDX-License-Identifier: Apache-2.0
// Which files are small, many of them at once, and failures: what one rank cannot write is an error
// on all. That the bytes are those of other files, fact_writer_test.cc shows.
#include "datalog/facts/small_outputs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <mutex>
#include <set>

#include "unit/facts/fact_text.h"
#include "write/faulty_store.h"

namespace stratalog::datalog {
namespace {

// Relations of two columns: r0 has no tuples, r1 one, r2 two, ...
struct ManyFiles {
  explicit ManyFiles(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      relations.push_back(make_relation(fmt::format("r{}", i), "x:number y:number"));
      directives.push_back(make_directive(IoAction::kOutput));
    }
  }

  // The tuples (x, x + i) of relation i, x dealt to ranks.
  std::vector<FactOutput> outputs(int rank, int ranks) const {
    std::vector<FactOutput> all;
    for (std::size_t i = 0; i < relations.size(); ++i)
      all.push_back({.relation = &relations[i],
                     .directive = &directives[i],
                     .total_rows = i,
                     .image = [i, rank, ranks] { return image_of(i, rank, ranks); }});
    return all;
  }

  static RelationImage image_of(std::size_t i, int rank, int ranks) {
    RelationImage image;
    image.arity = 2;
    image.column_order = {0, 1};
    image.for_each_group = [=](const GroupVisitor& visit) -> Status {
      for (auto x = static_cast<Cell>(rank); x < i; x += static_cast<Cell>(ranks)) {
        const Cell y = x + static_cast<Cell>(i);
        TupleGroup group;
        group.prefix = std::span(&x, 1);
        group.set.values = std::span(&y, 1);
        group.set.count = 1;
        STRATALOG_RETURN_IF_ERROR(visit(group));
      }
      return Status::ok();
    };
    return image;
  }

  static std::string text(std::size_t i) {
    std::string lines;
    for (std::size_t x = 0; x < i; ++x) lines += fmt::format("{}\t{}\n", x, x + i);
    return lines;
  }

  std::vector<Relation> relations;
  std::vector<IoDirective> directives;
};

TEST(SmallOutputs, ManyFilesAtOnce) {
  const ManyFiles files(300);
  for (const int ranks : {2, 3, 7}) {
    const auto disk = std::make_shared<MemoryDisk>();
    const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
      const auto store = open_memory_store(disk);
      const ValueDictionary dictionary;
      ValueOrder order(dictionary);
      return write_small_facts(comm, *store, files.outputs(comm.rank(), ranks), order, {});
    });
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    const auto store = open_memory_store(disk);
    EXPECT_EQ(store->list(".").value().size(), files.relations.size());
    for (std::size_t i = 0; i < files.relations.size(); ++i)
      EXPECT_EQ(get_file(*store, fmt::format("r{}.csv", i)), ManyFiles::text(i));
  }
}

TEST(SmallOutputs, OnlyShortFilesOfTextOnSeveralRanks) {
  const Relation relation = make_relation("r", "x:number y:number z:number");
  const auto is_small = [&](int ranks, std::uint64_t rows,
                            std::map<std::string, std::string> parameters, WriteOptions options) {
    const IoDirective directive = make_directive(IoAction::kOutput, std::move(parameters));
    const FactOutput output{
        .relation = &relation, .directive = &directive, .total_rows = rows, .image = {}};
    return static_cast<bool>(are_small(ranks, std::span(&output, 1), options)[0]);
  };
  EXPECT_TRUE(is_small(2, 0, {}, {}));
  EXPECT_TRUE(is_small(16384, 5461, {}, {}));
  EXPECT_FALSE(is_small(1, 5, {}, {})) << "nobody to deal it to";
  EXPECT_FALSE(is_small(2, 5462, {}, {}));
  EXPECT_TRUE(is_small(2, 5, {{"compress", "true"}}, {}));
  EXPECT_TRUE(is_small(2, 5, {{"IO", "jsonfile"}}, {}));
  for (const char* const medium : {"stdout", "hdf5", "sqlite", "stdoutjson", "no such IO"})
    EXPECT_FALSE(is_small(2, 5, {{"IO", medium}}, {})) << medium;
  WriteOptions narrow;
  narrow.limits.rows_per_pass = 4;
  EXPECT_FALSE(is_small(2, 5, {}, narrow));
}

TEST(SmallOutputs, WhatOneRankCannotWriteFailsOnAll) {
  const ManyFiles files(9);
  const int ranks = 3;
  int failures = 0;
  for (std::uint64_t failing = 0; failing < 30; ++failing) {
    const auto disk = std::make_shared<MemoryDisk>();
    std::mutex mutex;
    std::set<std::string> said;
    const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
      const auto inner = open_memory_store(disk);
      const auto counter = std::make_shared<FaultCounter>(FaultPlan{
          .fail_at = comm.rank() == 1 ? failing : ~std::uint64_t{0}, .error_number = ENOSPC});
      const auto store = open_faulty_store(*inner, counter);
      const ValueDictionary dictionary;
      ValueOrder order(dictionary);
      const Status mine =
          write_small_facts(comm, *store, files.outputs(comm.rank(), ranks), order, {});
      const std::lock_guard lock(mutex);
      said.insert(mine.to_string());
      return Status::ok();
    });
    ASSERT_TRUE(status.is_ok());
    EXPECT_EQ(said.size(), 1U) << *said.begin();
    failures += *said.begin() != "OK" ? 1 : 0;
    // Whole files, or none.
    const auto store = open_memory_store(disk);
    for (std::size_t i = 0; i < files.relations.size(); ++i) {
      const std::string name = fmt::format("r{}.csv", i);
      if (store->info(name).is_ok()) {
        EXPECT_EQ(get_file(*store, name), ManyFiles::text(i));
      }
    }
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace stratalog::datalog
