// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/io_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

enum class ValueForm : std::uint8_t { kText, kFlag, kKind };

struct KnownParameter {
  std::string_view name;
  ValueForm form;
};

constexpr std::array kParameters = {
    KnownParameter{"IO", ValueForm::kKind},
    KnownParameter{"filename", ValueForm::kText},
    KnownParameter{"delimiter", ValueForm::kText},
    KnownParameter{"headers", ValueForm::kFlag},
    KnownParameter{"compress", ValueForm::kFlag},
    KnownParameter{"rfc4180", ValueForm::kFlag},
    KnownParameter{"columns", ValueForm::kText},
    KnownParameter{"format", ValueForm::kText},
    KnownParameter{"name", ValueForm::kText},
    KnownParameter{"attributeNames", ValueForm::kText},
    KnownParameter{"dbname", ValueForm::kText},
};

struct KnownKind {
  std::string_view name;
  bool reads;
  bool writes;
};

constexpr std::array kKinds = {
    KnownKind{"file", true, true},    KnownKind{"stdin", true, false},
    KnownKind{"stdout", false, true}, KnownKind{"stdoutprintsize", false, true},
    KnownKind{"hdf5", true, true},    KnownKind{"jsonfile", true, true},
    KnownKind{"json", false, true},   KnownKind{"sqlite", true, true},
};

std::string_view known_kinds(bool is_input) {
  return is_input ? "file, stdin, jsonfile, sqlite or hdf5"
                  : "file, jsonfile, stdout, stdoutprintsize, json, sqlite or hdf5";
}

void check_kind(const ParameterSyntax& parameter, IoAction action, DiagnosticSink& sink) {
  const bool is_input = action == IoAction::kInput;
  for (const KnownKind& kind : kKinds) {
    if (kind.name != parameter.value) continue;
    if (is_input ? kind.reads : kind.writes) return;
    sink.error(parameter.value_span, fmt::format("IO `{}` cannot be used for {}", kind.name,
                                                 is_input ? "reading" : "writing"))
        .expected = known_kinds(is_input);
    return;
  }
  std::vector<std::string> names;
  for (const KnownKind& kind : kKinds) {
    if (is_input ? kind.reads : kind.writes) names.emplace_back(kind.name);
  }
  DiagnosticDraft& draft =
      sink.error(parameter.value_span, fmt::format("unknown IO `{}`", parameter.value));
  draft.expected = known_kinds(is_input);
  draft.hint = suggest(parameter.value, names);
}

std::string_view value_of(const DirectiveSyntax& directive, std::string_view name,
                          std::string_view otherwise) {
  for (const ParameterSyntax& parameter : directive.parameters)
    if (parameter.key.name == name) return parameter.value;
  return otherwise;
}

void check_columns(const ParameterSyntax& parameter, IoAction action, DiagnosticSink& sink) {
  if (action != IoAction::kInput) {
    sink.error(parameter.key.span, "`columns` has no meaning for writing").hint =
        "it says which fields of a file are read; a relation is written as it is declared";
    return;
  }
  if (parameter.value.empty())
    sink.error(parameter.value_span, "`columns` is empty").expected =
        "numbers of fields, such as \"0:2\"";
}

void check_attribute_names(const ParameterSyntax& parameter, const DirectiveSyntax& directive,
                           DiagnosticSink& sink) {
  if (directive.action == IoAction::kInput) {
    sink.error(parameter.key.span, "`attributeNames` has no meaning for reading").hint =
        "it is the line that `headers=true` writes";
    return;
  }
  // Of other kinds of output, whoever plans them says that they have no such line.
  const std::string_view io = value_of(directive, "IO", "file");
  const bool is_text = io == "file" || io == "stdout";
  if (is_text && value_of(directive, "headers", "false") != "true")
    sink.error(parameter.key.span, "`attributeNames` does nothing without `headers=true`").hint =
        "add `headers=true`: it is the line that this writes";
}

}  // namespace

void check_io_parameters(const DirectiveSyntax& directive, DiagnosticSink& sink) {
  std::set<std::string> seen;
  for (const ParameterSyntax& parameter : directive.parameters) {
    const std::string& name = parameter.key.name;
    if (!seen.insert(name).second) {
      sink.error(parameter.key.span, fmt::format("parameter `{}` is given twice", name));
      continue;
    }
    const auto known = std::find_if(kParameters.begin(), kParameters.end(),
                                    [&](const KnownParameter& k) { return k.name == name; });
    if (known == kParameters.end()) {
      std::vector<std::string> names;
      names.reserve(std::size(kParameters));
      for (const KnownParameter& k : kParameters) names.emplace_back(k.name);
      DiagnosticDraft& draft =
          sink.error(parameter.key.span, fmt::format("unknown IO parameter `{}`", name));
      draft.hint = suggest(name, names);
      if (draft.hint.empty())
        draft.hint = fmt::format("the parameters are {}", fmt::join(names, ", "));
      continue;
    }
    if (known->form == ValueForm::kKind) check_kind(parameter, directive.action, sink);
    if (known->form == ValueForm::kFlag && parameter.value != "true" &&
        parameter.value != "false") {
      sink.error(parameter.value_span,
                 fmt::format("`{}` is true or false, not `{}`", name, parameter.value));
    }
    if (name == "columns") check_columns(parameter, directive.action, sink);
    if (name == "attributeNames") check_attribute_names(parameter, directive, sink);
    if (name == "delimiter" && parameter.value.empty()) {
      sink.error(parameter.value_span, "the delimiter is empty").expected =
          "a text such as \",\" or \"\\t\"";
    }
  }
}

}  // namespace stratalog::datalog::language
