// SPDX-License-Identifier: Apache-2.0
#include "cli/program_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/shared_pointers.h"
#include "datalog/facts/fact_format.h"

namespace stratalog::cli {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

Result<std::string> read_text(const std::string& name) {
  std::unique_ptr<std::FILE, CloseFile> file(name == "-" ? stdin : std::fopen(name.c_str(), "rb"));
  if (file == nullptr) {
    return Status::not_found(
        fmt::format("cannot read the program {}: {}", name, std::strerror(errno)));
  }
  std::string text;
  char buffer[65536];
  while (const std::size_t read = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, read);
    if (text.size() > datalog::kMaxSourceBytes) break;  // compile() says what is wrong
  }
  if (std::ferror(file.get()) != 0) {
    return Status::io_error(
        fmt::format("cannot read the program {}: {}", name, std::strerror(errno)));
  }
  return text;
}

// `-M "A=1 B=2"` is two macros, as in Soufflé; blanks in double quotes belong to a value.
std::vector<std::string> split_macros(const std::string& words) {
  std::vector<std::string> macros(1);
  bool is_quoted = false;
  for (const char c : words) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ' ' && !is_quoted)
      macros.emplace_back();
    else
      macros.back() += c;
  }
  std::erase(macros, std::string());
  return macros;
}

// The line of a program's file; empty where it cannot be had again.
std::string line_of(const ProgramArguments& arguments, const datalog::SourcePlace& place) {
  if (arguments.file == "-" || place.line == 0) return {};
  const auto text = read_text(place.file);
  if (!text.is_ok()) return {};
  std::string_view rest = text.value();
  for (std::uint32_t line = 1; line < place.line; ++line) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return std::string(rest.substr(0, rest.find('\n')));
}

// What errors call a program's file.
std::string source_name(const std::string& file) { return file == "-" ? "<standard input>" : file; }

Bytes to_bytes(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::string to_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Where rank 0's program can be read by the others, they need not compile it again.
Result<datalog::Program> copy_of_first(Comm& comm, Result<datalog::CompileOutcome> mine) {
  const bool is_first = comm.rank() == 0;
  const datalog::Program* own = is_first ? &*mine.value().program : nullptr;
  STRATALOG_ASSIGN_OR_RETURN(const auto programs, pointers_of_all(comm, own));
  datalog::Program program;
  if (!is_first) program = *programs.front();
  STRATALOG_RETURN_IF_ERROR(comm.barrier());
  return is_first ? std::move(*mine.value().program) : std::move(program);
}

}  // namespace

Result<datalog::CompileOutcome> compile_file(const ProgramArguments& arguments) {
  STRATALOG_ASSIGN_OR_RETURN(std::string text, read_text(arguments.file));
  datalog::CompileOptions options;
  options.include_directories = arguments.include_directories;
  for (const std::string& words : arguments.macros) {
    std::vector<std::string> macros = split_macros(words);
    std::move(macros.begin(), macros.end(), std::back_inserter(options.macros));
  }
  for (const std::string& relations : arguments.magic)
    options.pragmas.push_back({.name = "magic-transform", .value = relations});
  for (const std::string& relations : arguments.magic_exclude)
    options.pragmas.push_back({.name = "magic-transform-exclude", .value = relations});
  return datalog::compile({.name = source_name(arguments.file), .text = std::move(text)}, options);
}

void add_format_problems(datalog::CompileOutcome& outcome, const ProgramArguments& arguments,
                         CheckedFormats which) {
  if (!outcome.is_ok()) return;
  auto problems = datalog::unreadable_inputs(*outcome.program);
  if (which == CheckedFormats::kAll)
    std::ranges::move(datalog::unwritable_outputs(*outcome.program), std::back_inserter(problems));
  if (problems.empty()) return;
  for (const datalog::FormatProblem& problem : problems) {
    datalog::MarkedPlace where{.place = problem.place};
    where.line_text = line_of(arguments, problem.place);
    if (where.line_text.empty()) where.place.column = 0;
    outcome.diagnostics.push_back({.severity = datalog::Severity::kError,
                                   .where = std::move(where),
                                   .message = problem.message});
  }
  outcome.program.reset();
}

datalog::CompileOutcome compile_text(std::string name, std::string text) {
  datalog::CompileOptions options;
  options.preprocessor = datalog::PreprocessorUse::kNever;
  return datalog::compile({.name = std::move(name), .text = std::move(text)}, options);
}

Status agree_in_own_words(Comm& comm, const Status& mine) {
  const Status agreed = agree(comm, mine);
  return mine.is_ok() || agreed.is_ok() ? agreed : mine;
}

Result<datalog::Program> share_program(Comm& comm, const std::string& name,
                                       Result<datalog::CompileOutcome> mine) {
  const bool is_first = comm.rank() == 0;
  Status status;
  if (is_first) {
    status = mine.status();
    if (status.is_ok() && !mine.value().is_ok())
      status = Status::invalid_argument("the program has errors");
  }
  STRATALOG_RETURN_IF_ERROR(agree_in_own_words(comm, status));
  if (comm.shares_memory()) return copy_of_first(comm, std::move(mine));
  Bytes text;
  Bytes file;
  if (is_first) {
    text = to_bytes(mine.value().program->source_text);
    file = to_bytes(source_name(name));
  }
  STRATALOG_RETURN_IF_ERROR(comm.broadcast(text, 0));
  STRATALOG_RETURN_IF_ERROR(comm.broadcast(file, 0));
  if (!is_first) mine = compile_text(to_text(file), to_text(text));
  if (!mine.value().is_ok()) {
    status = Status::internal("the preprocessed program does not compile again:\n" +
                              datalog::render_all(mine.value().diagnostics));
  }
  STRATALOG_RETURN_IF_ERROR(agree_in_own_words(comm, status));
  return std::move(*std::move(mine).value().program);
}

}  // namespace stratalog::cli
