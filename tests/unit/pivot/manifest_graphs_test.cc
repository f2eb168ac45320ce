// SPDX-License-Identifier: Apache-2.0
// Closures of real graphs: the size of every delta against the data set's files. Skipped where the
// shared data are absent (looked for in $STRATALOG_SHARED, else beside the project); the graphs are
// read through xz.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "datalog/pivot/pivot_closure.h"

namespace stratalog {
namespace {

struct Edge {
  std::uint64_t from;
  std::uint64_t to;
};

std::filesystem::path shared_data() {
  const char* named = std::getenv("STRATALOG_SHARED");
  return std::filesystem::path(named != nullptr ? named : STRATALOG_SOURCE_DIR "/../shared") /
         "data";
}

std::vector<Edge> read_graph(const std::filesystem::path& path) {
  std::vector<Edge> edges;
  std::FILE* pipe = popen(("xz -dc '" + path.string() + "'").c_str(), "r");
  if (pipe == nullptr) return edges;
  unsigned long long from = 0;
  unsigned long long to = 0;
  while (std::fscanf(pipe, "%llu%llu", &from, &to) == 2) edges.push_back({from, to});
  pclose(pipe);
  return edges;
}

std::vector<std::uint64_t> read_deltas(const std::filesystem::path& path) {
  std::vector<std::uint64_t> counts;
  std::ifstream file(path);
  std::uint64_t round = 0;
  std::uint64_t count = 0;
  while (file >> round >> count) counts.push_back(count);
  return counts;
}

class ManifestGraph : public testing::TestWithParam<const char*> {};

TEST_P(ManifestGraph, HasTheDeltasOfTheDataSet) {
  const std::string name = GetParam();
  const auto graph_path = shared_data() / "graphs" / (name + ".tsv.xz");
  if (!std::filesystem::exists(graph_path)) GTEST_SKIP() << name << ": no shared data";
  const std::vector<Edge> edges = read_graph(graph_path);
  if (edges.empty()) GTEST_SKIP() << name << ": no xz";
  std::vector<std::uint64_t> names;
  for (const Edge& edge : edges) {
    names.push_back(edge.from);
    names.push_back(edge.to);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto number = [&](std::uint64_t id) {
    return static_cast<SlotId>(std::lower_bound(names.begin(), names.end(), id) - names.begin());
  };
  std::vector<std::vector<SlotId>> targets(names.size());
  for (const Edge& edge : edges) targets[number(edge.from)].push_back(number(edge.to));

  const std::vector<std::uint64_t> expected =
      read_deltas(shared_data() / "deltas" / (name + ".tsv"));
  for (const std::uint64_t slice : {~std::uint64_t{0}, std::uint64_t{100}}) {
    SCOPED_TRACE(testing::Message() << "slice " << slice);
    PivotClosure closure(PivotSpace::dense(0, static_cast<std::uint32_t>(names.size())).value(),
                         [&](std::span<const SlotId> batch, EdgeSink& sink) {
                           for (std::uint32_t i = 0; i < batch.size(); ++i)
                             for (const SlotId target : targets[batch[i]]) sink.add(i, target);
                           return Status::ok();
                         },
                         {}, {});
    for (std::uint32_t node = 0; node < names.size(); ++node)
      ASSERT_TRUE(closure.seed_pivot(node, targets[node]).is_ok());
    std::vector<std::uint64_t> counts = {closure.absorb().value()};
    for (bool is_fixpoint = false; !is_fixpoint;) {
      const Result<RunReport> report =
          closure.run({.max_rounds = slice, .stop = {}, .progress = {}});
      ASSERT_TRUE(report.is_ok());
      counts.insert(counts.end(), report.value().new_rows.begin(), report.value().new_rows.end());
      is_fixpoint = report.value().is_fixpoint;
    }
    while (!counts.empty() && counts.back() == 0) counts.pop_back();
    EXPECT_EQ(counts, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, ManifestGraph,
                         testing::Values("karate", "lesmis", "jazz", "celegans_metabolic",
                                         "polblogs", "cora-cites", "wordnet30-meronym", "OL.cedge",
                                         "TG.cedge", "cal.cedge", "cti", "wiki-Vote", "airfoil1",
                                         "luxembourg_osm", "fe_sphere"),
                         [](const auto& graph) {
                           std::string name = graph.param;
                           for (char& c : name)
                             if (c == '-' || c == '.') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace stratalog
