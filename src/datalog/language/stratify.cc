// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/stratify.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <set>
#include <utility>

namespace stratalog::datalog::language {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

using Graph = std::vector<std::vector<std::uint32_t>>;  // head -> relations it depends on

Graph graph_of(std::size_t relation_count, const std::vector<Dependency>& dependencies) {
  Graph graph(relation_count);
  for (const Dependency& dependency : dependencies) graph[dependency.head].push_back(dependency.on);
  for (std::vector<std::uint32_t>& successors : graph) {
    std::sort(successors.begin(), successors.end());
    successors.erase(std::unique(successors.begin(), successors.end()), successors.end());
  }
  return graph;
}

// Tarjan's algorithm with an explicit stack. Returns the component number of each relation.
class Components {
 public:
  explicit Components(const Graph& graph)
      : graph_(graph),
        order_(graph.size(), kNone),
        low_(graph.size(), kNone),
        component_(graph.size(), kNone) {
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (order_[node] == kNone) explore(node);
    }
  }

  std::uint32_t count() const { return count_; }
  std::uint32_t of(std::uint32_t node) const { return component_[node]; }

 private:
  struct Frame {
    std::uint32_t node;
    std::size_t next = 0;
  };

  void open(std::uint32_t node) {
    order_[node] = low_[node] = next_order_++;
    path_.push_back(node);
    frames_.push_back({node});
  }

  void explore(std::uint32_t start) {
    open(start);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const std::uint32_t node = frame.node;
      if (frame.next < graph_[node].size()) {
        const std::uint32_t successor = graph_[node][frame.next++];
        if (order_[successor] == kNone) {
          open(successor);
        } else if (component_[successor] == kNone) {
          low_[node] = std::min(low_[node], order_[successor]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty())
        low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      if (low_[node] == order_[node]) close(node);
    }
  }

  void close(std::uint32_t root) {
    for (std::uint32_t member = kNone; member != root;) {
      member = path_.back();
      path_.pop_back();
      component_[member] = count_;
    }
    ++count_;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> component_;
  std::vector<std::uint32_t> path_;
  std::vector<Frame> frames_;
  std::uint32_t next_order_ = 0;
  std::uint32_t count_ = 0;
};

// The shortest chain of dependencies from `from` to `to` inside one stratum, as indices into
// `dependencies`.
std::vector<std::size_t> shortest_chain(RelationId from, RelationId to,
                                        const std::set<RelationId>& members,
                                        const std::vector<Dependency>& dependencies) {
  std::map<RelationId, std::vector<std::size_t>> outgoing;
  for (std::size_t i = 0; i < dependencies.size(); ++i) {
    if (members.contains(dependencies[i].head) && members.contains(dependencies[i].on)) {
      outgoing[dependencies[i].head].push_back(i);
    }
  }
  std::map<RelationId, std::size_t> reached_by;
  std::deque<RelationId> waiting{from};
  std::set<RelationId> seen{from};
  while (!waiting.empty() && !seen.contains(to)) {
    const RelationId relation = waiting.front();
    waiting.pop_front();
    for (const std::size_t i : outgoing[relation]) {
      if (!seen.insert(dependencies[i].on).second) continue;
      reached_by[dependencies[i].on] = i;
      waiting.push_back(dependencies[i].on);
    }
  }
  std::vector<std::size_t> chain;
  for (RelationId relation = to; relation != from && reached_by.contains(relation);) {
    chain.push_back(reached_by[relation]);
    relation = dependencies[reached_by[relation]].head;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// Parts of bodies that were split off belong to the relation of the rule.
std::string shown_name(RelationId id, const Declarations& declarations) {
  const std::string& name = declarations.relations[id].name;
  return name.substr(0, name.find('#'));
}

std::string written(const Dependency& dependency, const Declarations& declarations) {
  std::string name = shown_name(dependency.on, declarations);
  switch (dependency.kind) {
    case DependencyKind::kPositive:
      return name;
    case DependencyKind::kNegated:
      return '!' + name;
    case DependencyKind::kAggregated:
      return fmt::format("aggregate({})", name);
    case DependencyKind::kNumbered:
      return fmt::format("autoinc() over {}", name);
  }
  return name;
}

// Null if none is known.
const RefusedAggregate* reason_of(const Dependency& culprit,
                                  const std::vector<RefusedAggregate>& refused) {
  if (culprit.kind != DependencyKind::kAggregated) return nullptr;
  const auto found = std::ranges::find_if(refused, [&](const RefusedAggregate& each) {
    return each.rule.begin <= culprit.span.begin && culprit.span.end <= each.rule.end;
  });
  return found == refused.end() ? nullptr : &*found;
}

void report_cycle(const Dependency& culprit, const std::set<RelationId>& members,
                  const std::vector<Dependency>& dependencies, const RefusedAggregate* reason,
                  const Declarations& declarations, DiagnosticSink& sink) {
  std::string_view what = "aggregate";
  std::string_view before = "aggregated";
  if (culprit.kind == DependencyKind::kNegated) {
    what = "negation";
    before = "negated";
  } else if (culprit.kind == DependencyKind::kNumbered) {
    what = "numbers (`autoinc()` in a recursive rule)";
    before = "numbered";
  }
  const std::string head = shown_name(culprit.head, declarations);
  DiagnosticDraft& draft =
      sink.error(culprit.span, fmt::format("`{}` depends on its own {}", head, what));
  if (reason != nullptr) draft.notes.push_back({reason->where, reason->why});
  std::string cycle = head + " -> " + written(culprit, declarations);
  draft.notes.push_back(
      {culprit.span, fmt::format("`{}` needs `{}` here", head, written(culprit, declarations))});
  constexpr std::size_t kMaxNotes = 12;
  for (const std::size_t i : shortest_chain(culprit.on, culprit.head, members, dependencies)) {
    const Dependency& step = dependencies[i];
    cycle += " -> " + written(step, declarations);
    if (draft.notes.size() < kMaxNotes) {
      draft.notes.push_back(
          {step.span, fmt::format("`{}` needs `{}` here", shown_name(step.head, declarations),
                                  written(step, declarations))});
    }
  }
  draft.hint = fmt::format("the cycle is {}; {} must be complete before it is {}", cycle,
                           shown_name(culprit.on, declarations), before);
}

}  // namespace

std::vector<Stratum> stratify(std::size_t relation_count,
                              const std::vector<Dependency>& dependencies) {
  const Graph graph = graph_of(relation_count, dependencies);
  const Components components(graph);
  std::vector<Stratum> unordered(components.count());
  std::vector<std::set<std::uint32_t>> dependents(components.count());
  std::vector<std::uint32_t> open_count(components.count(), 0);
  for (std::uint32_t relation = 0; relation < relation_count; ++relation) {
    const std::uint32_t component = components.of(relation);
    unordered[component].relations.push_back(relation);
    for (const std::uint32_t on : graph[relation]) {
      if (components.of(on) == component) {
        unordered[component].is_recursive = true;
      } else if (dependents[components.of(on)].insert(component).second) {
        ++open_count[component];
      }
    }
  }
  using Ready = std::pair<RelationId, std::uint32_t>;  // smallest relation, component
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::uint32_t component = 0; component < components.count(); ++component) {
    if (open_count[component] == 0) ready.emplace(unordered[component].relations[0], component);
  }
  std::vector<Stratum> strata;
  while (!ready.empty()) {
    const std::uint32_t component = ready.top().second;
    ready.pop();
    for (const std::uint32_t dependent : dependents[component]) {
      if (--open_count[dependent] == 0) ready.emplace(unordered[dependent].relations[0], dependent);
    }
    strata.push_back(std::move(unordered[component]));
  }
  return strata;
}

bool check_stratification(const std::vector<Stratum>& strata,
                          const std::vector<Dependency>& dependencies,
                          const std::vector<RefusedAggregate>& refused,
                          const Declarations& declarations, DiagnosticSink& sink) {
  bool is_ok = true;
  std::vector<std::size_t> stratum_of(declarations.relations.size(), 0);
  for (std::size_t i = 0; i < strata.size(); ++i) {
    for (const RelationId relation : strata[i].relations) stratum_of[relation] = i;
  }
  std::set<std::pair<RelationId, RelationId>> reported;
  for (const Dependency& dependency : dependencies) {
    if (dependency.kind == DependencyKind::kPositive) continue;
    if (stratum_of[dependency.head] != stratum_of[dependency.on]) continue;
    is_ok = false;
    if (!reported.emplace(dependency.head, dependency.on).second || reported.size() > 50) continue;
    const Stratum& stratum = strata[stratum_of[dependency.head]];
    const std::set<RelationId> members(stratum.relations.begin(), stratum.relations.end());
    report_cycle(dependency, members, dependencies, reason_of(dependency, refused), declarations,
                 sink);
  }
  return is_ok;
}

}  // namespace stratalog::datalog::language
