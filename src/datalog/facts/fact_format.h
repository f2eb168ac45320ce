// SPDX-License-Identifier: Apache-2.0
// plan_input and plan_output: what a .input or .output directive means, checked: file, delimiter,
// columns and the rest of Soufflé's parameters (docs/formats/facts.md). Pure; nothing is opened
// here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/program.h"

namespace stratalog::datalog {

enum class FactMedium : std::uint8_t {
  kText,
  kConsole,  // text: standard input or standard output
  kHdf5,
  kJson,  // a file
  kJsonConsole,
  kSqlite,
};

inline bool is_json(FactMedium medium) {
  return medium == FactMedium::kJson || medium == FactMedium::kJsonConsole;
}

struct FactFormat {
  FactMedium medium = FactMedium::kText;
  // What the relation is called outside: the table of an SQLite database, the group of an HDF5
  // file, the frame on standard output, the stem of a file without a name.
  std::string name;
  std::string path;  // below the facts or output directory, or absolute
  std::string delimiter = "\t";
  bool has_headers = false;
  std::string header;  // output: this line for headers; empty: the attributes' names
  bool is_rfc4180 = false;
  bool is_json_object = false;  // tuples and records as objects; output only, input takes both
  bool is_compressed = false;  // output only: input recognises gzip by its first bytes
  // Input: the attribute that a field of the file goes to, or kIgnoredField. Fields behind the last
  // entry are an error unless has_chosen_columns.
  std::vector<std::uint32_t> attribute_of_field;
  bool has_chosen_columns = false;
};

inline constexpr std::uint32_t kIgnoredField = 0xFFFFFFFFU;

// InvalidArgument or NotSupported with the directive's place, the parameter and what was expected.
// Names of parameters are the language room's business; here unknown ones are ignored.
Result<FactFormat> plan_input(const Relation& relation, const IoDirective& directive);
Result<FactFormat> plan_output(const Relation& relation, const IoDirective& directive);

// Where a directive stands, and what it says, for messages: "a.dl:3:1: .input edge".
std::string place_of(const Relation& relation, const IoDirective& directive);

// A directive that cannot be carried out, whatever the relation will hold.
struct FormatProblem {
  SourcePlace place;
  std::string message;  // does not repeat the place
};
// Every .output that plan_output refuses, or that by its spelling has the file or table of another
// (check_outputs() looks where files really lie), and every .input that plan_input refuses, in the
// order of the relations.
std::vector<FormatProblem> unwritable_outputs(const Program& program);
std::vector<FormatProblem> unreadable_inputs(const Program& program);

}  // namespace stratalog::datalog
