// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/key_streams.h"

#include <fmt/format.h>

namespace stratalog::datalog {

KeyStreams::KeyStreams(std::uint32_t columns)
    : columns_(columns), streams_((3 * std::size_t{columns}) - 2), open_(columns, 0) {}

std::string KeyStreams::name(std::size_t stream) const {
  if (stream == 0) return "key";
  static constexpr const char* kNames[] = {"count", "first", "gap"};
  const std::size_t level = (stream - 1) / 3;
  const char* word = kNames[(stream - 1) % 3];
  return level == 0 ? word : fmt::format("{}{}", word, level + 1);
}

void KeyStreams::begin(std::span<const std::uint32_t> row, std::size_t column) {
  for (std::size_t c = column; c < columns_; ++c) {
    if (!last_.empty()) part(c, kCount).push_back(open_[c]);
    part(c, kFirst).push_back(row[c]);
    open_[c] = 1;
  }
}

void KeyStreams::add_row(std::span<const std::uint32_t> row) {
  if (last_.empty()) {
    streams_[0].push_back(row[0]);
    begin(row, 1);
    last_.assign(row.begin(), row.end());
    return;
  }
  std::size_t c = 0;
  while (c + 1 < columns_ && row[c] == last_[c]) ++c;
  if (c == 0) {
    streams_[0].push_back(row[0] - last_[0]);
  } else {
    part(c, kGap).push_back(row[c] - last_[c] - 1);
    ++open_[c];
  }
  begin(row, c + 1);
  last_.assign(row.begin(), row.end());
}

// The same for two columns, key by key.
void KeyStreams::add_pairs(std::span<const std::uint32_t> rows) {
  Stream& gaps = part(1, kGap);
  std::size_t at = 0;
  while (at < rows.size()) {
    // Most rows have the key of the row before: only gaps.
    const std::uint32_t key = last_[0];
    std::size_t end = at;
    while (end < rows.size() && rows[end] == key) end += 2;
    const std::size_t count = (end - at) / 2;
    const std::size_t begin_of_gaps = gaps.size();
    gaps.resize(begin_of_gaps + count);
    std::uint32_t before = last_[1];
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t value = rows[at + (2 * i) + 1];
      gaps[begin_of_gaps + i] = value - before - 1;
      before = value;
    }
    open_[1] += static_cast<std::uint32_t>(count);
    last_[1] = before;
    if (end < rows.size()) {
      add_row(rows.subspan(end, 2));
      end += 2;
    }
    at = end;
  }
}

void KeyStreams::add(std::span<const std::uint32_t> rows) {
  if (rows.empty()) return;
  std::size_t at = 0;
  if (last_.empty()) {
    add_row(rows.first(columns_));
    at = columns_;
  }
  if (columns_ == 2) return add_pairs(rows.subspan(at));
  for (; at < rows.size(); at += columns_) add_row(rows.subspan(at, columns_));
}

void KeyStreams::finish() {
  if (last_.empty()) return;
  for (std::size_t c = 1; c < columns_; ++c) part(c, kCount).push_back(open_[c]);
  last_.clear();
}

}  // namespace stratalog::datalog
