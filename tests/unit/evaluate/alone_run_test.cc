// SPDX-License-Identifier: Apache-2.0
// Strata that ranks evaluate alone: no call of all ranks, however many there are, the same answers,
// and errors that all ranks share. Random programs are in tests/property.
#include "datalog/evaluate/alone_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Passes everything on and counts the calls of rank 0.
class CallCounter final : public Comm {
 public:
  CallCounter(Comm& inner, std::atomic<int>& calls) : inner_(inner), calls_(calls) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Status barrier() override {
    count();
    return inner_.barrier();
  }
  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    count();
    return inner_.allreduce(values, op);
  }
  Status broadcast(Bytes& data, int root) override {
    count();
    return inner_.broadcast(data, root);
  }
  Result<Received> allgather(std::span<const std::byte> mine) override {
    count();
    return inner_.allgather(mine);
  }
  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    count();
    return inner_.gather(mine, root);
  }
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    count();
    return inner_.exchange(data, counts);
  }

 private:
  void count() { calls_ += rank() == 0 ? 1 : 0; }

  Comm& inner_;
  std::atomic<int>& calls_;
};

constexpr const char* kFacts =
    ".decl e(x: number, y: number)\n.input e\n.decl s0(x: number, y: number)\n"
    "s0(x, y) :- e(x, y).\n";

FileTexts facts_of(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) text += fmt::format("{}\t{}\n", i, (i * 7 + 3) % rows);
  return {{"e.facts", text}};
}

// Joins, new values, aggregates, relations without columns and without tuples, one after the other.
std::string chain_of(int strata) {
  std::string text = kFacts;
  for (int s = 1; s <= strata; ++s) {
    text += fmt::format(".decl s{}(x: number, y: number)\n", s);
    const auto rule = [&](const char* body) { text += fmt::format(fmt::runtime(body), s, s - 1); };
    if (s % 5 == 1) rule("s{0}(x, z % 50) :- s{1}(x, y), e(y, z).\n");
    if (s % 5 == 2) rule("s{0}(x, y * 3) :- s{1}(x, y), !e(y, x).\n");
    if (s % 5 == 3) rule("s{0}(x, n + y) :- s{1}(x, y), n = count : {{ s{1}(x, _) }}.\n");
    if (s % 5 == 4)
      rule(
          ".decl some{0}()\nsome{0}() :- s{1}(_, _).\n.decl none{0}(x: number)\n"
          "none{0}(x) :- s{1}(x, y), x < y, y < x.\n"
          "s{0}(x, y) :- s{1}(x, y), some{0}().\ns{0}(x, y) :- none{0}(x), s{1}(x, y).\n");
    if (s % 5 == 0) rule("s{0}(x, strlen(cat(to_string(x), \"-\"))) :- s{1}(x, _).\n");
  }
  return text + fmt::format(".output s{}\n", strata);
}

int calls_for(const std::string& text, const FileTexts& facts, int ranks,
              const RunOptions& base = {}) {
  const Program program = compiled(text);
  const auto facts_disk = disk_with(facts);
  std::atomic<int> calls{0};
  const Status done = sim_run(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(facts_disk);
    CallCounter counter(comm, calls);
    RunOptions options = base;
    options.facts = store.get();
    return run_program(counter, program, options, RunHooks{}).status();
  });
  EXPECT_TRUE(done.is_ok()) << done.to_string();
  return calls;
}

TEST(AloneRun, MoreStrataTakeNoMoreCalls) {
  for (const int ranks : {2, 3, 7})
    EXPECT_EQ(calls_for(chain_of(60), facts_of(40), ranks),
              calls_for(chain_of(10), facts_of(40), ranks))
        << ranks << " ranks";
}

TEST(AloneRun, WhoeverWantsNoCopiesGetsNone) {
  EXPECT_GT(calls_for(chain_of(60), facts_of(40), 2, hop_options()),
            calls_for(chain_of(10), facts_of(40), 2, hop_options()) + 100);
}

TEST(AloneRun, EmptyStrataTakeNoCallsEither) {
  const auto program = [](int strata) {
    std::string text = kFacts;
    text += ".decl n0(x: number, y: number)\nn0(x, y) :- e(x, y), e(y, x), x > 1000.\n";
    for (int s = 1; s <= strata; ++s)
      text += fmt::format(
          ".decl n{0}(x: number, y: number)\nn{0}(x, y) :- n{1}(x, y), e(y, x).\n"
          "n{0}(x, z) :- n{0}(x, y), e(y, z).\n",
          s, s - 1);
    return text;
  };
  EXPECT_EQ(calls_for(program(50), facts_of(40), 3), calls_for(program(5), facts_of(40), 3));
}

TEST(AloneRun, TheSameAnswers) {
  for (const int rows : {0, 1, 40, 3000}) {
    SCOPED_TRACE(rows);
    const Program program = compiled(chain_of(12));
    const EngineOutcome expected = run_engine(program, facts_of(rows), 1, {});
    ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
    for (const int ranks : {2, 3, 7})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        const EngineOutcome outcome =
            run_engine(program, facts_of(rows), ranks, {}, {}, {}, nullptr, {}, space);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
        for (std::size_t r = 0; r < expected.report.relations.size(); ++r)
          EXPECT_EQ(outcome.report.relations[r].rows, expected.report.relations[r].rows);
      }
  }
}

// Some strata later, and at the end of the run.
// Ranks that share memory have one dictionary, and those that are alone copies of it.
TEST(AloneRun, NewValuesBesideFewAndManyOthers) {
  std::string text =
      ".decl name(x: number, n: symbol)\n.input name\n.output name\n"
      ".decl few(n: symbol)\nfew(n) :- name(x, n), x < 5.\n"
      ".decl s0(n: symbol, k: unsigned)\ns0(n, 1) :- few(n).\n";
  for (int s = 1; s < 8; ++s)
    text += fmt::format(
        ".decl s{0}(n: symbol, k: unsigned)\n.output s{0}\n"
        "s{0}(cat(n, \"{0}\"), k * 50000) :- s{1}(n, k).\n"
        ".decl all{0}(n: symbol)\nall{0}(cat(\"{0}\", n)) :- name(_, n).\n.output all{0}\n",
        s, s - 1);
  const Program program = compiled(text);
  for (const int names : {10, 20000}) {
    FileTexts facts{{"name.facts", ""}};
    for (int i = 0; i < names; ++i) facts["name.facts"] += fmt::format("{0}\tname {0}\n", i);
    const FileTexts expected = run_engine(program, facts, 1, {}).files;
    for (const int ranks : {2, 3})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        const EngineOutcome outcome =
            run_engine(program, facts, ranks, {}, {}, nullptr, nullptr, {}, space);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected) << names << " names, " << ranks << " ranks";
      }
  }
}

TEST(AloneRun, ErrorsAreToldByAllRanks) {
  const std::string fails = chain_of(6) +
                            ".decl bad(x: number)\nbad(100 / (x - 3)) :- s6(x, _).\n"
                            ".decl after(x: number)\n.output after\nafter(x) :- bad(x).\n";
  const std::string large = fails +
                            ".decl big(x: number, y: number, z: number)\n.output big\n"
                            "big(x, y, z) :- s1(x, _), s1(y, _), s1(z, _), !after(x).\n";
  for (const std::string& text : {fails, large}) {
    const EngineOutcome one = run_engine(compiled(text), facts_of(40), 1, {});
    ASSERT_FALSE(one.status.is_ok());
    for (const int ranks : {2, 3}) {
      const EngineOutcome outcome = run_engine(compiled(text), facts_of(40), ranks, {});
      EXPECT_EQ(outcome.status.code(), one.status.code());
      EXPECT_NE(outcome.status.message().find("case.dl"), std::string::npos)
          << outcome.status.to_string();
      EXPECT_TRUE(outcome.files.empty());
    }
  }
}

// Signals and checkpoints by time are heard between strata, too.
TEST(AloneRun, AStopIsHeardInTime) {
  const Program program = compiled(chain_of(600));
  const auto disk = std::make_shared<MemoryDisk>();
  RunHooks hooks;
  hooks.stop_requested = [] { return StopRequest::kCheckpointAndStop; };
  const EngineOutcome stopped = run_engine(program, facts_of(40), 3, {}, hooks, disk);
  ASSERT_TRUE(stopped.status.is_ok()) << stopped.status.to_string();
  EXPECT_TRUE(stopped.report.stopped_early);
  RunOptions resume;
  resume.checkpoint.resume = ResumePolicy::kResume;
  const EngineOutcome resumed = run_engine(program, facts_of(40), 2, resume, {}, disk);
  ASSERT_TRUE(resumed.status.is_ok()) << resumed.status.to_string();
  EXPECT_EQ(resumed.files, run_engine(program, facts_of(40), 1, {}).files);
}

}  // namespace
}  // namespace stratalog::datalog
