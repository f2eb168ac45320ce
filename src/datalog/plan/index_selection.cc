// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/index_selection.h"

#include <algorithm>
#include <map>
#include <set>

#include "datalog/plan/delta_index.h"

namespace stratalog::datalog {
namespace {

using Columns = std::vector<std::uint32_t>;

bool is_proper_subset(const Columns& a, const Columns& b) {
  return a.size() < b.size() && std::includes(b.begin(), b.end(), a.begin(), a.end());
}

// Maximum matching on the bipartite graph "a is a proper subset of b" by augmenting paths; next[a]
// = b means that b follows a in their chain.
class ChainCover {
 public:
  explicit ChainCover(const std::vector<Columns>& searches) : searches_(searches) {
    const std::size_t n = searches.size();
    next_.assign(n, kNone);
    previous_.assign(n, kNone);
    for (std::size_t a = 0; a < n; ++a) {
      visited_.assign(n, 0);
      augment(a);
    }
  }

  // Chains from the smallest set to the largest.
  std::vector<std::vector<std::size_t>> chains() const {
    std::vector<std::vector<std::size_t>> result;
    for (std::size_t a = 0; a < searches_.size(); ++a) {
      if (previous_[a] != kNone) continue;
      std::vector<std::size_t> chain;
      for (std::size_t s = a; s != kNone; s = next_[s]) chain.push_back(s);
      result.push_back(std::move(chain));
    }
    return result;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  bool augment(
      std::size_t a) {  // NOLINT(misc-no-recursion): depth <= number of searches of one relation
    for (std::size_t b = 0; b < searches_.size(); ++b) {
      if (visited_[b] != 0 || !is_proper_subset(searches_[a], searches_[b])) continue;
      visited_[b] = 1;
      if (previous_[b] == kNone || augment(previous_[b])) {
        next_[a] = b;
        previous_[b] = a;
        return true;
      }
    }
    return false;
  }

  const std::vector<Columns>& searches_;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> previous_;
  std::vector<char> visited_;
};

// Column with the most weight among the wishes of `accesses` that are not in `taken`.
std::optional<std::uint32_t> preferred_last(std::uint32_t arity,
                                            const std::set<std::uint32_t>& taken,
                                            const std::vector<const Access*>& accesses) {
  std::vector<std::uint64_t> votes(arity, 0);
  for (const Access* access : accesses)
    if (access->last_wish && !taken.contains(*access->last_wish))
      votes[*access->last_wish] += access->weight;
  const auto best = std::max_element(votes.begin(), votes.end());
  if (*best == 0) return std::nullopt;
  return static_cast<std::uint32_t>(best - votes.begin());
}

IndexPlan complete_order(std::uint32_t arity, Columns order,
                         const std::vector<const Access*>& accesses) {
  std::set<std::uint32_t> taken(order.begin(), order.end());
  const std::optional<std::uint32_t> last = preferred_last(arity, taken, accesses);
  std::vector<std::uint64_t> asked(arity, 0);
  for (const Access* access : accesses)
    for (const std::uint32_t c : access->asked) asked[c] += access->weight;
  const auto free = static_cast<std::ptrdiff_t>(order.size());
  for (std::uint32_t c = 0; c < arity; ++c)
    if (!taken.contains(c) && c != last) order.push_back(c);
  std::stable_sort(order.begin() + free, order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return asked[a] > asked[b]; });
  if (last) order.push_back(*last);
  return {.order = std::move(order), .searched_lengths = {}};
}

Columns with_bounded(const Access& access) {
  Columns columns = access.bound;
  columns.insert(std::ranges::upper_bound(columns, *access.bounded), *access.bounded);
  return columns;
}

}  // namespace

bool begins_with(const IndexPlan& index, const Columns& columns) {
  Columns prefix(index.order.begin(),
                 index.order.begin() + static_cast<std::ptrdiff_t>(columns.size()));
  std::sort(prefix.begin(), prefix.end());
  return prefix == columns;
}

bool has_next(const IndexPlan& index, const Columns& bound, std::uint32_t column) {
  return bound.size() + 1 < index.order.size() && begins_with(index, bound) &&
         index.order[bound.size()] == column;
}

bool serves_search(const RelationPlan& relation, const IndexPlan& index, const Columns& bound) {
  const std::size_t length = bound.size();
  if (length == 0 || length == index.order.size()) return true;
  if (relation.may_lie_by_pivot && index.searched_lengths.empty()) return false;
  const bool has_directory = length + 1 >= index.order.size() ||
                             std::ranges::binary_search(index.searched_lengths, length);
  return has_directory && columns_of_all_searches(index).size() <= length &&
         begins_with(index, bound);
}

void add_searched_length(IndexPlan& index, std::uint32_t length) {
  auto& lengths = index.searched_lengths;
  if (!std::ranges::binary_search(lengths, length))
    lengths.insert(std::ranges::upper_bound(lengths, length), length);
}

IndexChoice choose_indices(std::uint32_t arity, const std::vector<Access>& accesses) {
  std::set<Columns> distinct;
  for (const Access& access : accesses) {
    if (!access.bound.empty() && access.bound.size() < arity) distinct.insert(access.bound);
    if (access.bounded) distinct.insert(with_bounded(access));
  }
  const std::vector<Columns> searches(distinct.begin(), distinct.end());

  IndexChoice choice;
  for (const std::vector<std::size_t>& chain : ChainCover(searches).chains()) {
    Columns order;
    std::vector<const Access*> served;
    const auto add = [&](const Columns& columns) {
      for (const std::uint32_t c : columns)
        if (std::ranges::find(order, c) == order.end()) order.push_back(c);
    };
    for (const std::size_t s : chain) {
      // A bounded column comes behind those that are searched with it.
      for (const Access& access : accesses)
        if (access.bounded && with_bounded(access) == searches[s]) add(access.bound);
      add(searches[s]);
      for (const Access& access : accesses)
        if (access.bound == searches[s]) served.push_back(&access);
    }
    // Wishes of scans count too, behind those of the searches that the index is there for.
    for (const Access& access : accesses)
      if (access.bound.empty()) served.push_back(&access);
    choice.indices.push_back(complete_order(arity, std::move(order), served));
  }
  if (choice.indices.empty()) {
    std::vector<const Access*> all;
    all.reserve(accesses.size());
    for (const Access& access : accesses) all.push_back(&access);
    choice.indices.push_back(complete_order(arity, {}, all));
  }

  for (const Access& access : accesses) {
    std::optional<std::uint32_t> best;
    for (std::uint32_t i = 0; i < choice.indices.size(); ++i) {
      if (!begins_with(choice.indices[i], access.bound)) continue;
      const bool fulfils =
          access.bounded ? has_next(choice.indices[i], access.bound, *access.bounded)
                         : access.last_wish && choice.indices[i].order.back() == *access.last_wish;
      if (!best || fulfils) best = i;
      if (fulfils) break;
    }
    choice.index_of_access.push_back(best.value_or(0));
    const auto length = static_cast<std::uint32_t>(access.bound.size());
    if (length >= 1) add_searched_length(choice.indices[choice.index_of_access.back()], length);
  }
  return choice;
}

}  // namespace stratalog::datalog
