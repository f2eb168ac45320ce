// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>
#include <utility>

#include "cli/option_words.h"
#include "cli/run_options.h"
#include "cli/souffle_command.h"
#include "cli/souffle_options.h"
#include "datalog/language/spelling.h"

namespace stratalog::cli {

namespace {

// Arguments that need more than CLI11's own checks, as they were typed.
struct RawArguments {
  RunWords run;
  bool is_json = false;
  bool is_deep = false;
  std::vector<std::string> export_places;  // DIR [GENERATION] OUT
  std::vector<std::string> goal_places;  // DIR [GENERATION] TUPLE
};

const Words<ExportFormat> kFormats = {{"tsv", ExportFormat::kTsv},
                                      {"hdf5", ExportFormat::kHdf5},
                                      {"hdf5-streams", ExportFormat::kHdf5Streams},
                                      {"hdf5-streams-blosc", ExportFormat::kHdf5StreamsBlosc}};
const Words<MissingFacts> kSouffleWords = {{"needed", MissingFacts::kErrorOfSouffle},
                                           {"optional", MissingFacts::kEmpty}};
const Words<RelationVersion> kVersions = {{"total", RelationVersion::kTotal},
                                          {"delta", RelationVersion::kDelta}};

constexpr const char* kFooter =
    R"(Exit codes: 0 done; 1 wrong command line or program; 2 facts; 3 checkpoints exist but none is valid;
4 input/output or disk full; 5 memory limit reached; 6 stopped on a signal after a checkpoint;
7 nothing to resume, or checkpoints in the way; 8 internal error.)";

void add_program(CLI::App* app, ProgramArguments& program) {
  app->add_option("PROGRAM", program.file, "the Datalog program (.dl); - reads standard input")
      ->required();
  app->add_option("-I,--include-dir", program.include_directories,
                  "folder searched by #include; may be repeated")
      ->allow_extra_args(false);
  app->add_option("-M,--macro", program.macros,
                  "NAME or NAME=VALUE for the preprocessor, several between blanks; may be "
                  "repeated")
      ->allow_extra_args(false);
  app->add_option("-m,--magic-transform", program.magic,
                  "compute these relations (names with commas between, or * for all) only as far "
                  "as the outputs ask for them")
      ->option_text("RELATIONS")
      ->allow_extra_args(false);
  app->add_option("--magic-transform-exclude", program.magic_exclude, "but these not")
      ->option_text("RELATIONS")
      ->allow_extra_args(false);
}

void add_run(CLI::App& app, Invocation& invocation, RawArguments& raw) {
  CLI::App* run = app.add_subcommand("run", "evaluate a program");
  add_program(run, invocation.program);
  run->add_option("--checkpoint", invocation.run.checkpoint, "write checkpoints into this folder")
      ->option_text("DIR")
      ->group("Checkpoints");
  auto* resume = run->add_flag("--resume", raw.run.wants_resume,
                               "go on from the newest checkpoint; start fresh if there is none")
                     ->group("Checkpoints");
  run->add_flag("--restart-fresh", raw.run.wants_fresh,
                "start from the facts although there are checkpoints")
      ->excludes(resume)
      ->group("Checkpoints");
  run->add_option(std::string(kSouffleFacts), invocation.run.missing_facts)
      ->transform(one_of(kSouffleWords))
      ->group("");
  add_run_options(run, invocation.run, raw.run);
}

void add_resume(CLI::App& app, Invocation& invocation, RawArguments& raw) {
  CLI::App* resume =
      app.add_subcommand("resume", "go on from a checkpoint; program and folders are read from it");
  resume->add_option("DIR", invocation.run.checkpoint, "the checkpoint folder")->required();
  resume->add_option("GENERATION", invocation.run.generation, "this one instead of the newest");
  resume
      ->add_option("--add-facts", invocation.run.added_facts,
                   "folder with new facts only, in files named as the program's .input says: the "
                   "finished run takes them in")
      ->option_text("DIR");
  add_run_options(resume, invocation.run, raw.run);
}

void add_compact(CLI::App& app, RunArguments& run, RunWords& words) {
  CLI::App* compact = app.add_subcommand(
      "compact", "write the newest checkpoint anew, as one that needs no older ones");
  compact->add_option("DIR", run.checkpoint, "the checkpoint folder")->required();
  add_mode(compact, run, "another layout than it has; modes as in run");
  add_encoding(compact, run,
               "of modes fpp, shared and shared-opt: compact, streams, auto (the better of the "
               "two, block by block) or rows_u64 (default: as it has)");
  add_durability(compact, run, "full, data or none (default: as the run had it)");
  compact
      ->add_option("--keep", run.keep_generations,
                   "checkpoints to keep, at least 2 (default: as the run had it)")
      ->check(CLI::Range(2U, 1000000U).description(""))
      ->option_text("N");
  add_layout_options(compact, run, words);
}

CLI::App* add_stored(CLI::App& app, const char* name, const char* text, StoredArguments& stored,
                     RawArguments& raw) {
  CLI::App* command = app.add_subcommand(name, text);
  command->add_option("DIR", stored.directory, "the checkpoint folder")->required();
  command->add_flag("--json", raw.is_json, "print JSON");
  return command;
}

void add_generation(CLI::App* command, StoredArguments& stored, const char* otherwise) {
  command->add_option("GENERATION", stored.generation,
                      fmt::format("which one (default: {})", otherwise));
}

void add_store_commands(CLI::App& app, StoredArguments& stored, RawArguments& raw) {
  add_stored(app, "ls", "list the generations of a checkpoint folder", stored, raw)
      ->add_flag("--why", stored.why, "say why a generation is not valid");
  CLI::App* inspect = add_stored(app, "inspect", "what a generation holds", stored, raw);
  add_generation(inspect, stored, "the newest valid one");
  inspect->add_flag("--why", stored.why, "say why it is laid out as it is");
  CLI::App* verify = add_stored(app, "verify", "check a generation", stored, raw);
  add_generation(verify, stored, "all that were committed");
  verify->add_flag("--deep", raw.is_deep, "decode every block and recompute every hash");
  CLI::App* write =
      app.add_subcommand("export", "write a relation of a checkpoint to a file, values decoded");
  write
      ->add_option("PLACES", raw.export_places,
                   "DIR [GENERATION] OUT: the checkpoint folder, which generation (default: the "
                   "newest valid one), and the file to write (- is standard output, tsv only)")
      ->expected(1, 3)
      ->required()
      ->option_text("DIR [GENERATION] OUT");
  write->add_flag("--json", raw.is_json, "print JSON about what was written");
  write->add_option("--relation", stored.relation, "which relation")
      ->required()
      ->option_text("NAME");
  write
      ->add_option("--where", stored.where,
                   "COLUMN=VALUE, of numbers also COLUMN=LOW:HIGH (HIGH not included): only such "
                   "tuples; may be repeated")
      ->allow_extra_args(false)
      ->option_text("COLUMN=KEY");
  write
      ->add_option("--version", stored.version,
                   "total, or delta: what the last round added (default total)")
      ->transform(one_of(kVersions))
      ->option_text("WHICH");
  write
      ->add_option("--to", stored.format,
                   "tsv, hdf5 (columns), hdf5-streams (sorted, small: shuffle + deflate) or "
                   "hdf5-streams-blosc (shuffle + LZ4, needs blosc's HDF5 plugin); default tsv")
      ->transform(one_of(kFormats))
      ->option_text("FORMAT");
}

void add_program_commands(CLI::App& app, Invocation& invocation, RawArguments& raw) {
  CLI::App* check = app.add_subcommand("check", "report the errors of a program, and nothing else");
  add_program(check, invocation.program);
  check->add_flag("--json", raw.is_json, "print JSON");
  CLI::App* explain = app.add_subcommand(
      "explain", "how a program will be run: strata, indices, join orders, and why");
  add_program(explain, invocation.program);
  explain
      ->add_option("-F,--fact-dir", invocation.facts,
                   "plan for the sizes of the fact files in this folder")
      ->option_text("DIR");
  explain->add_flag("--no-pivot", raw.run.no_pivot, "as in run");
  explain->add_flag("--no-sets", raw.run.no_sets, "as in run");
  explain->add_flag("--json", raw.is_json, "print JSON");
}

CLI::App* add_goal(CLI::App& app, const char* name, const char* text, WhyArguments& why,
                   RawArguments& raw) {
  CLI::App* command = app.add_subcommand(name, text);
  command
      ->add_option("PLACES", raw.goal_places,
                   "DIR [GENERATION] TUPLE: the checkpoint folder, which generation (default: the "
                   "newest valid one), and a tuple such as 'path(3, 17)'")
      ->expected(1, 3)
      ->required()
      ->option_text("DIR [GENERATION] TUPLE");
  add_libraries(command, why.libraries, why.library_directories);
  command->add_flag("--json", raw.is_json, "print JSON");
  return command;
}

void add_questions(CLI::App& app, WhyArguments& why, RawArguments& raw) {
  CLI::App* proof = add_goal(app, "why", "how a tuple of a checkpoint is derived", why, raw);
  proof->add_option("--depth", why.depth, "levels of the tree to print (default 40; 0 prints all)")
      ->option_text("N");
  proof
      ->add_option("--limit", why.max_instances,
                   "give up after so many ways to apply rules (default 5000000)")
      ->option_text("N");
  add_goal(app, "why-not", "where each rule that could derive a tuple fails", why, raw);
}

void add_profile(CLI::App& app, ProfileArguments& profile) {
  CLI::App* command = app.add_subcommand("profile", "turn a profile into a page with charts");
  command->add_option("FILE", profile.file, "what run --profile wrote")->required();
  command->add_option("-o,--output", profile.page, "the page to write; - is standard output")
      ->required()
      ->option_text("PAGE.html");
}

// The front has options of its own, --help included.
void add_bench(CLI::App& app) {
  app.add_subcommand("bench", "measure: bench checkpoint --help")
      ->prefix_command()
      ->set_help_flag();
}

const std::map<std::string, Command>& commands() {
  static const std::map<std::string, Command> kCommands = {
      {"run", Command::kRun},         {"resume", Command::kResume},  {"check", Command::kCheck},
      {"explain", Command::kExplain}, {"ls", Command::kList},        {"inspect", Command::kInspect},
      {"verify", Command::kVerify},   {"export", Command::kExport},  {"profile", Command::kProfile},
      {"why", Command::kWhy},         {"why-not", Command::kWhyNot}, {"bench", Command::kBench},
      {"compact", Command::kCompact}};
  return kCommands;
}

// A message if the first word is no command, else nothing.
std::string complain_about_first_word(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return {};
  const std::string& word = arguments.front();
  if (commands().contains(word)) return {};
  if (word.ends_with(".dl")) {
    return fmt::format("'{0}' is no command; to evaluate a program: stratalog run {0}", word);
  }
  std::vector<std::string> names;
  names.reserve(commands().size());
  for (const auto& [name, command] : commands()) names.push_back(name);
  const std::string near = datalog::language::suggest(word, names);
  if (!near.empty()) return fmt::format("'{}' is no command; {}", word, near);
  return fmt::format("'{}' is no command; the commands are {}", word, fmt::join(names, ", "));
}

// A message if an option ends with "=": CLI11 would take the next word for its value, whatever that
// is. What follows `bench` is the Python front's.
std::string complain_about_lost_value(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "bench") return {};
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return fmt::format("{} has no value behind the =", word);
  }
  return {};
}

// An empty one is a variable of a script that nobody has set. Macros may be.
Status refuse_empty_values(const CLI::App& command) {
  for (const CLI::Option* const option : command.get_options())
    for (const std::string& value : option->results())
      if (value.empty() && !option->check_lname("macro"))
        return Status::invalid_argument(
            fmt::format("{} has an empty value; leave it away if nothing is meant",
                        option->get_name(false, true)));
  return Status::ok();
}

Status finish(const CLI::App& app, RawArguments& raw, Invocation& invocation) {
  STRATALOG_RETURN_IF_ERROR(refuse_empty_values(*app.get_subcommands().front()));
  invocation.command = commands().at(app.get_subcommands().front()->get_name());
  note_given(app, raw.run, invocation.run);
  invocation.style = raw.is_json ? OutputStyle::kJson : OutputStyle::kText;
  invocation.stored.style = invocation.style;
  if (raw.is_deep) invocation.stored.depth = VerifyDepth::kContent;
  if (invocation.command == Command::kBench)
    invocation.bench = app.get_subcommands().front()->remaining();
  if (invocation.command == Command::kRun || invocation.command == Command::kResume)
    return complete_run(raw.run, invocation.command, invocation.run);
  if (invocation.command == Command::kCompact) return read_layout(raw.run, invocation.run);
  // explain: as the run would be.
  invocation.run.allow_pivot = !raw.run.no_pivot;
  invocation.run.allow_sets = !raw.run.no_sets;
  if (raw.goal_places.size() == 1)
    return Status::invalid_argument(
        fmt::format("{0} needs a folder and a tuple: {0} DIR 'path(3, 17)'; there is only {1}",
                    app.get_subcommands().front()->get_name(), raw.goal_places.front()));
  if (!raw.goal_places.empty()) {
    invocation.why.directory = raw.goal_places.front();
    invocation.why.goal = raw.goal_places.back();
    if (raw.goal_places.size() == 3) invocation.why.generation = raw.goal_places[1];
    invocation.why.style = invocation.style;
  }
  if (invocation.command == Command::kExport) {
    if (raw.export_places.size() < 2) {
      return Status::invalid_argument("export needs two places: DIR [GENERATION] OUT");
    }
    invocation.stored.directory = raw.export_places.front();
    invocation.stored.target = raw.export_places.back();
    if (raw.export_places.size() == 3) invocation.stored.generation = raw.export_places[1];
  }
  if (invocation.command == Command::kExport && invocation.stored.format != ExportFormat::kTsv &&
      invocation.stored.target == "-") {
    return Status::invalid_argument("HDF5 cannot be written to standard output; name a file");
  }
  if (invocation.command == Command::kExport && raw.is_json && invocation.stored.target == "-")
    return Status::invalid_argument(
        "--json and tuples on standard output (-) exclude each other; name a file");
  return Status::ok();
}

// What CLI11 says of words that it has no use for, in the order in which they stand.
std::string told_of(const CLI::App& app, const CLI::ParseError& problem) {
  std::ostringstream out;
  std::ostringstream err;
  app.exit(problem, out, err);
  const auto* const surplus = dynamic_cast<const CLI::ExtrasError*>(&problem);
  if (surplus == nullptr) return err.str();
  const std::vector<std::string> words = app.remaining(true);
  return fmt::format(
      "The following argument{} not expected: {}\nRun with --help for more "
      "information.\n",
      words.size() == 1 ? " was" : "s were", fmt::join(words, " "));
}

ParsedCommandLine refuse(const std::string& message) {
  ParsedCommandLine parsed;
  parsed.exit_code = ExitCode::kProgram;
  parsed.standard_error = fmt::format("stratalog: {}\n", message);
  return parsed;
}

}  // namespace

ParsedCommandLine parse_command_line(const std::vector<std::string>& arguments) {
  // `help` and `help COMMAND`, as many commands have it.
  if (!arguments.empty() && arguments.front() == "help") {
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return parse_command_line(asked);
  }
  std::string complaint = complain_about_first_word(arguments);
  if (complaint.empty()) complaint = complain_about_lost_value(arguments);
  if (!complaint.empty()) return refuse(complaint);
  Invocation invocation;
  RawArguments raw;
  CLI::App app{"Stratalog: Datalog on many ranks, with checkpoints that survive crashes",
               "stratalog"};
  app.set_version_flag("--version", "stratalog " STRATALOG_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  add_run(app, invocation, raw);
  // To describe all the others takes longer than a small program runs.
  if (arguments.empty() || arguments.front() != "run") {
    add_resume(app, invocation, raw);
    add_program_commands(app, invocation, raw);
    add_store_commands(app, invocation.stored, raw);
    add_compact(app, invocation.run, raw.run);
    add_profile(app, invocation.profile);
    add_questions(app, invocation.why, raw);
    add_bench(app);
  }
  // CLI11 reports by exceptions; they end here.
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& problem) {
    std::ostringstream out;
    std::ostringstream err;
    ParsedCommandLine parsed;
    const int code = app.exit(problem, out, err);
    parsed.exit_code = code == 0 ? ExitCode::kDone : ExitCode::kProgram;
    parsed.standard_output = out.str();
    parsed.standard_error = code == 0 ? err.str()
                                      : fmt::format("stratalog: {}{}", told_of(app, problem),
                                                    advice_on_souffle_options(arguments));
    return parsed;
  }
  const Status finished = finish(app, raw, invocation);
  if (!finished.is_ok()) return refuse(finished.message());
  ParsedCommandLine parsed;
  parsed.invocation = std::move(invocation);
  return parsed;
}

}  // namespace stratalog::cli
