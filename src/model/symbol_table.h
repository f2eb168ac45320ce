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
  SymbolTable(SymbolTable&&) = default;
  SymbolTable& operator=(SymbolTable&&) = default;

  static std::uint64_t hash(std::string_view text);

  // The id of `text`, a new one (size()) if it is not in the table. Requires has_room_for(text).
  Cell intern(std::string_view text) { return intern(text, hash(text)); }
  // The same where the caller has hash(text) at hand.
  Cell intern(std::string_view text, std::uint64_t text_hash);

  // Keeps the texts that the other table has now for as long as this one lives. Many may do so at
  // once while nobody changes `other`; one of them counts their memory.
  enum class Memory : std::uint8_t { kCountedHere, kCountedElsewhere };
  void share_texts(const SymbolTable& other, Memory memory);
  // After share_texts(other): new ids for texts of `other` that are not in this table, with their
  // hashes by their ids there. They are neither copied nor compared. Requires room for them.
  void append_shared(const SymbolTable& other, std::span<const Cell> ids,
                     std::span<const std::uint64_t> hashes);

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
  // The same for those that are not there, which get new ids in their order. Requires
  // has_room_for() each of them, all together.
  void intern_all(std::span<const Sought> texts, Cell* ids);
  void intern_all(std::span<const std::string_view> texts, Cell* ids);

  // Requires id < size(). The view stays valid until clear() or the end of the table.
  std::string_view text(Cell id) const;

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
    std::uint32_t tag = 0;  // the low half of the hash; also says where to look for the slot
    std::uint32_t id_plus_one = 0;
  };

  std::size_t first_slot(std::uint64_t text_hash) const {
    return static_cast<std::uint32_t>(text_hash) & (slots_.size() - 1);
  }
  // The slot that holds `text`, or the empty one where it belongs.
  std::size_t locate(std::string_view text, std::uint32_t tag) const;
  void make_room_for_one();
  void set_slots(std::size_t count);  // a power of two
  const char* store(std::string_view text);

  std::vector<Slot> slots_;  // a power of two; at most three quarters full
  std::vector<const char*> texts_;  // id -> 4 bytes of length, then the bytes
  std::vector<std::shared_ptr<char[]>> chunks_;  // own ones and shared ones
  char* free_ = nullptr;  // where the next text goes in the current chunk
  std::size_t free_bytes_ = 0;
  std::uint64_t chunk_bytes_ = 0;  // all chunks together
  std::uint64_t text_bytes_ = 0;
};

}  // namespace stratalog
