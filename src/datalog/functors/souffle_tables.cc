// SPDX-License-Identifier: Apache-2.0
#include "datalog/functors/souffle_tables.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace stratalog::datalog {
namespace {

using souffle::RamDomain;

constexpr std::string_view kAdvice =
    "; a library made for a domain of 32 bits must be compiled anew with -DRAM_DOMAIN_SIZE=64";

template <typename Entries>
class EntryIterator final : public souffle::SymbolTableIteratorInterface {
 public:
  EntryIterator(const Entries& entries, std::size_t at) : entries_(entries), at_(at) {}

  const std::pair<const std::string, const std::size_t>& get() const override {
    return entries_[at_];
  }
  bool equals(const SymbolTableIteratorInterface& other) override {
    const auto* const same = dynamic_cast<const EntryIterator*>(&other);
    return same != nullptr && same->at_ == at_;
  }
  SymbolTableIteratorInterface& incr() override {
    ++at_;
    return *this;
  }
  std::unique_ptr<SymbolTableIteratorInterface> copy() const override {
    return std::make_unique<EntryIterator>(*this);
  }

 private:
  const Entries& entries_;
  std::size_t at_;
};

}  // namespace

souffle::SymbolTable::iterator LibrarySymbols::begin() const {
  return iterator(std::make_unique<EntryIterator<std::deque<Entry>>>(symbols_, 0));
}

souffle::SymbolTable::iterator LibrarySymbols::end() const {
  return iterator(std::make_unique<EntryIterator<std::deque<Entry>>>(symbols_, symbols_.size()));
}

const std::string& LibrarySymbols::decode(RamDomain index) const {
  if (const std::string* const found = find(static_cast<std::uint64_t>(index))) return *found;
  misuse_.note(fmt::format("it asked for symbol number {}, and the table has {} symbols{}", index,
                           symbols_.size(), kAdvice));
  static const std::string kNothing;
  return kNothing;
}

std::pair<RamDomain, bool> LibrarySymbols::intern(std::string_view symbol) {
  if (const auto known = numbers_.find(symbol); known != numbers_.end())
    return {known->second, false};
  const auto number = symbols_.size();
  const Entry& entry = symbols_.emplace_back(symbol, number);
  numbers_.emplace(entry.first, static_cast<RamDomain>(number));
  return {static_cast<RamDomain>(number), true};
}

std::size_t LibraryRecords::Hash::operator()(Record record) const {
  return XXH3_64bits_withSeed(record.data(), record.size_bytes(), record.size());
}

template <typename A, typename B>
bool LibraryRecords::Equal::operator()(const A& a, const B& b) const {
  return std::ranges::equal(record(a), record(b));
}

RamDomain* LibraryRecords::room_for(std::size_t words) {
  constexpr std::size_t kBlockWords = 1U << 13;
  if (words > left_) {
    left_ = std::max(words, kBlockWords);
    next_ = blocks_.emplace_back(std::make_unique<RamDomain[]>(left_)).get();
  }
  return next_;
}

RamDomain LibraryRecords::intern(Record record) {
  if (const auto known = references_.find(record); known != references_.end())
    return static_cast<RamDomain>(*known);
  RamDomain* const words = room_for(record.size());
  std::ranges::copy(record, words);
  records_.emplace_back(words, record.size());
  const std::uint64_t reference = records_.size();
  references_.insert(reference);
  next_ += record.size();
  left_ -= record.size();
  return static_cast<RamDomain>(reference);
}

const RamDomain* LibraryRecords::unpack(RamDomain reference, std::size_t arity) const {
  const auto found = find(static_cast<std::uint64_t>(reference));
  if (found && found->size() == arity) return found->data();
  misuse_.note(
      reference == 0 ? fmt::format("it unpacked nil, as {} fields", arity)
      : found ? fmt::format("it unpacked a record of {} fields as one of {}", found->size(), arity)
              : fmt::format("it unpacked reference {}, and the table has {} records{}", reference,
                            records_.size(), kAdvice));
  return zeros_.emplace_back(std::max<std::size_t>(arity, 1)).data();
}

void LibraryRecords::enumerate(
    const std::function<void(const RamDomain*, std::size_t, RamDomain)>& visit) const {
  // By number: visitors may pack.
  for (std::size_t i = 0; i < records_.size(); ++i)
    visit(records_[i].data(), records_[i].size(), static_cast<RamDomain>(i + 1));
}

std::uint64_t SouffleTables::record(std::span<const std::uint64_t> words) {
  return static_cast<std::uint64_t>(
      records_.intern({reinterpret_cast<const RamDomain*>(words.data()), words.size()}));
}

std::optional<std::span<const std::uint64_t>> SouffleTables::words(std::uint64_t reference,
                                                                   std::size_t count) const {
  const auto found = records_.find(reference);
  if (!found || found->size() != count) return std::nullopt;
  return std::span(reinterpret_cast<const std::uint64_t*>(found->data()), found->size());
}

}  // namespace stratalog::datalog
