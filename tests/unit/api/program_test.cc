// SPDX-License-Identifier: Apache-2.0
// Program and the C interface: tuples in and out in every kind of column, runs after more inserts,
// several programs at a time, several ranks through collectives of the caller's, refusals.
#include "api/program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>

#include "comm/comm.h"
#include "write/store.h"

namespace stratalog {
namespace {

constexpr const char* kClosure = R"(
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
)";

Program compiled(const char* text) {
  auto program = Program::compile(text);
  EXPECT_TRUE(program.is_ok()) << program.status().message();
  return std::move(program).value();
}

std::vector<Row> chain(std::int64_t from, std::int64_t to) {
  std::vector<Row> rows;
  for (std::int64_t i = from; i < to; ++i) rows.push_back({i, i + 1});
  return rows;
}

std::vector<Row> rows_of(const Program& program, const char* relation) {
  auto rows = program.rows(relation);
  EXPECT_TRUE(rows.is_ok()) << rows.status().message();
  return rows.is_ok() ? std::move(rows).value() : std::vector<Row>{};
}

// Its rules are evaluated in another form (language/linear_closures.h), which holds what is given.
TEST(Program, TakesFactsOfAClosureItself) {
  Program program = compiled(
      ".decl edge(a: number, b: number)\n.decl path(a: number, b: number)\n"
      "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), path(y, z).\n");
  ASSERT_TRUE(program.insert("edge", chain(0, 2)).is_ok());
  ASSERT_TRUE(program.insert("path", chain(2, 4)).is_ok());
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_EQ(rows_of(program, "path").size(), 10U);
  program.clear(program.find("path").value());
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_EQ(rows_of(program, "path").size(), 3U);
}

// The rule that brings them back is evaluated in another form (language/mutual_copies.h).
TEST(Program, TakesFactsOfRelationsThatCopyEachOther) {
  Program program = compiled(
      ".decl e(a: number, b: number)\n.decl has(a: number, b: number)\n"
      ".decl of(a: number, b: number)\nhas(x, y) :- e(x, y).\nhas(x, y) :- of(y, x).\n"
      "of(y, x) :- has(x, y).\n");
  ASSERT_TRUE(program.insert("e", chain(0, 2)).is_ok());
  ASSERT_TRUE(program.insert("has", chain(5, 7)).is_ok());
  ASSERT_TRUE(program.insert("of", chain(10, 13)).is_ok());
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_EQ(rows_of(program, "has").size(), 7U);
  EXPECT_EQ(rows_of(program, "of").size(), 7U);
  const std::vector<Row> has = rows_of(program, "has");
  EXPECT_TRUE(std::ranges::count(has, Row{std::int64_t{13}, std::int64_t{12}}) == 1);
  program.clear(program.find("of").value());
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_EQ(rows_of(program, "has").size(), 4U);
}

TEST(Program, RunsAgainAfterMoreInserts) {
  Program program = compiled(kClosure);
  ASSERT_TRUE(program.insert("edge", chain(0, 3)).is_ok());
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_EQ(rows_of(program, "path").size(), 6U);
  ASSERT_TRUE(program.insert("edge", chain(2, 5)).is_ok());  // 2 -> 3 is there already
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_EQ(rows_of(program, "path").size(), 15U);
  EXPECT_EQ(program.count(program.find("edge").value()).value(), 5U);
  program.clear(program.find("edge").value());
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_TRUE(rows_of(program, "path").empty());
}

TEST(Program, ProgramsDoNotKnowOfEachOther) {
  Program first = compiled(kClosure);
  Program second = compiled(kClosure);
  ASSERT_TRUE(first.insert("edge", chain(0, 2)).is_ok());
  ASSERT_TRUE(second.insert("edge", chain(10, 20)).is_ok());
  ASSERT_TRUE(first.run().is_ok());
  ASSERT_TRUE(second.run().is_ok());
  EXPECT_EQ(rows_of(first, "path").size(), 3U);
  EXPECT_EQ(rows_of(second, "path").size(), 55U);
}

TEST(Program, CarriesEveryKindOfValue) {
  Program program = compiled(R"(
.type List = [head: symbol, tail: List]
.type Shape = Circle {r: float} | Point {}
.type Colour = Red {} | Green {}
.decl given(n: number, u: unsigned, f: float, s: symbol, l: List, p: Shape, c: Colour)
.decl taken(n: number, u: unsigned, f: float, s: symbol, l: List, p: Shape, c: Colour)
taken(n, u, f, cat(s, "!"), ["z", l], p, c) :- given(n, u, f, s, l, p, c).
.decl none()
.decl some()
some() :- none().
)");
  const std::vector<Row> rows = {
      {std::int64_t{-5}, ~std::uint64_t{0}, -0.5, std::string("a"), std::string("nil"),
       std::string("$Circle(2.5)"), std::string("$Green")},
      {INT64_MIN, std::uint64_t{1}, 1e300, std::string("b\0c", 3), std::string("[x, [y, nil]]"),
       std::string("$Point"), std::string("$Red")}};
  ASSERT_TRUE(program.insert("given", rows).is_ok());
  ASSERT_TRUE(program.insert("none", std::vector<Row>(1)).is_ok());
  const auto ran = program.run();
  ASSERT_TRUE(ran.is_ok()) << ran.status().message();
  const std::vector<Row> expected = {
      {INT64_MIN, std::uint64_t{1}, 1e300, std::string("b\0c!", 4),
       std::string("[z, [x, [y, nil]]]"), std::string("$Point"), std::string("$Red")},
      {std::int64_t{-5}, ~std::uint64_t{0}, -0.5, std::string("a!"), std::string("[z, nil]"),
       std::string("$Circle(2.5)"), std::string("$Green")}};
  EXPECT_EQ(rows_of(program, "taken"), expected);
  EXPECT_EQ(rows_of(program, "some").size(), 1U);
  EXPECT_EQ(program.count(program.find("some").value()).value(), 1U);
}

TEST(Program, RefusesWhatDoesNotFitAndAddsNothing) {
  Program program = compiled(kClosure);
  const std::vector<Row> rows = {{std::int64_t{1}, std::int64_t{2}}, {std::int64_t{1}, 2.5}};
  const Status refused = program.insert("edge", rows);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("relation `edge`, row 1, column `b`"), std::string::npos)
      << refused.message();
  EXPECT_EQ(program.insert("nothing", rows).code(), StatusCode::kNotFound);
  EXPECT_EQ(program.rows("path").status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(program.run().is_ok());
  EXPECT_TRUE(rows_of(program, "edge").empty());
  std::int64_t cell = 0;
  const std::vector<stratalog_column_out> columns(2, {.values = &cell, .stride = 8});
  EXPECT_EQ(program.read(1, 0, 1, columns).code(), StatusCode::kInvalidArgument);
}

TEST(Program, TellsWhatIsWrongInAProgramWithTheLineAndACaret) {
  const auto program = Program::compile("\n.decl p(x: number)\np(x) :- q(x).\n", {.name = "x.dl"});
  ASSERT_FALSE(program.is_ok());
  EXPECT_NE(program.status().message().find("x.dl:3:9: error"), std::string::npos);
  EXPECT_NE(program.status().message().find("        ^"), std::string::npos);
}

TEST(Program, ReadsAnyStretchOfTuples) {
  Program program = compiled(kClosure);
  ASSERT_TRUE(program.insert("edge", chain(0, 30)).is_ok());
  ASSERT_TRUE(program.run().is_ok());
  const std::size_t path = program.find("path").value();
  const auto read = [&](std::uint64_t from, std::uint64_t rows) {
    std::vector<std::array<std::int64_t, 2>> found(rows);
    const std::vector<stratalog_column_out> columns = {{&found[0][0], 16}, {&found[0][1], 16}};
    EXPECT_TRUE(program.read(path, from, rows, columns).is_ok());
    return found;
  };
  const auto whole = read(0, 465);
  for (const std::uint64_t step : {1, 7, 64})
    for (std::uint64_t at = 0; at < 465; at += step) {
      const std::uint64_t rows = std::min<std::uint64_t>(step, 465 - at);
      const auto part = read(at, rows);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<long>(at)));
    }
}

// A folder that is not there yet, and not there any more afterwards.
class TestFolder {
 public:
  TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("stratalog_program_test_" + std::to_string(::getpid()));
};

TEST(Program, LeavesCheckpointsAndGoesOnFromThem) {
  const TestFolder folder;
  RunSettings settings{.checkpoint = folder.string()};
  Program program = compiled(kClosure);
  ASSERT_TRUE(program.insert("edge", chain(0, 9)).is_ok());
  EXPECT_EQ(program.run(settings).value().checkpoints, 1U);
  EXPECT_EQ(program.run(settings).status().code(), StatusCode::kAlreadyExists);
  EXPECT_FALSE(program.has_run());
  settings.on_checkpoints = OnCheckpoints::kResume;
  EXPECT_FALSE(program.run(settings).value().resumed_from.empty());
  EXPECT_EQ(rows_of(program, "path").size(), 45U);
  settings.on_checkpoints = OnCheckpoints::kOverwrite;
  EXPECT_TRUE(program.run(settings).value().resumed_from.empty());
}

TEST(Program, AFinishedRunLeavesItsFolderToOthers) {
  const TestFolder folder;
  RunSettings settings{.checkpoint = folder.string(), .on_checkpoints = OnCheckpoints::kOverwrite};
  Program first = compiled(kClosure);
  Program second = compiled(kClosure);
  ASSERT_TRUE(first.insert("edge", chain(0, 9)).is_ok());
  for (const std::uint32_t threads : {1U, 2U}) {
    settings.threads = threads;
    ASSERT_TRUE(first.run(settings).is_ok());
    const auto others = second.run(settings);
    EXPECT_TRUE(others.is_ok()) << others.status().message();
    EXPECT_EQ(rows_of(first, "path").size(), 45U) << "still there";
    EXPECT_TRUE(rows_of(second, "path").empty());
  }
}

TEST(Program, TellsOfTheChoiceOnlyWhereThereIsOne) {
  const TestFolder folder;
  RunSettings settings{.checkpoint = folder.string()};
  Program program = compiled(kClosure);
  const auto refused_with = [&](OnCheckpoints wish) {
    settings.on_checkpoints = wish;
    const Status refused = program.run(settings).status();
    EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists) << refused.to_string();
    return refused.message();
  };
  const std::string choice = "on_checkpoints says which: resume or overwrite";
  {
    const auto store = open_posix_store(folder.string(), RootMode::kCreate);
    const auto other_job = store.value()->lock("LOCK");
    ASSERT_TRUE(other_job.is_ok()) << other_job.status().to_string();
    for (const OnCheckpoints wish :
         {OnCheckpoints::kRefuse, OnCheckpoints::kResume, OnCheckpoints::kOverwrite}) {
      const std::string message = refused_with(wish);
      EXPECT_NE(message.find("another job is writing"), std::string::npos) << message;
      EXPECT_EQ(message.find(choice), std::string::npos) << message;
    }
  }
  settings.on_checkpoints = OnCheckpoints::kOverwrite;
  ASSERT_TRUE(program.run(settings).is_ok());
  const std::string message = refused_with(OnCheckpoints::kRefuse);
  EXPECT_NE(message.find(choice), std::string::npos) << message;
}

TEST(Program, RefusesSecondsThatAreNone) {
  const TestFolder folder;
  Program program = compiled(kClosure);
  for (const double every :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Status refused =
        program.run({.checkpoint = folder.string(), .checkpoint_every_seconds = every}).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << every;
    EXPECT_NE(refused.message().find("checkpoint_every_seconds"), std::string::npos);
  }
}

TEST(Program, WarnsOfNoRelationThatMayBeInsertedInto) {
  EXPECT_EQ(compiled(kClosure).warnings(), "");
  const Program other = compiled(".decl p(x: number)\n.decl q()\nq() :- p(x).\n");
  EXPECT_NE(other.warnings().find("variable `x` occurs only once"), std::string::npos);
  EXPECT_EQ(other.warnings().find("always empty"), std::string::npos) << other.warnings();
}

// Collectives of a caller, played by virtual ranks.
struct Played {
  Comm& comm;
  static Comm& of(void* context) { return static_cast<Played*>(context)->comm; }
};

int play(const Result<Received>& got, void* into) {
  if (!got.is_ok()) return 1;
  if (!got.value().data.empty())
    std::memcpy(into, got.value().data.data(), got.value().data.size());
  return 0;
}

std::uint64_t sum(const std::uint64_t* counts, int ranks) {
  std::uint64_t total = 0;
  for (int r = 0; r < ranks; ++r) total += counts[r];
  return total;
}

stratalog_collectives collectives_of(Played& played) {
  return {
      .context = &played,
      .rank = played.comm.rank(),
      .size = played.comm.size(),
      .allreduce =
          [](void* context, std::uint64_t* values, std::uint64_t count, stratalog_reduction op) {
            constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                                         ReduceOp::kBitOr};
            return Played::of(context).allreduce({values, count}, kOps[op]).is_ok() ? 0 : 1;
          },
      .broadcast =
          [](void* context, void* data, std::uint64_t bytes, int root) {
            Bytes copy(bytes);
            std::memcpy(copy.data(), data, bytes);
            if (!Played::of(context).broadcast(copy, root).is_ok()) return 1;
            std::memcpy(data, copy.data(), bytes);
            return 0;
          },
      .allgather =
          [](void* context, const void* mine, std::uint64_t bytes, void* all,
             const std::uint64_t*) {
            return play(Played::of(context).allgather({static_cast<const std::byte*>(mine), bytes}),
                        all);
          },
      .alltoall =
          [](void* context, const void* data, const std::uint64_t* counts, void* received,
             const std::uint64_t*) {
            Comm& comm = Played::of(context);
            const auto ranks = static_cast<std::size_t>(comm.size());
            return play(
                comm.exchange({static_cast<const std::byte*>(data), sum(counts, comm.size())},
                              {counts, ranks}),
                received);
          },
  };
}

TEST(Program, RanksShareTheWorkThroughTheCallersCollectives) {
  std::mutex mutex;
  std::vector<Row> together;
  const Status played = sim_run(3, [&](Comm& comm) -> Status {
    Played me{comm};
    Program program = compiled(R"(
.decl edge(a: symbol, b: symbol)
.decl path(a: symbol, b: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl total(n: number)
total(n) :- n = count : { path(_, _) }.
)");
    STRATALOG_RETURN_IF_ERROR(program.set_collectives(collectives_of(me)));
    // Each rank brings its own edges: 0 -> 1, 3 -> 4, ... on rank 0.
    std::vector<Row> mine;
    for (int i = comm.rank(); i < 20; i += comm.size())
      mine.push_back({std::string("n") + std::to_string(i), "n" + std::to_string(i + 1)});
    STRATALOG_RETURN_IF_ERROR(program.insert("edge", mine));
    STRATALOG_ASSIGN_OR_RETURN(const RunSummary summary, program.run());
    EXPECT_GT(summary.peak_memory_bytes, 0U);
    EXPECT_EQ(program.count(program.find("path").value()).value(), 210U);
    STRATALOG_ASSIGN_OR_RETURN(const std::vector<Row> rows, program.rows("path"));
    STRATALOG_ASSIGN_OR_RETURN(const std::vector<Row> counts, program.rows("total"));
    const std::lock_guard lock(mutex);
    together.insert(together.end(), rows.begin(), rows.end());
    for (const Row& row : counts) EXPECT_EQ(row, Row{std::int64_t{210}});
    return {};
  });
  ASSERT_TRUE(played.is_ok()) << played.message();
  std::sort(together.begin(), together.end());
  EXPECT_EQ(together.size(), 210U);
  EXPECT_EQ(std::unique(together.begin(), together.end()), together.end());
}

// What each of three ranks gets from a call with arguments of its own.
using Verdicts = std::vector<Status>;
Verdicts on_three_ranks(const std::function<Status(int rank, const stratalog_collectives&)>& call) {
  Verdicts verdicts(3);
  const Status played = sim_run(3, [&](Comm& comm) -> Status {
    Played me{comm};
    const stratalog_collectives calls = collectives_of(me);
    verdicts[static_cast<std::size_t>(comm.rank())] = call(comm.rank(), calls);
    return {};
  });
  EXPECT_TRUE(played.is_ok()) << played.message();
  return verdicts;
}

void expect_all(const Verdicts& verdicts, StatusCode code, std::string_view words) {
  for (const Status& verdict : verdicts) {
    EXPECT_EQ(verdict.code(), code) << verdict.to_string();
    EXPECT_NE(verdict.message().find(words), std::string::npos)
        << verdict.message() << "\nlacks: " << words;
  }
}

TEST(Program, RanksThatCompileDifferentThingsAllHearWhatDiffers) {
  const auto compile_on_ranks = [](const char* text, const CompileSettings& odd) {
    return on_three_ranks([&](int rank, const stratalog_collectives& calls) {
      CompileSettings settings;
      if (rank == 2) settings = odd;
      settings.collectives = &calls;
      return Program::compile(rank == 2 ? text : kClosure, settings).status();
    });
  };
  for (const Status& verdict : compile_on_ranks(kClosure, {})) EXPECT_TRUE(verdict.is_ok());
  expect_all(compile_on_ranks(".decl p(x: number)", {}), StatusCode::kRanksDisagree,
             "rank 2 gave another text of the program than rank 0");
  expect_all(compile_on_ranks("p(x) :-", {}), StatusCode::kRanksDisagree, "text of the program");
  expect_all(compile_on_ranks(kClosure, {.name = "other"}), StatusCode::kRanksDisagree, "name");
  expect_all(compile_on_ranks(kClosure, {.include_directories = {"x"}}), StatusCode::kRanksDisagree,
             "include");
  expect_all(compile_on_ranks(kClosure, {.macros = {"A=1"}}), StatusCode::kRanksDisagree, "macros");
}

TEST(Program, AnErrorOfTheProgramEndsAllRanksInTheirOwnWords) {
  const Verdicts verdicts = on_three_ranks([&](int /*rank*/, const stratalog_collectives& calls) {
    return Program::compile("p(x).", {.name = "x.dl", .collectives = &calls}).status();
  });
  for (const Status& verdict : verdicts) {
    EXPECT_EQ(verdict.code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(verdict.message().starts_with("x.dl:1:1: error")) << verdict.message();
  }
}

TEST(Program, RanksThatRunDifferentlyAllHearWhatDiffers) {
  const TestFolder folder;
  const std::string checkpoint = folder.string();
  const auto run_on_ranks = [&](const RunSettings& odd, const char* text = kClosure) {
    return on_three_ranks([&](int rank, const stratalog_collectives& calls) {
      Program program = compiled(rank == 1 ? text : kClosure);
      STRATALOG_RETURN_IF_ERROR(program.set_collectives(calls));
      STRATALOG_RETURN_IF_ERROR(program.insert("edge", chain(rank, rank + 3)));
      RunSettings settings{.checkpoint = checkpoint, .on_checkpoints = OnCheckpoints::kOverwrite};
      if (rank == 1) settings = odd;
      return program.run(settings).status();
    });
  };
  const RunSettings same{.checkpoint = checkpoint, .on_checkpoints = OnCheckpoints::kOverwrite};
  for (const Status& verdict : run_on_ranks(same)) EXPECT_TRUE(verdict.is_ok());
  const auto differs = [&](const char* words, const auto& change) {
    RunSettings odd = same;
    change(odd);
    expect_all(run_on_ranks(odd), StatusCode::kRanksDisagree, words);
  };
  differs("rank 1 gave another folder of checkpoints",
          [](RunSettings& odd) { odd.checkpoint = ""; });
  differs("on_checkpoints", [](RunSettings& odd) { odd.on_checkpoints = OnCheckpoints::kResume; });
  differs("checkpoint_every", [](RunSettings& odd) { odd.checkpoint_every_seconds = 60; });
  differs("folder of facts", [](RunSettings& odd) { odd.facts = "."; });
  differs("folder of outputs", [](RunSettings& odd) { odd.output = "."; });
  differs("libraries", [](RunSettings& odd) { odd.libraries = {"functors"}; });
  expect_all(run_on_ranks(same, ".decl edge(a: number, b: number)"), StatusCode::kRanksDisagree,
             "rank 1 gave another program than rank 0");
  RunSettings wrong = same;
  wrong.threads = 2;
  expect_all(run_on_ranks(wrong), StatusCode::kInvalidArgument, "rank 1: 2 threads");
}

TEST(Program, ThreadsShareTheWorkAndTheResultIsReadAsAWhole) {
  auto program = compiled(
      ".decl edge(a: symbol, b: number)\n.decl path(a: symbol, b: number)\n.decl any()\n"
      "path(x, y) :- edge(x, y).\npath(x, y + 1) :- path(x, y), y < 40.\nany() :- path(_, 40).\n");
  std::vector<Row> edges;
  edges.reserve(30);
  for (int i = 0; i < 30; ++i)
    edges.push_back({"n" + std::to_string(i), static_cast<std::int64_t>(i % 7)});
  ASSERT_TRUE(program.insert("edge", edges).is_ok());
  ASSERT_TRUE(program.run().is_ok());
  const std::vector<Row> expected = program.rows("path").value();
  for (const std::uint32_t threads : {2U, 3U, 0U}) {
    const auto ran = program.run({.threads = threads});
    ASSERT_TRUE(ran.is_ok()) << ran.status().to_string();
    EXPECT_EQ(program.rows("path").value(), expected) << threads;
    EXPECT_EQ(program.rows("edge").value().size(), edges.size());
    const std::size_t path = program.find("path").value();
    EXPECT_EQ(program.count_here(path).value(), expected.size());
    EXPECT_EQ(program.count_here(program.find("any").value()).value(), 1U);
    // A stretch across the ranks, and one beyond them.
    std::vector<std::uint64_t> cells(expected.size(), 0);
    const std::vector<stratalog_column_out> columns = {
        {.values = nullptr, .stride = 0},
        {.values = cells.data(), .stride = sizeof(std::uint64_t)}};
    EXPECT_TRUE(program.read(path, 1, expected.size() - 2, columns).is_ok());
    EXPECT_NE(std::count(cells.begin(), cells.end(), 40), 0);
    EXPECT_EQ(program.read(path, 2, expected.size(), columns).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(program.run({.threads = 5000}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(program.has_run());
}

TEST(Program, AFailedCollectiveEndsTheRun) {
  const auto self = make_self_comm();
  Played me{*self};
  stratalog_collectives calls = collectives_of(me);
  calls.allreduce = [](void*, std::uint64_t*, std::uint64_t, stratalog_reduction) { return 7; };
  Program program = compiled(kClosure);
  ASSERT_TRUE(program.set_collectives(calls).is_ok());
  const auto ran = program.run();
  EXPECT_EQ(ran.status().code(), StatusCode::kIoError);
  EXPECT_NE(ran.status().message().find("allreduce"), std::string::npos);
  calls.size = 0;
  EXPECT_EQ(program.set_collectives(calls).code(), StatusCode::kInvalidArgument);
}

TEST(CInterface, RefusesWhatCannotBe) {
  EXPECT_EQ(stratalog_run(nullptr), STRATALOG_INVALID_ARGUMENT);
  stratalog_program* program = stratalog_new();
  EXPECT_EQ(stratalog_run(program), STRATALOG_INVALID_ARGUMENT);
  EXPECT_STRNE(stratalog_message(program), "");
  EXPECT_EQ(stratalog_set(program, "colour", "red"), STRATALOG_NOT_FOUND);
  EXPECT_EQ(stratalog_set(program, "memory-limit", "-1"), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_set(program, "checkpoint-every", "nan"), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_set(program, "on-checkpoints", "maybe"), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_compile(program, "p(x).", 5), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_set(program, "name", "second try"), STRATALOG_OK);
  ASSERT_EQ(stratalog_compile(program, kClosure, std::strlen(kClosure)), STRATALOG_OK);
  EXPECT_STREQ(stratalog_message(program), "");
  for (const char* late : {"name", "include", "define"}) {
    EXPECT_EQ(stratalog_set(program, late, "x"), STRATALOG_INVALID_ARGUMENT) << late;
    EXPECT_NE(std::string(stratalog_message(program)).find("compiled already"), std::string::npos);
  }
  EXPECT_EQ(stratalog_compile(program, kClosure, 1), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_insert(program, 9, 0, nullptr), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_insert(program, 0, 0, nullptr), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_relation_name(program, 2), nullptr);
  EXPECT_STREQ(stratalog_column_name(program, 1, 1), "b");
  EXPECT_EQ(stratalog_column_type(program, 1, 2), nullptr);
  std::uint64_t rows = 0;
  EXPECT_EQ(stratalog_count(program, 1, &rows), STRATALOG_INVALID_ARGUMENT);
  ASSERT_EQ(stratalog_run(program), STRATALOG_OK);
  EXPECT_EQ(stratalog_count(program, 1, nullptr), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_count(program, 2, &rows), STRATALOG_INVALID_ARGUMENT);
  const char* text = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(stratalog_text(program, 1, 0, 0, &text, &bytes), STRATALOG_INVALID_ARGUMENT);
  EXPECT_EQ(stratalog_section(program, "colour", &text, &bytes), STRATALOG_NOT_FOUND);
  stratalog_free(program);
}

TEST(CInterface, TheConsoleMayHoldZeros) {
  stratalog_program* program = stratalog_new();
  const std::string source =
      ".decl s(x: symbol)\n.decl t(x: symbol)\nt(x) :- s(x).\n.output t(IO=stdout)\n";
  ASSERT_EQ(stratalog_compile(program, source.data(), source.size()), STRATALOG_OK);
  const std::int64_t offsets[] = {0, 3};
  const stratalog_column_in column{nullptr, 0, "a\0b", offsets, 1};
  ASSERT_EQ(stratalog_insert(program, 0, 1, &column), STRATALOG_OK);
  const TestFolder output;
  ASSERT_EQ(stratalog_set(program, "output", output.string().c_str()), STRATALOG_OK);
  ASSERT_EQ(stratalog_run(program), STRATALOG_OK) << stratalog_message(program);
  std::size_t bytes = 0;
  const char* const console = stratalog_console_bytes(program, &bytes);
  EXPECT_NE(std::string(console, bytes).find(std::string("a\0b\n", 4)), std::string::npos);
  EXPECT_EQ(stratalog_console_bytes(program, nullptr), console);
  EXPECT_EQ(stratalog_console(program), console);
  EXPECT_STREQ(stratalog_console_bytes(nullptr, &bytes), "");
  EXPECT_EQ(bytes, 0U);
  stratalog_free(program);
}

TEST(CInterface, ChecksTextsAndTheirNumbers) {
  stratalog_program* program = stratalog_new();
  const std::string source = ".type L = [s: symbol, l: L]\n.decl p(s: symbol, l: L)\n";
  ASSERT_EQ(stratalog_compile(program, source.data(), source.size()), STRATALOG_OK);
  const std::int64_t offsets[] = {0, 1, 4};
  const std::int32_t numbers[] = {1, 0, 2};
  stratalog_column_in texts{nullptr, 0, "anil", offsets, 2};
  stratalog_column_in columns[] = {texts, texts};
  columns[1].values = numbers;
  columns[1].stride = sizeof numbers[0];
  EXPECT_EQ(stratalog_insert(program, 0, 2, columns), STRATALOG_INVALID_ARGUMENT);  // "a" is no L
  EXPECT_NE(std::string(stratalog_message(program)).find("column `l`"), std::string::npos);
  columns[1] = columns[0];
  columns[0].values = numbers;
  columns[0].stride = sizeof numbers[0];
  columns[1].text = "nilnil";
  const std::int64_t thirds[] = {0, 3, 6, 6};
  columns[1].offsets = thirds;
  EXPECT_EQ(stratalog_insert(program, 0, 3, columns), STRATALOG_INVALID_ARGUMENT);  // text 2 of 2
  EXPECT_EQ(stratalog_insert(program, 0, 2, columns), STRATALOG_OK) << stratalog_message(program);
  const std::int64_t backwards[] = {3, 0, 6};
  columns[1].offsets = backwards;
  EXPECT_EQ(stratalog_insert(program, 0, 2, columns), STRATALOG_INVALID_ARGUMENT);
  stratalog_free(program);
}

}  // namespace
}  // namespace stratalog
