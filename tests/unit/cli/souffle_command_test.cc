// SPDX-License-Identifier: Apache-2.0
// The command line of Soufflé as arguments of `run`.
#include "cli/souffle_command.h"

#include <gtest/gtest.h>

#include "cli/command_line.h"
#include "cli/souffle_options.h"

namespace stratalog::cli {
namespace {

using List = std::vector<std::string>;

TEST(SouffleCommand, IsAskedForByName) {
  EXPECT_TRUE(is_named_souffle("souffle"));
  EXPECT_TRUE(is_named_souffle("/usr/local/bin/souffle"));
  EXPECT_FALSE(is_named_souffle("stratalog"));
  EXPECT_FALSE(is_named_souffle("/opt/souffle/stratalog"));
  EXPECT_FALSE(is_named_souffle("souffle-old"));
}

// What `run` gets, without the words that it gets in any case.
List translated(const List& words) {
  List all = arguments_from_souffle(words);
  EXPECT_GE(all.size(), 3U);
  EXPECT_EQ(all.at(0), "run");
  EXPECT_EQ(all.at(1), "--quiet");
  EXPECT_TRUE(all.at(2).starts_with(kSouffleFacts));
  return {all.begin() + 3, all.end()};
}

MissingFacts missing_facts_of(const List& words) {
  const ParsedCommandLine parsed = parse_command_line(arguments_from_souffle(words));
  EXPECT_TRUE(parsed.invocation) << parsed.standard_error;
  return parsed.invocation ? parsed.invocation->run.missing_facts : MissingFacts::kError;
}

TEST(SouffleCommand, WhatDecidesTheAnswerStays) {
  EXPECT_EQ(translated({"a.dl", "-F", "in", "--output-dir=out", "-j4", "-M", "A=1 B="}),
            (List{"a.dl", "--fact-dir=in", "--output-dir=out", "--jobs=4", "--macro=A=1 B="}));
  EXPECT_EQ(
      translated({"-D", "-", "-lf", "--libraries", "g", "--libraries=h", "--library", "i"}),
      (List{"--output-dir=-", "--library=f", "--library=g", "--library=h", "--library", "i"}));
  EXPECT_EQ(arguments_from_souffle({"-v", "a.dl"}),
            (List{"run", "--souffle-facts=needed", "--verbose", "a.dl"}));
  EXPECT_EQ(arguments_from_souffle({"a.dl", "--version"}), List{"--version"});
  EXPECT_EQ(arguments_from_souffle({"--vers"}), List{"--version"});
  const ParsedCommandLine magic = parse_command_line(arguments_from_souffle(
      {"a.dl", "-mX,Y", "--magic-transform", "*", "--magic-transform-exclude=Z"}));
  ASSERT_TRUE(magic.invocation) << magic.standard_error;
  EXPECT_EQ(magic.invocation->program.magic, (List{"X,Y", "*"}));
  EXPECT_EQ(magic.invocation->program.magic_exclude, List{"Z"});
}

TEST(SouffleCommand, WhatIsOnlyOursStaysAsItIs) {
  EXPECT_EQ(translated({"--checkpoint", "ck", "--mode=shared", "-q", "a.dl"}),
            (List{"--checkpoint", "ck", "--mode=shared", "-q", "a.dl"}));
  EXPECT_EQ(translated({"--", "-w", "a.dl"}), (List{"--", "-w", "a.dl"}));
}

TEST(SouffleCommand, WhatOnlyChangesTheWayThereGoes) {
  EXPECT_EQ(translated({"-c", "a.dl", "-w", "-z", "X", "-W", "all", "--wno=all",
                        "--disable-transformers=Y", "--auto-schedule=p", "--legacy", "-Nns", "-C",
                        "--parse-errors", "--live-profile", "--emit-statistics",
                        "--profile-frequency", "--inline-exclude=b", "-tnone"}),
            List{"a.dl"});
}

TEST(SouffleCommand, LettersStandTogether) {
  EXPECT_EQ(translated({"-wcj2", "-cFin", "-wD", "out"}),
            (List{"--jobs=2", "--fact-dir=in", "--output-dir=out"}));
  EXPECT_EQ(missing_facts_of({"-cw", "a.dl"}), MissingFacts::kEmpty);
  // A letter that Soufflé does not have.
  EXPECT_EQ(translated({"-wq"}), List{"-wq"});
}

TEST(SouffleCommand, LongNamesMayBeShortened) {
  EXPECT_EQ(translated({"--fact=in", "--out", "out", "--job=3", "--libraries=f"}),
            (List{"--fact-dir=in", "--output-dir=out", "--jobs=3", "--library=f"}));
  EXPECT_EQ(missing_facts_of({"--no-w", "a.dl"}), MissingFacts::kEmpty);
  // --libraries or --library-dir?
  EXPECT_EQ(translated({"--librar=f"}), List{"--librar=f"});
}

TEST(SouffleCommand, FactFilesMayBeMissingWithoutWarnings) {
  EXPECT_EQ(missing_facts_of({"a.dl"}), MissingFacts::kErrorOfSouffle);
  EXPECT_EQ(missing_facts_of({"a.dl", "-w"}), MissingFacts::kEmpty);
  EXPECT_EQ(parse_command_line({"run", "a.dl"}).invocation->run.missing_facts,
            MissingFacts::kError);
  EXPECT_FALSE(parse_command_line({"run", "a.dl", "--no-warn"}).invocation);
}

TEST(SouffleCommand, AProfileIsOneOfOurs) {
  EXPECT_EQ(translated({"-p", "p.json", "a.dl"}), (List{"--profile=p.json", "a.dl"}));
  EXPECT_EQ(translated({"-pp.json", "a.dl"}), (List{"--profile=p.json", "a.dl"}));
}

// Every option is taken, or refused with advice: by its letter and by its name.
TEST(SouffleCommand, NoOptionIsForgotten) {
  for (const SouffleOption& option : souffle_options()) {
    if (option.name == "--help" || option.name == "--version") continue;
    for (const std::string_view written : {option.brief, option.name}) {
      if (written.empty()) continue;
      List words{"a.dl", std::string(written)};
      if (option.has_value) words.emplace_back("2");
      const ParsedCommandLine parsed = parse_command_line(arguments_from_souffle(words));
      EXPECT_EQ(parsed.invocation.has_value(), option.use != SouffleUse::kRefused)
          << written << ": " << parsed.standard_error;
      if (parsed.invocation) continue;
      EXPECT_NE(parsed.standard_error.find(std::string(written) + " is an option of Soufflé; "),
                std::string::npos)
          << parsed.standard_error;
    }
  }
}

TEST(SouffleCommand, WhatAsksForSomethingElseIsRefusedWithAdvice) {
  const ParsedCommandLine parsed =
      parse_command_line(arguments_from_souffle({"-o", "program", "a.dl"}));
  EXPECT_FALSE(parsed.invocation);
  EXPECT_NE(parsed.standard_error.find("-o is an option of Soufflé"), std::string::npos)
      << parsed.standard_error;
}

}  // namespace
}  // namespace stratalog::cli
