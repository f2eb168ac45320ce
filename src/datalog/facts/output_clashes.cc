// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/output_clashes.h"

#include <fmt/format.h>

#include <utility>

namespace stratalog::datalog {
namespace {

bool is_same_output(const PlacedOutput& one, const PlacedOutput& other) {
  return one.relation == other.relation && one.directive->parameters == other.directive->parameters;
}

std::string told_of(const PlacedOutput& output) {
  const SourcePlace& place = output.directive->place;
  return fmt::format("`.output {}` at {}:{}:{}", output.relation->name, place.file, place.line,
                     place.column);
}

std::string folded(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

std::string OutputClashes::add(const PlacedOutput& output) {
  const auto [entry, is_new] = first_of_file_.try_emplace(output.file, output);
  const PlacedOutput& first = entry->second;
  if (!is_new && is_same_output(output, first)) return {};
  const bool is_table = output.format.medium == FactMedium::kSqlite;
  if (is_new || (is_table && first.format.medium == FactMedium::kSqlite))
    return is_table ? add_table(output) : std::string();
  return fmt::format(
      "the file \"{}\" is that of {} as well, and one would overwrite the other; choose another "
      "filename",
      output.file, told_of(first));
}

std::string OutputClashes::add_table(const PlacedOutput& output) {
  // The table of numbers and the view (sqlite_facts.h).
  for (const std::string& name : {output.format.name, "_" + output.format.name}) {
    const auto [entry, is_new] = owner_of_table_.try_emplace({output.file, folded(name)}, output);
    const PlacedOutput& owner = entry->second;
    if (!is_new && !is_same_output(output, owner))
      return fmt::format(
          "the table or view \"{}\" of the database \"{}\" is that of {} as well, and one would "
          "overwrite the other; choose another name (name=\"...\") or another filename",
          name, output.file, told_of(owner));
  }
  return {};
}

}  // namespace stratalog::datalog
