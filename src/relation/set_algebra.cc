// SPDX-License-Identifier: Apache-2.0
#include "relation/set_algebra.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace stratalog {
namespace {

// Looking up costs about as much as so many steps of a merge.
constexpr std::uint64_t kLookupSteps = 8;

void append_bits(std::uint64_t first_word, std::size_t w, std::uint64_t word,
                 std::vector<Cell>& out) {
  for (; word != 0; word &= word - 1)
    out.push_back(static_cast<Cell>(((first_word + w) * 64) +
                                    static_cast<std::uint64_t>(std::countr_zero(word))));
}

// `word(first, common)`: of the common elements from `first` * 64 on, as bits.
template <typename Word>
void for_common_words(const SetView& a, const SetView& b, Word&& word) {
  const std::uint64_t a_first = a.base / 64;
  const std::uint64_t b_first = b.base / 64;
  const std::uint64_t first = std::max(a_first, b_first);
  const std::uint64_t end = std::min(a_first + a.words.size(), b_first + b.words.size());
  for (std::uint64_t w = first; w < end; ++w) word(w, a.words[w - a_first] & b.words[w - b_first]);
}

// Counts what std::set_intersection would write.
struct Counted {
  using difference_type = std::ptrdiff_t;
  std::uint64_t* count = nullptr;
  Counted& operator*() { return *this; }
  Counted& operator=(Cell /*cell*/) {
    ++*count;
    return *this;
  }
  Counted& operator++() { return *this; }
  Counted operator++(int) { return *this; }
};

// Of two sets of which not both are bitmaps: looks up the few in the many, or merges.
template <typename Output>
Output intersect_lists(const IntSet& a, const IntSet& b, Output out) {
  const SetView left = a.view();
  const SetView right = b.view();
  // Few elements are looked up in many; the elements of an array in a bitmap, however few that has.
  const bool looks_up_a =
      right.kind == SetKind::kBitmap || (left.kind != SetKind::kBitmap && a.size() <= b.size());
  const IntSet& few = looks_up_a ? a : b;
  const IntSet& many = looks_up_a ? b : a;
  if (many.form() == IntSet::Form::kBitmap || many.size() / kLookupSteps > few.size()) {
    few.walk([&](Cell cell) {
      if (many.contains(cell)) *out++ = cell;
    });
    return out;
  }
  return std::set_intersection(left.values.begin(), left.values.end(), right.values.begin(),
                               right.values.end(), out);
}

bool are_bitmaps(const IntSet& a, const IntSet& b) {
  return a.form() == IntSet::Form::kBitmap && b.form() == IntSet::Form::kBitmap;
}

void subtract_bitmaps(const SetView& a, const SetView& b, std::vector<Cell>& out) {
  const std::uint64_t a_first = a.base / 64;
  const std::uint64_t b_first = b.base / 64;
  for (std::size_t w = 0; w < a.words.size(); ++w) {
    std::uint64_t word = a.words[w];
    const std::uint64_t at = a_first + w;
    if (at >= b_first && at - b_first < b.words.size()) word &= ~b.words[at - b_first];
    append_bits(a_first, w, word, out);
  }
}

}  // namespace

void intersect_sets(const IntSet& a, const IntSet& b, std::vector<Cell>& out) {
  if (are_bitmaps(a, b))
    for_common_words(a.view(), b.view(), [&](std::uint64_t first, std::uint64_t common) {
      append_bits(first, 0, common, out);
    });
  else
    intersect_lists(a, b, std::back_inserter(out));
}

std::uint64_t count_common(const IntSet& a, const IntSet& b) {
  std::uint64_t count = 0;
  if (are_bitmaps(a, b))
    for_common_words(a.view(), b.view(), [&](std::uint64_t /*first*/, std::uint64_t common) {
      count += static_cast<std::uint64_t>(std::popcount(common));
    });
  else
    intersect_lists(a, b, Counted{&count});
  return count;
}

void subtract_sets(const IntSet& a, const IntSet& b, std::vector<Cell>& out) {
  const SetView left = a.view();
  const SetView right = b.view();
  if (left.kind == SetKind::kBitmap && right.kind == SetKind::kBitmap) {
    subtract_bitmaps(left, right, out);
    return;
  }
  if (right.kind == SetKind::kBitmap || b.size() / kLookupSteps > a.size()) {
    a.walk([&](Cell cell) {
      if (!b.contains(cell)) out.push_back(cell);
    });
    return;
  }
  auto next = right.values.begin();
  a.walk([&](Cell cell) {
    while (next != right.values.end() && *next < cell) ++next;
    if (next == right.values.end() || *next != cell) out.push_back(cell);
  });
}

}  // namespace stratalog
