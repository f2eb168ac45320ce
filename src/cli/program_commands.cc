// SPDX-License-Identifier: Apache-2.0
// check and explain: what can be said about a program without running it. Local.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/fact_sizes.h"
#include "cli/json_text.h"
#include "cli/plan_json.h"
#include "cli/program_source.h"
#include "datalog/plan/program_plan.h"

namespace stratalog::cli {

namespace {

using nlohmann::json;

json place_json(const datalog::MarkedPlace& where) {
  return {{"file", where.place.file},
          {"line", where.place.line},
          {"column", where.place.column},
          {"length", where.length}};
}

json diagnostic_json(const datalog::Diagnostic& diagnostic) {
  json notes = json::array();
  for (const datalog::DiagnosticNote& note : diagnostic.notes) {
    json entry = place_json(note.where);
    entry["message"] = note.message;
    notes.push_back(std::move(entry));
  }
  json entry = place_json(diagnostic.where);
  entry["severity"] = diagnostic.severity == datalog::Severity::kError ? "error" : "warning";
  entry["message"] = diagnostic.message;
  entry["expected"] = diagnostic.expected;
  entry["hint"] = diagnostic.hint;
  entry["notes"] = std::move(notes);
  return entry;
}

}  // namespace

ExitCode check_command(const Invocation& invocation) {
  auto compiled = compile_file(invocation.program);
  if (!compiled.is_ok()) return end_with_error(compiled.status(), Part::kProgram);
  datalog::CompileOutcome& outcome = compiled.value();
  add_format_problems(outcome, invocation.program, CheckedFormats::kAll);
  if (invocation.style == OutputStyle::kJson) {
    json list = json::array();
    for (const auto& diagnostic : outcome.diagnostics) list.push_back(diagnostic_json(diagnostic));
    const ExitCode printed =
        end_with_result(json_text({{"ok", outcome.is_ok()}, {"diagnostics", std::move(list)}}));
    if (printed != ExitCode::kDone) return printed;
  } else {
    tell(datalog::render_all(outcome.diagnostics));
  }
  return outcome.is_ok() ? ExitCode::kDone : ExitCode::kProgram;
}

ExitCode explain_command(const Invocation& invocation) {
  auto compiled = compile_file(invocation.program);
  if (!compiled.is_ok()) return end_with_error(compiled.status(), Part::kProgram);
  add_format_problems(compiled.value(), invocation.program, CheckedFormats::kInputs);
  tell(datalog::render_all(compiled.value().diagnostics));
  if (!compiled.value().is_ok()) return ExitCode::kProgram;
  const datalog::Program& program = *compiled.value().program;
  datalog::PlanOptions options;
  options.allow_pivot = invocation.run.allow_pivot;
  options.allow_sets = invocation.run.allow_sets;
  if (!invocation.facts.empty()) {
    auto statistics = measure_facts(program, invocation.facts);
    if (!statistics.is_ok()) return end_with_error(statistics.status(), Part::kFacts);
    options.statistics = std::move(statistics).value();
  }
  auto plan = datalog::plan_program(program, options);
  if (!plan.is_ok()) {
    complain(plan.status());
    return ExitCode::kInternal;
  }
  const std::string text = datalog::explain(program, plan.value());
  if (invocation.style == OutputStyle::kText) return end_with_result(text);
  return end_with_result(json_text(plan_json(program, plan.value())));
}

}  // namespace stratalog::cli
