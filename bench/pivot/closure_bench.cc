// SPDX-License-Identifier: Apache-2.0
// Closure of one graph by PivotClosure, on one core, and what it cost. Reads edges `u<TAB>v`,
// computes
//   path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z).
// and prints pairs, rounds, CPU seconds (reading apart), peak memory, and bytes per pair at rest.
//   bench_pivot_closure EDGES [--rounds N] [--width 1|2|4|8] [--ranks N] [--no-skew] [--checksum]
//   [--deltas FILE]
//                             [--groups] [--slots] [--restore]
// --rounds N runs N rounds at a time, as an engine with checkpoints does; --ranks N plays the ranks
// one after another;
// --checksum adds up mix(mix(u) ^ v) over all pairs (mix = splitmix64); --deltas compares the size
// of every round with a file of `k<TAB>count`; --groups and --slots walk
// the result, --restore reads it into another closure; each prints its CPU seconds. A
// program of its own; local.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "datalog/pivot/pivot_closure.h"
#include "model/multiset_hash.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

struct Edge {
  std::uint64_t from;
  std::uint64_t to;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

struct Settings {
  std::string edges;
  std::string deltas;
  std::uint64_t rounds = ~std::uint64_t{0};
  RowWidth width = RowWidth::kWords8;
  std::uint32_t ranks = 1;
  SkewPolicy skew = SkewPolicy::kAutomatic;
  bool with_checksum = false;
  bool with_groups = false;
  bool with_slots = false;
  bool with_restore = false;
};

struct Totals {
  std::uint64_t pairs = 0;
  std::uint64_t resting_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t operations = 0;
  std::uint64_t derivations = 0;
  std::uint64_t groups = 0;
  std::vector<std::uint64_t> rounds;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<Edge> read_edges(const std::string& path) {
  std::vector<Edge> edges;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return edges;
  unsigned long long from = 0;
  unsigned long long to = 0;
  while (std::fscanf(file, "%llu%llu", &from, &to) == 2) edges.push_back({from, to});
  std::fclose(file);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

// The graph with dense node numbers in the order of the names.
struct Graph {
  std::vector<std::uint64_t> names;
  std::vector<std::uint32_t> begin;
  std::vector<SlotId> targets;
};

Graph make_graph(const std::vector<Edge>& edges) {
  Graph graph;
  for (const Edge& edge : edges) {
    graph.names.push_back(edge.from);
    graph.names.push_back(edge.to);
  }
  std::sort(graph.names.begin(), graph.names.end());
  graph.names.erase(std::unique(graph.names.begin(), graph.names.end()), graph.names.end());
  const auto number = [&](std::uint64_t name) {
    return static_cast<SlotId>(std::lower_bound(graph.names.begin(), graph.names.end(), name) -
                               graph.names.begin());
  };
  graph.begin.assign(graph.names.size() + 1, 0);
  for (const Edge& edge : edges) {
    ++graph.begin[number(edge.from) + 1];
    graph.targets.push_back(number(edge.to));
  }
  for (std::size_t i = 1; i < graph.begin.size(); ++i) graph.begin[i] += graph.begin[i - 1];
  return graph;
}

template <typename Work>
Status timed(const char* what, Work&& work) {
  const double start = cpu_seconds();
  const Status status = work();
  std::printf("%s %.2f s ", what, cpu_seconds() - start);
  return status;
}

Status close_on_rank(const Graph& graph, const Settings& settings, std::uint32_t rank,
                     Totals& totals) {
  const auto nodes = static_cast<std::uint32_t>(graph.names.size());
  STRATALOG_ASSIGN_OR_RETURN(PivotSpace space, PivotSpace::dense(0, nodes));
  const ExpandSlots expand = [&](std::span<const SlotId> batch, EdgeSink& sink) {
    for (std::uint32_t i = 0; i < batch.size(); ++i)
      for (std::uint32_t e = graph.begin[batch[i]]; e != graph.begin[batch[i] + 1]; ++e)
        sink.add(i, graph.targets[e]);
    return Status::ok();
  };
  PivotClosure closure(std::move(space), expand, {},
                       {.width = settings.width,
                        .ownership = {.rank = rank, .ranks = settings.ranks},
                        .skew = settings.skew});
  for (std::uint32_t node = 0; node < nodes; ++node)
    STRATALOG_RETURN_IF_ERROR(closure.seed_pivot(
        node, std::span(graph.targets)
                  .subspan(graph.begin[node], graph.begin[node + 1] - graph.begin[node])));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t seeds, closure.absorb());
  const auto count = [&](std::size_t round, std::uint64_t rows) {
    if (totals.rounds.size() <= round) totals.rounds.resize(round + 1, 0);
    totals.rounds[round] += rows;
  };
  count(0, seeds);
  for (std::size_t done = 1;;) {
    STRATALOG_ASSIGN_OR_RETURN(
        const RunReport report,
        closure.run({.max_rounds = settings.rounds, .stop = {}, .progress = {}}));
    for (const std::uint64_t rows : report.new_rows) count(done++, rows);
    totals.operations += report.row_operations;
    totals.derivations += report.derivations;
    if (report.is_fixpoint) break;
  }
  totals.pairs += closure.row_count();
  totals.resting_bytes += closure.resting_bytes();
  totals.memory_bytes += closure.memory_bytes();
  if (settings.with_checksum) {
    std::vector<std::uint64_t> mixed(nodes);
    for (std::uint32_t node = 0; node < nodes; ++node) mixed[node] = splitmix64(graph.names[node]);
    STRATALOG_RETURN_IF_ERROR(
        closure.for_each_group(RelationVersion::kTotal, [&](SlotId slot, const SetView& pivots) {
          walk_set(pivots, [&](Cell cell) {
            totals.checksum += splitmix64(mixed[cell] ^ graph.names[slot]);
          });
          return Status::ok();
        }));
  }
  if (settings.with_groups)
    STRATALOG_RETURN_IF_ERROR(timed("groups", [&] {
      return closure.for_each_group(RelationVersion::kTotal, [&](SlotId, const SetView&) {
        ++totals.groups;
        return Status::ok();
      });
    }));
  if (settings.with_slots)
    STRATALOG_RETURN_IF_ERROR(timed("slots", [&] {
      return closure.for_each_slot(RelationVersion::kTotal,
                                   [&](SlotId, std::span<const SetView> pivots) {
                                     totals.groups += pivots.size();
                                     return Status::ok();
                                   });
    }));
  if (settings.with_restore) {
    STRATALOG_ASSIGN_OR_RETURN(PivotSpace same, PivotSpace::dense(0, nodes));
    PivotClosure other(std::move(same), expand, {},
                       {.width = settings.width,
                        .ownership = {.rank = rank, .ranks = settings.ranks},
                        .skew = settings.skew});
    STRATALOG_RETURN_IF_ERROR(timed("restore", [&] {
      return closure.for_each_group(RelationVersion::kTotal,
                                    [&](SlotId slot, const SetView& pivots) {
                                      return other.restore(slot, pivots, RelationVersion::kTotal);
                                    });
    }));
    if (other.row_count() != closure.row_count())
      return Status::internal("the restored closure differs");
  }
  return Status::ok();
}

bool deltas_match(const std::string& path, const std::vector<std::uint64_t>& rounds) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return false;
  unsigned long long k = 0;
  unsigned long long count = 0;
  std::size_t lines = 0;
  bool match = true;
  while (std::fscanf(file, "%llu%llu", &k, &count) == 2) {
    ++lines;
    match = match && k >= 1 && k <= rounds.size() && rounds[k - 1] == count;
  }
  std::fclose(file);
  std::size_t non_empty = rounds.size();
  while (non_empty != 0 && rounds[non_empty - 1] == 0) --non_empty;
  return match && lines == non_empty;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (word == "--rounds") {
      settings.rounds = number();
    } else if (word == "--width") {
      settings.width = static_cast<RowWidth>(number());
    } else if (word == "--ranks") {
      settings.ranks = static_cast<std::uint32_t>(number());
    } else if (word == "--no-skew") {
      settings.skew = SkewPolicy::kNever;
    } else if (word == "--checksum") {
      settings.with_checksum = true;
    } else if (word == "--groups") {
      settings.with_groups = true;
    } else if (word == "--restore") {
      settings.with_restore = true;
    } else if (word == "--slots") {
      settings.with_slots = true;
    } else if (word == "--deltas" && i + 1 < argc) {
      settings.deltas = argv[++i];
    } else {
      settings.edges = word;
    }
  }
  return settings;
}

int run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::vector<Edge> edges = read_edges(settings.edges);
  if (edges.empty()) {
    std::fprintf(stderr, "no edges in '%s'\n", settings.edges.c_str());
    return 2;
  }
  const Graph graph = make_graph(edges);
  Totals totals;
  const double start = cpu_seconds();
  for (std::uint32_t rank = 0; rank < settings.ranks; ++rank) {
    const Status status = close_on_rank(graph, settings, rank, totals);
    if (!status.is_ok()) {
      std::fprintf(stderr, "%s\n", status.to_string().c_str());
      return 1;
    }
  }
  const double cpu = cpu_seconds() - start;
  std::size_t rounds = totals.rounds.size();
  while (rounds != 0 && totals.rounds[rounds - 1] == 0) --rounds;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "pairs %llu rounds %zu cpu %.2f s peak %ld MiB rest %.1f MiB %.3f B/pair accounted %.1f MiB "
      "row-ops %llu derivations %llu\n",
      static_cast<unsigned long long>(totals.pairs), rounds, cpu, usage.ru_maxrss / 1024,
      static_cast<double>(totals.resting_bytes) / 1048576,
      static_cast<double>(totals.resting_bytes) / static_cast<double>(totals.pairs),
      static_cast<double>(totals.memory_bytes) / 1048576,
      static_cast<unsigned long long>(totals.operations),
      static_cast<unsigned long long>(totals.derivations));
  if (settings.with_checksum)
    std::printf("checksum %016llx\n", static_cast<unsigned long long>(totals.checksum));
  if (totals.groups != 0)
    std::printf("groups %llu\n", static_cast<unsigned long long>(totals.groups));
  if (settings.deltas.empty()) return 0;
  const bool match = deltas_match(settings.deltas, totals.rounds);
  std::printf("deltas %s\n", match ? "match" : "DIFFER");
  return match ? 0 : 1;
}

}  // namespace
}  // namespace stratalog

int main(int argc, char** argv) { return stratalog::run(argc, argv); }
