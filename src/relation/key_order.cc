// SPDX-License-Identifier: Apache-2.0
#include "relation/key_order.h"

#include <algorithm>

#include "model/radix_sort.h"

namespace stratalog {

std::vector<std::uint32_t> ids_by_key(const PrefixMap& keys) {
  struct Entry {
    std::uint64_t first_two;
    std::uint32_t id;
  };
  const std::uint32_t width = keys.width();
  std::vector<Entry> entries(keys.size());
  for (std::uint32_t id = 0; id < keys.size(); ++id) {
    const Cell* key = keys.key(id).data();
    entries[id] = {.first_two = width == 0   ? 0
                                : width == 1 ? key[0]
                                             : (std::uint64_t{key[0]} << 32U) | key[1],
                   .id = id};
  }
  radix_sort(entries, [](const Entry& entry) { return entry.first_two; });
  if (width > 2)
    for (auto run = entries.begin(); run != entries.end();) {
      const auto end = std::find_if(run + 1, entries.end(),
                                    [&](const Entry& e) { return e.first_two != run->first_two; });
      std::sort(run, end, [&](const Entry& a, const Entry& b) {
        return std::ranges::lexicographical_compare(keys.key(a.id), keys.key(b.id));
      });
      run = end;
    }
  std::vector<std::uint32_t> ids(entries.size());
  std::ranges::transform(entries, ids.begin(), &Entry::id);
  return ids;
}

}  // namespace stratalog
