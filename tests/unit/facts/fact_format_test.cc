// SPDX-License-Identifier: Apache-2.0
// What directives mean, and the sentences for those that mean nothing.
#include "datalog/facts/fact_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/facts/fact_text.h"

namespace stratalog::datalog {
namespace {

FactFormat input(std::map<std::string, std::string> parameters) {
  auto format = plan_input(make_relation("edge", "x:number y:number"),
                           make_directive(IoAction::kInput, std::move(parameters)));
  EXPECT_TRUE(format.is_ok()) << format.status().to_string();
  return format.is_ok() ? format.value() : FactFormat();
}

FactFormat output(std::map<std::string, std::string> parameters) {
  auto format = plan_output(make_relation("edge", "x:number y:number"),
                            make_directive(IoAction::kOutput, std::move(parameters)));
  EXPECT_TRUE(format.is_ok()) << format.status().to_string();
  return format.is_ok() ? format.value() : FactFormat();
}

std::string input_error(std::map<std::string, std::string> parameters) {
  return plan_input(make_relation("edge", "x:number y:number"),
                    make_directive(IoAction::kInput, std::move(parameters)))
      .status()
      .to_string();
}

TEST(FactFormat, Defaults) {
  EXPECT_EQ(input({}).path, "edge.facts");
  EXPECT_EQ(input({}).delimiter, "\t");
  EXPECT_EQ(input({}).attribute_of_field, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(output({}).path, "edge.csv");
  EXPECT_EQ(output({{"compress", "true"}}).path, "edge.csv.gz");
  EXPECT_EQ(output({{"compress", "false"}}).path, "edge.csv");
  EXPECT_EQ(output({{"IO", "hdf5"}}).path, "edge.h5");
  EXPECT_EQ(output({{"IO", "hdf5"}}).medium, FactMedium::kHdf5);
  EXPECT_EQ(output({{"filename", "a/b.txt"}}).path, "a/b.txt");
}

TEST(FactFormat, NamesOutside) {
  EXPECT_EQ(input({{"name", "r2"}}).path, "r2.facts");
  EXPECT_EQ(output({{"name", "r2"}, {"compress", "true"}}).path, "r2.csv.gz");
  EXPECT_EQ(output({{"name", "r2"}, {"IO", "hdf5"}}).path, "r2.h5");
  EXPECT_EQ(output({{"name", "r2"}, {"filename", "f"}}).path, "f");
  EXPECT_EQ(output({{"name", "r2"}, {"filename", "f"}}).name, "r2");
  const auto refused =
      plan_output(make_relation("edge", "x:number y:number"),
                  make_directive(IoAction::kOutput, {{"IO", "sqlite"}, {"attributeNames", "A"}}));
  EXPECT_EQ(
      refused.status().to_string(),
      "NotSupported: program.dl:7:1: .output edge: parameter `attributeNames` is the line that "
      "headers=true writes into text, and has no other meaning");
}

TEST(FactFormat, Delimiters) {
  EXPECT_EQ(input({{"delimiter", ", "}}).delimiter, ", ");
  EXPECT_EQ(input({{"delimiter", "\\t"}}).delimiter, "\t");
  EXPECT_EQ(input({{"delimiter", "\\"}}).delimiter, "\\");
  EXPECT_EQ(input({{"rfc4180", "true"}}).delimiter, ",");
  EXPECT_EQ(input({{"rfc4180", "true"}, {"delimiter", ";"}}).delimiter, ";");
}

TEST(FactFormat, Columns) {
  EXPECT_EQ(input({{"columns", "3:1"}}).attribute_of_field,
            (std::vector<std::uint32_t>{kIgnoredField, 1, kIgnoredField, 0}));
}

TEST(FactFormat, Mistakes) {
  const std::string place = "program.dl:7:1: .input edge: ";
  EXPECT_EQ(
      input_error({{"headers", "yes"}}),
      "InvalidArgument: " + place + "parameter `headers`: expected true or false, found \"yes\"");
  EXPECT_EQ(input_error({{"delimiter", ""}}),
            "InvalidArgument: " + place +
                "parameter `delimiter` is empty; fields need something between them");
  EXPECT_EQ(
      input_error({{"delimiter", "\n"}}),
      "InvalidArgument: " + place + "parameter `delimiter` holds a line break, which ends tuples");
  EXPECT_EQ(input_error({{"delimiter", "\""}, {"rfc4180", "true"}}),
            "InvalidArgument: " + place +
                "parameter `delimiter` cannot hold a double quote together with rfc4180=true");
  EXPECT_EQ(
      input_error({{"IO", "parquet"}}),
      "NotSupported: " + place +
          "IO=parquet is not supported; supported are file, stdin, jsonfile, sqlite and hdf5");
  EXPECT_EQ(input_error({{"IO", "sqlite"}, {"delimiter", ";"}}),
            "NotSupported: " + place + "parameter `delimiter` has no meaning for SQLite");
  EXPECT_EQ(input_error({{"filename", ""}}),
            "InvalidArgument: " + place + "parameter `filename` is empty");
  for (const std::string columns :
       {"0", "0:0", "0:1:2", "a:b", "0:", ":", "-1:0", "99999999:0", "0 :1"})
    EXPECT_EQ(
        input_error({{"columns", columns}}),
        fmt::format("InvalidArgument: {}parameter `columns`: expected 2 different field numbers "
                    "from 0 on, separated by colons (for example \"0:2\"), found \"{}\"",
                    place, columns));
}

TEST(FactFormat, OutputsThatCannotBeWritten) {
  Program program;
  program.relations.push_back(make_relation("edge", "x:number y:number"));
  program.relations.push_back(make_relation("none", ""));
  program.relations[0].io = {make_directive(IoAction::kOutput, {}),
                             make_directive(IoAction::kInput, {{"IO", "parquet"}}),
                             make_directive(IoAction::kOutput, {{"filename", ""}})};
  program.relations[1].io = {make_directive(IoAction::kOutput, {{"IO", "sqlite"}})};
  const auto problems = unwritable_outputs(program);
  ASSERT_EQ(problems.size(), 2U) << "of .output only";
  EXPECT_EQ(problems[0].message, ".output edge: parameter `filename` is empty");
  EXPECT_EQ(problems[0].place.line, 7U);
  EXPECT_EQ(problems[1].message,
            ".output none: IO=sqlite cannot hold a relation without attributes; choose IO=file");
}

TEST(FactFormat, OutputsWithOneFile) {
  Program program;
  for (const char* name : {"a", "b", "c", "d"})
    program.relations.push_back(make_relation(name, "x:number"));
  const auto put = [&](RelationId r, std::map<std::string, std::string> parameters) {
    program.relations[r].io.push_back(make_directive(IoAction::kOutput, std::move(parameters)));
  };
  put(0, {});
  put(0, {});
  put(1, {{"filename", "./a.csv"}});
  put(1, {{"IO", "sqlite"}, {"filename", "all.db"}});
  put(2, {{"IO", "sqlite"}, {"filename", "all.db"}});
  put(2, {{"IO", "jsonfile"}, {"filename", "c"}});
  put(3, {{"filename", "c"}});
  put(3, {{"filename", "c"}, {"headers", "true"}});
  put(3, {{"filename", ".//a.csv"}});
  const auto problems = unwritable_outputs(program);
  ASSERT_EQ(problems.size(), 4U) << "the same directive twice and a database of several are fine";
  EXPECT_EQ(
      problems[0].message,
      ".output b: the file \"a.csv\" is that of `.output a` at program.dl:7:1 as well, and one "
      "would overwrite the other; choose another filename");
  EXPECT_TRUE(problems[1].message.starts_with(".output d: the file \"c\" is that of `.output c`"));
  EXPECT_EQ(problems[2].message, problems[1].message);
  EXPECT_TRUE(problems[3].message.starts_with(".output d: the file \"a.csv\" is that of"));
}

TEST(FactFormat, OutputsWithOneTable) {
  Program program;
  for (const char* name : {"a", "A", "_a", "b"})
    program.relations.push_back(make_relation(name, "x:number"));
  const auto put = [&](RelationId r, std::map<std::string, std::string> parameters) {
    program.relations[r].io.push_back(make_directive(IoAction::kOutput, std::move(parameters)));
  };
  for (RelationId r = 0; r < 4; ++r) put(r, {{"IO", "sqlite"}, {"filename", "all.db"}});
  put(3, {{"IO", "sqlite"}, {"filename", "all.db"}});
  put(3, {{"IO", "sqlite"}, {"filename", "all.db"}, {"name", "c"}});
  put(3, {{"IO", "hdf5"}, {"filename", "all.db"}});
  put(3, {{"IO", "hdf5"}, {"filename", "all.h5"}});
  put(0, {{"IO", "hdf5"}, {"filename", "all.h5"}});
  const auto problems = unwritable_outputs(program);
  ASSERT_EQ(problems.size(), 4U);
  EXPECT_EQ(
      problems[0].message,
      ".output A: the table or view \"A\" of the database \"all.db\" is that of `.output a` at "
      "program.dl:7:1 as well, and one would overwrite the other; choose another name "
      "(name=\"...\") or another filename");
  EXPECT_TRUE(problems[1].message.starts_with(".output _a: the table or view \"_a\" of the"));
  EXPECT_TRUE(
      problems[2].message.starts_with(".output b: the file \"all.db\" is that of `.output a"));
  EXPECT_TRUE(
      problems[3].message.starts_with(".output b: the file \"all.h5\" is that of `.output a"))
      << "which is replaced whole";
}

}  // namespace
}  // namespace stratalog::datalog
