// SPDX-License-Identifier: Apache-2.0
// What the oracle says a program on fact files gives, in the form in which the engine's outcome can
// be compared with it: output files, sizes of relations, new tuples by round. For property tests.
// Local.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "property/engine_runner.h"
#include "property/oracle.h"

namespace stratalog::datalog {

inline oracle::Value parse_field(ValueKind kind, const std::string& text) {
  switch (kind) {
    case ValueKind::kNumber:
      return {.bits = static_cast<std::uint64_t>(std::stoll(text)), .text = {}};
    case ValueKind::kUnsigned:
      return {.bits = std::stoull(text), .text = {}};
    case ValueKind::kFloat:
      return {.bits = std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)), .text = {}};
    case ValueKind::kSymbol:
      return {.bits = 0, .text = text};
    case ValueKind::kRecord:
      break;  // the generator makes no records
  }
  return {};
}

inline bool has_directive(const Relation& relation, IoAction action) {
  return std::any_of(relation.io.begin(), relation.io.end(),
                     [&](const IoDirective& d) { return d.action == action; });
}

inline std::vector<oracle::Rows> parse_facts(const Program& program, const FileTexts& files) {
  std::vector<oracle::Rows> facts(program.relations.size());
  for (std::size_t r = 0; r < facts.size(); ++r) {
    const Relation& relation = program.relations[r];
    const auto file = files.find(relation.name + ".facts");
    if (file == files.end() || !has_directive(relation, IoAction::kInput)) continue;
    std::istringstream lines(file->second);
    for (std::string line; std::getline(lines, line);) {
      oracle::Row row;
      std::size_t at = 0;
      for (const Attribute& attribute : relation.attributes) {
        const std::size_t end = std::min(line.find('\t', at), line.size());
        row.push_back(parse_field(attribute.kind, line.substr(at, end - at)));
        at = end + 1;
      }
      facts[r].insert(std::move(row));
    }
  }
  return facts;
}

struct Expected {
  FileTexts files;  // lines in the order of their text
  std::map<std::string, std::uint64_t> rows;
  std::map<std::string, std::vector<std::uint64_t>>
      new_rows;  // by the names of a stratum's relations
};

inline Expected expectation_of(const Program& program, const oracle::Answer& answer) {
  Expected expected;
  for (std::size_t r = 0; r < program.relations.size(); ++r) {
    const Relation& relation = program.relations[r];
    std::multiset<std::string> lines;
    for (const oracle::Row& row : answer.relations[r]) lines.insert(oracle::line_of(relation, row));
    const bool has_output = has_directive(relation, IoAction::kOutput);
    if (has_output)
      expected.files[relation.name + ".csv"] = fmt::format("{}\n", fmt::join(lines, "\n"));
    if (has_output && lines.empty()) expected.files[relation.name + ".csv"].clear();
    expected.rows[relation.name] = answer.relations[r].size();
  }
  for (std::size_t s = 0; s < program.strata.size(); ++s) {
    std::string names;
    for (const RelationId r : program.strata[s].relations)
      names += (names.empty() ? "" : ", ") + program.relations[r].name;
    expected.new_rows[names] = answer.new_rows[s];
  }
  return expected;
}

inline std::string sorted_lines(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  std::string sorted;
  for (const std::string& line : lines) sorted += line + "\n";
  return sorted;
}

// What relations hold, against the oracle. Empty if they agree.
inline std::string difference_of_relations(const Expected& expected, const EngineOutcome& outcome) {
  if (!outcome.status.is_ok()) return "the engine failed: " + outcome.status.to_string() + "\n";
  std::string text;
  for (const auto& [name, lines] : expected.files) {
    const auto file = outcome.files.find(name);
    if (file == outcome.files.end())
      text += name + " is missing\n";
    else if (sorted_lines(file->second) != lines)
      text += fmt::format("--- {}, expected\n{}--- {}, found\n{}", name, lines, name,
                          sorted_lines(file->second));
  }
  for (const RelationSize& size : outcome.report.relations)
    if (size.is_computed && expected.rows.at(size.name) != size.rows)
      text += fmt::format("{}: {} rows reported, expected {}\n", size.name, size.rows,
                          expected.rows.at(size.name));
  return text;
}

}  // namespace stratalog::datalog
