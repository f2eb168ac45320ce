// SPDX-License-Identifier: Apache-2.0
// The command line as values: which subcommand, with which arguments, all checked. Parsing neither
// prints nor ends the process: help texts and complaints come back as text. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/exit_code.h"
#include "cli/quantities.h"
#include "datalog/evaluate/engine.h"
#include "policy/layout_plan.h"

namespace stratalog::cli {

enum class Command : std::uint8_t {
  kRun,
  kResume,
  kCheck,
  kExplain,
  kList,
  kInspect,
  kVerify,
  kCompact,
  kExport,
  kProfile,
  kWhy,
  kWhyNot,
  kBench,
};

enum class Verbosity : std::uint8_t { kQuiet, kNormal, kVerbose };
enum class LiveViewMode : std::uint8_t { kAuto, kAlways, kNever, kJson };
// Whether fact files may be missing, and whether somebody could say that they may: -w of a link
// named `souffle`.
enum class MissingFacts : std::uint8_t { kError, kErrorOfSouffle, kEmpty };
enum class OutputStyle : std::uint8_t { kText, kJson };
enum class ExportFormat : std::uint8_t { kTsv, kHdf5, kHdf5Streams, kHdf5StreamsBlosc };

// Where a program is and how it is preprocessed.
struct ProgramArguments {
  std::string file;
  std::vector<std::string> include_directories;  // -I
  std::vector<std::string> macros;  // -M NAME or NAME=VALUE
  std::vector<std::string> magic;  // -m: relations, with commas between
  std::vector<std::string> magic_exclude;
};

// run and resume; compact uses the folder and how it is written.
struct RunArguments {
  std::string facts;  // -F; empty: the current folder (run), or as the checkpoint says (resume)
  std::string output;  // -D; as above
  MissingFacts missing_facts = MissingFacts::kError;
  // -l and -L: functions of `.functor`; both empty: as the checkpoint says (resume)
  std::vector<std::string> libraries;
  std::vector<std::string> library_directories;
  std::string checkpoint;
  std::string stage;  // staging directory; empty: none (run), or as the checkpoint says (resume)
  Interval every;
  double mtbf_seconds = 0;  // with --every auto
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  ShardEncoding encoding = ShardEncoding::kCompact;
  Durability durability = Durability::kFull;
  std::uint32_t keep_generations = 2;
  std::uint32_t whole_every = 0;  // --full-every; 0: by size
  Folding folding = Folding::kAllowed;  // --compaction
  LayoutWishes layout;  // its mode does not count
  datalog::ResumePolicy resume = datalog::ResumePolicy::kFresh;
  std::string generation;  // resume only
  std::string added_facts;  // resume only: a folder with facts to add to a finished run
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t replicate_limit_rows = 0;
  bool has_replicate_limit = false;
  std::optional<std::uint64_t> eqrel_limit;  // elements
  std::uint64_t mirror_limit_rows = 0;
  bool has_mirror_limit = false;
  datalog::ExchangeTime exchange = datalog::ExchangeTime::kAuto;
  bool allow_pivot = true;
  bool allow_sets = true;
  std::optional<OverlapWay> overlap;  // none: as the policy thinks best
  datalog::AtEnd at_end = datalog::AtEnd::kSave;
  int ranks = 0;  // 0: as launched
  int threads = 1;  // -j: ranks that are threads of this process
  int ranks_per_node = 0;  // nodes as declared; 0: as MPI says, or one
  std::string report_file;
  std::string profile_file;
  Verbosity verbosity = Verbosity::kNormal;
  LiveViewMode live_view = LiveViewMode::kAuto;
  // What was given on the command line; `resume` takes the rest from the checkpoint.
  bool has_every = false;
  bool has_mode = false;
  bool has_encoding = false;
  bool has_durability = false;
  bool has_keep = false;
  bool has_whole_every = false;
  bool has_folding = false;
  std::vector<std::string> given_layout;  // layout options, by name
};

// ls, inspect, verify, export.
struct StoredArguments {
  std::string directory;
  std::string generation;  // empty: the newest valid one
  OutputStyle style = OutputStyle::kText;
  bool why = false;
  VerifyDepth depth = VerifyDepth::kSizes;
  std::string relation;
  RelationVersion version = RelationVersion::kTotal;
  ExportFormat format = ExportFormat::kTsv;
  std::vector<std::string> where;  // COLUMN=KEY; all must hold
  std::string target;
};

struct ProfileArguments {
  std::string file;
  std::string page;  // - is standard output
};

// why, why-not.
struct WhyArguments {
  std::string directory;
  std::string generation;  // empty: the newest valid one
  std::string goal;
  OutputStyle style = OutputStyle::kText;
  std::uint32_t depth = 40;  // levels of the tree that are printed; 0: all
  std::uint64_t max_instances = 5'000'000;
  // -l and -L; empty: as the checkpoint says
  std::vector<std::string> libraries;
  std::vector<std::string> library_directories;
};

struct Invocation {
  Command command = Command::kRun;
  ProgramArguments program;
  RunArguments run;
  StoredArguments stored;
  ProfileArguments profile;
  WhyArguments why;
  std::vector<std::string> bench;  // the words after it, for the Python front
  OutputStyle style = OutputStyle::kText;  // check, explain
  std::string facts;  // explain
};

struct ParsedCommandLine {
  std::optional<Invocation> invocation;  // absent: print the texts and leave with `exit_code`
  ExitCode exit_code = ExitCode::kDone;
  std::string standard_output;
  std::string standard_error;
};

// `arguments` without the program's own name.
ParsedCommandLine parse_command_line(const std::vector<std::string>& arguments);

// Whether what was asked for has a meaning in the mode; InvalidArgument says why not. Of a resumed
// run known only when its checkpoint has been read.
Status check_encoding(const RunArguments& run);
Status check_layout(const RunArguments& run);

}  // namespace stratalog::cli
