// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chain_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace stratalog {
namespace {

// What rank 0 tells the others about one chain.
struct ToldFacts {
  std::uint64_t parts;
  std::uint64_t rows;
  std::uint64_t whole_bytes;
  std::uint64_t growth_bytes;
};

// Of every relation, in one pass over the shards. The whole part is the oldest.
std::vector<ToldFacts> measure(const Manifest& manifest) {
  std::vector<ToldFacts> facts(manifest.relations.size());
  std::vector<std::map<std::uint32_t, std::uint64_t>> bytes(facts.size());  // by link
  for (const ManifestShard& shard : manifest.shards)
    bytes[shard.relation][shard.link] += shard.bytes();
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].rows = manifest.relations[i].rows;
    facts[i].parts = bytes[i].size();
    // Links ascend, and the generation's own files come last: kOwnFiles is the largest.
    for (const auto& [link, sum] : bytes[i])
      (link == bytes[i].begin()->first ? facts[i].whole_bytes : facts[i].growth_bytes) += sum;
  }
  return facts;
}

Hash128 hash_of(const NamedSection& section) { return hash128(section.data); }

}  // namespace

ImagePart part_of(const SaveRequest& request, std::size_t i) {
  return request.parts.empty() ? ImagePart::kWhole : request.parts[i].part;
}

bool stands_alone(const SaveRequest& request) {
  return std::all_of(request.parts.begin(), request.parts.end(),
                     [](const PartPlan& plan) { return is_whole(plan.part); });
}

ChainFacts ChainBase::facts(const std::string& relation, RelationVersion version) const {
  const auto found = facts_.find({relation, version});
  return found == facts_.end() ? ChainFacts{} : found->second;
}

std::uint64_t ChainBase::own_rows(const RelationImage& image) const {
  const auto found = own_rows_.find({image.name, image.version});
  return found == own_rows_.end() ? 0 : found->second;
}

// One look at each directory: there may be as many files as ranks.
Status ChainBase::find_files(Store& store) const {
  std::map<std::uint32_t, std::set<std::string>> names;  // by link
  for (const ManifestFile& file : manifest_->files) {
    const auto [there, is_new] = names.try_emplace(file.link);
    if (is_new) {
      const GenerationId& id =
          file.link == kOwnFiles ? manifest_->id : manifest_->links[file.link].id;
      STRATALOG_ASSIGN_OR_RETURN(const auto listed, store.list(generation_name(id)));
      there->second.insert(listed.begin(), listed.end());
    }
    if (!there->second.contains(file.name))
      return Status::not_found(
          fmt::format("{} is not there any more", manifest_->path(file.link, file.name)));
  }
  return {};
}

MultisetHash hash_of_image(const SaveRequest& request, std::size_t i) {
  const bool is_walked = i < request.walked_hashes.size() && request.walked_hashes[i] != nullptr;
  return is_walked ? *request.walked_hashes[i] : request.images[i].hash;
}

const ManifestRelation* ChainBase::find(const RelationImage& image, std::uint32_t& position) const {
  if (!manifest_) return nullptr;
  const auto& relations = manifest_->relations;
  const auto found = std::find_if(relations.begin(), relations.end(), [&](const auto& relation) {
    return relation.name == image.name && relation.version == image.version;
  });
  if (found == relations.end() || found->arity != image.arity ||
      found->column_order != image.column_order)
    return nullptr;
  position = static_cast<std::uint32_t>(found - relations.begin());
  return &*found;
}

Result<CarriedOver> ChainBase::carry(const SaveRequest& request) const {
  CarryRequest wanted;
  for (std::size_t i = 0; i < request.images.size(); ++i) {
    wanted.relations.emplace_back();
    const ImagePart part = part_of(request, i);
    if (part == ImagePart::kWhole) continue;
    std::uint32_t position = 0;
    if (find(request.images[i], position) == nullptr)
      return Status::invalid_argument(
          fmt::format("relation {}: its growth is to be saved, but {} does not have it, or in "
                      "another column order",
                      request.images[i].name, request.base));
    if (part == ImagePart::kGrowth) wanted.relations.back() = position;
  }
  const bool is_alone = stands_alone(request);
  for (const NamedSection& section : request.sections) {
    wanted.sections.emplace_back();
    if (is_alone && !section.is_unchanged) continue;
    const auto hash = section_hashes_.find({section.name, section.piece});
    const auto& known = manifest_->sections;
    const auto old = std::find_if(known.begin(), known.end(), [&](const ManifestSection& s) {
      return s.name == section.name && s.piece == section.piece;
    });
    const bool is_there = old != known.end() && hash != section_hashes_.end();
    if (section.is_unchanged && (!is_there || is_alone))
      return Status::invalid_argument(
          fmt::format("piece {} of section {} is to be taken over, but {} does not have it, or "
                      "nothing else of it is used",
                      section.piece, section.name, request.base));
    if (is_there && (section.is_unchanged ||
                     (old->bytes == section.data.size() && hash->second == hash_of(section))))
      wanted.sections.back() = static_cast<std::uint32_t>(old - known.begin());
  }
  return carry_over(*manifest_, wanted);
}

void ChainBase::add_carried(const SaveRequest& request,
                            std::vector<ManifestRelation>& relations) const {
  for (std::size_t i = 0; i < relations.size(); ++i) {
    if (!request.parts.empty()) relations[i].choice = request.parts[i].choice;
    if (part_of(request, i) == ImagePart::kWhole) continue;
    std::uint32_t position = 0;
    const ManifestRelation* old = find(request.images[i], position);
    if (old == nullptr) continue;  // carry() has refused it
    // The rows of what is folded are all there, but only the hash of its growth is known.
    if (part_of(request, i) == ImagePart::kGrowth) relations[i].rows += old->rows;
    relations[i].hash += old->hash;
  }
}

const ManifestRelation* ChainBase::relation(const RelationImage& image) const {
  std::uint32_t position = 0;
  return find(image, position);
}

void ChainBase::forget() { *this = {}; }

std::string ChainBase::advance(Manifest manifest, const SaveRequest& request) {
  std::map<SectionKey, Hash128> hashes;
  for (const NamedSection& section : request.sections) {
    const SectionKey key{section.name, section.piece};
    hashes[key] = section.is_unchanged ? section_hashes_[key] : hash_of(section);
  }
  section_hashes_ = std::move(hashes);
  const std::vector<ToldFacts> facts = measure(manifest);
  manifest_ = std::move(manifest);
  return std::string(reinterpret_cast<const char*>(facts.data()), facts.size() * sizeof(ToldFacts));
}

Status ChainBase::accept(const std::string& generation, const SaveRequest& request,
                         const std::string& facts) {
  std::vector<ToldFacts> told(request.images.size());
  if (facts.size() != told.size() * sizeof(ToldFacts))
    return Status::internal("the sizes of a checkpoint's chains have an odd length");
  if (!told.empty()) std::memcpy(told.data(), facts.data(), facts.size());
  std::map<Key, ChainFacts> now;
  std::map<Key, std::uint64_t> own_rows;
  for (std::size_t i = 0; i < told.size(); ++i) {
    const RelationImage& image = request.images[i];
    const bool whole = is_whole(part_of(request, i));
    const ChainFacts before = ChainBase::facts(image.name, image.version);
    now[{image.name, image.version}] = {.parts = static_cast<std::uint32_t>(told[i].parts),
                                        .rows = told[i].rows,
                                        .whole_bytes = told[i].whole_bytes,
                                        .growth_bytes = told[i].growth_bytes,
                                        .generations = whole ? 1 : before.generations + 1};
    own_rows[{image.name, image.version}] = image.rows + (whole ? 0 : ChainBase::own_rows(image));
  }
  facts_ = std::move(now);
  own_rows_ = std::move(own_rows);
  generation_ = generation;
  return Status::ok();
}

}  // namespace stratalog
