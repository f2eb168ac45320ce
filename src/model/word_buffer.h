// SPDX-License-Identifier: Apache-2.0
// WordBuffer: a growing array of plain words that is never zero-filled; the inner loop of every
// join ends in append(). std::vector would touch all memory twice. Not thread-safe; no MPI. Local.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace stratalog {

template <typename Word>
class WordBuffer {
  static_assert(std::is_trivially_copyable_v<Word>);

 public:
  WordBuffer() = default;
  WordBuffer(WordBuffer&& other) noexcept
      : words_(std::move(other.words_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  WordBuffer& operator=(WordBuffer&& other) noexcept {
    words_ = std::move(other.words_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  WordBuffer(const WordBuffer&) = delete;
  WordBuffer& operator=(const WordBuffer&) = delete;
  ~WordBuffer() = default;

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  std::span<const Word> words() const { return {words_.get(), size_}; }
  Word& operator[](std::size_t index) { return words_[index]; }

  // Room for `count` more words, to be filled by the caller.
  Word* extend(std::size_t count) {
    if (capacity_ - size_ < count) grow(count);
    Word* const begin = words_.get() + size_;
    size_ += count;
    return begin;
  }
  void append(std::span<const Word> more) {
    Word* const into = extend(more.size());
    // Tuples are short: a loop beats the call of memcpy.
    for (std::size_t i = 0; i < more.size(); ++i) into[i] = more[i];
  }
  void append(Word word) { *extend(1) = word; }

  void clear() { size_ = 0; }
  void release() { *this = WordBuffer(); }

 private:
  // realloc moves large blocks by remapping their pages: neither copied nor touched again.
  void grow(std::size_t count) {
    const std::size_t wanted = std::max({size_ + count, capacity_ + (capacity_ / 2), kFirst});
    void* larger = std::realloc(words_.get(), wanted * sizeof(Word));  // NOLINT: see above
    // There is none: operator new, which cannot succeed at this size, says so as for every other
    // container.
    if (larger == nullptr) larger = ::operator new(std::numeric_limits<std::ptrdiff_t>::max());
    static_cast<void>(words_.release());  // realloc has freed it
    words_.reset(static_cast<Word*>(larger));
    capacity_ = wanted;
  }

  struct Free {
    void operator()(Word* words) const { std::free(words); }  // NOLINT: pairs with realloc
  };

  static constexpr std::size_t kFirst = 16;
  std::unique_ptr<Word[], Free> words_;  // NOLINT: no array type fits
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace stratalog
