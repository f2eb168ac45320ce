// SPDX-License-Identifier: Apache-2.0
// SouffleTables: the tables of symbols and records that stateful functors are handed, with
// Soufflé's interfaces. One pair for all functions of a program, so that what a library remembers
// of words holds for all ranks of a process. Local; see ExternalTables::in_use().
#pragma once

#include <souffle/SouffleFunctor.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "datalog/external_function.h"

namespace stratalog::datalog {

// Where a library asks for what there is not, it gets something empty, and the call fails after it.
class Misuse {
 public:
  void note(std::string what) {
    if (text_.empty()) text_ = std::move(what);
  }
  // What was noted since the last time; empty: nothing.
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

class LibrarySymbols final : public souffle::SymbolTable {
 public:
  explicit LibrarySymbols(Misuse& misuse) : misuse_(misuse) {}

  iterator begin() const override;
  iterator end() const override;
  bool weakContains(const std::string& symbol) const override { return numbers_.contains(symbol); }
  souffle::RamDomain encode(const std::string& symbol) override { return intern(symbol).first; }
  const std::string& decode(souffle::RamDomain index) const override;
  souffle::RamDomain unsafeEncode(const std::string& symbol) override { return encode(symbol); }
  const std::string& unsafeDecode(souffle::RamDomain index) const override { return decode(index); }
  std::pair<souffle::RamDomain, bool> findOrInsert(const std::string& symbol) override {
    return intern(symbol);
  }

  // The number, and whether it is new.
  std::pair<souffle::RamDomain, bool> intern(std::string_view symbol);
  const std::string* find(std::uint64_t number) const {
    return number < symbols_.size() ? &symbols_[number].first : nullptr;
  }

 private:
  using Entry = std::pair<const std::string, const std::size_t>;

  Misuse& misuse_;
  std::deque<Entry> symbols_;
  std::unordered_map<std::string_view, souffle::RamDomain> numbers_;  // the keys lie in symbols_
};

class LibraryRecords final : public souffle::RecordTable {
 public:
  explicit LibraryRecords(Misuse& misuse)
      : misuse_(misuse), references_(0, Hash{&records_}, Equal{&records_}) {}

  void setNumLanes(std::size_t /*lanes*/) override {}
  souffle::RamDomain pack(const souffle::RamDomain* tuple, std::size_t arity) override {
    return intern({tuple, arity});
  }
  souffle::RamDomain pack(const std::initializer_list<souffle::RamDomain>& list) override {
    return intern({list.begin(), list.size()});
  }
  const souffle::RamDomain* unpack(souffle::RamDomain reference, std::size_t arity) const override;
  void enumerate(const std::function<void(const souffle::RamDomain*, std::size_t,
                                          souffle::RamDomain)>& visit) const override;

  using Record = std::span<const souffle::RamDomain>;
  souffle::RamDomain intern(Record record);
  // Nothing if there is no such record.
  std::optional<Record> find(std::uint64_t reference) const {
    if (reference == 0 || reference > records_.size()) return std::nullopt;
    return records_[reference - 1];
  }

 private:
  // Of references into `records`, and of records that may not be there yet.
  struct Hash {
    using is_transparent = void;
    const std::vector<Record>* records;
    std::size_t operator()(Record record) const;
    std::size_t operator()(std::uint64_t reference) const {
      return operator()((*records)[reference - 1]);
    }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<Record>* records;
    Record record(Record record) const { return record; }
    Record record(std::uint64_t reference) const { return (*records)[reference - 1]; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const;
  };

  souffle::RamDomain* room_for(std::size_t words);

  Misuse& misuse_;
  std::vector<std::unique_ptr<souffle::RamDomain[]>> blocks_;  // the words, which never move
  std::size_t left_ = 0;  // free words at the end of the last block
  souffle::RamDomain* next_ = nullptr;
  std::vector<Record> records_;  // reference - 1 -> its words
  std::unordered_set<std::uint64_t, Hash, Equal> references_;
  mutable std::deque<std::vector<souffle::RamDomain>> zeros_;  // for unpack() of what there is not
};

class SouffleTables final : public ExternalTables {
 public:
  std::uint64_t symbol(std::string_view text) override {
    return static_cast<std::uint64_t>(symbols_.intern(text).first);
  }
  std::optional<std::string_view> text(std::uint64_t symbol) const override {
    const std::string* const found = symbols_.find(symbol);
    return found == nullptr ? std::nullopt : std::optional<std::string_view>(*found);
  }
  std::uint64_t record(std::span<const std::uint64_t> words) override;
  std::optional<std::span<const std::uint64_t>> words(std::uint64_t reference,
                                                      std::size_t count) const override;

  // What functions are handed.
  souffle::SymbolTable* symbol_table() { return &symbols_; }
  souffle::RecordTable* record_table() { return &records_; }
  // What a function asked for that is not there, since the last time; empty: nothing.
  std::string take_misuse() { return misuse_.take(); }

 private:
  Misuse misuse_;
  LibrarySymbols symbols_{misuse_};
  LibraryRecords records_{misuse_};
};

}  // namespace stratalog::datalog
