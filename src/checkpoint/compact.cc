// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/compact.h"

#include <utility>

#include "checkpoint/own_shards.h"
#include "checkpoint/stored_state.h"
#include "read/file_frame.h"
#include "read/shard_reader.h"

namespace stratalog {
namespace {

RelationImage image_of(Store& store, const Manifest& manifest, std::uint32_t number,
                       const Comm& comm) {
  const ManifestRelation& relation = manifest.relations[number];
  RelationImage image;
  image.name = relation.name;
  image.version = relation.version;
  image.arity = relation.arity;
  image.column_order = relation.column_order;
  // The sum over ranks is what counts, and it is known: what is read is checked block by block, and
  // whoever restores the relation compares.
  if (comm.rank() == 0) image.hash = relation.hash;
  const std::vector<const ManifestShard*> shards = shards_of_rank(manifest, number, comm);
  for (const ManifestShard* shard : shards) image.rows += shard->rows;
  if (relation.arity == 0) image.rows = comm.rank() == 0 ? relation.rows : 0;
  image.for_each_group = [&store, &manifest, shards](const GroupVisitor& visit) -> Status {
    for (const ManifestShard* shard : shards) {
      ReadCounts counts;
      const ReadOutcome outcome =
          read_shard(store, manifest, *shard, 0, shard->bytes(), ProtocolSteps{}, visit, counts);
      STRATALOG_RETURN_IF_ERROR(outcome.read);
      STRATALOG_RETURN_IF_ERROR(outcome.visitor);
    }
    return {};
  };
  return image;
}

struct Source {
  ManifestOnDisk found;
  StoredState state;
};

// Local.
Result<Source> open_source(Store& store, const std::string& generation) {
  Source source;
  STRATALOG_ASSIGN_OR_RETURN(source.found, open_generation(store, generation));
  const Manifest& manifest = source.found.manifest;
  STRATALOG_RETURN_IF_ERROR(check_files(store, manifest, ProtocolSteps{}));
  STRATALOG_RETURN_IF_ERROR(check_row_file_frames(store, manifest));
  source.state = state_of(manifest);
  STRATALOG_RETURN_IF_ERROR(read_sections(store, manifest, ProtocolSteps{}, source.state));
  return source;
}

}  // namespace

Result<SaveReport> compact_generation(Comm& comm, Store& store, const CompactRequest& request,
                                      const WriterOptions& options) {
  const Result<Source> source = open_source(store, request.generation);
  STRATALOG_RETURN_IF_ERROR(agree(comm, source.status()));
  const Manifest& manifest = source.value().found.manifest;
  SaveRequest save;
  save.mode = request.mode;
  save.encoding = request.encoding;
  save.labels = request.labels;
  save.iteration = manifest.iteration;
  save.program_hash = manifest.program_hash;
  save.engine_state = manifest.engine_state;
  save.sections = source.value().state.sections;
  for (std::uint32_t r = 0; r < manifest.relations.size(); ++r)
    save.images.push_back(image_of(store, manifest, r, comm));
  STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, store, options));
  return writer->save(save);
}

}  // namespace stratalog
