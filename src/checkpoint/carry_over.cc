// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/carry_over.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stratalog {
namespace {

// Positions of generations in the new manifest, in ascending order whatever the order of asking.
class LinkNumbers {
 public:
  explicit LinkNumbers(const Manifest& base) : base_(base) {}

  ManifestLink link(std::uint32_t in_base) const {
    return in_base == kOwnFiles
               ? ManifestLink{.id = base_.id, .nonce = base_.nonce, .mode = format_of(base_.mode)}
               : base_.links[in_base];
  }
  void use(std::uint32_t in_base) { numbers_.emplace(link(in_base).id, 0); }
  std::vector<ManifestLink> number() {
    std::vector<ManifestLink> links;
    for (auto& [id, number] : numbers_) {
      number = static_cast<std::uint32_t>(links.size());
      const auto known = std::find_if(base_.links.begin(), base_.links.end(),
                                      [&](const ManifestLink& l) { return l.id == id; });
      links.push_back(known == base_.links.end() ? link(kOwnFiles) : *known);
    }
    return links;
  }
  std::uint32_t of(std::uint32_t in_base) const { return numbers_.at(link(in_base).id); }

 private:
  const Manifest& base_;
  std::map<GenerationId, std::uint32_t> numbers_;
};

using FileKey = std::pair<std::uint32_t, std::string>;  // link in the base, name

// The files behind what is taken over, with what else lies in them.
std::vector<ManifestFile> carried_files(const Manifest& base, const std::set<FileKey>& used_files,
                                        const std::vector<bool>& shard_is_used,
                                        const LinkNumbers& numbers) {
  std::map<FileKey, std::vector<Extent>> others;
  for (std::size_t i = 0; i < base.shards.size(); ++i) {
    const ManifestShard& shard = base.shards[i];
    const auto file = used_files.find({shard.link, shard.file});
    if (shard_is_used[i] || file == used_files.end()) continue;
    auto& extents = others[*file];
    for (const Extent& extent : shard.extents)  // neighbours share deflated chunks
      if (std::find(extents.begin(), extents.end(), extent) == extents.end())
        extents.push_back(extent);
  }
  std::vector<ManifestFile> files;
  for (const ManifestFile& file : base.files) {
    const FileKey key{file.link, file.name};
    if (!used_files.contains(key)) continue;
    files.push_back(file);
    files.back().link = numbers.of(file.link);
    const auto more = others.find(key);
    if (more != others.end())
      files.back().others.insert(files.back().others.end(), more->second.begin(),
                                 more->second.end());
  }
  return files;
}

}  // namespace

CarriedOver carry_over(const Manifest& base, const CarryRequest& request) {
  std::map<std::uint32_t, std::uint32_t> new_relation;  // by position in the base
  for (std::uint32_t i = 0; i < request.relations.size(); ++i)
    if (request.relations[i]) new_relation[*request.relations[i]] = i;
  LinkNumbers numbers(base);
  std::set<FileKey> used_files;
  std::vector<bool> shard_is_used(base.shards.size(), false);
  CarriedOver carried;
  for (std::size_t i = 0; i < base.shards.size(); ++i) {
    const ManifestShard& shard = base.shards[i];
    const auto relation = new_relation.find(shard.relation);
    if (relation == new_relation.end()) continue;
    shard_is_used[i] = true;
    used_files.emplace(shard.link, shard.file);
    numbers.use(shard.link);
    ManifestShard taken = shard;
    taken.image = shard.link == kOwnFiles ? shard.relation : shard.image;
    taken.relation = relation->second;
    carried.shards.push_back(std::move(taken));
  }
  for (const auto& section : request.sections) {
    if (!section) {
      carried.sections.emplace_back();
      continue;
    }
    ManifestSection taken = base.sections[*section];
    if (taken.link == kOwnFiles) taken.image = *section;
    used_files.emplace(taken.link, taken.file);
    numbers.use(taken.link);
    carried.sections.emplace_back(std::move(taken));
  }
  carried.links = numbers.number();
  carried.files = carried_files(base, used_files, shard_is_used, numbers);
  for (ManifestShard& shard : carried.shards) shard.link = numbers.of(shard.link);
  for (auto& section : carried.sections)
    if (section) section->link = numbers.of(section->link);
  std::stable_sort(carried.shards.begin(), carried.shards.end(),
                   [](const ManifestShard& a, const ManifestShard& b) {
                     return std::tie(a.relation, a.link, a.rank) <
                            std::tie(b.relation, b.link, b.rank);
                   });
  return carried;
}

}  // namespace stratalog
