// SPDX-License-Identifier: Apache-2.0
// ExternalValues: the cells of this rank as the words of stateful functors (ExternalTables), and
// back. Words have Soufflé's form: a value of an algebraic data type is [branch, field], or
// [branch, record of the fields] where the branch has not one field. Values known to all ranks are
// translated once. Local.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "datalog/external_function.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

class ExternalValues {
 public:
  // Both outlive the object.
  ExternalValues(const std::vector<Structure>& structures, NewValues& values)
      : structures_(&structures), values_(&values) {}

  // The translations of one call. Whoever makes it holds ExternalTables::in_use(); `tables` are the
  // same in every call.
  class Call {
   public:
    Call(ExternalValues& values, ExternalTables& tables) : values_(values), tables_(tables) {}

    // Both: InvalidArgument if it stands for no value of the type, with words that follow "it got"
    // or "it gave".
    Result<std::uint64_t> word(const ExternalType& type, Cell cell);
    Result<Cell> cell(const ExternalType& type, std::uint64_t word);

   private:
    struct Record {
      StructureId structure;
      std::uint64_t id;  // its cell, or its word
    };
    // A record taken apart: its branch and what its fields are, cells or words.
    template <typename Field>
    struct Parts {
      const Branch* branch = nullptr;
      std::uint64_t number = 0;  // of the branch
      std::span<const Field> fields;
    };

    const Structure& structure(StructureId id) const { return (*values_.structures_)[id]; }
    // 0 is nil on both sides, of record types only.
    bool is_nil(const Record& record) const {
      return record.id == 0 && structure(record.structure).form == StructureForm::kRecord;
    }
    std::uint64_t word_of(ValueKind kind, StructureId structure, Cell cell);
    Result<Cell> cell_of(ValueKind kind, StructureId structure, std::uint64_t word);
    const std::uint64_t* known_word(const Record& record) const;
    const std::uint64_t* known_cell(const Record& record) const;
    Status make_word(const Record& root);
    Result<Parts<Cell>> open_cell(const Record& record) const;
    bool queue_cells(const Parts<Cell>& parts);
    std::uint64_t pack(const Record& record, const Parts<Cell>& parts);
    Status make_cell(const Record& root);
    Result<Parts<std::uint64_t>> open_word(const Record& record) const;
    Result<bool> queue_words(const Record& record, const Parts<std::uint64_t>& parts);
    Status build(const Record& record, const Parts<std::uint64_t>& parts);
    Status no_value(const Record& record, std::string_view why) const;

    ExternalValues& values_;
    ExternalTables& tables_;
    // Of records that only this rank knows yet: their cells do not last.
    std::unordered_map<std::uint64_t, std::uint64_t> new_words_;
    std::unordered_map<std::uint64_t, std::uint64_t> new_cells_;
    std::vector<Record> open_;  // whose parts are being translated
  };

 private:
  const std::vector<Structure>* structures_;
  NewValues* values_;
  // By structure and cell, and by structure and word.
  std::unordered_map<std::uint64_t, std::uint64_t> words_;
  std::unordered_map<std::uint64_t, std::uint64_t> cells_;
};

}  // namespace stratalog::datalog
