// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/size_estimate.h"
#include "datalog/relation_storage.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace stratalog::datalog {
namespace {

// Values pass through so many rules, one after the other, before the estimate gives up on growing;
// more only in programs where columns of ever larger relations feed each other.
constexpr int kPasses = 16;

class SizeEstimate {
 public:
  // Of `relations`, which `rules` fill.
  SizeEstimate(const Program& program, std::vector<RelationId> relations,
               std::vector<std::uint32_t> rules, std::vector<RelationStatistics>& sizes)
      : program_(program),
        relations_(std::move(relations)),
        rules_(std::move(rules)),
        sizes_(sizes) {
    for (const RelationId r : relations_) {
      if (sizes_[r].known) continue;
      const Relation& relation = program.relations[r];
      if (sizes_[r].distinct.size() == relation.attributes.size()) continue;
      const bool is_unknown = is_read_from_files(relation) || relation.numbering || relation.sums;
      sizes_[r].distinct.assign(relation.attributes.size(), is_unknown ? kUnknownDistinct : 0);
    }
  }

  void run() {
    for (int pass = 0; pass < kPasses && grow(); ++pass) {
    }
    for (const RelationId r : relations_) {
      if (sizes_[r].known) continue;
      // No more than all combinations.
      std::uint64_t rows = 1;
      for (std::uint64_t& distinct : sizes_[r].distinct) {
        distinct = std::max<std::uint64_t>(distinct, 1);
        rows = std::min(kUnknownRows, rows * std::min(distinct, kUnknownRows));
      }
      sizes_[r].rows = std::max(sizes_[r].rows, rows);
    }
  }

 private:
  // One pass over the rules; true if a column has become larger.
  bool grow() {
    bool grew = false;
    std::map<RelationId, std::uint64_t> facts;
    for (const std::uint32_t at : rules_) {
      const Rule& rule = program_.rules[at];
      if (rule.role != RuleRole::kDerives || sizes_[rule.head].known) continue;
      if (rule.body.empty()) ++facts[rule.head];
      const std::map<VariableId, std::uint64_t> domains = domains_of(rule);
      for (std::size_t c = 0; c < rule.head_arguments.size(); ++c) {
        const std::uint64_t values =
            rule.body.empty() ? facts[rule.head] : values_of(rule.head_arguments[c], domains);
        std::uint64_t& distinct = sizes_[rule.head].distinct[c];
        grew |= values > distinct;
        distinct = std::max(distinct, values);
      }
    }
    return grew;
  }

  static std::uint64_t values_of(const Expression& e,
                                 const std::map<VariableId, std::uint64_t>& domains) {
    if (e.kind == ExpressionKind::kConstant) return 1;
    if (e.kind == ExpressionKind::kFunctor) return kUnknownDistinct;
    const auto found = domains.find(e.variable);
    return found == domains.end() ? kUnknownDistinct : found->second;
  }

  // Values that each variable can have: those of the smallest column in which it stands.
  std::map<VariableId, std::uint64_t> domains_of(const Rule& rule) const {
    std::map<VariableId, std::uint64_t> domains;
    for (const Literal& literal : rule.body) {
      if (literal.kind != LiteralKind::kAtom) continue;
      const auto& distinct = sizes_[literal.atom.relation].distinct;
      for (std::size_t c = 0; c < literal.atom.arguments.size(); ++c) {
        const Argument& a = literal.atom.arguments[c];
        if (a.kind != ArgumentKind::kVariable || c >= distinct.size()) continue;
        const auto [at, is_first] = domains.try_emplace(a.variable, distinct[c]);
        if (!is_first) at->second = std::min(at->second, distinct[c]);
      }
    }
    return domains;
  }

  const Program& program_;
  std::vector<RelationId> relations_;
  std::vector<std::uint32_t> rules_;
  std::vector<RelationStatistics>& sizes_;
};

template <typename Number>
std::vector<Number> all_below(std::size_t count) {
  std::vector<Number> numbers(count);
  std::iota(numbers.begin(), numbers.end(), Number{0});
  return numbers;
}

}  // namespace

std::vector<RelationStatistics> estimate_sizes(const Program& program,
                                               std::vector<RelationStatistics> known) {
  known.resize(program.relations.size());
  SizeEstimate(program, all_below<RelationId>(program.relations.size()),
               all_below<std::uint32_t>(program.rules.size()), known)
      .run();
  return known;
}

void estimate_members(const Program& program, const Stratum& stratum,
                      std::vector<RelationStatistics>& sizes) {
  SizeEstimate(program, stratum.relations, stratum.rules, sizes).run();
}

}  // namespace stratalog::datalog
