// SPDX-License-Identifier: Apache-2.0
// What a dictionary holds, by id, to be compared.
#pragma once

#include <string>
#include <vector>

#include "model/value_dictionary.h"

namespace stratalog {

struct DictionaryContents {
  std::vector<std::string> symbols;
  std::vector<std::uint64_t> wides;
  friend bool operator==(const DictionaryContents&, const DictionaryContents&) = default;
};

inline DictionaryContents contents_of(const ValueDictionary& dictionary) {
  DictionaryContents contents;
  for (Cell id = 0; id < dictionary.symbols().size(); ++id)
    contents.symbols.emplace_back(dictionary.text(id));
  contents.wides.assign(dictionary.wides().values().begin(), dictionary.wides().values().end());
  return contents;
}

}  // namespace stratalog
