// SPDX-License-Identifier: Apache-2.0
// What a program sends and how evenly its tuples lie, on many ranks. Two ways:
//   scaling_runs simulate RANKS PROGRAM FACTS [--dealt]
// runs the engine on RANKS virtual ranks (threads) of this process and counts what every collective
// call carries, and
//   scaling_runs plan RANKS PROGRAM FACTS
// runs it on one rank and asks the planners where each tuple of the results would lie on RANKS
// ranks, which may be any number. Prints one JSON object. --dealt: nothing is copied to all ranks,
// as if relations were too large for it. scaling.py makes tables of it. Numbers only: cells of
// symbols say nothing about the text that they stand for. A program of its own; local.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "datalog/evaluate/bucket_count.h"
#include "datalog/evaluate/engine.h"
#include "datalog/evaluate/placement.h"
#include "datalog/language/compile.h"
#include "datalog/plan/program_plan.h"
#include "route/bucket_map.h"
#include "route/pivot_blocks.h"
#include "write/memory_store.h"
#include "write/store.h"

namespace stratalog::datalog {
namespace {

using Json = nlohmann::json;

// One collective call of one rank.
struct CallRecord {
  const char* name = "";
  std::uint64_t sent = 0;  // bytes to other ranks
  std::uint64_t received = 0;  // bytes from other ranks
  std::uint64_t partners = 0;  // ranks that got something, or from which something came: the larger
};

// Passes everything on and notes what it carries.
class CountingComm final : public Comm {
 public:
  CountingComm(Comm& inner, std::vector<CallRecord>& calls) : inner_(inner), calls_(calls) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Status barrier() override {
    calls_.push_back({.name = "barrier"});
    return inner_.barrier();
  }
  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    calls_.push_back(
        {.name = "allreduce", .sent = values.size_bytes(), .received = values.size_bytes()});
    return inner_.allreduce(values, op);
  }
  Status broadcast(Bytes& data, int root) override {
    STRATALOG_RETURN_IF_ERROR(inner_.broadcast(data, root));
    calls_.push_back({.name = "broadcast",
                      .sent = rank() == root ? data.size() : 0,
                      .received = rank() == root ? 0 : data.size()});
    return {};
  }
  Result<Received> allgather(std::span<const std::byte> mine) override {
    STRATALOG_ASSIGN_OR_RETURN(Received all, inner_.allgather(mine));
    // What comes is passed on, so that each rank sends about as much as it gets. First sizes.
    const std::uint64_t others =
        all.data.size() - mine.size() + ((static_cast<std::uint64_t>(size()) - 1) * 8);
    calls_.push_back({.name = "allgather", .sent = others, .received = others});
    return all;
  }
  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    STRATALOG_ASSIGN_OR_RETURN(Received all, inner_.gather(mine, root));
    const bool is_root = rank() == root;
    calls_.push_back({.name = "gather",
                      .sent = is_root ? 0 : mine.size(),
                      .received = is_root ? all.data.size() - mine.size() : 0});
    return all;
  }
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    CallRecord call{.name = "exchange"};
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    for (int r = 0; r < size(); ++r) {
      if (r == rank() || counts[static_cast<std::size_t>(r)] == 0) continue;
      call.sent += counts[static_cast<std::size_t>(r)];
      ++to;
    }
    STRATALOG_ASSIGN_OR_RETURN(Received all, inner_.exchange(data, counts));
    for (int r = 0; r < size(); ++r) {
      if (r == rank() || all.counts[static_cast<std::size_t>(r)] == 0) continue;
      call.received += all.counts[static_cast<std::size_t>(r)];
      ++from;
    }
    call.partners = std::max(to, from);
    calls_.push_back(call);
    return all;
  }
  Result<ReceivedParcels> exchange_parcels(std::span<const std::byte> data,
                                           std::span<const Parcel> parcels) override {
    STRATALOG_ASSIGN_OR_RETURN(ReceivedParcels all, inner_.exchange_parcels(data, parcels));
    CallRecord call{.name = "exchange"};
    const auto count_others = [&](std::span<const Parcel> some, std::uint64_t& bytes) {
      std::uint64_t others = 0;
      for (const Parcel& parcel : some) {
        if (parcel.rank == rank()) continue;
        bytes += parcel.bytes;
        ++others;
      }
      call.partners = std::max(call.partners, others);
    };
    count_others(parcels, call.sent);
    count_others(all.parcels, call.received);
    calls_.push_back(call);
    return all;
  }

 private:
  Comm& inner_;
  std::vector<CallRecord>& calls_;
};

// The k-th call of all ranks is one call; each is as slow as its busiest rank.
Json sum_of_calls(const std::vector<std::vector<CallRecord>>& by_rank) {
  struct Sum {
    std::uint64_t calls = 0;
    std::uint64_t sent = 0;  // by all ranks
    std::uint64_t slowest = 0;  // of each call the most that a rank sends or receives, summed
    std::uint64_t partners = 0;  // of each call the most partners of a rank, summed
  };
  std::map<std::string, Sum> sums;
  for (std::size_t at = 0; at < by_rank[0].size(); ++at) {
    Sum& sum = sums[by_rank[0][at].name];
    ++sum.calls;
    std::uint64_t slowest = 0;
    std::uint64_t partners = 0;
    for (const auto& calls : by_rank) {
      const CallRecord& call = calls.at(at);
      sum.sent += call.sent;
      slowest = std::max({slowest, call.sent, call.received});
      partners = std::max(partners, call.partners);
    }
    sum.slowest += slowest;
    sum.partners += partners;
  }
  Json json = Json::object();
  for (const auto& [name, sum] : sums)
    json[name] = {{"calls", sum.calls},
                  {"sent_bytes", sum.sent},
                  {"slowest_bytes", sum.slowest},
                  {"partners", sum.partners}};
  return json;
}

struct Case {
  Program program;
  std::string facts;
  RunOptions options;
};

Result<RunReport> run_on(Comm& comm, const Case& one, Store* output) {
  STRATALOG_ASSIGN_OR_RETURN(const auto facts, open_posix_store(one.facts, RootMode::kMustExist));
  RunOptions options = one.options;
  options.facts = facts.get();
  options.output = output;
  return run_program(comm, one.program, options, {});
}

Json strata_of(const RunReport& report) {
  Json strata = Json::array();
  for (const StratumReport& stratum : report.strata) {
    Json entry{
        {"relations", stratum.relations},   {"iterations", stratum.iterations},
        {"tuples", stratum.tuples},         {"exchanged_bytes", stratum.exchanged_bytes},
        {"rebalances", stratum.rebalances}, {"is_pivot", stratum.strategy == Strategy::kPivot}};
    if (stratum.largest_share >= 0) entry["share_of_mean"] = stratum.largest_share * report.ranks;
    strata.push_back(std::move(entry));
  }
  return strata;
}

Result<Json> simulate(const Case& one, int ranks) {
  std::vector<std::vector<CallRecord>> calls(static_cast<std::size_t>(ranks));
  Json json;
  STRATALOG_RETURN_IF_ERROR(sim_run(ranks, [&](Comm& inner) -> Status {
    CountingComm comm(inner, calls[static_cast<std::size_t>(inner.rank())]);
    STRATALOG_ASSIGN_OR_RETURN(const RunReport report, run_on(comm, one, nullptr));
    if (comm.rank() == 0) json["strata"] = strata_of(report);
    return {};
  }));
  json["calls"] = sum_of_calls(calls);
  return json;
}

// The tuples of an output file of numbers.
Result<std::vector<std::vector<Cell>>> tuples_of(MemoryDisk& disk, const std::string& name) {
  std::vector<std::vector<Cell>> tuples;
  for (const auto& [entry, id] : disk.node(MemoryDisk::kRoot).entries) {
    if (entry != name) continue;
    const Bytes& data = disk.node(id).data;
    std::istringstream lines(std::string(reinterpret_cast<const char*>(data.data()), data.size()));
    for (std::string line; std::getline(lines, line);) {
      std::vector<Cell>& tuple = tuples.emplace_back();
      std::istringstream fields(line);
      for (std::int64_t number = 0; fields >> number;) {
        if (!is_narrow(static_cast<std::uint64_t>(number)))
          return Status::invalid_argument(
              fmt::format("{}: expected small numbers, found {}", name, line));
        tuple.push_back(narrow_cell(static_cast<std::uint64_t>(number)));
      }
    }
  }
  return tuples;
}

// Of the mean.
double share_of_mean(const std::vector<std::uint64_t>& rows) {
  const auto all = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
  if (all == 0) return 0;
  return static_cast<double>(*std::max_element(rows.begin(), rows.end())) *
         static_cast<double>(rows.size()) / static_cast<double>(all);
}

// Dealt by the hash of `columns`; as it is, and after rebalancing.
Result<Json> dealt_share(const std::vector<std::vector<Cell>>& tuples,
                         const std::vector<std::uint32_t>& columns, int ranks) {
  const BucketMap even =
      BucketMap::trivial(BucketCount::kBucketsPerRank * static_cast<std::uint32_t>(ranks), ranks);
  std::vector<std::uint64_t> by_bucket(even.buckets(), 0);
  std::vector<std::uint64_t> whole(static_cast<std::size_t>(ranks), 0);
  std::vector<Cell> key(columns.size());
  const auto set_key = [&](const std::vector<Cell>& tuple) {
    for (std::size_t k = 0; k < key.size(); ++k) key[k] = tuple[columns[k]];
  };
  for (const auto& tuple : tuples) {
    set_key(tuple);
    ++by_bucket[even.bucket_of(hash_cells(key))];
    ++whole[static_cast<std::size_t>(owner_of(key, ranks))];
  }
  STRATALOG_ASSIGN_OR_RETURN(const BucketMap map, plan_buckets(by_bucket, ranks));
  std::vector<std::uint64_t> balanced(static_cast<std::size_t>(ranks), 0);
  for (const auto& tuple : tuples) {
    set_key(tuple);
    ++balanced[static_cast<std::size_t>(owner_of(key, tuple, &map, ranks))];
  }
  return Json{{"columns", columns},
              {"share_of_mean_whole", share_of_mean(whole)},
              {"share_of_mean", share_of_mean(map.is_trivial() ? whole : balanced)}};
}

// By blocks of the pivot column, as PivotRelations opens them: at least 64 lanes wide, because a
// word moves as quickly with one lane in use as with all.
Result<Json> pivot_share(const std::vector<std::vector<Cell>>& tuples, std::uint32_t column,
                         int ranks) {
  Cell first = ~Cell{0};
  Cell last = 0;
  for (const auto& tuple : tuples) {
    first = std::min(first, tuple[column]);
    last = std::max(last, tuple[column]);
  }
  if (tuples.empty()) return Json{{"share_of_mean", 0}};
  const std::uint64_t lanes = std::uint64_t{last} - first + 1;
  STRATALOG_ASSIGN_OR_RETURN(const PivotBlocks planned, plan_pivot_blocks(lanes, ranks));
  const std::uint64_t lanes_per_block = std::uint64_t{64} * planned.words_per_row;
  std::vector<std::uint64_t> rows(static_cast<std::size_t>(ranks), 0);
  for (const auto& tuple : tuples)
    ++rows[((tuple[column] - first) / lanes_per_block) % static_cast<std::uint64_t>(ranks)];
  return Json{{"pivot_column", column},
              {"lanes", lanes},
              {"lanes_per_block", lanes_per_block},
              {"blocks", (lanes + lanes_per_block - 1) / lanes_per_block},
              {"share_of_mean", share_of_mean(rows)}};
}

Result<Json> plan_shares(const Case& one, int ranks) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto output = open_memory_store(disk);
  const auto comm = make_self_comm();
  Case metered = one;
  metered.options.metering = Metering::kProfile;
  STRATALOG_ASSIGN_OR_RETURN(const RunReport report, run_on(*comm, metered, output.get()));
  const PlanOptions options{.allow_pivot = one.options.allow_pivot,
                            .allow_sets = one.options.allow_sets};
  STRATALOG_ASSIGN_OR_RETURN(const ProgramPlan plan, plan_program(one.program, options));
  const auto placements = plan_placements(one.program, plan);
  Json relations = Json::object();
  std::uint64_t static_rows = 0;
  for (std::uint32_t s = 0; s < one.program.strata.size(); ++s) {
    if (!one.program.strata[s].is_recursive) {
      static_rows += report.strata.at(s).tuples;
      continue;
    }
    const std::vector<RelationId>& members = one.program.strata[s].relations;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const RelationId r = members[i];
      const Relation& relation = one.program.relations[r];
      STRATALOG_ASSIGN_OR_RETURN(const auto tuples, tuples_of(*disk, relation.name + ".csv"));
      STRATALOG_ASSIGN_OR_RETURN(
          Json share, plan.strata[s].strategy == Strategy::kPivot
                          ? pivot_share(tuples, plan.strata[s].pivot->column[i], ranks)
                          : dealt_share(tuples, placements[r][plan.relations[r].primary], ranks));
      share["tuples"] = tuples.size();
      relations[relation.name] = std::move(share);
    }
  }
  std::uint64_t derivations = 0;
  for (const ProfileRule& rule : report.profile->rules) derivations += rule.derivations;
  return Json{{"relations", std::move(relations)},
              {"derivations", derivations},
              {"static_rows", static_rows}};
}

Result<Program> program_from(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const CompileOutcome outcome = compile({.name = path, .text = text.str()});
  if (!outcome.is_ok()) return Status::invalid_argument(render_all(outcome.diagnostics));
  return *outcome.program;
}

Result<Json> run(const std::vector<std::string>& words) {
  if (words.size() < 4 || words.size() > 5 || (words.size() == 5 && words[4] != "--dealt"))
    return Status::invalid_argument(
        "usage: scaling_runs simulate|plan RANKS PROGRAM FACTS [--dealt]");
  const int ranks = std::atoi(words[1].c_str());
  Case one;
  STRATALOG_ASSIGN_OR_RETURN(one.program, program_from(words[2]));
  one.facts = words[3];
  if (words.size() == 5) one.options.replicate_limit_rows = one.options.mirror_limit_rows = 0;
  auto json = words[0] == "simulate" ? simulate(one, ranks) : plan_shares(one, ranks);
  if (!json.is_ok()) return json.status();
  json.value()["ranks"] = ranks;
  return json;
}

}  // namespace
}  // namespace stratalog::datalog

int main(int argc, char** argv) {
  const auto json = stratalog::datalog::run(std::vector<std::string>(argv + 1, argv + argc));
  if (!json.is_ok()) {
    std::fprintf(stderr, "%s\n", json.status().to_string().c_str());
    return 1;
  }
  std::printf("%s\n", json.value().dump(1).c_str());
  return 0;
}
