// SPDX-License-Identifier: Apache-2.0
// why and why-not: a proof of a tuple of a checkpoint, or where its rules fail, as text or JSON.
// Local.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/checkpoint_options_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/stored_program.h"
#include "datalog/prove/prove.h"

namespace stratalog::cli {

namespace {

using datalog::Proof;
using datalog::ProofKind;
using datalog::ProofNode;
using nlohmann::json;

ExitCode fail(const Status& status) {
  complain(status);
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotSupported:
      return ExitCode::kProgram;
    case StatusCode::kNoSpace:
      return ExitCode::kMemoryLimit;
    default:
      return exit_code_of(status, Part::kCheckpoint);
  }
}

struct Place {
  std::unique_ptr<Store> store;
  StoredState state;
  datalog::ProveOptions options;
};

Result<Place> open_place(const WhyArguments& arguments) {
  Place place;
  auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok())
    return store.status().with_context(
        "only runs with --checkpoint DIR can be asked; the finished state is kept there");
  place.store = std::move(store).value();
  STRATALOG_ASSIGN_OR_RETURN(const std::string generation,
                             choose_generation(*place.store, arguments.generation));
  STRATALOG_ASSIGN_OR_RETURN(place.state, inspect_generation(*place.store, generation));
  RunArguments run;
  const std::string program = complete_from_options_file(*place.store, run);
  if (!program.empty()) place.options.program_name = program;
  place.options.max_instances = arguments.max_instances;
  return place;
}

ExitCode print_or_fail(const std::string& text) {
  const Status printed = print_result(text);
  if (printed.is_ok()) return ExitCode::kDone;
  complain(printed);
  return ExitCode::kInputOutput;
}

std::string place_text(const datalog::RuleMention& rule) {
  return fmt::format("{}  [{}:{}]", rule.text, rule.file, rule.line);
}

// The tree, a level deeper for each premise; without recursion, since proofs may be very deep.
std::string tree_text(const Proof& proof, std::uint32_t depth) {
  struct Visit {
    std::uint32_t node;
    std::uint32_t level;
  };
  std::string text;
  std::vector<bool> shown(proof.nodes.size(), false);
  std::vector<Visit> waiting{{.node = 0, .level = 0}};
  while (!waiting.empty()) {
    const Visit visit = waiting.back();
    waiting.pop_back();
    const ProofNode& node = proof.nodes[visit.node];
    const std::string indent(2 * std::size_t{visit.level}, ' ');
    text += indent + node.tuple;
    if (node.kind == ProofKind::kInput) text += "  (input)";
    if (node.kind == ProofKind::kFact)
      text += fmt::format("  (fact)  [{}:{}]", node.rule.file, node.rule.line);
    if (node.kind != ProofKind::kDerived) {
      text += '\n';
      continue;
    }
    if (shown[visit.node]) {
      text += "  (derived above)\n";
      continue;
    }
    if (depth > 0 && visit.level >= depth) {
      text += fmt::format("  ... {} more levels; --depth 0 prints all\n", node.height);
      continue;
    }
    shown[visit.node] = true;
    text += fmt::format("\n{}  {}\n", indent, place_text(node.rule));
    for (const std::string& condition : node.conditions)
      text += fmt::format("{}  holds: {}\n", indent, condition);
    for (std::size_t i = node.premises.size(); i-- > 0;)
      waiting.push_back({.node = node.premises[i], .level = visit.level + 1});
  }
  return text;
}

json rule_json(const datalog::RuleMention& rule) {
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
  }
  return "";
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
  return {{"generation", generation}, {"nodes", std::move(nodes)}};
}

std::string why_not_text(const datalog::WhyNot& answer) {
  std::string text = fmt::format("{} is not there\n", answer.tuple);
  if (answer.is_input) text += "  it is not among the tuples that were read\n";
  if (!answer.is_input && answer.rules.empty())
    text += "  no rule derives tuples of its relation\n";
  for (const datalog::FailedRule& failed : answer.rules) {
    text += fmt::format("  {}\n", place_text(failed.rule));
    for (const std::string& literal : failed.satisfied)
      text += fmt::format("    holds: {}\n", literal);
    if (!failed.head_fits)
      text += "    its head is never this tuple\n";
    else if (failed.satisfied.empty())
      text += fmt::format("    fails: {}\n", failed.fails);
    else
      text += fmt::format("    fails: {}, for these values and all others\n", failed.fails);
  }
  return text;
}

json why_not_json(const datalog::WhyNot& answer, const std::string& generation) {
  json rules = json::array();
  for (const datalog::FailedRule& failed : answer.rules)
    rules.push_back({{"rule", rule_json(failed.rule)},
                     {"head_fits", failed.head_fits},
                     {"satisfied", failed.satisfied},
                     {"fails", failed.fails}});
  return {{"generation", generation},
          {"tuple", answer.tuple},
          {"is_input", answer.is_input},
          {"rules", std::move(rules)}};
}

}  // namespace

ExitCode why_command(const WhyArguments& arguments) {
  const auto place = open_place(arguments);
  if (!place.is_ok()) return fail(place.status());
  const StoredState& state = place.value().state;
  const auto proof =
      datalog::why(*place.value().store, state, arguments.goal, place.value().options);
  if (!proof.is_ok()) return fail(proof.status());
  const bool is_text = arguments.style == OutputStyle::kText;
  return print_or_fail(is_text ? tree_text(proof.value(), arguments.depth)
                               : json_text(proof_json(proof.value(), state.generation)));
}

ExitCode why_not_command(const WhyArguments& arguments) {
  const auto place = open_place(arguments);
  if (!place.is_ok()) return fail(place.status());
  const StoredState& state = place.value().state;
  const auto answer =
      datalog::why_not(*place.value().store, state, arguments.goal, place.value().options);
  if (!answer.is_ok()) return fail(answer.status());
  const bool is_text = arguments.style == OutputStyle::kText;
  return print_or_fail(is_text ? why_not_text(answer.value())
                               : json_text(why_not_json(answer.value(), state.generation)));
}

}  // namespace stratalog::cli
