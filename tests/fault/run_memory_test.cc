// SPDX-License-Identifier: Apache-2.0
// Memory that ends on one rank while a program runs: every larger request of a run is refused once,
// for each way to evaluate. That rank ends with NoSpace and the others with an error, or all with
// the answer where it can be had without; none waits for the others, and none ends the process.
#include <gtest/gtest.h>

#include <optional>

#include "failing_memory.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

constexpr int kRanks = 3;
constexpr int kNodes = 700;
// To free what nlohmann-json holds takes memory, and ends the program where there is none: less
// than this.
constexpr std::size_t kLarger = 4096;

const FileTexts& run_facts() {
  static const FileTexts texts = [] {
    std::string edges;
    std::string names;
    for (int i = 0; i < kNodes; ++i) {
      edges += fmt::format("{}\t{}\n{}\t{}\n", i, (i * 7 + 1) % kNodes, i, (i * 31 + 5) % kNodes);
      names += fmt::format("{}\tthe name of node number {}\n", i, i * 7919);
    }
    return FileTexts{{"e.facts", edges}, {"name.facts", names}};
  }();
  return texts;
}

constexpr const char* kInputs =
    ".decl e(x: number, y: number)\n.input e\n.decl name(x: number, s: symbol)\n.input name\n";

// What a run needs memory for: `rules` by features that have code of their own.
struct RunCase {
  const char* name;
  const char* rules;
  void (*set)(RunOptions&) = [](RunOptions&) {};
  AddressSpace space = AddressSpace::kSeparate;
};

constexpr const char* kHops =
    ".decl a(x: number, y: number)\na(x, z) :- e(x, y), e(y, z).\n"
    ".decl b(x: number, s: symbol)\n.output b\nb(x, cat(s, \"!\")) :- a(x, y), name(y, s), x < "
    "90.\n"
    ".decl r(x: number, y: number)\n.output r\nr(x, y) :- e(x, y), x < 60.\n"
    "r(z, y) :- r(x, y), e(x, z), z < 200.\n";
constexpr const char* kChoices =
    ".decl c(x: number, y: number) choice-domain x\n.output c\nc(x, z) :- e(x, y), e(y, z).\n"
    ".decl s(x: number, d: number)\n.output s\ns(x, 0) :- e(x, _), x < 20.\n"
    "s(y, d + 1) :- s(x, d), e(x, y), d < 9.\ns(x, a) <= s(x, b) :- b < a.\n"
    ".decl n(x: number, k: number)\n.output n\nn(x, count : { s(y, x) }) :- e(x, _), x < 40.\n"
    ".decl i(x: number, k: number)\n.output i\ni(x, autoinc()) :- e(x, _).\n";
constexpr const char* kClasses =
    ".decl q(x: number, y: number) eqrel\n.output q\nq(x, x + 350) :- e(x, _), x < 350.\n"
    ".decl p(x: number, y: number)\n.output p\np(x, z) :- q(x, y), e(y, z).\n"
    "p(x, z) :- p(x, y), q(y, z), x < 100.\n";
constexpr const char* kClosure =
    ".decl path(x: number, y: number)\n.output path\npath(x, y) :- e(x, y), x < 200.\n"
    "path(x, z) :- path(x, y), e(y, z).\n"
    ".decl far(x: number, y: number)\n.output far\nfar(x, z) :- e(x, y), path(y, z), x < 30.\n";
// Recursions that could run by pivot and are better run by rounds: one derives little, the other
// has as many keys as tuples.
constexpr const char* kLittleGrowth =
    ".decl near(w: number, z: number)\n.output near\n"
    "near(v, z) :- e(v, w), e(w, x), e(x, y), e(y, z).\n"
    "near(w, z) :- near(w, y), e(y, z), y < 20.\n";
constexpr const char* kSums =
    ".decl s(x: number, y: number)\ns(x, x + 1) :- e(x, _), x < 150.\n"
    ".decl add(x: number, y: number, r: number)\n.output add\nadd(x, 0, x) :- s(x, _).\n"
    "add(x, y, r) :- s(py, y), add(x, py, pr), s(pr, r).\n";
constexpr const char* kRecords =
    ".type L = [head: number, tail: L]\n.decl l(x: number, r: L)\nl(x, [x, nil]) :- e(x, _).\n"
    "l(y, [y, [x, t]]) :- l(x, [x, t]), e(x, y), y < 300, t = nil.\n.output l\n";

void hop(RunOptions& options) { options = hop_options(); }

void guess(RunOptions& options) {
  options.order_slots_min_seeds = 0;
  options.guess_growth_min_seeds = 0;
}

const RunCase kRunCases[] = {
    {"copies and mirrors", kHops},
    {"hops", kHops, hop},
    {"hops, exchange beside", kHops,
     [](RunOptions& options) {
       hop(options);
       options.exchange = ExchangeTime::kBeside;
     }},
    {"threads", kHops, hop, AddressSpace::kShared},
    {"choices", kChoices},
    {"choices, hops", kChoices, hop},
    {"choices, threads", kChoices, hop, AddressSpace::kShared},
    {"classes", kClasses},
    {"classes, dealt", kClasses, hop},
    {"classes, threads", kClasses, hop, AddressSpace::kShared},
    {"pivot", kClosure, [](RunOptions& options) { options.order_slots_min_seeds = 0; }},
    {"pivot, read where it lies", kClosure,
     [](RunOptions& options) { options.read_swept_min_rows = 0; }},
    {"pivot, threads", kClosure, [](RunOptions& options) { options.read_swept_min_rows = 0; },
     AddressSpace::kShared},
    {"pivot, little growth", kLittleGrowth, guess},
    {"pivot, little growth, threads", kLittleGrowth, guess, AddressSpace::kShared},
    {"pivot, many keys", kSums, guess},
    {"pivot, many keys, threads", kSums, guess, AddressSpace::kShared},
    {"records", kRecords},
    {"records, hops", kRecords, hop},
    {"records, threads", kRecords, hop, AddressSpace::kShared},
};

struct RunEnd {
  Status status;
  bool was_refused = false;
  FileTexts files;
};

// Of rank `poor` one larger request is refused, after `granted` ones.
RunEnd run_without_memory(const Program& program, const RunCase& one, int poor,
                          std::uint64_t granted) {
  RunEnd end;
  const auto facts_disk = disk_with(run_facts());
  const auto output_disk = std::make_shared<MemoryDisk>();
  std::vector<Status> statuses(kRanks);
  const Status all = sim_run(
      kRanks,
      [&](Comm& comm) -> Status {
        const auto facts_store = open_memory_store(facts_disk);
        const auto output_store = open_memory_store(output_disk);
        RunOptions options;
        one.set(options);
        options.facts = facts_store.get();
        options.output = output_store.get();
        std::optional<FailingMemory> want;
        if (comm.rank() == poor)
          want.emplace(MemoryEnd{.bytes = kLarger, .granted = granted, .refused = 1});
        Status status;
        try {
          status = run_program(comm, program, options, {}).status();
        } catch (const std::bad_alloc&) {
          status = Status::internal("want of memory left the run");
        }
        if (comm.rank() == poor) end.was_refused = memory_end_of_thread.refused == 0;
        want.reset();
        statuses[static_cast<std::size_t>(comm.rank())] = status;
        return status;
      },
      one.space);
  end.status = poor < 0 ? all : statuses[static_cast<std::size_t>(poor)];
  end.files = files_on(*output_disk);
  // Where it is no part of a verdict, others may fail with what comes of its end.
  for (const Status& status : statuses)
    EXPECT_EQ(status.is_ok(), end.status.is_ok()) << status.to_string();
  return end;
}

class RunMemory : public testing::TestWithParam<RunCase> {};

TEST_P(RunMemory, EveryLargerRequestIsRefusedOnce) {
  const RunCase& one = GetParam();
  const Program program = compiled(std::string(kInputs) + one.rules);
  const RunEnd whole = run_without_memory(program, one, -1, 0);
  ASSERT_TRUE(whole.status.is_ok()) << whole.status.to_string();
  int failures = 0;
  for (const int poor : {0, 2}) {
    std::uint64_t granted = 0;
    std::uint64_t refused = 0;
    for (;; granted += 1 + (granted / 32)) {
      SCOPED_TRACE(fmt::format("rank {}, {} granted", poor, granted));
      const RunEnd end = run_without_memory(program, one, poor, granted);
      if (!end.was_refused) break;
      ++refused;
      if (end.status.is_ok())
        EXPECT_EQ(end.files, whole.files);
      else
        EXPECT_EQ(end.status.code(), StatusCode::kNoSpace) << end.status.to_string();
      if (HasFailure() && ++failures > 30) return;
    }
    EXPECT_GT(refused, 5U) << "requests that can be refused";
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, RunMemory, testing::ValuesIn(kRunCases),
                         [](const testing::TestParamInfo<RunCase>& one) {
                           std::string name;
                           for (const char c : std::string(one.param.name))
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           return name;
                         });

}  // namespace
}  // namespace stratalog::datalog
