// SPDX-License-Identifier: Apache-2.0
// SourceMap: from an offset in the expanded text back to the user's file, line and column. It reads
// the line markers
// (`# 12 "file" flags`) that the preprocessor leaves in the text, and undoes the preprocessor's
// squeezing of blanks where the original line is known. Reads no files: originals are given. Local;
// thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/language/diagnostic.h"
#include "datalog/language/source_span.h"

namespace stratalog::datalog::language {

// The texts of the files as the user wrote them, by the name that line markers use.
using OriginalTexts = std::map<std::string, std::string, std::less<>>;

class SourceMap {
 public:
  // Both texts must outlive the map. `name` names the text up to the first line marker.
  SourceMap(std::string_view expanded, const std::string& name, const OriginalTexts& originals);

  MarkedPlace locate(Span span) const;
  // The same place without the line's text; takes constant time where the preprocessor has changed
  // nothing before it in the line.
  SourcePlace place(Span span) const;

 private:
  struct Line {
    std::uint32_t begin = 0;  // offset in the expanded text
    std::uint32_t file = 0;  // index into files_
    std::uint32_t number = 0;  // one-based in that file
  };

  const Line& line_of(std::uint32_t offset) const;
  bool is_touched(const Line& line) const { return !original_line_begins_[line.file].empty(); }
  std::uint32_t characters_between(std::uint32_t begin, std::uint32_t end) const;
  std::uint32_t characters_before(std::uint32_t offset) const;
  std::string_view line_text(const Line& line) const;
  std::string_view original_line(const Line& line) const;

  std::string_view expanded_;
  std::vector<std::string> files_;
  std::vector<std::vector<std::uint32_t>> original_line_begins_;  // by file; empty when unknown
  std::vector<std::string_view> original_texts_;  // by file
  std::vector<Line> lines_;
  std::vector<std::uint32_t>
      characters_before_block_;  // of every kBlock bytes: lines may be megabytes long
};

// What a marker says about includes: the numbers behind the file, as the C preprocessor writes
// them.
enum class FileStep : std::uint8_t { kNone, kEnters, kReturns };

// A parsed line marker.
struct LineMarker {
  std::uint32_t line = 0;
  std::string file;
  FileStep step = FileStep::kNone;
  // kEnters: where the `.include` stands; 0: the marker stands in the place of the including line.
  std::uint32_t included_line = 0;
  std::uint32_t included_column = 0;
};

// True when `line` (without its newline) is a marker that the preprocessor or .include wrote; fills
// `marker`.
bool parse_line_marker(std::string_view line, LineMarker& marker);

// The text of such a marker, without the newline.
std::string line_marker(std::uint32_t line, std::string_view file);
std::string line_marker(const LineMarker& marker);

}  // namespace stratalog::datalog::language
