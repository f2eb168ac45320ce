// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/source_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <system_error>

namespace stratalog::datalog::language {
namespace {

bool is_blank_in_line(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::uint32_t count_characters(std::string_view text) {
  return static_cast<std::uint32_t>(std::count_if(text.begin(), text.end(), starts_character));
}

// Every rule and relation has a place: what is counted for each is short.
constexpr std::uint32_t kBlock = 64;
// Longer lines are not compared with their originals: nobody reads their columns, and the
// comparison is linear.
constexpr std::size_t kMaxAlignedLine = 4096;

std::vector<std::uint32_t> line_begins(std::string_view text) {
  std::vector<std::uint32_t> begins{0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') begins.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return begins;
}

// Walks both lines, letting runs of blanks and comments differ, and returns the offset in
// `original` of the character at `offset` in `expanded`; npos when the lines differ in anything
// else (a macro was expanded).
std::size_t align(std::string_view expanded, std::string_view original, std::size_t offset) {
  std::size_t o = 0;
  const auto skip_blanks = [&] {
    for (;;) {
      while (o < original.size() && is_blank_in_line(original[o])) ++o;
      if (original.substr(o, 2) != "/*") return;
      const std::size_t close = original.find("*/", o + 2);
      if (close == std::string_view::npos) return;
      o = close + 2;
    }
  };
  std::size_t found = std::string_view::npos;
  std::size_t e = 0;
  for (; e < expanded.size(); ++e) {
    if (is_blank_in_line(expanded[e])) {
      if (e == offset) found = o;
      continue;
    }
    skip_blanks();
    if (o >= original.size() || original[o] != expanded[e]) return std::string_view::npos;
    if (e == offset) found = o;
    ++o;
  }
  if (offset >= expanded.size()) found = o;
  skip_blanks();
  const bool at_end =
      o == original.size() || original.substr(o, 2) == "//" || original.substr(o, 2) == "/*";
  return at_end ? found : std::string_view::npos;
}

// Behind the file: `1` (with ` at LINE:COLUMN` from .include), `2`, and what means nothing here.
void parse_step(std::string_view rest, LineMarker& marker) {
  const auto number = [&] {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc()) return std::uint32_t{0};
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
  };
  const auto skip = [&](std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  };
  marker.step = FileStep::kNone;
  marker.included_line = 0;
  marker.included_column = 0;
  if (!skip(" ")) return;
  const std::uint32_t flag = number();
  if (flag == 1) marker.step = FileStep::kEnters;
  if (flag == 2) marker.step = FileStep::kReturns;
  if (marker.step != FileStep::kEnters || !skip(" at ")) return;
  marker.included_line = number();
  if (skip(":")) marker.included_column = number();
}

}  // namespace

bool parse_line_marker(std::string_view line, LineMarker& marker) {
  std::size_t i = 0;
  if (line.empty() || line[0] != '#') return false;
  ++i;
  if (line.substr(i, 4) == "line") i += 4;
  if (i >= line.size() || line[i] != ' ') return false;
  while (i < line.size() && line[i] == ' ') ++i;
  if (i >= line.size() || !std::isdigit(static_cast<unsigned char>(line[i]))) return false;
  std::uint64_t number = 0;
  for (; i < line.size() && std::isdigit(static_cast<unsigned char>(line[i])); ++i) {
    number = number * 10 + static_cast<std::uint64_t>(line[i] - '0');
    if (number > std::numeric_limits<std::uint32_t>::max()) return false;
  }
  while (i < line.size() && line[i] == ' ') ++i;
  if (i >= line.size() || line[i] != '"') return false;
  marker.file.clear();
  for (++i; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    marker.file.push_back(line[i]);
  }
  if (i >= line.size()) return false;
  marker.line = static_cast<std::uint32_t>(number);
  parse_step(line.substr(i + 1), marker);
  return true;
}

std::string line_marker(std::uint32_t line, std::string_view file) {
  std::string quoted;
  for (char c : file) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c == '\n' ? ' ' : c);
  }
  return fmt::format("# {} \"{}\"", line, quoted);
}

std::string line_marker(const LineMarker& marker) {
  std::string text = line_marker(marker.line, marker.file);
  if (marker.step == FileStep::kReturns) text += " 2";
  if (marker.step == FileStep::kEnters) text += " 1";
  if (marker.step == FileStep::kEnters && marker.included_line != 0)
    text += fmt::format(" at {}:{}", marker.included_line, marker.included_column);
  return text;
}

SourceMap::SourceMap(std::string_view expanded, const std::string& name,
                     const OriginalTexts& originals)
    : expanded_(expanded) {
  std::map<std::string, std::uint32_t> indices;
  const auto index_of = [&](const std::string& file) {
    const auto [entry, is_new] = indices.emplace(file, files_.size());
    if (is_new) {
      files_.push_back(file);
      const auto original = originals.find(file);
      const bool known = original != originals.end();
      original_texts_.push_back(known ? std::string_view(original->second) : std::string_view());
      original_line_begins_.push_back(known ? line_begins(original->second)
                                            : std::vector<std::uint32_t>());
    }
    return entry->second;
  };
  std::uint32_t file = index_of(name);
  std::uint32_t number = 1;
  std::uint32_t characters = 0;
  for (std::size_t begin = 0; begin <= expanded.size(); begin += kBlock) {
    characters_before_block_.push_back(characters);
    characters += count_characters(expanded.substr(begin, kBlock));
  }
  LineMarker marker;
  for (const std::uint32_t begin : line_begins(expanded)) {
    lines_.push_back({begin, file, number++});
    if (begin < expanded.size() && expanded[begin] == '#' &&
        parse_line_marker(line_text(lines_.back()), marker)) {
      file = index_of(marker.file);
      number = marker.line;
    }
  }
}

std::string_view SourceMap::line_text(const Line& line) const {
  const std::size_t end = expanded_.find('\n', line.begin);
  return expanded_.substr(line.begin, end == std::string_view::npos ? end : end - line.begin);
}

std::string_view SourceMap::original_line(const Line& line) const {
  const std::vector<std::uint32_t>& begins = original_line_begins_[line.file];
  if (line.number == 0 || line.number > begins.size()) return {};
  const std::string_view text = original_texts_[line.file].substr(begins[line.number - 1]);
  return text.substr(0, text.find('\n'));
}

const SourceMap::Line& SourceMap::line_of(std::uint32_t offset) const {
  const auto after =
      std::upper_bound(lines_.begin(), lines_.end(), offset,
                       [](std::uint32_t wanted, const Line& line) { return wanted < line.begin; });
  return *(after - 1);
}

std::uint32_t SourceMap::characters_before(std::uint32_t offset) const {
  const std::uint32_t block = offset / kBlock;
  return characters_before_block_[block] +
         count_characters(expanded_.substr(std::size_t{block} * kBlock, offset % kBlock));
}

std::uint32_t SourceMap::characters_between(std::uint32_t begin, std::uint32_t end) const {
  return characters_before(end) - characters_before(begin);
}

SourcePlace SourceMap::place(Span span) const {
  const Line& line = line_of(span.begin);
  const auto before = expanded_.substr(line.begin, span.begin - line.begin);
  if (is_touched(line) && !original_line(line).starts_with(before)) return locate(span).place;
  return {files_[line.file], line.number, characters_between(line.begin, span.begin) + 1};
}

MarkedPlace SourceMap::locate(Span span) const {
  const Line& line = line_of(span.begin);
  std::string_view text = line_text(line);
  std::size_t begin = std::min<std::size_t>(span.begin - line.begin, text.size());
  std::size_t end = std::clamp<std::size_t>(span.end - line.begin, begin, text.size());

  MarkedPlace marked;
  marked.place.file = files_[line.file];
  marked.place.line = line.number;
  marked.place.column =
      characters_between(line.begin, line.begin + static_cast<std::uint32_t>(begin)) + 1;
  if (is_touched(line) && text.size() <= kMaxAlignedLine) {
    const std::string_view original = original_line(line);
    const std::size_t original_begin = align(text, original, begin);
    const std::size_t original_last = end > begin ? align(text, original, end - 1) : original_begin;
    if (original_begin != std::string_view::npos && original_last != std::string_view::npos) {
      text = original;
      end = end > begin ? original_last + 1 : original_begin;
      begin = original_begin;
      marked.place.column = count_characters(text.substr(0, begin)) + 1;
    } else {
      marked.from_macro = true;
    }
  }
  while (!text.empty() && is_blank_in_line(text.back()) && text.size() > end) text.remove_suffix(1);
  marked.line_text = std::string(text);
  marked.length = std::max<std::uint32_t>(1, count_characters(text.substr(begin, end - begin)));
  return marked;
}

}  // namespace stratalog::datalog::language
