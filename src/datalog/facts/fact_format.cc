// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "datalog/facts/output_clashes.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint32_t kMaxFields = 65536;  // of a line, as a guard against nonsense in columns=

std::string_view action_name(IoAction action) {
  switch (action) {
    case IoAction::kInput:
      return ".input";
    case IoAction::kOutput:
      return ".output";
    case IoAction::kPrintSize:
      return ".printsize";
  }
  return "directive";
}

std::string place_text(const SourcePlace& place) {
  return fmt::format("{}:{}:{}: ", place.file, place.line, place.column);
}

std::optional<std::string_view> parameter(const IoDirective& directive, std::string_view name) {
  const auto found = directive.parameters.find(std::string(name));
  if (found == directive.parameters.end()) return std::nullopt;
  return found->second;
}

Result<bool> read_switch(const Relation& relation, const IoDirective& directive,
                         std::string_view name) {
  const auto value = parameter(directive, name);
  if (!value || *value == "false") return false;
  if (*value == "true") return true;
  return Status::invalid_argument(
      fmt::format("{}: parameter `{}`: expected true or false, found \"{}\"",
                  place_of(relation, directive), name, *value));
}

// \t, \\ and so on, for delimiters that reach us as they were typed.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next == 't' || next == '\\') {
      plain += next == 't' ? '\t' : '\\';
      ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

Status read_delimiter(const Relation& relation, const IoDirective& directive, FactFormat& format) {
  if (format.is_rfc4180) format.delimiter.assign(1, ',');
  const auto value = parameter(directive, "delimiter");
  if (!value) return Status::ok();
  format.delimiter = unescape(*value);
  if (format.delimiter.empty())
    return Status::invalid_argument(
        fmt::format("{}: parameter `delimiter` is empty; fields need something between them",
                    place_of(relation, directive)));
  if (format.delimiter.find('\n') != std::string::npos)
    return Status::invalid_argument(
        fmt::format("{}: parameter `delimiter` holds a line break, which ends tuples",
                    place_of(relation, directive)));
  if (format.is_rfc4180 && format.delimiter.find('"') != std::string::npos)
    return Status::invalid_argument(fmt::format(
        "{}: parameter `delimiter` cannot hold a double quote together with rfc4180=true",
        place_of(relation, directive)));
  return Status::ok();
}

// Whether values of an algebraic type can be in a column, however deep.
bool holds_branches(const Relation& relation, const Attribute& attribute) {
  std::vector<StructureId> todo;
  std::set<StructureId> seen;
  const auto add = [&](const Attribute& a) {
    if (a.structure != kNoStructure && seen.insert(a.structure).second) todo.push_back(a.structure);
  };
  add(attribute);
  while (!todo.empty()) {
    const Structure& structure = (*relation.structures)[todo.back()];
    todo.pop_back();
    if (structure.form != StructureForm::kRecord) return true;
    for (const Attribute& field : structure.branches[0].fields) add(field);
  }
  return false;
}

// Of JSON: lists or objects.
Status read_json_form(const Relation& relation, const IoDirective& directive, FactFormat& format) {
  const auto value = parameter(directive, "format");
  if (!value) return Status::ok();
  if (!is_json(format.medium))
    return Status::invalid_argument(
        fmt::format("{}: parameter `format` has a meaning with IO=jsonfile and IO=json only",
                    place_of(relation, directive)));
  if (*value != "list" && *value != "object")
    return Status::invalid_argument(
        fmt::format("{}: parameter `format`: expected list or object, found \"{}\"",
                    place_of(relation, directive), *value));
  format.is_json_object = *value == "object";
  return Status::ok();
}

// What only text can be.
Status check_text_only(const Relation& relation, const IoDirective& directive,
                       const FactFormat& format) {
  const bool is_sqlite = format.medium == FactMedium::kSqlite;
  const bool is_hdf5 = format.medium == FactMedium::kHdf5 && directive.action == IoAction::kInput;
  if (!is_sqlite && !is_hdf5 && !is_json(format.medium)) return Status::ok();
  for (const char* const name : {"headers", "compress", "rfc4180", "columns", "delimiter"})
    if (const auto value = parameter(directive, name); value && *value != "false")
      return Status::not_supported(fmt::format("{}: parameter `{}` has no meaning for {}",
                                               place_of(relation, directive), name,
                                               is_sqlite ? "SQLite"
                                               : is_hdf5 ? "HDF5"
                                                         : "JSON"));
  return Status::ok();
}

Status read_medium(const Relation& relation, const IoDirective& directive, FactFormat& format) {
  const std::string_view io = parameter(directive, "IO").value_or("file");
  if (io == "file") return Status::ok();
  if (io == "stdout" && directive.action == IoAction::kOutput) {
    format.medium = FactMedium::kConsole;
    return Status::ok();
  }
  if (io == "stdin" && directive.action == IoAction::kInput) {
    if (parameter(directive, "compress").value_or("false") == "true")
      return Status::not_supported(
          fmt::format("{}: standard input is read as plain text; decompress it before, as in "
                      "`zcat FILE | stratalog run ...`",
                      place_of(relation, directive)));
    format.medium = FactMedium::kConsole;
    return Status::ok();
  }
  if (io == "hdf5") {
    for (const Attribute& attribute : relation.attributes)
      if (attribute.structure != kNoStructure)
        return Status::not_supported(fmt::format(
            "{}: IO=hdf5 cannot hold attribute `{}` of type {}, a structured value; choose IO=file",
            place_of(relation, directive), attribute.name, attribute.type_name));
    format.medium = FactMedium::kHdf5;
    return Status::ok();
  }
  const bool is_json_console = io == "json" && directive.action == IoAction::kOutput;
  if (io == "jsonfile" || is_json_console) {
    for (const Attribute& attribute : relation.attributes)
      if (holds_branches(relation, attribute))
        return Status::not_supported(fmt::format(
            "{}: IO={} cannot hold attribute `{}` of type {}, with values of an algebraic type; "
            "choose IO=file",
            place_of(relation, directive), io, attribute.name, attribute.type_name));
    format.medium = is_json_console ? FactMedium::kJsonConsole : FactMedium::kJson;
    return Status::ok();
  }
  if (io == "sqlite") {
    if (relation.attributes.empty())
      return Status::not_supported(
          fmt::format("{}: IO=sqlite cannot hold a relation without attributes; choose IO=file",
                      place_of(relation, directive)));
    format.medium = FactMedium::kSqlite;
    return Status::ok();
  }
  const std::string_view known =
      directive.action == IoAction::kOutput
          ? "file, stdout, stdoutprintsize, jsonfile, json, sqlite and hdf5"
          : "file, stdin, jsonfile, sqlite and hdf5";
  return Status::not_supported(fmt::format("{}: IO={} is not supported; supported are {}",
                                           place_of(relation, directive), io, known));
}

Result<FactFormat> plan_shared(const Relation& relation, const IoDirective& directive) {
  FactFormat format;
  format.name = parameter(directive, "name").value_or(relation.name);
  if (format.name.empty())
    return Status::invalid_argument(
        fmt::format("{}: parameter `name` is empty", place_of(relation, directive)));
  STRATALOG_RETURN_IF_ERROR(read_medium(relation, directive, format));
  STRATALOG_RETURN_IF_ERROR(read_json_form(relation, directive, format));
  STRATALOG_RETURN_IF_ERROR(check_text_only(relation, directive, format));
  STRATALOG_ASSIGN_OR_RETURN(format.has_headers, read_switch(relation, directive, "headers"));
  STRATALOG_ASSIGN_OR_RETURN(format.is_rfc4180, read_switch(relation, directive, "rfc4180"));
  STRATALOG_ASSIGN_OR_RETURN(format.is_compressed, read_switch(relation, directive, "compress"));
  STRATALOG_RETURN_IF_ERROR(read_delimiter(relation, directive, format));
  auto path = parameter(directive, "filename");
  if (!path && format.medium == FactMedium::kSqlite) path = parameter(directive, "dbname");
  if (path) {
    if (path->empty())
      return Status::invalid_argument(
          fmt::format("{}: parameter `filename` is empty", place_of(relation, directive)));
    format.path = *path;
  }
  return format;
}

Status bad_columns(const Relation& relation, const IoDirective& directive, std::string_view value) {
  return Status::invalid_argument(fmt::format(
      "{}: parameter `columns`: expected {} different field numbers from 0 on, separated by colons "
      "(for example \"0:2\"), found \"{}\"",
      place_of(relation, directive), relation.attributes.size(), value));
}

Status read_columns(const Relation& relation, const IoDirective& directive, FactFormat& format) {
  const auto value = parameter(directive, "columns");
  const auto arity = static_cast<std::uint32_t>(relation.attributes.size());
  if (!value || value->empty()) {
    for (std::uint32_t i = 0; i < arity; ++i) format.attribute_of_field.push_back(i);
    return Status::ok();
  }
  format.has_chosen_columns = true;
  std::string_view rest = *value;
  std::uint32_t attribute = 0;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find(':'));
    std::uint32_t field = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), field);
    if (error != std::errc() || end != part.data() + part.size() || field >= kMaxFields)
      return bad_columns(relation, directive, *value);
    if (field >= format.attribute_of_field.size())
      format.attribute_of_field.resize(field + 1, kIgnoredField);
    if (format.attribute_of_field[field] != kIgnoredField)
      return bad_columns(relation, directive, *value);
    format.attribute_of_field[field] = attribute++;
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  return attribute == arity ? Status::ok() : bad_columns(relation, directive, *value);
}

}  // namespace

std::string place_of(const Relation& relation, const IoDirective& directive) {
  return fmt::format("{}{} {}", place_text(directive.place), action_name(directive.action),
                     relation.name);
}

Result<FactFormat> plan_input(const Relation& relation, const IoDirective& directive) {
  STRATALOG_ASSIGN_OR_RETURN(FactFormat format, plan_shared(relation, directive));
  if (format.path.empty())
    format.path = fmt::format("{}.{}", format.name,
                              format.medium == FactMedium::kJson     ? "json"
                              : format.medium == FactMedium::kSqlite ? "sqlite"
                              : format.medium == FactMedium::kHdf5   ? "h5"
                                                                     : "facts");
  STRATALOG_RETURN_IF_ERROR(read_columns(relation, directive, format));
  return format;
}

Result<FactFormat> plan_output(const Relation& relation, const IoDirective& directive) {
  STRATALOG_ASSIGN_OR_RETURN(FactFormat format, plan_shared(relation, directive));
  if (const auto names = parameter(directive, "attributeNames")) {
    if (format.medium != FactMedium::kText && format.medium != FactMedium::kConsole)
      return Status::not_supported(
          fmt::format("{}: parameter `attributeNames` is the line that headers=true writes into "
                      "text, and has no other meaning",
                      place_of(relation, directive)));
    format.header = *names;
  }
  if (!format.path.empty()) return format;
  std::string_view ending = ".csv";
  if (format.is_compressed) ending = ".csv.gz";
  if (format.medium == FactMedium::kHdf5) ending = ".h5";
  if (format.medium == FactMedium::kJson) ending = ".json";
  if (format.medium == FactMedium::kSqlite) ending = ".sqlite";
  format.path = fmt::format("{}{}", format.name, ending);
  return format;
}

namespace {

// "./a//b" is "a/b". What ".." leads to only the file system knows: before it may stand a link.
std::string plainly_spelt(std::string_view path) {
  std::string plain = path.starts_with('/') ? "/" : "";
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (!plain.empty() && plain.back() != '/') plain += '/';
    plain += part;
  }
  return plain;
}

FormatProblem problem_of(const IoDirective& directive, const Status& refused) {
  std::string message = refused.message();
  if (const std::string place = place_text(directive.place); message.starts_with(place))
    message.erase(0, place.size());
  return {.place = directive.place, .message = std::move(message)};
}

}  // namespace

std::vector<FormatProblem> unreadable_inputs(const Program& program) {
  std::vector<FormatProblem> problems;
  for (const Relation& relation : program.relations) {
    for (const IoDirective& directive : relation.io) {
      if (directive.action != IoAction::kInput) continue;
      const Status planned = plan_input(relation, directive).status();
      if (!planned.is_ok()) problems.push_back(problem_of(directive, planned));
    }
  }
  return problems;
}

std::vector<FormatProblem> unwritable_outputs(const Program& program) {
  std::vector<FormatProblem> problems;
  OutputClashes clashes;
  for (const Relation& relation : program.relations) {
    for (const IoDirective& directive : relation.io) {
      if (directive.action != IoAction::kOutput) continue;
      const Result<FactFormat> planned = plan_output(relation, directive);
      if (!planned.is_ok()) {
        problems.push_back(problem_of(directive, planned.status()));
        continue;
      }
      if (!has_file(planned.value())) continue;
      const std::string clash = clashes.add({.file = plainly_spelt(planned.value().path),
                                             .format = planned.value(),
                                             .relation = &relation,
                                             .directive = &directive});
      if (!clash.empty())
        problems.push_back({.place = directive.place,
                            .message = fmt::format(".output {}: {}", relation.name, clash)});
    }
  }
  return problems;
}

}  // namespace stratalog::datalog
