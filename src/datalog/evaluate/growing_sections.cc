// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/growing_sections.h"

#include <xxhash.h>

#include <bit>
#include <cstring>
#include <utility>

#include "datalog/evaluate/position_json.h"
#include "datalog/evaluate/section_names.h"

namespace stratalog::datalog {
namespace {

std::uint64_t entries_of(const DictionarySize& size) { return size.symbols + size.wides; }
std::uint64_t entries_of(const RecordCounts& counts) { return counts.shapes + counts.records; }
std::uint64_t entries_of(std::uint64_t rounds) { return rounds; }

std::uint64_t hash_of_rounds(std::span<const std::uint64_t> rounds) {
  return XXH3_64bits(rounds.data(), rounds.size_bytes());
}

// Pieces of one level that may wait beside a new one.
constexpr std::size_t kMostOfLevel = 7;
// Of a size in entries, to the base of eight; up to a thousand all are alike.
int level_of(std::uint64_t entries) {
  return (static_cast<int>(std::bit_width(entries / 1024)) + 2) / 3;
}

// `ends` are those of the base, and become those of the new section; encode(from) gives the piece
// from there on.
template <typename End, typename Encode>
void add_pieces(const char* name, const End& now, std::vector<End>& ends, Encode&& encode,
                std::vector<NamedSection>& sections) {
  std::vector<std::uint64_t> entries;
  entries.reserve(ends.size());
  for (const End& end : ends) entries.push_back(entries_of(end));
  ends.resize(pieces_to_keep(entries, entries_of(now)));
  for (std::uint32_t piece = 0; piece < ends.size(); ++piece)
    sections.push_back({.name = name, .data = {}, .piece = piece, .is_unchanged = true});
  const End from = ends.empty() ? End{} : ends.back();
  // A section has one piece at least.
  if (!ends.empty() && entries_of(from) == entries_of(now)) return;
  sections.push_back(
      {.name = name, .data = encode(from), .piece = static_cast<std::uint32_t>(ends.size())});
  ends.push_back(now);
}

}  // namespace

std::size_t pieces_to_keep(std::span<const std::uint64_t> ends, std::uint64_t now) {
  std::size_t kept = ends.size();
  if (kept == 0 || ends.back() == now) return kept;
  for (;;) {
    const int level = level_of(now - (kept == 0 ? 0 : ends[kept - 1]));
    std::size_t larger = kept;
    while (larger != 0 &&
           level_of(ends[larger - 1] - (larger == 1 ? 0 : ends[larger - 2])) <= level)
      --larger;
    if (kept - larger < kMostOfLevel) return kept;
    kept = larger;
  }
}

GrowingSections::Ends GrowingSections::add(const std::string& base,
                                           const ValueDictionary& dictionary, bool with_records,
                                           std::span<const std::uint64_t> rounds,
                                           std::vector<NamedSection>& sections) const {
  Ends ends;
  if (!base.empty() && base == generation_) ends = ends_;
  const std::uint64_t known = ends.rounds.empty() ? 0 : ends.rounds.back();
  if (known > rounds.size() || hash_of_rounds(rounds.first(known)) != ends.rounds_hash)
    ends.rounds.clear();
  add_pieces(
      kDictionarySection, dictionary.size(), ends.dictionary,
      [&](const DictionarySize& from) {
        return encode_dictionary(dictionary, from, dictionary.size());
      },
      sections);
  if (with_records)
    add_pieces(
        kRecordsSection,
        RecordCounts{.shapes = dictionary.records().shapes().size(),
                     .records = dictionary.records().size()},
        ends.records, [&](const RecordCounts& from) { return encode_records(dictionary, from); },
        sections);
  add_pieces(
      kRoundsSection, std::uint64_t{rounds.size()}, ends.rounds,
      [&](std::uint64_t from) { return encode_rounds(rounds.subspan(from)); }, sections);
  ends.rounds_hash = hash_of_rounds(rounds);
  return ends;
}

void GrowingSections::accept(const std::string& generation, Ends ends) {
  generation_ = generation;
  ends_ = std::move(ends);
}

}  // namespace stratalog::datalog
