// SPDX-License-Identifier: Apache-2.0
// The command line: what is accepted, what is refused, and that a refusal says what was wrong.
#include "cli/command_line.h"

#include <gtest/gtest.h>

namespace stratalog::cli {
namespace {

Invocation accepted(const std::vector<std::string>& arguments) {
  const ParsedCommandLine parsed = parse_command_line(arguments);
  EXPECT_TRUE(parsed.invocation.has_value()) << parsed.standard_error;
  return parsed.invocation.value_or(Invocation());
}

std::string refused(const std::vector<std::string>& arguments) {
  const ParsedCommandLine parsed = parse_command_line(arguments);
  EXPECT_FALSE(parsed.invocation.has_value());
  EXPECT_EQ(parsed.exit_code, ExitCode::kProgram);
  EXPECT_EQ(parsed.standard_output, "");
  return parsed.standard_error;
}

TEST(CommandLine, RunWithSouffleHabits) {
  const Invocation run =
      accepted({"run", "tc.dl", "-F", "facts", "-Dout", "-I", "inc", "-Iinc2", "-M", "N=3"});
  EXPECT_EQ(run.command, Command::kRun);
  EXPECT_EQ(run.program.file, "tc.dl");
  EXPECT_EQ(run.run.facts, "facts");
  EXPECT_EQ(run.run.output, "out");
  EXPECT_EQ(run.program.include_directories, (std::vector<std::string>{"inc", "inc2"}));
  EXPECT_EQ(run.program.macros, std::vector<std::string>{"N=3"});
  EXPECT_EQ(accepted({"run", "-F", "facts", "tc.dl"}).program.file, "tc.dl");
  EXPECT_EQ(accepted({"run", "-I", "inc", "tc.dl"}).program.file, "tc.dl");
  EXPECT_EQ(accepted({"run", "tc.dl", "-D", "-"}).run.output, "-");
}

TEST(CommandLine, OptionsOfSouffleThatAreNotHere) {
  EXPECT_EQ(refused({"run", "tc.dl", "-w"}),
            "stratalog: The following argument was not expected: -w\n"
            "Run with --help for more information.\n"
            "-w is an option of Soufflé; leave it out: warnings go to standard error and end no "
            "run; fact files must be there\n");
  const auto advised = [](const std::vector<std::string>& arguments, const std::string& advice) {
    EXPECT_NE(refused(arguments).find(advice), std::string::npos) << refused(arguments);
  };
  advised({"run", "tc.dl", "-c"}, "-c is an option of Soufflé; leave it out: programs are not");
  advised({"run", "tc.dl", "-o", "tc"}, "-o is an option of Soufflé; leave it out: programs");
  advised({"run", "tc.dl", "-p", "log"}, "-p is an option of Soufflé; write --profile FILE\n");
  advised({"run", "tc.dl", "--dl-program=tc"}, "--dl-program is an option of Soufflé; leave");
  advised({"run", "tc.dl", "--libraries=f"},
          "--libraries is an option of Soufflé; write --library");
  advised({"run", "tc.dl", "--parse-errors"}, "--parse-errors is an option of Soufflé; see");
  advised({"run", "tc.dl", "--no-preprocessor"}, "--no-preprocessor is an option of Soufflé");
  EXPECT_EQ(refused({"run", "tc.dl", "--nonsense"}).find("Soufflé"), std::string::npos);
}

TEST(CommandLine, WordsTooManyAndTooFew) {
  EXPECT_EQ(refused({"check", "tc.dl", "b", "c", "--d"}),
            "stratalog: The following arguments were not expected: b c --d\n"
            "Run with --help for more information.\n");
  EXPECT_EQ(refused({"why", "ck"}),
            "stratalog: why needs a folder and a tuple: why DIR 'path(3, 17)'; there is only ck\n");
  EXPECT_EQ(accepted({"why", "ck", "path(3, 17)"}).why.goal, "path(3, 17)");
}

TEST(CommandLine, Checkpoints) {
  const Invocation run = accepted({"run", "tc.dl", "--checkpoint", "ck", "--every", "400it",
                                   "--every", "60s", "--mode", "hdf5", "--durability", "none",
                                   "--keep", "5", "--resume", "--memory-limit", "4G"});
  EXPECT_EQ(run.run.checkpoint, "ck");
  EXPECT_EQ(run.run.every.iterations, 400U);
  EXPECT_EQ(run.run.every.seconds, 60);
  EXPECT_EQ(run.run.mode, CheckpointMode::kHdf5);
  EXPECT_EQ(run.run.durability, Durability::kNone);
  EXPECT_EQ(run.run.keep_generations, 5U);
  EXPECT_EQ(run.run.resume, datalog::ResumePolicy::kResumeOrFresh);
  EXPECT_EQ(run.run.memory_limit_bytes, 4ULL << 30U);
  EXPECT_EQ(accepted({"run", "tc.dl", "--checkpoint", "ck"}).run.every.seconds, 60)
      << "the default";
  EXPECT_EQ(accepted({"run", "tc.dl", "--checkpoint", "ck", "--every", "9it"}).run.every.seconds,
            0);
  EXPECT_EQ(accepted({"run", "tc.dl", "--checkpoint", "ck", "--restart-fresh"}).run.resume,
            datalog::ResumePolicy::kFreshForced);
  const Invocation resume =
      accepted({"resume", "ck", "gen-00000001-0000000003", "--mode", "shared"});
  EXPECT_EQ(resume.run.resume, datalog::ResumePolicy::kResume);
  EXPECT_EQ(resume.run.checkpoint, "ck");
  EXPECT_EQ(resume.run.generation, "gen-00000001-0000000003");
  EXPECT_TRUE(resume.run.has_mode);
  EXPECT_FALSE(resume.run.has_keep);
}

TEST(CommandLine, Overlap) {
  const std::vector<std::string> run = {"run", "a.dl", "--checkpoint", "c"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  EXPECT_FALSE(accepted(run).run.overlap.has_value());
  EXPECT_FALSE(accepted(with({"--overlap", "auto"})).run.overlap.has_value());
  EXPECT_EQ(accepted(with({"--overlap", "pack"})).run.overlap, OverlapWay::kPack);
  EXPECT_EQ(accepted(with({"--overlap", "WRITE"})).run.overlap, OverlapWay::kWrite);
  EXPECT_EQ(accepted(with({"--overlap", "none"})).run.overlap, OverlapWay::kNone);
  EXPECT_EQ(accepted(with({"--no-overlap"})).run.overlap, OverlapWay::kNone);
  EXPECT_EQ(accepted(with({"--no-overlap", "--overlap", "none"})).run.overlap, OverlapWay::kNone);
  EXPECT_EQ(accepted({"resume", "ck", "--overlap", "pack"}).run.overlap, OverlapWay::kPack);
  EXPECT_NE(refused(with({"--no-overlap", "--overlap", "pack"})).find("exclude each other"),
            std::string::npos);
  EXPECT_NE(refused(with({"--overlap", "much"})).find("--overlap"), std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--overlap", "pack"}).find("--checkpoint"), std::string::npos);
}

TEST(CommandLine, Encodings) {
  const std::vector<std::string> run = {"run", "a.dl", "--checkpoint", "c"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  EXPECT_EQ(accepted(run).run.encoding, ShardEncoding::kCompact);
  EXPECT_FALSE(accepted(run).run.has_encoding);
  EXPECT_EQ(accepted(with({"--encoding", "streams"})).run.encoding, ShardEncoding::kStreams);
  EXPECT_EQ(accepted(with({"--encoding", "auto", "--mode", "shared"})).run.encoding,
            ShardEncoding::kAuto);
  EXPECT_EQ(accepted(with({"--encoding", "rows_u64", "--mode", "hdf5"})).run.encoding,
            ShardEncoding::kRowsU64);
  EXPECT_TRUE(accepted({"resume", "c", "--encoding", "streams"}).run.has_encoding);
  for (const char* mode : {"hdf5", "hdf5-opt", "hdf5-direct", "hdf5-auto"}) {
    const std::string why = refused(with({"--encoding", "streams", "--mode", mode}));
    EXPECT_NE(why.find("--encoding streams is for modes fpp"), std::string::npos) << why;
    EXPECT_NE(why.find(mode), std::string::npos) << why;
  }
  EXPECT_NE(refused(with({"--encoding", "raw"})).find("raw"), std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--encoding", "streams"}).find("needs --checkpoint"),
            std::string::npos);
}

TEST(CommandLine, LayoutOptionsNeedAModeThatUsesThem) {
  const auto with = [&](std::vector<std::string> more) {
    const std::vector<std::string> run = {"run", "a.dl", "--checkpoint", "c"};
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  // The default mode is no way around the check.
  EXPECT_NE(refused(with({"--files", "3"})).find("--files spreads ranks over shared files"),
            std::string::npos);
  EXPECT_EQ(accepted(with({"--files", "3", "--mode", "shared"})).run.layout.files, 3U);
  accepted(with({"--files", "3", "--mode", "auto"}));
  accepted(with({"--files", "3", "--mode", "hdf5-auto"}));
  struct Case {
    const char* option;
    const char* value;
    const char* useful;
    const char* useless;
  };
  for (const Case& c : {Case{"--hdf5-opt", "O1", "hdf5-opt", "shared-opt"},
                        {"--deflate", "1", "hdf5-opt", "auto"},
                        {"--aggregators", "2", "shared-opt", "shared"},
                        {"--hdf5-opt", "O1", "hdf5-opt", "hdf5-auto"},
                        {"--deflate", "0", "hdf5-auto", "hdf5-direct"},
                        {"--aggregators", "2", "hdf5-auto", "hdf5"},
                        {"--align", "4K", "hdf5-auto", "fpp"},
                        {"--align", "4K", "auto", "hdf5"}}) {
    accepted(with({c.option, c.value, "--mode", c.useful}));
    for (const std::vector<std::string>& mode :
         {std::vector<std::string>{}, {"--mode", c.useless}}) {
      std::vector<std::string> words = {c.option, c.value};
      words.insert(words.end(), mode.begin(), mode.end());
      const std::string why = refused(with(words));
      EXPECT_NE(why.find(std::string(c.option) + " is for mode"), std::string::npos) << why;
      EXPECT_NE(why.find(mode.empty() ? "fpp" : c.useless), std::string::npos) << why;
    }
    accepted({"resume", "c", c.option, c.value});  // in which mode is not known yet
    EXPECT_NE(refused({"run", "a.dl", c.option, c.value}).find("needs --checkpoint"),
              std::string::npos);
  }
  EXPECT_NE(refused({"run", "a.dl", "--stage", "fast"}).find("--stage needs --checkpoint"),
            std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--no-overlap"}).find("--no-overlap needs --checkpoint"),
            std::string::npos);
}

TEST(CommandLine, WordsThatAreNoneOfAFewAreToldAllOfThem) {
  const std::vector<std::pair<std::string, std::string>> lists = {
      {"--mode",
       "fpp, shared, hdf5, shared-opt, hdf5-opt, hdf5-direct, hdf5-streams, hdf5-auto, auto"},
      {"--durability", "full, data, none"},
      {"--encoding", "compact, streams, rows_u64, auto"},
      {"--overlap", "auto, pack, write, none"},
      {"--compaction", "auto, none"},
      {"--at-end", "save, skip"}};
  for (const auto& [option, words] : lists)
    EXPECT_NE(refused({"run", "a.dl", "--checkpoint", "c", option, "foo"})
                  .find(option + ": \"foo\" is none of " + words),
              std::string::npos)
        << option;
  EXPECT_NE(refused({"export", "c", "o", "--relation", "r", "--to", "foo"})
                .find("none of tsv, hdf5, hdf5-streams, hdf5-streams-blosc"),
            std::string::npos);
  EXPECT_EQ(accepted({"run", "a.dl", "--checkpoint", "c", "--mode", "FPP"}).run.mode,
            CheckpointMode::kFilePerProcess);
  // CLI11 would take "60it" for the value, or the option after it.
  EXPECT_NE(refused({"run", "a.dl", "--checkpoint", "c", "--hdf5-opt=", "--every", "60it"})
                .find("--hdf5-opt= has no value"),
            std::string::npos);
}

TEST(CommandLine, OtherCommands) {
  EXPECT_EQ(accepted({"check", "a.dl", "--json"}).style, OutputStyle::kJson);
  EXPECT_EQ(accepted({"run", "a.dl", "-j4"}).run.threads, 4);
  EXPECT_EQ(accepted({"resume", "ck", "--jobs", "3"}).run.threads, 3);
  EXPECT_EQ(accepted({"explain", "a.dl", "-F", "f"}).facts, "f");
  EXPECT_TRUE(accepted({"ls", "ck", "--why"}).stored.why);
  EXPECT_EQ(accepted({"inspect", "ck", "gen-1"}).stored.generation, "gen-1");
  EXPECT_EQ(accepted({"verify", "ck", "--deep"}).stored.depth, VerifyDepth::kContent);
  const Invocation write =
      accepted({"export", "ck", "--relation", "path", "--to", "hdf5", "out.h5"});
  EXPECT_EQ(write.command, Command::kExport);
  EXPECT_EQ(write.stored.relation, "path");
  EXPECT_EQ(write.stored.format, ExportFormat::kHdf5);
}

TEST(CommandLine, ExportTakesAGenerationBetweenFolderAndFile) {
  const Invocation write =
      accepted({"export", "ck", "gen-1", "--relation", "path", "--to", "tsv", "out.tsv"});
  EXPECT_EQ(write.stored.generation, "gen-1");
  EXPECT_EQ(write.stored.target, "out.tsv");
  EXPECT_NE(refused({"export", "ck", "--relation", "path"}).find("OUT"), std::string::npos);
}

TEST(CommandLine, RefusalsSayWhatWasWrong) {
  EXPECT_NE(refused({}).find("subcommand"), std::string::npos);
  EXPECT_NE(refused({"frobnicate"}).find("frobnicate"), std::string::npos);
  EXPECT_NE(refused({"inspekt", "ck"}).find("did you mean `inspect`"), std::string::npos);
  EXPECT_NE(refused({"tc.dl"}).find("stratalog run tc.dl"), std::string::npos);
  EXPECT_NE(refused({"run"}).find("PROGRAM"), std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--frob"}).find("--frob"), std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--every", "60s"}).find("--every needs --checkpoint"),
            std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--resume"}).find("--resume needs --checkpoint"),
            std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--checkpoint", "c", "--every", "60"}).find("400it"),
            std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--checkpoint", "c", "--mode", "tape"}).find("tape"),
            std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--checkpoint", "c", "--keep", "1"}).find("--keep"),
            std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--memory-limit", "lots"}).find("--memory-limit"),
            std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "-q", "-v"}).find("exclude"), std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "--ranks", "0"}).find("--ranks"), std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "-j", "0"}).find("--jobs"), std::string::npos);
  EXPECT_NE(refused({"run", "a.dl", "-j", "2", "--ranks", "2"}).find("--ranks"), std::string::npos);
  EXPECT_NE(refused({"export", "c", "--relation", "r", "--to", "hdf5", "-"}).find("HDF5"),
            std::string::npos);
}

TEST(CommandLine, HelpAndVersionAreNoErrors) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"help"},
                                                    {"help", "ls"},
                                                    {"run", "--help"},
                                                    {"--version"},
                                                    {"export", "--help"}}) {
    const ParsedCommandLine parsed = parse_command_line(arguments);
    EXPECT_FALSE(parsed.invocation.has_value());
    EXPECT_EQ(parsed.exit_code, ExitCode::kDone);
    EXPECT_NE(parsed.standard_output, "");
    EXPECT_EQ(parsed.standard_error, "");
  }
  EXPECT_NE(parse_command_line({"--help"}).standard_output.find("Exit codes"), std::string::npos);
  EXPECT_EQ(parse_command_line({"help", "run"}).standard_output,
            parse_command_line({"run", "--help"}).standard_output);
  EXPECT_NE(refused({"help", "inspekt"}).find("did you mean `inspect`"), std::string::npos);
}

}  // namespace
}  // namespace stratalog::cli
