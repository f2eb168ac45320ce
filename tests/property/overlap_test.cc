// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are written while the next rounds run: every generation holds what its round
// held, however far the run went on meanwhile, moved relations or failed; a run that goes on from
// any of them, on another number of ranks, ends like one that was left alone. The store is slow, so
// that rounds do pass; relations are dealt anew in the middle.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "property/engine_runner.h"
#include "write/faulty_store.h"

namespace stratalog::datalog {
namespace {

class SlowFile final : public File {
 public:
  explicit SlowFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return inner_->write_at(offset, bytes);
  }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
    return inner_->read_at(offset, bytes);
  }
  Result<std::uint64_t> size_bytes() override { return inner_->size_bytes(); }
  Status sync() override { return inner_->sync(); }
  Status close() override { return inner_->close(); }

 private:
  std::unique_ptr<File> inner_;
};

// Writing takes a while.
class SlowStore final : public Store {
 public:
  explicit SlowStore(Store& inner) : inner_(inner) {}
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    auto file = inner_.open(path, mode);
    if (!file.is_ok()) return file.status();
    return std::unique_ptr<File>(std::make_unique<SlowFile>(std::move(file).value()));
  }
  Status make_directory(const std::string& path) override { return inner_.make_directory(path); }
  Status remove_file(const std::string& path) override { return inner_.remove_file(path); }
  Status remove_directory(const std::string& path) override {
    return inner_.remove_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return inner_.rename(from, to);
  }
  Status sync_directory(const std::string& path) override { return inner_.sync_directory(path); }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return inner_.list(path);
  }
  Result<FileInfo> info(const std::string& path) override { return inner_.info(path); }
  Result<std::uint64_t> free_bytes() override { return inner_.free_bytes(); }
  Result<FileSystemFacts> file_system() override { return inner_.file_system(); }
  Status random_bytes(std::span<std::byte> bytes) override { return inner_.random_bytes(bytes); }
  std::string root() const override { return inner_.root(); }

 private:
  Store& inner_;
};

struct Growing {
  std::string text;
  FileTexts facts;
};

Growing growing(const std::string& rules, std::uint32_t nodes) {
  std::string edges;
  for (std::uint32_t i = 0; i + 1 < nodes; ++i) edges += fmt::format("{}\t{}\n", i, i + 1);
  for (std::uint32_t i = 0; i < nodes; i += 5)
    edges += fmt::format("{}\t{}\n", i, (i * 7 + 3) % nodes);
  return {.text = ".decl edge(x: number, y: number)\n.input edge\n" + rules,
          .facts = {{"edge.facts", edges}}};
}

// Recursions by rounds: right-linear with thin deltas, several relations, wide rows, and something
// after it that reads what has grown.
std::vector<Growing> growing_programs() {
  return {
      growing(".decl path(x: number, y: number)\n.output path\npath(x, y) :- edge(x, y).\n"
              "path(x, z) :- path(x, y), path(y, z).\n"
              ".decl apart(x: number)\n.output apart\napart(x) :- edge(x, _), !path(x, x).\n",
              40),
      growing(".decl up(x: number, y: number)\n.output up\n.decl down(x: number, y: number)\n"
              ".output down\nup(x, y) :- edge(x, y).\ndown(y, x) :- up(x, y), y % 3 != 0.\n"
              "up(x, z) :- down(y, x), edge(y, z), x + z < 60.\n"
              ".decl walk(x: number, y: number, n: number)\n.output walk\n"
              "walk(x, y, 1) :- edge(x, y), x < 6.\n"
              "walk(x, z, n + 1) :- walk(x, y, n), edge(y, z), n < 14.\n"
              ".decl seen()\nseen() :- walk(_, _, 9).\nwalk(0, 0, 0) :- seen().\n",
              36),
  };
}

std::vector<RunOptions> round_ways() {
  RunOptions sets;
  RunOptions hops = hop_options();
  RunOptions moving = hop_options();
  moving.allow_sets = false;
  moving.mirror_limit_rows = 60;  // dealt in the middle of the run
  moving.rebalance_min_rows = 3;
  std::vector<RunOptions> ways;
  for (RunOptions* way : {&sets, &hops, &moving}) {
    way->allow_pivot = false;
    way->keep_round_counts = true;
    ways.push_back(*way);
  }
  return ways;
}

std::string outcome_text(const EngineOutcome& outcome) {
  std::string text = text_of(outcome.files);
  for (const StratumReport& s : outcome.report.strata)
    text += fmt::format("{}: {} iterations, new per round [{}]\n", s.relations, s.iterations,
                        fmt::join(s.new_tuples_per_round, " "));
  return text;
}

std::vector<std::string> valid_generations(const std::shared_ptr<MemoryDisk>& disk) {
  const auto listed = list_generations(*open_memory_store(disk));
  std::vector<std::string> names;
  if (!listed.is_ok()) return names;
  for (const GenerationSummary& generation : listed.value())
    if (generation.condition == GenerationCondition::kValid) names.push_back(generation.name);
  return names;
}

// Checkpoints of `way` that were written beside rounds; all must have been acknowledged.
struct Seen {
  std::uint64_t beside = 0;
  std::uint64_t folded = 0;  // had chains that were written as one
};

Seen check_overlapped(const Program& program, const Growing& sample, RunOptions way, int from,
                      int to, const std::string& expected) {
  if (way.checkpoint.every_iterations == 0) way.checkpoint.every_iterations = 3;
  way.checkpoint.writer.keep_generations = 100;
  RunHooks hooks;
  std::string failures;
  std::uint64_t begun = 0;
  hooks.notice = [&](const std::string& text) {
    if (text.find("failed") != std::string::npos) failures += text;
  };
  hooks.progress = [&](const Progress& progress) {
    begun += progress.phase == Phase::kCheckpointing ? 1 : 0;
  };
  const auto disk = std::make_shared<MemoryDisk>();
  const EngineOutcome outcome =
      run_engine(program, sample.facts, from, way, hooks, disk, nullptr,
                 [](Store& inner) { return std::make_unique<SlowStore>(inner); });
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  EXPECT_EQ(outcome_text(outcome), expected);
  EXPECT_EQ(failures, "");
  EXPECT_EQ(outcome.report.checkpoints.size(), begun);
  const std::vector<std::string> generations = valid_generations(disk);
  EXPECT_EQ(generations.size(), begun);
  Seen seen;
  for (const SaveReport& saved : outcome.report.checkpoints) {
    seen.beside += saved.held_seconds < saved.total_seconds ? 1 : 0;
    seen.folded += saved.folded_images > 0 ? 1 : 0;
    EXPECT_TRUE(saved.folded_images == 0 || saved.overlap == OverlapWay::kPack);
  }
  for (const std::string& generation : generations) {
    RunOptions resumed = way;
    resumed.checkpoint.resume = ResumePolicy::kResume;
    resumed.checkpoint.generation = generation;
    const EngineOutcome again = run_engine(program, sample.facts, to, resumed, {}, disk->clone());
    EXPECT_TRUE(again.status.is_ok()) << generation << ": " << again.status.to_string();
    EXPECT_EQ(again.report.resumed_from, generation);
    EXPECT_EQ(outcome_text(again), expected) << generation << " of " << from << " ranks, on " << to;
  }
  return seen;
}

struct Beside {
  CheckpointMode mode;
  OverlapWay way;
};

constexpr Beside kBeside[] = {{CheckpointMode::kFilePerProcess, OverlapWay::kWrite},
                              {CheckpointMode::kFilePerProcess, OverlapWay::kPack},
                              {CheckpointMode::kShared, OverlapWay::kWrite},
                              {CheckpointMode::kShared, OverlapWay::kPack}};

TEST(OverlappedRounds, EveryGenerationIsWhatItsRoundHeld) {
  struct Move {
    int from;
    int to;
  };
  const std::vector<Move> moves{{1, 2}, {3, 1}, {2, 4}, {4, 3}};
  std::size_t next = 0;
  std::vector<RunOptions> ways = round_ways();
  for (const Growing& sample : growing_programs()) {
    std::string problems;
    const auto program = compile_text(sample.text, problems);
    ASSERT_TRUE(program) << problems;
    for (RunOptions& way : ways) {
      const std::string expected = outcome_text(run_engine(*program, sample.facts, 1, way));
      for (const Beside& beside : kBeside) {
        const Move move = moves[next++ % moves.size()];
        way.checkpoint.mode = beside.mode;
        way.checkpoint.writer.overlap = beside.way;
        const Seen seen = check_overlapped(*program, sample, way, move.from, move.to, expected);
        EXPECT_GE(seen.beside, 1U);
        if (HasFailure()) return;
      }
    }
  }
}

// Chains that end soon, by being read back and written as one: in every generation that a run can
// go on from, on another number of ranks.
TEST(OverlappedRounds, FoldedChainsAreWhatTheirRoundsHeld) {
  std::uint64_t folded = 0;
  int from = 0;
  for (const Growing& sample : growing_programs()) {
    std::string problems;
    const auto program = compile_text(sample.text, problems);
    ASSERT_TRUE(program) << problems;
    for (RunOptions& way : round_ways()) {
      const std::string expected = outcome_text(run_engine(*program, sample.facts, 1, way));
      way.checkpoint.writer.overlap = OverlapWay::kPack;
      way.checkpoint.chain.most_parts = 2;
      way.checkpoint.chain.folded_bytes_per_second = ~std::uint64_t{0};
      way.checkpoint.every_iterations = 2;
      from = from % 4 + 1;
      folded +=
          check_overlapped(*program, sample, way, from, from == 1 ? 3 : from - 1, expected).folded;
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(folded, 6U);
}

// Whichever call of the store fails, in the thread or out of it: the run says so and goes on, and
// the newest generation that is left is sound.
void check_failures(const Beside& beside, std::uint32_t most_parts) {
  const Growing sample = growing_programs()[0];
  std::string problems;
  const auto program = compile_text(sample.text, problems);
  ASSERT_TRUE(program) << problems;
  RunOptions way = round_ways()[1];
  way.checkpoint.every_iterations = 2;
  way.checkpoint.mode = beside.mode;
  way.checkpoint.writer.overlap = beside.way;
  way.checkpoint.chain.most_parts = most_parts;
  way.checkpoint.chain.folded_bytes_per_second = ~std::uint64_t{0};
  const std::string expected = outcome_text(run_engine(*program, sample.facts, 1, way));
  std::uint64_t told = 0;
  for (std::uint64_t at = 0;; at += 7) {
    const auto counter =
        std::make_shared<FaultCounter>(FaultPlan{.fail_at = at, .error_number = EIO});
    RunHooks hooks;
    hooks.notice = [&](const std::string& text) {
      told += text.find("failed, the run goes on") != std::string::npos ? 1 : 0;
    };
    const auto disk = std::make_shared<MemoryDisk>();
    const EngineOutcome outcome =
        run_engine(*program, sample.facts, 1, way, hooks, disk, nullptr,
                   [&](Store& inner) { return open_faulty_store(inner, counter); });
    if (!counter->has_fired()) break;
    if (!outcome.status.is_ok()) continue;  // the directory could not be opened
    EXPECT_EQ(outcome_text(outcome), expected) << "call " << at;
    RunOptions resumed = way;
    resumed.checkpoint.resume = ResumePolicy::kResume;
    const EngineOutcome again = run_engine(*program, sample.facts, 3, resumed, {}, disk);
    EXPECT_TRUE(again.status.is_ok()) << "call " << at << ": " << again.status.to_string();
    EXPECT_EQ(outcome_text(again), expected) << "call " << at;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(told, 5U);
}

TEST(OverlappedRounds, AFailureCostsOneGeneration) {
  for (const Beside& beside : kBeside) check_failures(beside, 8);
}

TEST(OverlappedRounds, AFailureWhileAChainIsFoldedDoesNoMore) {
  check_failures({CheckpointMode::kFilePerProcess, OverlapWay::kPack}, 1);
}

}  // namespace
}  // namespace stratalog::datalog
