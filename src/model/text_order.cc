// SPDX-License-Identifier: Apache-2.0
#include "model/text_order.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

namespace stratalog {
namespace {

constexpr std::size_t kKeyBytes = sizeof(std::uint64_t);
// Runs up to this length are not worth keys.
constexpr std::size_t kComparedRun = 8;

struct KeyedText {
  std::uint64_t
      key;  // bytes [depth, depth + 8) of the text, the first one highest; 0 behind its end
  std::uint64_t place;
};

std::uint64_t key_at(std::string_view text, std::size_t depth) {
  if (text.size() < depth + kKeyBytes) {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < kKeyBytes; ++i) {
      const std::size_t at = depth + i;
      key = (key << 8U) | (at < text.size() ? static_cast<unsigned char>(text[at]) : 0U);
    }
    return key;
  }
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text.data() + depth, kKeyBytes);
  return std::endian::native == std::endian::little ? __builtin_bswap64(bytes) : bytes;
}

class TextSorter {
 public:
  explicit TextSorter(std::span<const std::string_view> texts) : texts_(texts) {
    keyed_.reserve(texts.size());
    for (std::uint64_t place = 0; place < texts.size(); ++place) keyed_.push_back({0, place});
  }

  // A run of texts that are equal up to `depth`, whole texts among them only if they end there.
  // Runs wait in a list of their own, as texts of megabytes may be equal for long.
  std::vector<std::uint64_t> order() {
    runs_.push_back({0, keyed_.size(), 0});
    while (!runs_.empty()) {
      const Run run = runs_.back();
      runs_.pop_back();
      sort_run(run);
    }
    std::vector<std::uint64_t> places;
    places.reserve(keyed_.size());
    for (const KeyedText& text : keyed_) places.push_back(text.place);
    return places;
  }

 private:
  struct Run {
    std::size_t begin, end, depth;
  };

  void sort_run(const Run& run) {
    const auto begin = keyed_.begin() + static_cast<std::ptrdiff_t>(run.begin);
    const auto end = keyed_.begin() + static_cast<std::ptrdiff_t>(run.end);
    if (run.end - run.begin <= kComparedRun) {
      compare_texts(begin, end, run.depth);
      return;
    }
    for (auto text = begin; text != end; ++text) text->key = key_at(texts_[text->place], run.depth);
    if (std::all_of(begin, end, [&](const KeyedText& text) { return text.key == begin->key; })) {
      settle_equal_keys(begin, end, run.depth);
      return;
    }
    std::sort(begin, end, [](const KeyedText& a, const KeyedText& b) {
      return std::tie(a.key, a.place) < std::tie(b.key, b.place);
    });
    for (auto from = begin; from != end;) {
      const auto to =
          std::find_if(from + 1, end, [&](const KeyedText& text) { return text.key != from->key; });
      if (to - from > 1) settle_equal_keys(from, to, run.depth);
      from = to;
    }
  }

  // A text that ends within the key is equal to one that goes on with zero bytes: such runs, which
  // are those of equal texts, too, are compared as they are.
  void settle_equal_keys(std::vector<KeyedText>::iterator from, std::vector<KeyedText>::iterator to,
                         std::size_t depth) {
    const auto ends = [&](const KeyedText& text) {
      return texts_[text.place].size() < depth + kKeyBytes;
    };
    if (std::any_of(from, to, ends))
      compare_texts(from, to, depth);
    else
      runs_.push_back({static_cast<std::size_t>(from - keyed_.begin()),
                       static_cast<std::size_t>(to - keyed_.begin()), depth + kKeyBytes});
  }

  void compare_texts(std::vector<KeyedText>::iterator from, std::vector<KeyedText>::iterator to,
                     std::size_t depth) {
    std::sort(from, to, [&](const KeyedText& a, const KeyedText& b) {
      const int order = texts_[a.place].substr(depth).compare(texts_[b.place].substr(depth));
      return order != 0 ? order < 0 : a.place < b.place;
    });
  }

  std::span<const std::string_view> texts_;
  std::vector<KeyedText> keyed_;
  std::vector<Run> runs_;
};

}  // namespace

std::vector<std::uint64_t> order_of_texts(std::span<const std::string_view> texts) {
  return TextSorter(texts).order();
}

void sort_texts(std::vector<std::string_view>& texts) {
  std::vector<std::string_view> sorted;
  sorted.reserve(texts.size());
  for (const std::uint64_t place : order_of_texts(texts)) sorted.push_back(texts[place]);
  texts = std::move(sorted);
}

}  // namespace stratalog
