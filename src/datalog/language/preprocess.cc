// SPDX-License-Identifier: Apache-2.0
// The one process that the language starts: `cpp`, by posix_spawn with an argument list, never
// through a shell. Its three streams are memory files, so nothing can block or deliver SIGPIPE
// however large the program is.
#include "datalog/language/preprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "datalog/language/include_files.h"
#include "datalog/language/lexer.h"
#include "datalog/language/place_words.h"
#include "datalog/language/source_files.h"

extern char** environ;

namespace stratalog::datalog {
namespace {

using language::OriginalTexts;

constexpr std::string_view kStandardInput = "<stdin>";

class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }

  bool fill(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }

  // The whole content; nothing past `limit` bytes.
  std::optional<std::string> content(std::size_t limit) const {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0 || static_cast<std::size_t>(status.st_size) > limit)
      return std::nullopt;
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t count =
          pread(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      done += static_cast<std::size_t>(count);
    }
    return text;
  }

 private:
  int descriptor_;
};

struct CommandOutcome {
  int spawn_error = 0;  // errno of the start, or of the memory files
  int exit_status = 0;
  std::optional<std::string> output;
  std::string messages;
};

CommandOutcome run_command(const std::vector<std::string>& arguments, const std::string& directory,
                           const std::string& input) {
  CommandOutcome outcome;
  const MemoryFile in("program");
  const MemoryFile out("expanded");
  const MemoryFile err("messages");
  if (in.descriptor() < 0 || out.descriptor() < 0 || err.descriptor() < 0 || !in.fill(input)) {
    outcome.spawn_error = errno;
    return outcome;
  }
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // Its messages are parsed, so they have to be in English.
  static char english[] = "LC_ALL=C";
  std::vector<char*> environment{english};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("LC_ALL=")) environment.push_back(*entry);
  }
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), 2);
  if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t child = 0;
  outcome.spawn_error =
      posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (outcome.spawn_error != 0) return outcome;

  bool has_status = true;
  while (waitpid(child, &outcome.exit_status, 0) < 0) {
    if (errno == EINTR) continue;
    has_status = errno != ECHILD;
    if (!has_status) break;
    outcome.spawn_error = errno;
    return outcome;
  }
  outcome.output = out.content(kMaxExpandedBytes);
  outcome.messages = err.content(1U << 20U).value_or("");
  // Where this process ignores SIGCHLD, as some launchers make it, nobody is told the status.
  if (!has_status)
    outcome.exit_status = outcome.messages.find("error:") != std::string::npos ? 1 << 8 : 0;
  return outcome;
}

// The first line that only a C preprocessor understands; nothing when there is none. Line markers
// do not count.
std::optional<std::uint32_t> first_preprocessor_line(std::string_view text) {
  // The lexer skips `#` lines as blanks; what is inside comments and strings has to be left out all
  // the same.
  bool in_comment = false;
  std::uint32_t number = 0;
  language::LineMarker marker;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::size_t i = 0;
    if (!in_comment) {
      const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
      if (first < line.size() && line[first] == '#' && !language::parse_line_marker(line, marker))
        return number;
    }
    while (i < line.size()) {
      const std::string_view rest = line.substr(i);
      if (in_comment) {
        const std::size_t close = rest.find("*/");
        if (close == std::string_view::npos) break;
        in_comment = false;
        i += close + 2;
      } else if (rest.starts_with("//")) {
        break;
      } else if (rest.starts_with("/*")) {
        in_comment = true;
        i += 2;
      } else if (rest[0] == '"') {
        for (++i; i < line.size() && line[i] != '"'; ++i) {
          if (line[i] == '\\') ++i;
        }
        ++i;
      } else {
        ++i;
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string> command_line(const CompileOptions& options) {
  // -undef: no `linux` or `unix` macros that would rewrite a relation's name. -w: only errors are
  // of interest.
  std::vector<std::string> arguments{
      options.preprocessor_command,
      "-x",
      "c",
      "-undef",
      "-nostdinc",
      "-w",
      "-DRAM_DOMAIN_SIZE=64",  // as Soufflé built for 64 bits says
      "-U__FILE__"};  // it reads standard input and runs elsewhere: place_words knows the file
  for (const std::string& directory : options.include_directories) {
    arguments.emplace_back("-I");
    arguments.push_back(language::canonical_path(directory));  // it does not run where we do
  }
  for (const std::string& macro : options.macros) arguments.push_back("-D" + macro);
  arguments.emplace_back("-");
  return arguments;
}

// How the user would call a file that the preprocessor, running in the program's directory, calls
// `file`.
std::string user_name(const SourceText& source, const std::string& file) {
  if (file == kStandardInput) return source.name;
  return language::path_beside(source.name, file);
}

// Rewrites the line markers with the user's names and drops those of built-in definitions.
std::string with_user_names(const SourceText& source, std::string_view expanded) {
  std::string text;
  text.reserve(expanded.size() + 64);
  language::LineMarker marker;
  while (!expanded.empty()) {
    const std::size_t end = std::min(expanded.find('\n'), expanded.size());
    const std::string_view line = expanded.substr(0, end);
    const bool is_marker = line.starts_with('#') && language::parse_line_marker(line, marker);
    if (!is_marker) {
      text += line;
      text += '\n';
    } else if (marker.file == kStandardInput || !marker.file.starts_with('<')) {
      marker.file = user_name(source, marker.file);
      text += language::line_marker(marker) + '\n';
    }
    expanded.remove_prefix(std::min(end + 1, expanded.size()));
  }
  return text;
}

Diagnostic make_error(const SourceText& source, std::uint32_t line, std::uint32_t column,
                      std::string message) {
  Diagnostic diagnostic;
  diagnostic.where.place = {source.name, line, column};
  diagnostic.message = std::move(message);
  std::string_view rest = source.text;
  for (std::uint32_t i = 1; i < line && !rest.empty(); ++i) {
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
  diagnostic.where.line_text = std::string(rest.substr(0, rest.find('\n')));
  return diagnostic;
}

// "file:3:10: fatal error: text", as GCC and Clang write it.
bool parse_message(const SourceText& source, std::string_view line, Diagnostic& diagnostic) {
  constexpr std::string_view kMark = "error: ";
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return false;
  std::string_view head = line.substr(0, mark);
  std::uint32_t numbers[2] = {0, 0};
  const std::size_t colon = head.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string file = user_name(source, std::string(head.substr(0, colon)));
  head.remove_prefix(colon + 1);
  for (std::uint32_t& number : numbers) {
    const auto [end, error] = std::from_chars(head.data(), head.data() + head.size(), number);
    if (error != std::errc()) return false;
    head.remove_prefix(static_cast<std::size_t>(end - head.data()));
    if (head.starts_with(':')) head.remove_prefix(1);
  }
  SourceText shown = source;
  if (file != source.name) shown = {file, language::read_text_file(file).value_or("")};
  diagnostic = make_error(shown, numbers[0], numbers[1],
                          fmt::format("preprocessor: {}", line.substr(mark + kMark.size())));
  return true;
}

std::vector<Diagnostic> preprocessor_messages(const SourceText& source,
                                              const CompileOptions& options,
                                              const CommandOutcome& run, std::uint32_t first_line) {
  std::vector<Diagnostic> result;
  std::string_view rest = run.messages;
  while (!rest.empty() && result.size() < options.diagnostic_limit) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Diagnostic diagnostic;
    if (parse_message(source, rest.substr(0, end), diagnostic))
      result.push_back(std::move(diagnostic));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!result.empty()) return result;
  const std::string_view first = std::string_view(run.messages).substr(0, run.messages.find('\n'));
  result.push_back(
      make_error(source, first_line, 1,
                 fmt::format("the preprocessor `{}` failed: {}", options.preprocessor_command,
                             first.empty() ? std::string_view("it gave no reason") : first)));
  return result;
}

// Runs cpp over the source; false when diagnostics were added.
bool run_preprocessor(const SourceText& source, const CompileOptions& options,
                      std::uint32_t first_line, PreprocessOutcome& outcome) {
  std::string directory = language::directory_of(source.name);
  if (!language::is_directory(directory)) directory.clear();
  const CommandOutcome run = run_command(command_line(options), directory, source.text);
  if (run.spawn_error != 0) {
    Diagnostic diagnostic =
        make_error(source, first_line, 1,
                   fmt::format("this program needs the C preprocessor, and `{}` cannot be run: {}",
                               options.preprocessor_command,
                               std::generic_category().message(run.spawn_error)));
    diagnostic.hint =
        "install it (Debian: apt-get install cpp), or write the program without `#` lines and "
        "macros";
    outcome.diagnostics.push_back(std::move(diagnostic));
    return false;
  }
  if (run.exit_status != 0) {
    outcome.diagnostics = preprocessor_messages(source, options, run, first_line);
    return false;
  }
  if (!run.output) {
    outcome.diagnostics.push_back(make_error(
        source, first_line, 1,
        fmt::format("the preprocessed program is larger than {} bytes", kMaxExpandedBytes)));
    return false;
  }
  outcome.text = with_user_names(source, *run.output);
  return true;
}

// The originals of all files that line markers name, so that messages can show the user's own
// lines.
OriginalTexts read_originals(const SourceText& source, std::string_view expanded) {
  OriginalTexts originals;
  originals[source.name] = source.text;
  language::LineMarker marker;
  for (std::size_t begin = 0; begin < expanded.size();) {
    const std::size_t end = std::min(expanded.find('\n', begin), expanded.size());
    if (expanded[begin] == '#' &&
        language::parse_line_marker(expanded.substr(begin, end - begin), marker) &&
        !originals.contains(marker.file)) {
      std::optional<std::string> text = language::read_text_file(marker.file);
      if (text) originals[marker.file] = std::move(*text);
    }
    begin = end + 1;
  }
  return originals;
}

}  // namespace

PreprocessOutcome preprocess(const SourceText& source, const CompileOptions& options) {
  PreprocessOutcome outcome;
  if (options.preprocessor == PreprocessorUse::kNever) {
    outcome.text =
        language::with_place_words(source.text, source.name, language::PathForm::kAsNamed);
    return outcome;
  }
  outcome.text = source.text;

  const std::optional<std::uint32_t> first_line = first_preprocessor_line(source.text);
  if (first_line || !options.macros.empty()) {
    if (!run_preprocessor(source, options, first_line.value_or(1), outcome)) {
      outcome.text.reset();
      return outcome;
    }
    outcome.originals = read_originals(source, *outcome.text);
  }
  if (outcome.text->find(".include") != std::string::npos) {
    language::IncludeOutcome included =
        language::expand_includes(source.name, *outcome.text, options.include_directories);
    outcome.text = std::move(included.text);
    outcome.diagnostics = std::move(included.diagnostics);
  }
  if (outcome.originals.empty() && language::has_place_words(*outcome.text))
    outcome.originals = read_originals(source, *outcome.text);
  outcome.text =
      language::with_place_words(*outcome.text, source.name, language::PathForm::kCanonical);
  return outcome;
}

}  // namespace stratalog::datalog
