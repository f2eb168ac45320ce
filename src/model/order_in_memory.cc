// SPDX-License-Identifier: Apache-2.0
#include "model/order_in_memory.h"

namespace stratalog {

void ShownSymbols::find_hashes() {
  hashes_.reserve(size());
  for (Cell id = 0; id < size(); ++id) hashes_.push_back(SymbolTable::hash(table_->text(id)));
}

void ShownSymbols::find_in(const ShownSymbols& other, std::uint64_t begin,
                           std::span<std::uint32_t> ids) const {
  constexpr std::size_t kAtOnce = 256;
  std::array<SymbolTable::Sought, kAtOnce> sought;
  for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), kAtOnce)), begin += kAtOnce) {
    const std::size_t count = std::min(ids.size(), kAtOnce);
    for (std::size_t i = 0; i < count; ++i)
      sought[i] = {.text = table_->text(static_cast<Cell>(begin + i)), .hash = hashes_[begin + i]};
    other.table_->find_all(std::span(sought).first(count), ids.data());
  }
}

void ShownSymbols::prepare(SymbolTable& shared, bool is_own) const {
  shared.share_texts(
      *table_, is_own ? SymbolTable::Memory::kCountedHere : SymbolTable::Memory::kCountedElsewhere);
}

void ShownSymbols::append(SymbolTable& shared, std::span<const std::uint32_t> ids) const {
  shared.append_shared(*table_, ids, hashes_);
}

void ShownWides::append(WideTable& shared, std::span<const std::uint32_t> ids) const {
  constexpr std::size_t kAtOnce = 1024;
  std::array<std::uint64_t, kAtOnce> values;  // NOLINT: filled as far as it is read
  for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), kAtOnce))) {
    const std::size_t count = std::min(ids.size(), kAtOnce);
    for (std::size_t i = 0; i < count; ++i) values[i] = table_->values()[ids[i]];
    shared.append_new(std::span(values).first(count));
  }
}

}  // namespace stratalog
