// SPDX-License-Identifier: Apache-2.0
// OutputClashes: which outputs of a program would lie in one place, so that one overwrites the
// other. Files are one if their names are equal, so whoever asks makes names of one file equal: by
// spelling, or by looking where they lead. Tables of one SQLite database have names of their own.
// Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "datalog/facts/fact_format.h"
#include "datalog/program.h"

namespace stratalog::datalog {

struct PlacedOutput {
  std::string file;
  FactFormat format;
  const Relation* relation = nullptr;
  const IoDirective* directive = nullptr;
};

// Whether the output goes to a file.
inline bool has_file(const FactFormat& format) {
  return format.medium != FactMedium::kConsole && format.medium != FactMedium::kJsonConsole;
}

class OutputClashes {
 public:
  // What is wrong with the output beside those added before, without its place; empty: nothing. The
  // same output once more does no harm.
  std::string add(const PlacedOutput& output);

 private:
  std::string add_table(const PlacedOutput& output);

  std::map<std::string, PlacedOutput> first_of_file_;
  // By database and name, of which SQLite does not see the case. Tables and views share names.
  std::map<std::pair<std::string, std::string>, PlacedOutput> owner_of_table_;
};

}  // namespace stratalog::datalog
