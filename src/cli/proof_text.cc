// SPDX-License-Identifier: Apache-2.0
#include "cli/proof_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <vector>

namespace stratalog::cli {
namespace {

using datalog::Proof;
using datalog::ProofKind;
using datalog::ProofNode;
using datalog::RuleMention;
using nlohmann::json;

// Tuples further to the right do not push the column of reasons any further.
constexpr std::size_t kWidestTree = 72;

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string place(const RuleMention& rule) { return fmt::format("{}:{}", rule.file, rule.line); }

// Rules get numbers in the order in which the tree first names them.
class RuleList {
 public:
  std::string name(const RuleMention& rule) {
    const auto [at, is_new] =
        numbers_.try_emplace({rule.file, rule.line, rule.text}, rules_.size() + 1);
    if (is_new) rules_.push_back(&rule);
    return fmt::format("rule {}", at->second);
  }
  std::string text() const {
    std::size_t width = 0;
    for (const RuleMention* rule : rules_) width = std::max(width, display_width(place(*rule)));
    std::string text = rules_.empty() ? "" : "\n";
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const std::string at = place(*rules_[i]);
      text += fmt::format("rule {}  {}{}  {}\n", i + 1, at,
                          std::string(width - display_width(at), ' '), rules_[i]->text);
    }
    return text;
  }

 private:
  std::map<std::tuple<std::string, std::uint32_t, std::string>, std::size_t> numbers_;
  std::vector<const RuleMention*> rules_;
};

// Without recursion, since proofs may be very deep.
class Tree {
 public:
  Tree(const Proof& proof, std::uint32_t depth)
      : proof_(proof), depth_(depth), shown_(proof.nodes.size(), false) {}

  std::string text() {
    waiting_.push_back({.node = 0, .level = 0, .branch = "", .below = ""});
    while (!waiting_.empty()) {
      const Visit visit = std::move(waiting_.back());
      waiting_.pop_back();
      show(visit);
    }
    std::size_t width = 0;
    for (const Line& line : lines_)
      if (const std::size_t own = display_width(line.left); own <= kWidestTree)
        width = std::max(width, own);
    std::string text;
    for (const Line& line : lines_) {
      const std::size_t own = display_width(line.left);
      text += line.left + std::string(2 + (own < width ? width - own : 0), ' ') + line.right + '\n';
    }
    text += rules_.text();
    if (!proof_.is_lowest) text += "\nthe search gave up here; there may be lower proofs\n";
    return text;
  }

 private:
  struct Visit {
    std::uint32_t node = 0;
    std::uint32_t level = 0;
    std::string branch;  // what stands before the tuple
    std::string below;  // what stands before its premises
  };
  struct Line {
    std::string left;
    std::string right;
  };

  void show(const Visit& visit) {
    const ProofNode& node = proof_.nodes[visit.node];
    const bool is_leaf = datalog::is_leaf(node.kind);
    const bool is_cut = depth_ > 0 && visit.level >= depth_ && !is_leaf && !shown_[visit.node];
    lines_.push_back({.left = visit.branch + node.tuple, .right = reason(visit, is_cut)});
    if (is_leaf || is_cut || shown_[visit.node]) return;
    shown_[visit.node] = true;
    const std::size_t count = node.premises.size();
    for (std::size_t i = count; i-- > 0;) {
      const bool is_last = i + 1 == count && node.conditions.empty();
      waiting_.push_back({.node = node.premises[i],
                          .level = visit.level + 1,
                          .branch = visit.below + (is_last ? "└─ " : "├─ "),
                          .below = visit.below + (is_last ? "   " : "│  ")});
    }
    if (!node.conditions.empty()) show_conditions(visit, node);
  }

  // Conditions stand before the premises if these have branches of their own below them.
  void show_conditions(const Visit& visit, const ProofNode& node) {
    const std::size_t count = node.conditions.size();
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_last = i + 1 == count && node.premises.empty();
      lines_.push_back(
          {.left = visit.below + (is_last ? "└─ " : "├─ ") + node.conditions[i], .right = "holds"});
    }
    if (node.premises.empty()) return;
    Visit& last = waiting_[waiting_.size() - node.premises.size()];
    last.branch = visit.below + "└─ ";
    last.below = visit.below + "   ";
  }

  std::string reason(const Visit& visit, bool is_cut) {
    const ProofNode& node = proof_.nodes[visit.node];
    if (node.kind == ProofKind::kInput) return "input";
    if (node.kind == ProofKind::kFact) return "fact " + place(node.rule);
    if (node.kind == ProofKind::kLeastUpperBound)
      return "least upper bound of the values that rules give for this key";
    const std::string by =
        node.kind == ProofKind::kEquivalent ? "equivalence" : rules_.name(node.rule);
    if (is_cut) return fmt::format("{}, {} more levels (--depth 0 shows all)", by, node.height);
    return shown_[visit.node] ? by + ", derived above" : by;
  }

  const Proof& proof_;
  std::uint32_t depth_;
  std::vector<bool> shown_;
  std::vector<Visit> waiting_;
  std::vector<Line> lines_;
  RuleList rules_;
};

json rule_json(const RuleMention& rule) {
  return {{"text", rule.text}, {"file", rule.file}, {"line", rule.line}};
}

std::string_view kind_name(ProofKind kind) {
  switch (kind) {
    case ProofKind::kInput:
      return "input";
    case ProofKind::kFact:
      return "fact";
    case ProofKind::kDerived:
      return "derived";
    case ProofKind::kEquivalent:
      return "equivalent";
    case ProofKind::kLeastUpperBound:
      return "least upper bound";
  }
  return "";
}

}  // namespace

std::string proof_text(const Proof& proof, std::uint32_t depth) {
  return Tree(proof, depth).text();
}

namespace {

std::string prefixed(std::string_view prefix, const std::string& text) {
  return text.empty() ? text : std::string(prefix) + text;
}

std::string remark(const datalog::FailedRule& failed) {
  if (!failed.found.empty())
    return fmt::format("  (it is {}{})", failed.found,
                       failed.satisfied.empty() ? "" : "; no other values do better");
  return failed.satisfied.empty() ? "" : "  (for these values and all others)";
}

}  // namespace

std::string why_not_text(const datalog::WhyNot& answer) {
  std::string text = fmt::format("{} is not there\n", answer.tuple);
  if (!answer.note.empty()) text += answer.note + '\n';
  if (answer.is_input) text += "it is not among the tuples that were read\n";
  if (!answer.is_input && answer.rules.empty()) text += "no rule derives tuples of its relation\n";
  std::string before;  // the rule of the entry before: several stand in one with `;`
  for (const datalog::FailedRule& failed : answer.rules) {
    const std::string rule = fmt::format("{}  {}\n", place(failed.rule), failed.rule.text);
    text += rule == before ? "  or\n" : "\n" + rule;
    before = rule;
    if (failed.is_fact) {
      text += "  stands in the program\n";
      continue;
    }
    for (const std::string& literal : failed.satisfied) text += "  holds  " + literal + '\n';
    if (!failed.head_fits)
      text += "  its head is never this tuple" + prefixed(": ", failed.misfit) + '\n';
    else if (failed.fails.empty())
      text += "  all of it holds\n";
    else
      text += "  fails  " + failed.fails + remark(failed) + '\n';
  }
  return text;
}

json proof_json(const Proof& proof, const std::string& generation) {
  json nodes = json::array();
  for (const ProofNode& node : proof.nodes)
    nodes.push_back({{"tuple", node.tuple},
                     {"kind", kind_name(node.kind)},
                     {"height", node.height},
                     {"rule", node.kind == ProofKind::kInput ? json() : rule_json(node.rule)},
                     {"premises", node.premises},
                     {"conditions", node.conditions}});
  return {{"generation", generation}, {"is_lowest", proof.is_lowest}, {"nodes", std::move(nodes)}};
}

json why_not_json(const datalog::WhyNot& answer, const std::string& generation) {
  json rules = json::array();
  for (const datalog::FailedRule& failed : answer.rules)
    rules.push_back({{"rule", rule_json(failed.rule)},
                     {"is_fact", failed.is_fact},
                     {"head_fits", failed.head_fits},
                     {"misfit", failed.misfit.empty() ? json() : json(failed.misfit)},
                     {"satisfied", failed.satisfied},
                     {"fails", failed.fails.empty() ? json() : json(failed.fails)},
                     {"found", failed.found.empty() ? json() : json(failed.found)}});
  return {{"generation", generation},
          {"tuple", answer.tuple},
          {"is_input", answer.is_input},
          {"note", answer.note},
          {"rules", std::move(rules)}};
}

}  // namespace stratalog::cli
