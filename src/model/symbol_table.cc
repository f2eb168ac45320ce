// SPDX-License-Identifier: Apache-2.0
#include "model/symbol_table.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

namespace stratalog {
namespace {

constexpr std::size_t kFirstSymbolSlots = 64;
constexpr std::size_t kFirstChunkBytes = std::size_t{1} << 12;
constexpr std::size_t kLargestChunkBytes = std::size_t{1} << 20;
constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
// So many look-ups wait for memory together; what they wait for stays near the processor.
constexpr std::size_t kLookUpsAtOnce = 256;

}  // namespace

SymbolTable::SymbolTable(const SymbolTable& other)
    : slots_(other.slots_),
      shift_(other.shift_),
      texts_(other.texts_),
      chunks_(other.chunks_),
      chunk_bytes_(other.chunk_bytes_),
      text_bytes_(other.text_bytes_) {}

std::uint64_t SymbolTable::hash(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

std::string_view SymbolTable::text(Cell id) const {
  assert(id < texts_.size());
  std::uint32_t length = 0;
  std::memcpy(&length, texts_[id], kLengthBytes);
  return {texts_[id] + kLengthBytes, length};
}

std::size_t SymbolTable::locate(std::string_view text, std::uint32_t tag) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = slot_of(tag);; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id_plus_one == 0) return i;
    if (slot.tag == tag && this->text(slot.id_plus_one - 1) == text) return i;
  }
}

std::optional<Cell> SymbolTable::find(std::string_view text, std::uint64_t text_hash) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[locate(text, tag(text_hash))];
  if (slot.id_plus_one == 0) return std::nullopt;
  return slot.id_plus_one - 1;
}

void SymbolTable::find_all(std::span<const Sought> texts, Cell* ids) const {
  std::array<std::uint32_t, kLookUpsAtOnce> found;  // NOLINT: filled as far as it is read
  std::array<const char*, kLookUpsAtOnce> entries;  // NOLINT
  std::array<std::uint32_t, kLookUpsAtOnce> lengths;  // NOLINT
  if (slots_.empty()) {
    std::fill_n(ids, texts.size(), kNotThere);
    return;
  }
  const std::size_t mask = slots_.size() - 1;
  for (; !texts.empty();
       texts = texts.subspan(std::min(texts.size(), kLookUpsAtOnce)), ids += kLookUpsAtOnce) {
    const auto some = texts.first(std::min(texts.size(), kLookUpsAtOnce));
    // The first slot with the tag: of nearly always an equal text.
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::uint32_t sought = tag(some[i].hash);
      std::size_t at = slot_of(sought);
      while (slots_[at].id_plus_one != 0 && slots_[at].tag != sought) at = (at + 1) & mask;
      found[i] = slots_[at].id_plus_one;
    }
    static constexpr std::array<char, kLengthBytes> kNothing{};
    for (std::size_t i = 0; i < some.size(); ++i)
      entries[i] = found[i] == 0 ? kNothing.data() : texts_[found[i] - 1];
    for (std::size_t i = 0; i < some.size(); ++i)
      std::memcpy(&lengths[i], entries[i], kLengthBytes);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::string_view text = some[i].text;
      if (found[i] == 0)
        ids[i] = kNotThere;
      else if (lengths[i] == text.size() &&
               std::memcmp(entries[i] + kLengthBytes, text.data(), text.size()) == 0)
        ids[i] = found[i] - 1;
      else
        ids[i] = find(text, some[i].hash).value_or(kNotThere);
    }
  }
}

void SymbolTable::intern_all(std::span<const Sought> texts, Cell* ids) {
  for (; !texts.empty();
       texts = texts.subspan(std::min(texts.size(), kLookUpsAtOnce)), ids += kLookUpsAtOnce) {
    const auto some = texts.first(std::min(texts.size(), kLookUpsAtOnce));
    find_all(some, ids);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (ids[i] == kNotThere) ids[i] = intern(some[i].text, some[i].hash);
  }
}

namespace {

// Calls each(sought, ids) for a few texts at a time, with their hashes.
template <typename Each>
void for_each_few(std::span<const std::string_view> texts, Cell* ids, Each&& each) {
  std::array<SymbolTable::Sought, kLookUpsAtOnce> sought;
  for (; !texts.empty();
       texts = texts.subspan(std::min(texts.size(), kLookUpsAtOnce)), ids += kLookUpsAtOnce) {
    const std::size_t count = std::min(texts.size(), kLookUpsAtOnce);
    for (std::size_t i = 0; i < count; ++i)
      sought[i] = {.text = texts[i], .hash = SymbolTable::hash(texts[i])};
    each(std::span<const SymbolTable::Sought>(sought).first(count), ids);
  }
}

}  // namespace

void SymbolTable::find_all(std::span<const std::string_view> texts, Cell* ids) const {
  for_each_few(texts, ids, [&](std::span<const Sought> some, Cell* to) { find_all(some, to); });
}

void SymbolTable::intern_all(std::span<const std::string_view> texts, Cell* ids) {
  for_each_few(texts, ids, [&](std::span<const Sought> some, Cell* to) { intern_all(some, to); });
}

void SymbolTable::make_room_for_one() {
  if ((texts_.size() + 1) * 4 > slots_.size() * 3)
    set_slots(std::max(kFirstSymbolSlots, slots_.size() * 2));
}

void SymbolTable::share_texts(const SymbolTable& other) {
  chunk_bytes_ += other.chunk_bytes_;
  chunks_.insert(chunks_.end(), other.chunks_.begin(), other.chunks_.end());
}

void SymbolTable::extend(std::uint64_t more, std::uint64_t bytes) {
  assert(size() + more <= kMaxSymbols);
  reserve(more);
  texts_.resize(texts_.size() + more);
  text_bytes_ += bytes;
}

std::vector<std::uint32_t> SymbolTable::tags() const {
  std::vector<std::uint32_t> tags(size());
  for (const Slot& slot : slots_)
    if (slot.id_plus_one != 0) tags[slot.id_plus_one - 1] = slot.tag;
  return tags;
}

bool SymbolTable::put(std::uint32_t tag, Cell id, std::size_t end) {
  for (std::size_t i = slot_of(tag); i < end; ++i) {
    if (slots_[i].id_plus_one != 0) continue;
    slots_[i] = {.tag = tag, .id_plus_one = id + 1};
    return true;
  }
  return false;
}

void SymbolTable::put(std::uint32_t tag, Cell id) {
  std::size_t i = slot_of(tag);
  while (slots_[i].id_plus_one != 0) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = {.tag = tag, .id_plus_one = id + 1};
}

Cell SymbolTable::intern(std::string_view text, std::uint64_t text_hash) {
  make_room_for_one();
  const std::uint32_t sought = tag(text_hash);
  Slot& slot = slots_[locate(text, sought)];
  if (slot.id_plus_one == 0) {
    assert(has_room_for(text));
    texts_.push_back(store(text));
    slot = {.tag = sought, .id_plus_one = static_cast<std::uint32_t>(texts_.size())};
    text_bytes_ += text.size();
  }
  return slot.id_plus_one - 1;
}

void SymbolTable::reserve(std::uint64_t more) {
  const std::uint64_t texts = texts_.size() + more;
  // Twice what there was at least: many small calls must not copy everything each time.
  if (texts > texts_.capacity())
    texts_.reserve(std::max<std::uint64_t>(texts, 2 * texts_.capacity()));
  const std::uint64_t slots = (texts * 4 / 3) + 1;
  if (slots > slots_.size())
    set_slots(std::max<std::uint64_t>(kFirstSymbolSlots, std::bit_ceil(slots)));
}

void SymbolTable::set_slots(std::size_t count) {
  std::vector<Slot> old(count);
  old.swap(slots_);
  shift_ = 32U - static_cast<std::uint32_t>(std::bit_width(count) - 1);
  for (const Slot& slot : old)
    if (slot.id_plus_one != 0) put(slot.tag, slot.id_plus_one - 1);
}

const char* SymbolTable::store(std::string_view text) {
  const std::size_t needed = kLengthBytes + text.size();
  if (needed > free_bytes_) {
    const std::size_t usual =
        std::clamp<std::size_t>(chunk_bytes_, kFirstChunkBytes, kLargestChunkBytes);
    const std::size_t bytes = std::max(usual, needed);
    chunks_.emplace_back(new char[bytes]);
    free_ = chunks_.back().get();
    free_bytes_ = bytes;
    chunk_bytes_ += bytes;
  }
  char* place = free_;
  const auto length = static_cast<std::uint32_t>(text.size());
  std::memcpy(place, &length, kLengthBytes);
  if (!text.empty()) std::memcpy(place + kLengthBytes, text.data(), text.size());
  free_ += needed;
  free_bytes_ -= needed;
  return place;
}

std::uint64_t SymbolTable::memory_bytes() const {
  return chunk_bytes_ + (slots_.capacity() * sizeof(Slot)) +
         (texts_.capacity() * sizeof(const char*)) +
         (chunks_.capacity() * sizeof(std::shared_ptr<char[]>));
}

void SymbolTable::clear() { *this = SymbolTable(); }

}  // namespace stratalog
