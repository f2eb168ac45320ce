// SPDX-License-Identifier: Apache-2.0
// Explores what a power failure can leave of a recorded run and judges every state by loading it.
// Promises checked: the last acknowledged checkpoint or its complete successor is loaded, tuple by
// tuple; never a mixture, never less; no generation looks committed without being complete; two
// valid ones are kept once there were two; an epoch that was handed out stays handed out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "fault/sample_relations.h"
#include "fault/store_row_files.h"
#include "one_core.h"
#include "place/checkpoint_names.h"
#include "write/crash_image.h"
#include "write/memory_store.h"
#include "write/operation_log.h"

namespace stratalog::sample {

// Whether generations build on each other.
enum class Chaining : std::uint8_t {
  kNone,  // each is whole, and relations change at will
  kGrowth,  // relations grow; every third generation is whole, the others build on the one before
  kFolded,  // likewise, and every third one is the one before and its growth, written as one
};

struct ExplorerSettings {
  std::size_t most_variants_per_prefix = 400;
  std::size_t most_states = ~std::size_t{0};
  std::size_t stop_after_problems = 1;
  Chaining chaining = Chaining::kNone;  // of the runs explored
  // How a reader opens the disk; empty: its root.
  std::function<std::unique_ptr<Store>(std::shared_ptr<MemoryDisk>)> view = {};
};

// What STRATALOG_CRASH_STATES says; how many of these a test sees is its own choice.
inline std::size_t states_wanted() {
  const char* text = std::getenv("STRATALOG_CRASH_STATES");
  return text == nullptr ? 80000 : std::strtoull(text, nullptr, 10);
}

// How many times as much as `make test` a campaign is to see; 1 in tests.
inline std::size_t campaign_factor() { return std::max<std::size_t>(1, states_wanted() / 80000); }

// The size of the relations of crash tests: a few tuples a rank.
inline constexpr std::uint64_t kCrashTestSize = 5;

// A run of `saves` checkpoints by `ranks` ranks. Iteration numbers count from `first_iteration`.
struct RunPlan {
  int ranks = 1;
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  ShardEncoding encoding = ShardEncoding::kCompact;
  int saves = 3;
  std::uint64_t first_iteration = 1;
  ProtocolSteps steps;
  Durability durability = Durability::kFull;
  Chaining chaining = Chaining::kNone;
  OverlapWay overlap = OverlapWay::kNone;  // otherwise begun, and finished afterwards
  LayoutWishes layout = {};  // its mode is ignored
  bool is_pooled = false;  // equal sets are written once: blocks are pools
};

inline WriterOptions crash_options(const RunPlan& plan) {
  WriterOptions options;
  options.block_bytes = 256;
  options.stage_bytes = 4096;
  options.durability = plan.durability;
  options.steps = plan.steps;
  options.backends.rows = store_row_files();
  options.layout = plan.layout;
  options.overlap = plan.overlap;
  if (!plan.steps.includes(ProtocolStep::kKeepTwo)) options.keep_generations = 1;
  return options;
}

inline Status save(CheckpointWriter& writer, const RunPlan& plan, SaveRequest request) {
  if (plan.is_pooled) walk_in_batches(request);
  if (plan.overlap == OverlapWay::kNone) return writer.save(request).status();
  STRATALOG_RETURN_IF_ERROR(writer.begin(request));
  return writer.finish().status();
}

inline Status save_iteration(CheckpointWriter& writer, Comm& comm, const RunPlan& plan,
                             std::uint64_t iteration) {
  if (plan.chaining != Chaining::kNone) {
    const bool ends = iteration % 3 == 0;  // the chain
    const bool whole = writer.base().empty() || (ends && plan.chaining == Chaining::kGrowth);
    SaveRequest request = grown_request(iteration, whole ? 0 : iteration - 1, writer.base(),
                                        kCrashTestSize, comm.rank(), comm.size());
    if (ends && !whole) fold_growth(request, iteration, kCrashTestSize, comm.rank(), comm.size());
    request.mode = plan.mode;
    request.encoding = plan.encoding;
    return save(writer, plan, request);
  }
  const auto relations = sample_relations(iteration, kCrashTestSize);
  SaveRequest request = request_of(relations, comm.rank(), comm.size());
  request.mode = plan.mode;
  request.encoding = plan.encoding;
  request.iteration = iteration;
  if (comm.rank() == 0)
    request.sections.push_back(
        {.name = "symbols", .data = Bytes(40, static_cast<std::byte>(iteration))});
  return save(writer, plan, request);
}

// What one rank of a recorded run does; `comm` and `store` write down what they are asked for.
using RecordedRank =
    std::function<Status(Comm& comm, const std::shared_ptr<Store>& store, OperationLog& log)>;

// Runs `body` on all ranks of `disk` and returns what happened there. `ranks_per_node`: 0 where the
// run knows nothing of nodes.
inline std::vector<Operation> record_ranks(const std::shared_ptr<MemoryDisk>& disk, int ranks,
                                           const RecordedRank& body, int ranks_per_node = 0) {
  OperationLog log(*disk);
  const auto rank = [&](Comm& inner) -> Status {
    const auto comm = make_recording_comm(inner, log);
    const auto memory = open_memory_store(disk);
    return body(*comm, open_recording_store(*memory, log, inner.rank()), log);
  };
  const Status status = ranks_per_node == 0 ? sim_run_on_one_core(ranks, rank)
                                            : sim_nodes_on_one_core(ranks, ranks_per_node, rank);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return log.take();
}

// One rank's part of `plan`. Marks: "opened" once the epoch is claimed, "begin I", "done I".
// `after_save` is called with the iteration that is done.
inline Status save_with_marks(Comm& comm, Store& store, OperationLog& log, const RunPlan& plan,
                              const std::function<Status(std::uint64_t)>& after_save = {}) {
  STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                             open_checkpoint_writer(comm, store, crash_options(plan)));
  if (comm.rank() == 0) log.mark(0, "opened");
  for (int i = 0; i < plan.saves; ++i) {
    const std::uint64_t iteration = plan.first_iteration + static_cast<std::uint64_t>(i);
    log.mark(comm.rank(), "begin " + std::to_string(iteration));
    STRATALOG_RETURN_IF_ERROR(save_iteration(*writer, comm, plan, iteration));
    log.mark(comm.rank(), "done " + std::to_string(iteration));
    if (after_save) STRATALOG_RETURN_IF_ERROR(after_save(iteration));
  }
  return Status::ok();
}

// Carries out `plan` on `disk` and returns what happened.
inline std::vector<Operation> record_run(const std::shared_ptr<MemoryDisk>& disk,
                                         const RunPlan& plan) {
  return record_ranks(disk, plan.ranks,
                      [&](Comm& comm, const std::shared_ptr<Store>& store, OperationLog& log) {
                        return save_with_marks(comm, *store, log, plan);
                      });
}

class CrashExplorer {
 public:
  explicit CrashExplorer(const ExplorerSettings& settings) : settings_(settings) {}

  // Every prefix of `log` longer than `from` on top of `start`, with every choice of lost and torn
  // operations.
  void explore(const MemoryDisk& start, std::span<const Operation> log, std::size_t from) {
    for (std::size_t length = from; length <= log.size(); ++length) {
      if (is_over()) return;
      const bool last = length == log.size();
      const auto& end = last ? Operation{} : log[length];
      // A prefix that ends before a note or a meeting is the same disk as the one after it, which
      // promises more.
      if (!last && (end.kind == OperationKind::kMark || end.kind == OperationKind::kMeet)) continue;
      explore_prefix(start, log.first(length));
    }
  }

  std::size_t states() const { return seen_.size(); }
  const std::vector<std::string>& problems() const { return problems_; }
  bool is_over() const {
    return problems_.size() >= settings_.stop_after_problems ||
           seen_.size() >= settings_.most_states;
  }

 private:
  // What the marks of a prefix promise.
  struct Promise {
    std::uint64_t acknowledged = 0;  // highest iteration that any rank saw done
    std::uint64_t begun = 0;
    std::uint64_t done_saves = 0;
    bool opened = false;
    std::vector<std::string> epochs;  // created before "opened"
  };

  static Promise promise_of(std::span<const Operation> log) {
    Promise promise;
    std::vector<std::string> claimed;
    std::set<std::uint64_t> done;
    for (const Operation& operation : log) {
      if (operation.kind == OperationKind::kCreate && parse_epoch_name(operation.name))
        claimed.push_back(operation.name);
      if (operation.kind != OperationKind::kMark) continue;
      if (operation.name == "opened") promise.epochs = claimed;
      const bool is_done = operation.name.starts_with("done ");
      if (!is_done && !operation.name.starts_with("begin ")) continue;
      std::uint64_t number = 0;
      const std::size_t at = operation.name.find(' ') + 1;
      std::from_chars(operation.name.data() + at, operation.name.data() + operation.name.size(),
                      number);
      if (is_done) {
        promise.acknowledged = std::max(promise.acknowledged, number);
        done.insert(number);
      } else {
        promise.begun = std::max(promise.begun, number);
      }
    }
    promise.done_saves = done.size();
    return promise;
  }

  void explore_prefix(const MemoryDisk& start, std::span<const Operation> prefix) {
    const Promise promise = promise_of(prefix);
    std::vector<std::size_t> floating = floating_operations(prefix);
    // What lies before the first floating operation is the same in every state.
    const std::size_t pinned = floating.empty() ? prefix.size() : floating.front();
    const auto base = crash_image(start, prefix.first(pinned), {}, {});
    const auto log = prefix.subspan(pinned);
    for (std::size_t& f : floating) f -= pinned;
    std::size_t tried = 0;
    const auto attempt = [&](std::span<const std::size_t> dropped, const Tear& tear) {
      if (is_over()) return;
      ++tried;
      judge(*crash_image(*base, log, dropped, tear), promise, prefix.size());
    };
    attempt({}, {});
    attempt(floating, {});
    std::vector<std::size_t> others;
    const auto all_but = [&](std::initializer_list<std::size_t> kept) {
      others.clear();
      for (const std::size_t f : floating)
        if (std::find(kept.begin(), kept.end(), f) == kept.end()) others.push_back(f);
      return std::span<const std::size_t>(others);
    };
    for (const std::size_t f : floating) {
      attempt(std::span(&f, 1), {});
      attempt(all_but({f}), {});
    }
    for (const std::size_t f : floating) {
      const Operation& operation = log[f];
      std::vector<Tear> tears;
      if (operation.kind == OperationKind::kRename)
        tears.push_back({.operation = f, .kind = TearKind::kHalfRename, .keep = 0});
      if (operation.kind == OperationKind::kWrite) {
        const std::uint64_t size = operation.data.size();
        for (const std::uint64_t keep : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{512},
                                         std::uint64_t{4096}, size - 1}) {
          if (keep >= size) continue;
          for (const TearKind kind :
               {TearKind::kPrefix, TearKind::kZeroTail, TearKind::kGarbageTail})
            tears.push_back({.operation = f, .kind = kind, .keep = keep});
        }
      }
      for (const Tear& tear : tears) {
        attempt({}, tear);
        attempt(all_but({f}), tear);
      }
    }
    // All subsets where they are few; otherwise pairs, spread evenly, and random subsets.
    const std::size_t count = floating.size();
    const std::size_t room =
        settings_.most_variants_per_prefix > tried ? settings_.most_variants_per_prefix - tried : 0;
    std::vector<std::size_t> chosen;
    if (count < 12 && (std::size_t{1} << count) <= 2 * room) {
      for (std::size_t subset = 0; subset < (std::size_t{1} << count); ++subset)
        attempt(pick(floating, subset, chosen), {});
      return;
    }
    const std::size_t stride = room == 0 ? 0 : std::max<std::size_t>(1, 2 * count * count / room);
    std::size_t number = 0;
    for (std::size_t a = 0; stride != 0 && a < count; ++a)
      for (std::size_t b = a + 1; b < count; ++b) {
        if (number++ % stride != 0) continue;
        const std::size_t both[] = {floating[a], floating[b]};
        attempt(both, {});
        attempt(all_but({floating[a], floating[b]}), {});
      }
    for (std::size_t i = 0; i < room / 2; ++i)
      attempt(pick(floating, splitmix64(splitmix64(prefix.size()) + i), chosen), {});
  }

  // The floating operations whose bit is set (the first 64).
  static std::span<const std::size_t> pick(const std::vector<std::size_t>& floating,
                                           std::uint64_t bits, std::vector<std::size_t>& chosen) {
    chosen.clear();
    for (std::size_t i = 0; i < floating.size(); ++i)
      if ((bits >> (i % 64) & 1) != 0) chosen.push_back(floating[i]);
    return chosen;
  }

  void judge(MemoryDisk& disk, const Promise& promise, std::size_t length) {
    const std::uint64_t key = splitmix64(
        disk.fingerprint() ^ splitmix64(promise.acknowledged * 1000 + promise.epochs.size()));
    if (!seen_.insert(key).second) return;
    const std::string problem = find_problem(disk, promise);
    if (!problem.empty())
      problems_.push_back("after " + std::to_string(length) + " operations: " + problem);
  }

  // Made once for each iteration: there are far more states than iterations.
  const std::vector<SampleRelation>& relations_at(std::uint64_t iteration) {
    auto& relations = relations_[iteration];
    if (relations.empty())
      relations = settings_.chaining != Chaining::kNone
                      ? grown_relations(iteration, kCrashTestSize)
                      : sample_relations(iteration, kCrashTestSize);
    return relations;
  }

  std::string find_problem(MemoryDisk& disk, const Promise& promise) {
    const std::shared_ptr<MemoryDisk> shared(&disk, [](MemoryDisk*) {});
    const auto store = settings_.view ? settings_.view(shared) : open_memory_store(shared);
    for (const std::string& epoch : promise.epochs)
      if (!store->info(epoch).is_ok()) return "a claimed epoch is lost: " + epoch;
    const auto self = make_self_comm();
    Collected collected;
    std::vector<StoredRelation> stored;
    const auto loaded = load_checkpoint(*self, *store, {}, sink_into(collected, *self, stored));
    if (!loaded.is_ok()) {
      if (promise.acknowledged == 0 && loaded.status().code() == StatusCode::kNotFound) return {};
      return "nothing to load: " + loaded.status().to_string();
    }
    const StoredState& state = loaded.value().state;
    if (state.iteration < promise.acknowledged)
      return "iteration " + std::to_string(promise.acknowledged) + " was acknowledged, " +
             std::to_string(state.iteration) + " came back";
    if (state.iteration > promise.begun) return "an iteration from nowhere";
    const bool grows = settings_.chaining != Chaining::kNone;
    const auto& relations = relations_at(state.iteration);
    for (std::size_t i = 0; i < relations.size(); ++i) {
      const bool same = relations[i].arity == 0
                            ? state.relations[i].rows == relations[i].tuples.size()
                            : collected.tuples(i) == relations[i].tuples;
      if (!same) return "wrong tuples in " + relations[i].name;
    }
    if (collected.duplicates() != 0) return "tuples came twice";
    if (state.sections.at(0).data != Bytes(40, static_cast<std::byte>(state.iteration)))
      return "wrong section";
    if (grows && state.sections.at(1).data != Bytes(60, std::byte{'p'})) return "wrong program";
    if (grows && state.sections.at(2).data != grown_section(state.iteration))
      return "wrong pieces of a section";
    const auto listed = list_generations(*store);
    if (!listed.is_ok()) return "listing failed: " + listed.status().to_string();
    std::uint64_t valid = 0;
    for (const GenerationSummary& generation : listed.value()) {
      if (generation.condition == GenerationCondition::kDamaged)
        return generation.name + " looks committed but is damaged: " + generation.reason;
      if (generation.condition == GenerationCondition::kValid) ++valid;
    }
    if (valid < std::min<std::uint64_t>(2, promise.done_saves)) return "fewer than two are left";
    return {};
  }

  ExplorerSettings settings_;
  std::map<std::uint64_t, std::vector<SampleRelation>> relations_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<std::string> problems_;
};

// Prints how many states were looked at; every problem is a failure.
inline void report(const std::string& what, const CrashExplorer& explorer) {
  std::printf("[ STATES   ] %s: %zu distinct states, %zu problems\n", what.c_str(),
              explorer.states(), explorer.problems().size());
  for (const std::string& problem : explorer.problems()) ADD_FAILURE() << what << ": " << problem;
}

}  // namespace stratalog::sample
