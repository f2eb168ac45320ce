// SPDX-License-Identifier: Apache-2.0
// Exchanges beside joining: the same answers as after it, whatever travels (tuples, sets, bindings
// that hop, new values, several shards), and pieces that really leave early; whether they do goes
// by nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "comm/sim_nodes.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Joins that hop, sets that are carried, a head in two shards, a negation and computed values.
constexpr const char* kJoins =
    ".decl e(x: number, y: number)\n.input e\n"
    ".decl p(x: number, y: number)\n.output p\n"
    ".decl t(x: number, y: number, z: number)\n.printsize t\n"
    ".decl w(x: number, n: number)\n.printsize w\n"
    "p(x, y) :- e(x, y).\n"
    "p(x, z) :- p(x, y), p(y, z).\n"
    "p(z, x) :- p(x, y), p(z, y), e(z, x).\n"
    "t(x, y, z) :- p(x, y), p(y, z), !e(x, z), x < 60.\n"
    "w(x, y * 70000 + z) :- t(x, y, z), p(z, x).\n";

FileTexts some_graph() {
  std::string text;
  for (int i = 0; i < 150; ++i)
    text += fmt::format("{}\t{}\n{}\t{}\n", i, (i * 7 + 3) % 150, i, (i * i + 1) % 150);
  return {{"e.facts", text}};
}

// Passes everything on and counts what is posted.
class PostCounter final : public Comm {
 public:
  PostCounter(Comm& inner, std::atomic<int>& posts) : inner_(inner), posts_(posts) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Status barrier() override { return inner_.barrier(); }
  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    return inner_.allreduce(values, op);
  }
  Status broadcast(Bytes& data, int root) override { return inner_.broadcast(data, root); }
  Result<Received> allgather(std::span<const std::byte> mine) override {
    return inner_.allgather(mine);
  }
  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    return inner_.gather(mine, root);
  }
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    return inner_.exchange(data, counts);
  }
  Result<Topology> topology() override { return inner_.topology(); }
  bool has_post() const override { return true; }
  bool may_post() override { return inner_.may_post(); }
  Status post(int to, Bytes data) override {
    ++posts_;
    return inner_.post(to, std::move(data));
  }
  Result<std::optional<Post>> take_post() override { return inner_.take_post(); }
  Result<Bytes> await_post(int sender) override { return inner_.await_post(sender); }

 private:
  Comm& inner_;
  std::atomic<int>& posts_;
};

TEST(ExchangeTime, TheSameAnswersBesideAndAfter) {
  const Program program = compiled(kJoins);
  const EngineOutcome expected = run_engine(program, some_graph(), 1, {});
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  for (const int ranks : {2, 3, 7}) {
    for (const ExchangeTime time : {ExchangeTime::kBeside, ExchangeTime::kAfter}) {
      for (const bool sets : {true, false}) {
        SCOPED_TRACE(fmt::format("{} ranks, {}, sets {}", ranks,
                                 time == ExchangeTime::kBeside ? "beside" : "after", sets));
        RunOptions options;
        options.exchange = time;
        options.allow_sets = sets;
        options.mirror_limit_rows = 0;
        options.replicate_limit_rows = 0;
        const EngineOutcome outcome = run_engine(program, some_graph(), ranks, options);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
        ASSERT_EQ(outcome.report.print_sizes.size(), 2U);
        for (std::size_t i = 0; i < 2; ++i)
          EXPECT_EQ(outcome.report.print_sizes[i].rows, expected.report.print_sizes[i].rows);
        EXPECT_EQ(outcome.report.exchanges_beside, time == ExchangeTime::kBeside);
      }
    }
  }
}

// The triples of a complete graph, on two ranks of which as many as given share a node: how many
// pieces leave before the rule that derives them has ended.
int posts_of_triples(ExchangeTime time, int ranks_per_node) {
  constexpr int kNodes = 128;
  constexpr int kApart = 70'001;  // so that sets of nodes take room
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n"
      ".decl t(x: number, y: number, z: number)\n.printsize t\n"
      "t(z, x, y) :- e(x, y), e(y, z).\n");
  std::string text;
  for (int x = 0; x < kNodes; ++x)
    for (int y = 0; y < kNodes; ++y) text += fmt::format("{}\t{}\n", x * kApart, y * kApart);
  const auto facts = disk_with({{"e.facts", text}});
  std::atomic<int> posts = 0;
  const Status status = sim_run_on_nodes(2, ranks_per_node, [&](Comm& comm) -> Status {
    PostCounter counter(comm, posts);
    const auto store = open_memory_store(facts);
    RunOptions options;
    options.facts = store.get();
    options.exchange = time;
    options.allow_sets = false;  // more to send
    STRATALOG_ASSIGN_OR_RETURN(const RunReport report, run_program(counter, program, options, {}));
    const std::uint64_t triples = report.print_sizes.at(0).rows;
    return triples == kNodes * kNodes * kNodes ? Status::ok() : Status::internal("lost triples");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return posts;
}

TEST(ExchangeTime, MuchLeavesWhileRulesRun) {
  EXPECT_GT(posts_of_triples(ExchangeTime::kBeside, 2), 4);
  EXPECT_EQ(posts_of_triples(ExchangeTime::kAfter, 1), 0);
}

TEST(ExchangeTime, GoesByNodes) {
  EXPECT_EQ(posts_of_triples(ExchangeTime::kAuto, 2), 0) << "one node";
  EXPECT_GT(posts_of_triples(ExchangeTime::kAuto, 1), 4) << "two nodes";
}

}  // namespace
}  // namespace stratalog::datalog
