// SPDX-License-Identifier: Apache-2.0
// Writes random programs with their fact files, one folder each, for comparisons with other engines
// (tests/campaigns/against_souffle.py): write_programs FOLDER FIRST_SEED COUNT. Values stay small,
// so that they mean the same with 32-bit and 64-bit numbers.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "property/program_generator.h"

namespace {

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file);
}

}  // namespace

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  using stratalog::datalog::ProgramGenerator;
  using stratalog::datalog::WideValues;
  if (count != 4) {
    std::cerr << "usage: write_programs FOLDER FIRST_SEED COUNT\n";
    return 2;
  }
  const std::uint64_t first = std::strtoull(arguments[2], nullptr, 10);
  const std::uint64_t programs = std::strtoull(arguments[3], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const auto generated = ProgramGenerator(seed, {.wide_values = WideValues::kNone}).generate();
    const fs::path folder = fs::path(arguments[1]) / std::to_string(seed);
    std::error_code error;
    fs::create_directories(folder / "facts", error);
    bool is_ok = !error && write_file(folder / "program.dl", generated.text);
    for (const auto& [name, text] : generated.fact_files)
      is_ok = is_ok && write_file(folder / "facts" / name, text);
    if (is_ok) continue;
    std::cerr << "cannot write " << folder << '\n';
    return 1;
  }
  return 0;
}
