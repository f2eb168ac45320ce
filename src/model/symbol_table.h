// SPDX-License-Identifier: Apache-2.0
// SymbolTable: strings under dense numbers, append-only. Any bytes are allowed, NUL included. Bytes
// lie in arenas that never move, so texts stay valid as long as the table, and tables may share
// them; the index is an open-addressing table of (hash, id) that is rebuilt without touching the
// texts. Knows nothing of ranks: value_agreement.h makes tables equal. Local; thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/cell.h"

namespace stratalog {

// Ids from here to 2^31 are provisional: known to one rank only until the ranks agree
// (value_agreement.h).
inline constexpr Cell kProvisionalSymbolBase = 1U << 30;

constexpr bool is_provisional_symbol(Cell cell) { return cell >= kProvisionalSymbolBase; }

class SymbolTable {
 public:
  static constexpr std::uint64_t kMaxSymbols = kProvisionalSymbolBase;
  static constexpr std::uint64_t kMaxSymbolBytes = 0xFFFFFFFFU;

  SymbolTable() = default;
  // A copy has texts in common with the other table, and new ones of its own.
  SymbolTable(const SymbolTable& other);
  SymbolTable& operator=(const SymbolTable&) = delete;
  SymbolTable(SymbolTable&&) = default;
  SymbolTable& operator=(SymbolTable&&) = default;

  static std::uint64_t hash(std::string_view text);

  // The id of `text`, a new one (size()) if it is not in the table. Requires has_room_for(text).
  Cell intern(std::string_view text) { return intern(text, hash(text)); }
  // The same where the caller has hash(text) at hand.
  Cell intern(std::string_view text, std::uint64_t text_hash);

  // For threads that fill a table together with texts that others have and this one has not. One of
  // them calls share_texts(), which keeps the texts of another table for as long as this one lives,
  // and extend(); then all may call show_text() for new ids of their own and put() for parts of the
  // slots of their own, and one at the end put() for what had no room in its part. Until then
  // nothing is found.
  void share_texts(const SymbolTable& other);
  // So many more ids, of texts that have so many bytes together. Requires room for them.
  void extend(std::uint64_t more, std::uint64_t bytes);
  void show_text(Cell id, const SymbolTable& other, Cell id_there) {
    texts_[id] = other.texts_[id_there];
  }
  // The bits of its hash that name a text's place.
  static std::uint32_t tag(std::uint64_t text_hash) {
    return static_cast<std::uint32_t>(text_hash);
  }
  // Those of all texts, by id.
  std::vector<std::uint32_t> tags() const;
  // Slots ascend with the tags. Requires slot_count() > 0.
  std::size_t slot_of(std::uint32_t tag) const { return tag >> shift_; }
  std::size_t slot_count() const { return slots_.size(); }
  // False if none is empty from slot_of(tag) up to `end`.
  bool put(std::uint32_t tag, Cell id, std::size_t end);
  // The same where the others have put theirs.
  void put(std::uint32_t tag, Cell id);

  std::optional<Cell> find(std::string_view text) const { return find(text, hash(text)); }
  std::optional<Cell> find(std::string_view text, std::uint64_t text_hash) const;

  // A text with its hash().
  struct Sought {
    std::string_view text;
    std::uint64_t hash = 0;
  };
  static constexpr Cell kNotThere = ~Cell{0};
  // The ids of many texts, kNotThere for those that are not in the table. Looking for one waits for
  // memory three times: for its slot, its entry and its text; here all wait together, which a
  // processor does best for loads that depend on nothing. `ids` has room for as many.
  void find_all(std::span<const Sought> texts, Cell* ids) const;
  void find_all(std::span<const std::string_view> texts, Cell* ids) const;
  // The same for those that are not there, which get new ids in their order. Requires
  // has_room_for() each of them, all together.
  void intern_all(std::span<const Sought> texts, Cell* ids);
  void intern_all(std::span<const std::string_view> texts, Cell* ids);

  // Requires id < size(). The view stays valid until clear() or the end of the table.
  std::string_view text(Cell id) const;
  // It will be read soon.
  void expect(Cell id) const { __builtin_prefetch(texts_[id]); }

  // Room for so many more, so that the index is not built again on the way to them.
  void reserve(std::uint64_t more);
  bool has_room_for(std::string_view text) const {
    return size() < kMaxSymbols && text.size() <= kMaxSymbolBytes;
  }
  std::uint64_t size() const { return texts_.size(); }
  // Bytes of all texts together.
  std::uint64_t text_bytes() const { return text_bytes_; }
  std::uint64_t memory_bytes() const;
  void clear();

 private:
  struct Slot {
    std::uint32_t tag = 0;  // whose upper bits also say where to look for the slot
    std::uint32_t id_plus_one = 0;
  };

  // The slot that holds `text`, or the empty one where it belongs.
  std::size_t locate(std::string_view text, std::uint32_t tag) const;
  void make_room_for_one();
  void set_slots(std::size_t count);  // a power of two
  const char* store(std::string_view text);

  std::vector<Slot> slots_;  // a power of two; at most three quarters full
  std::uint32_t shift_ = 0;  // from a tag to a number of slots
  std::vector<const char*> texts_;  // id -> 4 bytes of length, then the bytes
  std::vector<std::shared_ptr<char[]>> chunks_;  // own ones and shared ones
  char* free_ = nullptr;  // where the next text goes in the current chunk
  std::size_t free_bytes_ = 0;
  std::uint64_t chunk_bytes_ = 0;  // all chunks together
  std::uint64_t text_bytes_ = 0;
};

}  // namespace stratalog
