// SPDX-License-Identifier: Apache-2.0
// Mode hdf5-streams: the tuples of each relation as streams of small numbers
// (encode/file_streams.h) in HDF5 data sets behind HDF5's own shuffle and deflate. Each rank
// deflates the chunks that are its own and appends them to its group's file
// (checkpoint/growing_file.h); numbers of a chunk in which ranks meet travel to its owner; at the
// end the group's first rank has HDF5 lay out what makes it an HDF5 file, around chunks that are
// there already. No collective of HDF5 or MPI-IO: where writing goes on beside the caller, all
// bytes go through the queue of the save. Collective; the Status is this rank's own.
#include <algorithm>
#include <cstring>

#include "base/memory_end.h"
#include "checkpoint/group_file.h"
#include "checkpoint/stream_shard.h"
#include "checkpoint/striped_folder.h"

namespace stratalog {
namespace {

using Words = std::vector<std::uint64_t>;

// Sends each rank the words that build(messages) has for it. Collective; a rank that cannot build
// them is everybody's error.
template <typename Build>
Result<ReceivedParcels> send(Comm& comm, PhaseTimes& times, Build&& build) {
  const Stopwatch watch(times.route_ns);
  Words all;
  std::vector<Parcel> parcels;
  STRATALOG_RETURN_IF_ERROR(agree(comm, or_no_space("not enough memory to pass streams on", [&] {
                                    MessagesTo messages;
                                    build(messages);
                                    for (const auto& [rank, words] : messages) {  // ascending
                                      if (words.empty()) continue;
                                      parcels.push_back({.rank = rank, .bytes = words.size() * 8});
                                      all.insert(all.end(), words.begin(), words.end());
                                    }
                                    return Status::ok();
                                  })));
  return comm.exchange_parcels(std::as_bytes(std::span(all)), parcels);
}

// Calls visit(words) for what each sender has sent, in the order of ranks.
template <typename Visit>
Status for_each_message(const ReceivedParcels& received, Visit&& visit) {
  std::size_t at = 0;
  Words words;
  for (const auto& [sender, bytes] : received.parcels) {
    if (bytes % 8 != 0) return Status::internal("a message of odd length");
    words.resize(bytes / 8);
    std::memcpy(words.data(), received.data.data() + at, bytes);
    at += bytes;
    STRATALOG_RETURN_IF_ERROR(visit(std::span<const std::uint64_t>(words)));
  }
  return Status::ok();
}

class StreamFile {
 public:
  StreamFile(const SaveContext& context, const RowFilePart& part, LocalOutput& out)
      : context_(context), part_(part), out_(out) {}

  // Collective.
  Status write() {
    STRATALOG_ASSIGN_OR_RETURN(plans_, plan_streams(context_, part_, out_));
    {
      const Stopwatch watch(out_.times.metadata_ns);
      STRATALOG_ASSIGN_OR_RETURN(file_, create_file());
    }
    Status status = agree(context_.comm, or_no_space("not enough memory to pack streams", [&] {
                            growing_.emplace(context_, kStreamsBegin, file_.write_all, out_);
                            stage_.emplace(context_, *growing_, deflate_level(), out_);
                            return Status::ok();
                          }));
    if (status.is_ok()) status = agree(context_.comm, write_all());
    const Stopwatch watch(out_.times.sync_ns);
    const Status finished = file_.finish(status.is_ok() ? context_.sync_files() : SyncFiles::kNo);
    STRATALOG_RETURN_IF_ERROR(status);
    STRATALOG_RETURN_IF_ERROR(agree(context_.comm, finished));
    if (plans_.empty()) return Status::ok();
    return or_no_space("not enough memory to describe streams", [this] { return describe(); });
  }

 private:
  // Collective.
  Result<SharedFile> create_file() {
    const bool beside = context_.overlap != OverlapWay::kNone;
    const std::string name = plans_.empty() ? std::string() : part_.name;
    if (beside) return queued_group_file(context_, name);
    return create_group_file(context_.comm, context_.store,
                             name.empty() ? name : context_.path(name), part_.leader);
  }
  bool is_leader() const { return context_.comm.rank() == part_.leader && !plans_.empty(); }
  int deflate_level() const {
    return part_.plans.empty() ? 0 : static_cast<int>(part_.plans.front().deflate_level);
  }

  // Collective; each step but the last ends in one verdict.
  Status write_all() {
    STRATALOG_RETURN_IF_ERROR(agree(context_.comm, stage_->drain(write_shards())));
    STRATALOG_RETURN_IF_ERROR(pass_heads());
    STRATALOG_RETURN_IF_ERROR(pass_places());
    return complete();
  }

  Status write_shards() {
    return or_no_space("not enough memory to pack streams", [&] {
      shards_.reserve(plans_.size());
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        shards_.emplace_back(context_, context_.layout.images[part_.indices[i]], i, plans_[i],
                             *stage_);
        STRATALOG_RETURN_IF_ERROR(shards_.back().write(out_));
      }
      return Status::ok();
    });
  }

  Status pass_heads() {
    STRATALOG_ASSIGN_OR_RETURN(const ReceivedParcels received,
                               send(context_.comm, out_.times, [&](MessagesTo& heads) {
                                 for (StreamShard& shard : shards_) shard.add_heads(heads);
                               }));
    growing_->go_on();
    const Status taken = or_no_space("not enough memory to pack streams", [&]() -> Status {
      STRATALOG_RETURN_IF_ERROR(for_each_message(
          received, [&](std::span<const std::uint64_t> words) { return take_heads(words); }));
      for (StreamShard& shard : shards_) STRATALOG_RETURN_IF_ERROR(shard.write_tails(out_));
      return Status::ok();
    });
    return agree(context_.comm, stage_->drain(taken));
  }

  Status take_heads(std::span<const std::uint64_t> words) {
    while (words.size() >= 3) {
      const std::uint64_t count = words[2];
      const std::uint64_t taken = 3 + ((count + 1) / 2);
      if (words[0] >= shards_.size() || taken > words.size()) break;
      std::vector<std::uint32_t> numbers(count);
      std::memcpy(numbers.data(), words.data() + 3, count * 4);
      if (!shards_[words[0]].take_head(words[1], numbers)) break;
      words = words.subspan(taken);
    }
    return words.empty() ? Status::ok() : Status::internal("numbers that are no head");
  }

  Status pass_places() {
    STRATALOG_ASSIGN_OR_RETURN(const ReceivedParcels received,
                               send(context_.comm, out_.times, [&](MessagesTo& places) {
                                 for (const StreamShard& shard : shards_) shard.add_places(places);
                               }));
    return agree(context_.comm, or_no_space("not enough memory to pass streams on", [&] {
                   return for_each_message(received, [&](std::span<const std::uint64_t> words) {
                     return take_places(words);
                   });
                 }));
  }

  Status take_places(std::span<const std::uint64_t> words) {
    for (; words.size() >= 5; words = words.subspan(5))
      if (words[0] >= shards_.size() ||
          !shards_[words[0]].take_place(words[1], {words[2], words[3], words[4]}))
        break;
    return words.empty() ? Status::ok() : Status::internal("a place that nobody asked for");
  }

  // The leader learns of all chunks and blocks, and makes it an HDF5 file.
  Status complete() {
    STRATALOG_ASSIGN_OR_RETURN(const ReceivedParcels received,
                               send(context_.comm, out_.times, [&](MessagesTo& tables) {
                                 for (const StreamShard& shard : shards_)
                                   shard.add_table(tables[part_.leader]);
                               }));
    if (!is_leader()) return Status::ok();
    return or_no_space("not enough memory to lay an HDF5 file out", [&]() -> Status {
      begin_relations();
      STRATALOG_RETURN_IF_ERROR(for_each_message(
          received, [&](std::span<const std::uint64_t> words) { return take_tables(words); }));
      return lay_out();
    });
  }

  void begin_relations() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const RelationImage& image =
          context_.request.images[context_.layout.images[part_.indices[i]]];
      const RowDataset& about = part_.datasets[i];
      StreamRelation relation{.name = about.name,
                              .relation = about.relation,
                              .version = about.version,
                              .part = about.part,
                              .rows = about.rows,
                              .labels = {},
                              .column_order = image.column_order,
                              .streams = {},
                              .blocks = {}};
      for (const std::uint32_t column : image.column_order)
        relation.labels.push_back(about.labels[column]);
      for (std::size_t s = 0; s < plans_[i].streams.size(); ++s)
        relation.streams.push_back({.name = stream_name(s),
                                    .numbers = plans_[i].streams[s].numbers(),
                                    .chunk = plans_[i].streams[s].chunk(),
                                    .chunks = {}});
      relations_.push_back(std::move(relation));
    }
  }

  // Of one rank; ranks come in their order, and so do chunks.
  Status take_tables(std::span<const std::uint64_t> words) {
    const auto next = [&words](std::uint64_t count) {
      const auto front = words.first(std::min<std::uint64_t>(count, words.size()));
      words = words.subspan(front.size());
      return front;
    };
    for (StreamRelation& relation : relations_) {
      for (StreamDataset& stream : relation.streams) {
        const auto count = next(1);
        if (count.empty() || count[0] > words.size()) break;
        const auto places = next(count[0] * 2);
        for (std::size_t at = 0; at + 1 < places.size(); at += 2) {
          stream.chunks.push_back({.file_offset = places[at], .bytes = places[at + 1]});
          data_.push_back({.offset = places[at], .bytes = places[at + 1]});
        }
      }
      const auto count = next(1);
      if (count.empty()) break;
      const auto blocks = next(count[0] * (relation.streams.size() + 1));
      relation.blocks.insert(relation.blocks.end(), blocks.begin(), blocks.end());
    }
    return words.empty() ? Status::ok() : Status::internal("a table of odd length");
  }

  Status lay_out() {
    const Stopwatch watch(out_.times.metadata_ns);
    STRATALOG_ASSIGN_OR_RETURN(const RowFileImage image,
                               context_.options.backends.rows.lay_out_streams(
                                   relations_, part_.labels,
                                   static_cast<std::uint32_t>(deflate_level()), growing_->end()));
    std::uint64_t end = growing_->end();
    for (const RowFileImage::Piece& piece : image.pieces) {
      STRATALOG_RETURN_IF_ERROR(file_.write_all(piece.offset, piece.bytes));
      end = std::max<std::uint64_t>(end, piece.offset + piece.bytes.size());
    }
    if (end >= image.file_bytes) return Status::ok();
    const std::byte zero{0};
    return file_.write_all(image.file_bytes - 1, std::span(&zero, 1));
  }

  Status describe() {
    for (const StreamShard& shard : shards_) {
      if (shard.rows() == 0) continue;
      out_.shard_lines += shard_line(shard.describe(part_.name));
      out_.groups += shard.groups();
    }
    return is_leader() ? describe_file(context_, part_.name, std::move(data_), out_) : Status::ok();
  }

  const SaveContext& context_;
  const RowFilePart& part_;
  LocalOutput& out_;
  std::vector<StreamPlan> plans_;
  SharedFile file_;
  std::optional<GrowingFile> growing_;
  std::optional<StreamStage> stage_;
  std::vector<StreamShard> shards_;
  // On the leader:
  std::vector<StreamRelation> relations_;
  std::vector<Extent> data_;
};

}  // namespace

Status write_stream_files(const SaveContext& context, LocalOutput& out) {
  const std::vector<RowFilePart> parts = row_file_parts(context);
  const auto write_all = [&]() -> Status {
    for (const RowFilePart& part : parts)
      STRATALOG_RETURN_IF_ERROR(agree(context.comm, StreamFile(context, part, out).write()));
    return Status::ok();
  };
  if (context.overlap == OverlapWay::kNone)
    return write_striped(context.comm, context.store, striped_folder(context), out.lasting_notes,
                         write_all);
  std::vector<std::string> names;
  for (const RowFilePart& part : parts)
    if (!part.datasets.empty()) names.push_back(part.name);
  STRATALOG_RETURN_IF_ERROR(create_empty_files(context, names, out));
  return write_all();
}

}  // namespace stratalog
