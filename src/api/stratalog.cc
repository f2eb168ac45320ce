// SPDX-License-Identifier: Apache-2.0
// The C interface: every call with its arguments checked, its verdict as a code and a message kept
// in the handle, and nothing flying through it: exhausted memory, which the standard containers
// report by an exception, becomes STRATALOG_NO_SPACE.
#include "api/stratalog.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "api/program.h"
#include "base/memory_end.h"

namespace {

using stratalog::OnCheckpoints;
using stratalog::Program;
using stratalog::Result;
using stratalog::RunSummary;
using stratalog::Status;
using stratalog::StatusCode;

static_assert(static_cast<int>(StatusCode::kInternal) == STRATALOG_INTERNAL);
static_assert(static_cast<int>(StatusCode::kNotSupported) == STRATALOG_NOT_SUPPORTED);

}  // namespace

struct stratalog_program {  // NOLINT(readability-identifier-naming)
  std::optional<Program> program;
  stratalog::CompileSettings compile_settings;
  stratalog::RunSettings run_settings;
  std::optional<stratalog_collectives> collectives;
  RunSummary summary;
  std::string message;
  std::string notes;
  std::string result;  // what the last call handed out
};

namespace {

stratalog_status tell(stratalog_program* handle, const Status& status) {
  handle->message = status.is_ok() ? "" : status.message();
  return static_cast<stratalog_status>(status.code());
}

// Runs the work of a call.
template <typename Work>
stratalog_status guard(stratalog_program* handle, Work&& work) {
  if (handle == nullptr) return STRATALOG_INVALID_ARGUMENT;
  try {
    return tell(handle, work());
  } catch (const stratalog::NoRoom& reason) {
    handle->message = reason.what();
    return STRATALOG_NO_SPACE;
  } catch (const std::bad_alloc&) {
    handle->message.clear();  // what a message would need may not be there either
    return STRATALOG_NO_SPACE;
  }
}

// The same of a call that needs a compiled program.
template <typename Work>
stratalog_status guard_compiled(stratalog_program* handle, Work&& work) {
  return guard(handle, [&]() -> Status {
    if (!handle->program)
      return Status::invalid_argument("no program: stratalog_compile() comes first");
    return work(*handle->program);
  });
}

Status check_pointer(const void* pointer, const char* what) {
  if (pointer != nullptr) return Status::ok();
  return Status::invalid_argument(fmt::format("{} is a null pointer", what));
}

Status check_relation(const Program& program, size_t relation) {
  if (relation < program.relations().size()) return Status::ok();
  return Status::invalid_argument(fmt::format("there is no relation number {}; the program has {}",
                                              relation, program.relations().size()));
}

// The caller's columns of a relation: as many as it has.
template <typename Column>
Result<std::span<const Column>> column_list(const Program& program, size_t relation,
                                            const Column* columns) {
  STRATALOG_RETURN_IF_ERROR(check_relation(program, relation));
  const size_t arity = program.columns(relation).size();
  if (arity > 0) STRATALOG_RETURN_IF_ERROR(check_pointer(columns, "the list of columns"));
  return std::span(columns, arity);
}

// Bytes that stay with the handle until the next call hands out others.
template <typename Ask>
stratalog_status hand_out(stratalog_program* handle, const char** data, size_t* bytes, Ask&& ask) {
  return guard_compiled(handle, [&](const Program& compiled) -> Status {
    STRATALOG_RETURN_IF_ERROR(check_pointer(static_cast<const void*>(data), "where the bytes go"));
    STRATALOG_RETURN_IF_ERROR(check_pointer(bytes, "where the length goes"));
    STRATALOG_ASSIGN_OR_RETURN(handle->result, ask(compiled));
    *data = handle->result.data();
    *bytes = handle->result.size();
    return Status::ok();
  });
}

using CountRows = Result<std::uint64_t> (Program::*)(size_t relation) const;
stratalog_status count_rows(stratalog_program* handle, size_t relation, uint64_t* rows,
                            CountRows count) {
  return guard_compiled(handle, [&](const Program& compiled) -> Status {
    STRATALOG_RETURN_IF_ERROR(check_pointer(rows, "where the count goes"));
    STRATALOG_ASSIGN_OR_RETURN(*rows, (compiled.*count)(relation));
    return Status::ok();
  });
}

// Leaves the value as it is where the text is refused.
template <typename T>
Status read_number(std::string_view name, std::string_view text, T& value) {
  T found{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc() || end != text.data() + text.size() || found < 0 ||
      !std::isfinite(static_cast<double>(found)))
    return Status::invalid_argument(
        fmt::format("setting {}: expected a number from 0 on, found \"{}\"", name, text));
  value = found;
  return Status::ok();
}

Status read_policy(std::string_view text, OnCheckpoints& policy) {
  const std::map<std::string_view, OnCheckpoints> known = {
      {"refuse", OnCheckpoints::kRefuse},
      {"resume", OnCheckpoints::kResume},
      {"overwrite", OnCheckpoints::kOverwrite}};
  const auto found = known.find(text);
  if (found == known.end())
    return Status::invalid_argument(fmt::format(
        "setting on-checkpoints: expected refuse, resume or overwrite, found \"{}\"", text));
  policy = found->second;
  return Status::ok();
}

Status apply_setting(stratalog_program& handle, std::string_view name, const std::string& value) {
  if (handle.program && (name == "name" || name == "include" || name == "define"))
    return Status::invalid_argument(fmt::format(
        "setting {}: it is for stratalog_compile(), and the program is compiled already", name));
  stratalog::CompileSettings& compile = handle.compile_settings;
  stratalog::RunSettings& run = handle.run_settings;
  if (name == "name") {
    compile.name = value;
  } else if (name == "include") {
    compile.include_directories.push_back(value);
  } else if (name == "define") {
    compile.macros.push_back(value);
  } else if (name == "refusal") {
    (handle.program ? run.refusal : compile.refusal) = value;
  } else if (name == "library") {
    run.libraries.push_back(value);
  } else if (name == "library-folder") {
    run.library_directories.push_back(value);
  } else if (name == "facts") {
    run.facts = value;
  } else if (name == "output") {
    run.output = value;
  } else if (name == "checkpoint") {
    run.checkpoint = value;
  } else if (name == "checkpoint-every") {
    return read_number(name, value, run.checkpoint_every_seconds);
  } else if (name == "on-checkpoints") {
    return read_policy(value, run.on_checkpoints);
  } else if (name == "memory-limit") {
    return read_number(name, value, run.memory_limit_bytes);
  } else if (name == "threads") {
    return read_number(name, value, run.threads);
  } else {
    return Status::not_found(
        fmt::format("there is no setting `{}`; there are name, include, define, library, "
                    "library-folder, facts, output, checkpoint, "
                    "checkpoint-every, on-checkpoints, memory-limit, threads and refusal",
                    name));
  }
  return Status::ok();
}

const stratalog::Column* column_of(const stratalog_program* handle, size_t relation,
                                   size_t column) {
  if (handle == nullptr || !handle->program || relation >= handle->program->relations().size())
    return nullptr;
  const auto& columns = handle->program->columns(relation);
  return column < columns.size() ? &columns[column] : nullptr;
}

Status run_program(stratalog_program& handle, Program& program) {
  handle.notes = program.warnings();
  handle.summary = {};
  handle.run_settings.notice = [&handle](const std::string& line) { handle.notes += line + '\n'; };
  auto ran = program.run(handle.run_settings);
  handle.run_settings.refusal.clear();
  STRATALOG_ASSIGN_OR_RETURN(handle.summary, std::move(ran));
  return Status::ok();
}

}  // namespace

extern "C" {

stratalog_program* stratalog_new(void) { return new (std::nothrow) stratalog_program; }
void stratalog_free(stratalog_program* program) { delete program; }

const char* stratalog_message(const stratalog_program* program) {
  return program == nullptr ? "no program: the handle is a null pointer" : program->message.c_str();
}
const char* stratalog_notes(const stratalog_program* program) {
  return program == nullptr ? "" : program->notes.c_str();
}
const char* stratalog_version(void) { return STRATALOG_VERSION; }

stratalog_status stratalog_set(stratalog_program* program, const char* name, const char* value) {
  return guard(program, [&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(check_pointer(name, "the name of the setting"));
    STRATALOG_RETURN_IF_ERROR(check_pointer(value, "the value of the setting"));
    return apply_setting(*program, name, value);
  });
}

stratalog_status stratalog_compile(stratalog_program* program, const char* text, size_t bytes) {
  return guard(program, [&]() -> Status {
    if (bytes > 0) STRATALOG_RETURN_IF_ERROR(check_pointer(text, "the text of the program"));
    if (program->program)
      return Status::invalid_argument("the handle has a program already; make a new handle");
    const std::string_view source(bytes == 0 ? "" : text, bytes);
    stratalog::CompileSettings settings = program->compile_settings;
    program->compile_settings.refusal.clear();
    if (program->collectives) settings.collectives = &*program->collectives;
    STRATALOG_ASSIGN_OR_RETURN(Program compiled, Program::compile(source, settings));
    program->notes = compiled.warnings();
    program->program = std::move(compiled);
    return Status::ok();
  });
}

size_t stratalog_relation_count(const stratalog_program* program) {
  return program == nullptr || !program->program ? 0 : program->program->relations().size();
}
const char* stratalog_relation_name(const stratalog_program* program, size_t relation) {
  return relation < stratalog_relation_count(program)
             ? program->program->relations()[relation].c_str()
             : nullptr;
}
size_t stratalog_arity(const stratalog_program* program, size_t relation) {
  return relation < stratalog_relation_count(program) ? program->program->columns(relation).size()
                                                      : 0;
}
const char* stratalog_column_name(const stratalog_program* program, size_t relation,
                                  size_t column) {
  const stratalog::Column* found = column_of(program, relation, column);
  return found == nullptr ? nullptr : found->name.c_str();
}
const char* stratalog_column_type(const stratalog_program* program, size_t relation,
                                  size_t column) {
  const stratalog::Column* found = column_of(program, relation, column);
  return found == nullptr ? nullptr : found->type.c_str();
}
stratalog_kind stratalog_column_kind(const stratalog_program* program, size_t relation,
                                     size_t column) {
  const stratalog::Column* found = column_of(program, relation, column);
  return found == nullptr ? STRATALOG_NUMBER : static_cast<stratalog_kind>(found->kind);
}

stratalog_status stratalog_find_relation(stratalog_program* program, const char* name,
                                         size_t* relation) {
  return guard_compiled(program, [&](const Program& compiled) -> Status {
    STRATALOG_RETURN_IF_ERROR(check_pointer(name, "the name of the relation"));
    STRATALOG_RETURN_IF_ERROR(check_pointer(relation, "where the number goes"));
    STRATALOG_ASSIGN_OR_RETURN(*relation, compiled.find(name));
    return Status::ok();
  });
}

stratalog_status stratalog_insert(stratalog_program* program, size_t relation, uint64_t rows,
                                  const stratalog_column_in* columns) {
  return guard_compiled(program, [&](Program& compiled) -> Status {
    STRATALOG_ASSIGN_OR_RETURN(const auto list, column_list(compiled, relation, columns));
    return compiled.insert(relation, rows, list);
  });
}

stratalog_status stratalog_clear(stratalog_program* program, size_t relation) {
  return guard_compiled(program, [&](Program& compiled) -> Status {
    STRATALOG_RETURN_IF_ERROR(check_relation(compiled, relation));
    compiled.clear(relation);
    return Status::ok();
  });
}

stratalog_status stratalog_run(stratalog_program* program) {
  return guard_compiled(program,
                        [&](Program& compiled) { return run_program(*program, compiled); });
}

void stratalog_stop(stratalog_program* program) {
  if (program != nullptr && program->program) program->program->stop();
}

const char* stratalog_console(const stratalog_program* program) {
  return stratalog_console_bytes(program, nullptr);
}
const char* stratalog_console_bytes(const stratalog_program* program, size_t* bytes) {
  if (bytes != nullptr) *bytes = program == nullptr ? 0 : program->summary.console.size();
  return program == nullptr ? "" : program->summary.console.c_str();
}

stratalog_status stratalog_measure(stratalog_program* program, const char* name, double* value) {
  return guard_compiled(program, [&](const Program& /*compiled*/) -> Status {
    STRATALOG_RETURN_IF_ERROR(check_pointer(name, "the name of the measure"));
    STRATALOG_RETURN_IF_ERROR(check_pointer(value, "where the value goes"));
    const RunSummary& summary = program->summary;
    const std::map<std::string_view, double> known = {
        {"seconds", summary.seconds},
        {"peak-memory-bytes", static_cast<double>(summary.peak_memory_bytes)},
        {"checkpoints", static_cast<double>(summary.checkpoints)},
        {"failed-checkpoints", static_cast<double>(summary.failed_checkpoints.size())},
        {"saved", summary.is_saved ? 1.0 : 0.0},
        {"resumed", summary.resumed_from.empty() ? 0.0 : 1.0}};
    const auto found = known.find(name);
    if (found == known.end())
      return Status::not_found(
          fmt::format("there is no measure `{}`; there are seconds, "
                      "peak-memory-bytes, checkpoints, failed-checkpoints, saved and resumed",
                      name));
    *value = found->second;
    return Status::ok();
  });
}

const char* stratalog_failed_checkpoint(const stratalog_program* program, size_t failed) {
  return program == nullptr || failed >= program->summary.failed_checkpoints.size()
             ? nullptr
             : program->summary.failed_checkpoints[failed].c_str();
}

stratalog_status stratalog_count(stratalog_program* program, size_t relation, uint64_t* rows) {
  return count_rows(program, relation, rows, &Program::count);
}

stratalog_status stratalog_count_here(stratalog_program* program, size_t relation, uint64_t* rows) {
  return count_rows(program, relation, rows, &Program::count_here);
}

stratalog_status stratalog_read(stratalog_program* program, size_t relation, uint64_t from,
                                uint64_t rows, const stratalog_column_out* columns) {
  return guard_compiled(program, [&](const Program& compiled) -> Status {
    STRATALOG_ASSIGN_OR_RETURN(const auto list, column_list(compiled, relation, columns));
    return compiled.read(relation, from, rows, list);
  });
}

stratalog_status stratalog_read_cells(stratalog_program* program, size_t relation, uint64_t from,
                                      uint64_t rows, const stratalog_column_out* columns) {
  return guard_compiled(program, [&](const Program& compiled) -> Status {
    STRATALOG_ASSIGN_OR_RETURN(const auto list, column_list(compiled, relation, columns));
    return compiled.read_cells(relation, from, rows, list);
  });
}

stratalog_status stratalog_text(stratalog_program* program, size_t relation, size_t column,
                                uint32_t cell, const char** text, size_t* bytes) {
  return hand_out(program, text, bytes,
                  [&](const Program& compiled) { return compiled.text(relation, column, cell); });
}

stratalog_status stratalog_section(stratalog_program* program, const char* name, const char** data,
                                   size_t* bytes) {
  return hand_out(program, data, bytes, [&](const Program& compiled) -> Result<std::string> {
    STRATALOG_RETURN_IF_ERROR(check_pointer(name, "the name of the section"));
    return compiled.section(name);
  });
}

stratalog_status stratalog_set_collectives(stratalog_program* program,
                                           const stratalog_collectives* collectives) {
  return guard(program, [&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(check_pointer(collectives, "the list of collectives"));
    if (program->program) return program->program->set_collectives(*collectives);
    program->collectives = *collectives;
    return Status::ok();
  });
}

}  // extern "C"
