// SPDX-License-Identifier: Apache-2.0
// What stateful functors include to be called by Stratalog, where Soufflé's own headers are not at
// hand: the interfaces of its tables of symbols and records as Soufflé 2.3 and later have them,
// virtual function by virtual function, so that a library made with either works with both. The
// names are Soufflé's. C++17.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#ifndef RAM_DOMAIN_SIZE
#define RAM_DOMAIN_SIZE 64
#endif
static_assert(RAM_DOMAIN_SIZE == 64, "Stratalog calls functors of a domain of 64 bits");

namespace souffle {

using RamDomain = std::int64_t;
using RamSigned = RamDomain;
using RamUnsigned = std::uint64_t;
using RamFloat = double;

template <typename T, std::size_t N>
using Tuple = std::array<T, N>;

// The same bits as another of these types: unsigned numbers and floats are handed over as
// RamDomain.
template <typename To = RamDomain, typename From>
To ramBitCast(From from) {
  static_assert(sizeof(To) == sizeof(RamDomain) && sizeof(From) == sizeof(RamDomain));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

class SymbolTableIteratorInterface {
 public:
  virtual ~SymbolTableIteratorInterface() = default;
  virtual const std::pair<const std::string, const std::size_t>& get() const = 0;
  virtual bool equals(const SymbolTableIteratorInterface& other) = 0;
  virtual SymbolTableIteratorInterface& incr() = 0;
  virtual std::unique_ptr<SymbolTableIteratorInterface> copy() const = 0;
};

// Symbols are handed over as numbers of this table.
class SymbolTable {
 public:
  // Over pairs of a symbol and its number.
  class Iterator {
   public:
    using value_type = const std::pair<const std::string, const std::size_t>;
    using reference = value_type&;
    using pointer = value_type*;

    explicit Iterator(std::unique_ptr<SymbolTableIteratorInterface> at) : at_(std::move(at)) {}
    Iterator(const Iterator& other) : at_(other.at_->copy()) {}
    Iterator(Iterator&& other) noexcept = default;
    Iterator& operator=(const Iterator&) = delete;
    Iterator& operator=(Iterator&&) = delete;
    ~Iterator() = default;

    reference operator*() const { return at_->get(); }
    pointer operator->() const { return &at_->get(); }
    Iterator& operator++() {
      at_->incr();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before(*this);
      at_->incr();
      return before;
    }
    bool operator==(const Iterator& other) const { return at_->equals(*other.at_); }
    bool operator!=(const Iterator& other) const { return !at_->equals(*other.at_); }

   private:
    std::unique_ptr<SymbolTableIteratorInterface> at_;
  };
  using iterator = Iterator;

  virtual ~SymbolTable() = default;
  virtual iterator begin() const = 0;
  virtual iterator end() const = 0;
  virtual bool weakContains(const std::string& symbol) const = 0;
  // The number of a symbol, a new one if there is none.
  virtual RamDomain encode(const std::string& symbol) = 0;
  // The symbol of a number; stays where it is.
  virtual const std::string& decode(RamDomain index) const = 0;
  virtual RamDomain unsafeEncode(const std::string& symbol) = 0;
  virtual const std::string& unsafeDecode(RamDomain index) const = 0;
  // The number, and whether it is new.
  virtual std::pair<RamDomain, bool> findOrInsert(const std::string& symbol) = 0;
};

// Records are handed over as references, nil as 0. A value of an algebraic data type is the record
// [number of the branch, field], or [number, reference to a record of the fields] where the branch
// has not one field; branches are numbered by their names in ascending order. Where no branch has
// fields it is the bare number.
class RecordTable {
 public:
  virtual ~RecordTable() = default;
  virtual void setNumLanes(std::size_t lanes) = 0;
  // The reference of a record, a new one if there is none.
  virtual RamDomain pack(const RamDomain* tuple, std::size_t arity) = 0;
  virtual RamDomain pack(const std::initializer_list<RamDomain>& list) = 0;
  // The fields of a record; they stay where they are.
  virtual const RamDomain* unpack(RamDomain reference, std::size_t arity) const = 0;
  virtual void enumerate(const std::function<void(const RamDomain* tuple, std::size_t arity,
                                                  RamDomain reference)>& visit) const = 0;
};

template <class Table, std::size_t Arity>
RamDomain pack(Table&& table, const Tuple<RamDomain, Arity>& tuple) {
  return table.pack(tuple.data(), Arity);
}

template <class Table>
RamDomain pack(Table&& table, const std::initializer_list<RamDomain>&& list) {
  return table.pack(std::data(list), list.size());
}

}  // namespace souffle
