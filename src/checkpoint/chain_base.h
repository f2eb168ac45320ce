// SPDX-License-Identifier: Apache-2.0
// ChainBase: the last generation that this job's writer committed and had acknowledged, as far as
// the next one may build on it. Every rank knows its name and the sizes of its chains; rank 0 also
// holds its manifest. Before the first commit of a job there is none: a generation of another job
// may be collected by that job at any time. Local.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/carry_over.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/part_plan.h"
#include "commit/manifest.h"
#include "write/store.h"

namespace stratalog {

class ChainBase {
 public:
  // Empty: there is nothing to build on.
  const std::string& generation() const { return generation_; }
  ChainFacts facts(const std::string& relation, RelationVersion version) const;
  // What this rank wrote of it.
  std::uint64_t own_rows(const RelationImage& image) const;

  // Rank 0: what the generation of `request` takes over. InvalidArgument if it asks for what the
  // base does not have.
  Result<CarriedOver> carry(const SaveRequest& request) const;
  // Rank 0: what the base has of an image; null: nothing, or in another column order.
  const ManifestRelation* relation(const RelationImage& image) const;
  // Rank 0: looks for the names of all files that the base needs. NotFound, with the first one that
  // is not there.
  Status find_files(Store& store) const;
  // Every rank: its files are not what was written. Nothing is to build on it.
  void forget();
  // Rank 0: adds rows and hashes of what was taken over to those of the new parts.
  void add_carried(const SaveRequest& request, std::vector<ManifestRelation>& relations) const;
  // Rank 0: `manifest` has been committed. Returns what accept() needs on every rank.
  std::string advance(Manifest manifest, const SaveRequest& request);
  // Every rank, with what rank 0 got from advance().
  Status accept(const std::string& generation, const SaveRequest& request,
                const std::string& facts);

 private:
  using Key = std::pair<std::string, RelationVersion>;
  using SectionKey = std::pair<std::string, std::uint32_t>;  // name and piece

  const ManifestRelation* find(const RelationImage& image, std::uint32_t& position) const;

  std::string generation_;
  std::map<Key, ChainFacts> facts_;
  std::map<Key, std::uint64_t> own_rows_;
  std::optional<Manifest> manifest_;  // rank 0
  std::map<SectionKey, Hash128> section_hashes_;  // rank 0
};

// What of image `i` of the request is written.
ImagePart part_of(const SaveRequest& request, std::size_t i);
// This rank's hash of what image `i` hands out; of one that is hashed while it is walked,
// afterwards.
MultisetHash hash_of_image(const SaveRequest& request, std::size_t i);

}  // namespace stratalog
