// SPDX-License-Identifier: Apache-2.0
// Relations that were swept by pivots, read where they lie: the same answers as from a copy as
// tuples, for every way to read them, and no tuple of theirs travels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

FileTexts facts_to_sweep(std::uint64_t nodes = 150) {
  std::mt19937_64 random(11);
  std::string edges;
  std::string pairs;
  for (std::uint64_t i = 0; i < nodes * 7 / 3; ++i)
    edges += fmt::format("{}\t{}\t{}\n", random() % nodes, random() % nodes, random() % 3);
  for (int i = 0; i < 200; ++i)
    pairs += fmt::format("{}\t{}\n", random() % nodes, random() % nodes);
  return {{"e.facts", edges}, {"f.facts", pairs}};
}

// `path` and `walk` are swept: their last columns are carried.
constexpr const char* kSwept =
    ".decl e(x: number, y: number, k: number)\n.input e\n"
    ".decl f(x: number, y: number)\n.input f\n"
    ".decl path(x: number, y: number)\n"
    "path(x, y) :- e(x, y, _).\npath(x, z) :- e(x, y, _), path(y, z).\n"
    ".decl walk(k: number, x: number, y: number)\n"
    "walk(k, x, y) :- e(x, y, k).\nwalk(k, x, z) :- e(x, y, k), walk(k, y, z).\n"
    ".decl t(x: number, y: number)\n.output t\n.decl u(x: number, y: number, z: number)\n"
    ".output u\n.decl w(s: symbol, x: number)\n.output w\n";

EngineOutcome run_swept(const Program& program, int ranks, std::uint64_t min_rows, bool dealt,
                        bool sets, AddressSpace space = AddressSpace::kSeparate,
                        std::uint64_t nodes = 150) {
  RunOptions options;
  options.allow_sets = sets;
  options.read_swept_min_rows = min_rows;
  if (dealt) {
    options.mirror_limit_rows = 0;
    options.replicate_limit_rows = 0;
  }
  return run_engine(program, facts_to_sweep(nodes), ranks, options, {}, nullptr, nullptr, {},
                    space);
}

void expect_swept_rows_read_alike(const std::string& rules) {
  std::string problems;
  const auto compiled = compile_text(kSwept + rules, problems);
  ASSERT_TRUE(compiled) << problems;
  const EngineOutcome expected = run_swept(*compiled, 1, ~std::uint64_t{0}, false, false);
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  std::size_t bytes = 0;
  for (const auto& [name, text] : expected.files) bytes += text.size();
  ASSERT_GT(bytes, 300U);
  for (const int ranks : {1, 2, 3, 7})
    for (const bool dealt : {false, true})
      for (const bool sets : {false, true}) {
        // Each other choice with and without ranks that read each other's rows.
        const bool is_shared = (ranks + (dealt ? 1 : 0) + (sets ? 0 : 1)) % 2 == 1;
        SCOPED_TRACE(fmt::format("{} ranks, dealt {}, sets {}, shared {}: {}", ranks, dealt, sets,
                                 is_shared, rules));
        const EngineOutcome outcome =
            run_swept(*compiled, ranks, 0, dealt, sets,
                      is_shared ? AddressSpace::kShared : AddressSpace::kSeparate);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
      }
}

TEST(SweptRows, Scans) {
  expect_swept_rows_read_alike(
      "t(x, y) :- path(x, y), y < 40.\n"
      "u(k, y, y) :- walk(k, y, y).\n"
      "u(k, x, z) :- walk(k, x, y), f(y, z), !f(x, z).\n");
}

TEST(SweptRows, SearchesThatBindAndCarry) {
  expect_swept_rows_read_alike(
      "t(x, z) :- f(x, y), x < 30, path(y, z).\n"
      "u(x, y, z) :- f(x, y), x < 15, path(y, z), z != x.\n"
      "u(k, x, z) :- f(x, y), x < 10, k = 1, walk(k, y, z).\n");
}

TEST(SweptRows, SetsThatAreIntersectedAndSubtracted) {
  expect_swept_rows_read_alike(
      "t(x, z) :- f(x, y), x < 40, path(y, z), walk(1, x, z).\n"
      "t(x, z) :- e(x, y, 2), x < 40, path(y, z), !f(y, z).\n");
}

// The set is one of other values, which the row of a key restricts.
TEST(SweptRows, RowsThatRestrictSets) {
  expect_swept_rows_read_alike(
      ".decl some(y: number)\nsome(y) :- f(_, y), y > 9.\n"
      "t(x, y) :- f(x, _), x < 50, some(y), !path(x, y).\n"
      "u(0, x, y) :- f(x, y), path(x, y).\n"
      "u(k, x, y) :- e(x, 7, _), some(y), f(y, _), k = 1, walk(k, x, y), !path(x, y).\n"
      "u(2, x, y) :- f(x, z), z < 20, f(z, y), path(x, y).\n");
}

// What is read as rows is copied the other way round.
TEST(SweptRows, CopiesOfTheOtherOrder) {
  expect_swept_rows_read_alike(
      "t(x, z) :- f(x, y), path(y, z).\nt(x, y) :- path(x, y), path(y, x).\n"
      "u(x, y, z) :- path(x, y), x < 30, path(x, z), y != z, z > 100.\n"
      "u(x, y, 7) :- path(x, y), !path(y, x), f(y, _).\n");
}

TEST(SweptRows, ConstantKeysAndSeveralSweptAtoms) {
  expect_swept_rows_read_alike(
      "t(0, z) :- path(7, z).\n"
      "u(1, x, z) :- path(x, y), x < 4, walk(1, y, z), y > 140.\n"
      "u(2, y, z) :- f(x, y), x < 20, path(x, w), w < 9, walk(2, w, z).\n");
}

TEST(SweptRows, ScansThatAreFiltered) {
  for (const char* filter : {"y < 40", "y >= 40, y < 60", "x < 3", "x != y", "y != 7", "x < y",
                             "y <= x, x != 9", "y > 100, x > 100", "y < -3", "x > 10000000000"})
    expect_swept_rows_read_alike(fmt::format(
        "t(x, y) :- path(x, y), {0}.\nu(1, x, 1) :- path(x, y), f(x, _), {0}.\n"
        "u(k, y, x) :- walk(k, x, y), k < 2, {0}.\nu(x, y, 9) :- walk(_, x, y), {0}, f(y, x).\n"
        "t(a, b) :- f(a, b).\n",
        filter));
}

TEST(SweptRows, ManySearchesFromPivots) {
  expect_swept_rows_read_alike(
      "t(y, x) :- f(_, y), path(x, y).\n"
      "u(k, x, z) :- f(z, y), z < 50, walk(k, x, y), x != z.\n"
      "u(9, x, z) :- f(z, y), walk(2, x, y), path(z, y).\n"
      "w(cat(\"q\", to_string(x)), z) :- f(z, y), z < 20, path(x, y).\n");
}

TEST(SweptRows, Aggregates) {
  expect_swept_rows_read_alike(
      "t(x, n) :- f(x, _), n = count : { path(x, _) }.\n"
      "t(y, n) :- f(_, y), n = count : { path(_, y) }.\n"
      "t(x, n) :- f(x, _), n = max y : { path(x, y) }.\n"
      "t(y, n) :- f(_, y), n = sum x : { path(x, y), x != y }.\n"
      "t(1, n) :- n = count : { path(_, _) }.\nt(2, n) :- n = max x : { path(x, y), y < 30 }.\n"
      "u(k, y, n) :- f(k, y), n = count : { walk(1, _, y) }.\n"
      "u(k, y, n) :- f(_, y), k = 2, n = count : { walk(k, x, y), path(y, x) }.\n"
      "u(x, y, n) :- f(x, y), n = count : { f(y, z), path(z, x), !path(x, z) }.\n"
      "u(x, y, n) :- f(x, y), n = count : { path(x, z), path(z, v), v != y }.\n"
      "u(x, 8, n) :- f(x, _), n = sum w : { path(v, x), path(v, w) }.\n"
      "u(x, 7, n) :- f(x, _), n = min a : { path(x, y), a = count : { path(y, _) } }.\n"
      "w(\"none\", n) :- n = count : { path(100000, _) }.\n"
      "w(to_string(x), n) :- f(x, _), n = count : { path(x, _) }, n > 3, path(x, x).\n");
}

// The pivot is the last column: what is asked for lies under a few of them.
TEST(SweptRows, SearchesFromPivots) {
  expect_swept_rows_read_alike(
      ".decl few(y: number)\nfew(100000).\nfew(y) :- e(_, y, _), y < 6.\n"
      "t(0, x) :- path(x, 4).\n"
      "t(y, x) :- few(y), path(x, y).\n"
      "u(k, x, 1) :- walk(k, x, 4).\n"
      "u(9, x, y) :- few(y), walk(2, x, y).\n"
      "u(8, k, x) :- few(y), walk(k, x, y), !f(x, y).\n"
      "w(cat(\"p\", to_string(x)), y) :- few(y), y > 2, path(x, y).\n");
}

TEST(SweptRows, TestsOfWholeTuples) {
  expect_swept_rows_read_alike(
      "t(x, y) :- f(x, y), path(y, x).\n"
      "t(x, y) :- f(x, y), !path(x, y).\n"
      "t(1, 2) :- path(7, 31).\nt(3, 4) :- !path(7, 100000).\n"
      "u(1, x, y) :- f(x, y), walk(1, x, y).\n"
      "u(2, x, y) :- f(x, y), !walk(2, y, x), f(y, _).\n"
      "u(3, x, x) :- f(x, _), path(x, x).\n");
}

TEST(SweptRows, ReadAndCopiedInOneStratum) {
  expect_swept_rows_read_alike(
      "t(x, z) :- f(x, y), x < 30, path(y, z).\n"
      "t(x, z) :- f(x, y), path(x, y), path(y, z), path(z, x), z < 20.\n");
}

TEST(SweptRows, ValuesThatAreMadeOnTheWay) {
  expect_swept_rows_read_alike(
      "w(cat(\"n\", to_string(z)), x) :- f(x, y), x < 9, path(y, z).\n"
      "w(cat(\"s\", to_string(y)), x) :- path(x, y), x < 30.\n"
      "w(\"c\", c) :- f(x, _), c = count : { path(x, _) }.\n");
}

TEST(SweptRows, SeedsOfTheNextSweepAndOfRounds) {
  expect_swept_rows_read_alike(
      ".decl far(x: number, y: number)\n"
      "far(x, z) :- f(x, y), x < 30, path(y, z).\nfar(x, z) :- far(y, z), f(x, y), x < 200.\n"
      "t(x, y) :- far(x, y), !path(x, y).\n"
      "u(x, y, 0) :- path(x, y), f(y, x).\n"
      "u(x, z, n + 1) :- u(x, y, n), u(y, z, _), n < 2.\n");
}

std::uint64_t bytes_exchanged(const EngineOutcome& outcome) {
  std::uint64_t bytes = 0;
  for (const StratumReport& stratum : outcome.report.strata) bytes += stratum.exchanged_bytes;
  return bytes;
}

TEST(SweptRows, OnlyBindingsTravel) {
  std::string problems;
  const auto compiled =
      compile_text(fmt::format("{}t(x, z) :- f(x, y), path(y, z).\n", kSwept), problems);
  ASSERT_TRUE(compiled) << problems;
  const EngineOutcome copied = run_swept(*compiled, 2, ~std::uint64_t{0}, false, true);
  const EngineOutcome direct = run_swept(*compiled, 2, 0, false, true);
  EXPECT_EQ(direct.files, copied.files);
  EXPECT_LT(bytes_exchanged(direct), bytes_exchanged(copied));
}

// Rows of different content are in use at the same time.
TEST(SweptRows, AggregatesThatLookUpTwice) {
  expect_swept_rows_read_alike(
      ".decl d(x: number, y: number)\nd(x, y) :- e(x, y, _), x < y.\n"
      "d(x, y) :- e(y, x, _), x < y.\nd(x, y) :- f(x, y), x < y.\n"
      ".decl up(x: number, y: number)\nup(x, y) :- d(x, y).\nup(x, z) :- d(x, y), up(y, z).\n"
      "u(x, 9, n) :- d(x, _), n = sum (v * 3 + w) : { up(x, v), up(v, w) }.\n");
}

TEST(SweptRows, AggregatesThatKnowThePivot) {
  expect_swept_rows_read_alike(
      ".decl few(y: number)\nfew(100000).\nfew(y) :- e(_, y, _), y < 40.\n"
      "t(y, n) :- few(y), n = count : { path(_, y) }.\n"
      "t(y, n) :- few(y), n = max x : { path(x, y), f(x, _), !path(y, x) }.\n"
      "t(0, n) :- n = sum x : { path(x, 4) }.\nt(1, n) :- n = count : { path(x, 4), x > 7 }.\n"
      "u(k, y, n) :- few(y), f(k, _), k < 3, n = count : { walk(k, _, y) }.\n"
      "u(n, y, x) :- few(y), n = min a : { f(a, y) }, path(x, y), n <= x.\n"
      "u(x, y, n + m) :- f(x, y), y < 40, n = count : { path(_, y) }, f(y, z), path(z, x),\n"
      "  m = count : { path(v, z), path(v, y) }.\n"
      "w(cat(\"n\", to_string(n)), y) :- few(y), n = count : { path(_, y) }, n > 2.\n");
}

// Each rank folds what it has.
TEST(SweptRows, AggregatesInParts) {
  expect_swept_rows_read_alike(
      ".decl half(x: number, h: float)\n.output half\n"
      "half(x, m) :- f(x, _), m = mean to_float(y) : { path(x, y) }.\n"
      "half(x, m) :- f(x, _), m = max to_float(y) * 0.5 : { path(x, y) }.\n"
      "half(0, m) :- m = sum to_float(y) * 0.5 : { path(x, y), x != y }.\n"
      "half(1, m) :- m = min to_float(x) : { walk(k, x, y), y > 30, k != 1 }.\n"
      "t(x, n) :- f(x, _), x < 60, n = sum z : { f(x, y), path(y, z), !f(z, x) }.\n"
      "t(n, m) :- f(x, 7), n = count : { path(x, _) }, f(x, y), m = count : { path(y, _) }.\n"
      "t(x, n) :- f(x, y), n = count : { f(x, z), path(z, y) }, n > 1, path(x, _).\n"
      "t(0, n) :- n = max y : { path(100000, y) }.\n"
      "u(x, y, n) :- f(x, y), n = sum v * 10000000000 : { walk(2, x, v) }.\n"
      "w(s, n) :- f(x, y), s = cat(\"p\", to_string(y)), n = min v : { path(x, v), v > y }.\n");
}

TEST(SweptRows, WholeRelationsAreCounted) {
  expect_swept_rows_read_alike(
      ".decl none(x: number)\nnone(x) :- f(x, _), x < 0.\n"
      ".decl s(x: number, y: number) eqrel\ns(x, y) :- f(x, y), y < 30.\n"
      "t(1, n) :- n = count : { path(_, _) }.\nt(2, n) :- n = count : { walk(_, _, _) }.\n"
      "t(3, n) :- n = count : { none(_) }.\nt(4, n) :- n = count : { f(_, _) }, n > 3.\n"
      "t(5, n) :- n = count : { s(_, _) }.\nt(6, n) :- n = count : { e(_, 4, _) }.\n"
      "t(x, n) :- f(x, _), n = count : { path(y, z) }.\n"
      "u(x, y, n) :- f(x, y), n = count : { path(v, v) }.\n"
      "u(x, y, n) :- path(x, y), x < 40, n = count : { f(_, _), path(_, 3) }.\n");
}

TEST(SweptRows, AggregatesOnSeveralRanksCopyNothing) {
  std::string problems;
  const auto compiled =
      compile_text(fmt::format("{}t(y, n) :- f(_, y), n = count : {{ path(_, y) }}.\n"
                               "t(x, n) :- f(x, _), n = count : {{ path(x, _) }}.\n"
                               "t(2, n) :- n = sum x + y : {{ path(x, y), x < y }}.\n"
                               "t(y, n) :- f(_, y), n = sum x : {{ path(x, y), x != y }}.\n"
                               "t(0, n) :- n = max x : {{ path(x, 4) }}.\n"
                               "t(1, n) :- n = count : {{ path(_, _) }}.\n",
                               kSwept),
                   problems);
  ASSERT_TRUE(compiled) << problems;
  for (const int ranks : {2, 3}) {
    // Copies travel as sets, in a few bits a tuple: it takes many to be more than what is asked.
    const auto run = [&](std::uint64_t min_rows) {
      return run_swept(*compiled, ranks, min_rows, false, true, AddressSpace::kSeparate, 1200);
    };
    const EngineOutcome copied = run(~std::uint64_t{0});
    const EngineOutcome direct = run(0);
    EXPECT_EQ(direct.files, copied.files);
    EXPECT_LT(2 * bytes_exchanged(direct), bytes_exchanged(copied));
  }
}

TEST(SweptRows, AggregatesCopyNothingWhereRanksAreThreads) {
  std::string problems;
  const auto compiled =
      compile_text(fmt::format("{}t(x, n) :- f(x, _), n = count : {{ path(x, _) }}.\n"
                               "t(y, n) :- f(_, y), n = sum x : {{ path(x, y) }}.\n",
                               kSwept),
                   problems);
  ASSERT_TRUE(compiled) << problems;
  for (const std::uint64_t min_rows : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    const EngineOutcome outcome =
        run_swept(*compiled, 2, min_rows, false, true, AddressSpace::kShared);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(outcome.report.strata.back().exchanged_bytes, 0U) << min_rows;
  }
}

}  // namespace
}  // namespace stratalog::datalog
