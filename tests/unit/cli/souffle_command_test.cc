// SPDX-License-Identifier: Apache-2.0
// The command line of Soufflé as arguments of `run`.
#include "cli/souffle_command.h"

#include <gtest/gtest.h>

#include "cli/command_line.h"

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

TEST(SouffleCommand, WhatDecidesTheAnswerStays) {
  EXPECT_EQ(
      arguments_from_souffle({"a.dl", "-F", "in", "--output-dir=out", "-j4", "-M", "A=1 B="}),
      (List{"run", "a.dl", "-F", "in", "--output-dir=out", "-j4", "-M", "A=1 B=", "--quiet"}));
  EXPECT_EQ(arguments_from_souffle({"-v", "a.dl"}), (List{"run", "-v", "a.dl"}));
  EXPECT_EQ(arguments_from_souffle({"--version"}), List{"--version"});
  const ParsedCommandLine magic = parse_command_line(arguments_from_souffle(
      {"a.dl", "-mX,Y", "--magic-transform", "*", "--magic-transform-exclude=Z"}));
  ASSERT_TRUE(magic.invocation) << magic.standard_error;
  EXPECT_EQ(magic.invocation->program.magic, (List{"X,Y", "*"}));
  EXPECT_EQ(magic.invocation->program.magic_exclude, List{"Z"});
}

TEST(SouffleCommand, WhatOnlyChangesTheWayThereGoes) {
  EXPECT_EQ(
      arguments_from_souffle({"-c", "a.dl", "-w", "-z", "X", "-W", "all", "--wno=all",
                              "--disable-transformers=Y", "--auto-schedule=p", "--legacy", "-Nns"}),
      (List{"run", "a.dl", "--quiet"}));
}

TEST(SouffleCommand, AProfileIsOneOfOurs) {
  EXPECT_EQ(arguments_from_souffle({"-p", "p.json", "a.dl"}),
            (List{"run", "--profile", "p.json", "a.dl", "--quiet"}));
  EXPECT_EQ(arguments_from_souffle({"-pp.json", "a.dl"}),
            (List{"run", "--profile", "p.json", "a.dl", "--quiet"}));
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
