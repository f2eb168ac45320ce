// SPDX-License-Identifier: Apache-2.0
// What one rank writes of a file of streams (mode hdf5-streams): StreamStage collects the chunks of
// all relations and appends them to the file round by round; StreamShard turns one relation's
// tuples into them. Numbers of chunks in which ranks meet go to the rank that owns the chunk. Calls
// are local unless marked.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/growing_file.h"
#include "checkpoint/stream_plan.h"
#include "encode/file_streams.h"
#include "encode/shuffled_chunk.h"

namespace stratalog {

// A chunk in the file.
struct WrittenChunk {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

// A message to another rank for each that gets one.
using MessagesTo = std::map<int, std::vector<std::uint64_t>>;

class StreamStage {
 public:
  StreamStage(const SaveContext& context, GrowingFile& file, int deflate_level, LocalOutput& out)
      : context_(context), file_(file), deflater_(deflate_level), out_(out) {}

  // Adds chunk `number` of a stream, all of its numbers; `chunk` is filled in, its offset once it
  // is written. Collective when the stage is full.
  Status add(std::uint64_t file_id, std::uint64_t number, std::span<const std::uint32_t> numbers,
             WrittenChunk& chunk);
  // Takes part until all ranks are done. `status`: how it went here so far. This rank's own
  // verdict. Collective.
  Status drain(Status status);

 private:
  Status round(GrowingFile::RankState state);

  const SaveContext& context_;
  GrowingFile& file_;
  ChunkDeflater deflater_;
  LocalOutput& out_;
  Bytes stage_;
  std::vector<WrittenChunk*> staged_;  // their offsets count from the stage's beginning
};

class StreamShard {
 public:
  // `image` of the request; `number`: of the relation in its file. All are to outlive it.
  StreamShard(const SaveContext& context, std::size_t image, std::size_t number,
              const StreamPlan& plan, StreamStage& stage);

  // Walks the tuples. Stages all chunks that need no numbers of other ranks. Collective when the
  // stage is full.
  Status write(LocalOutput& out);
  // What other ranks' chunks need of this rank's first numbers.
  void add_heads(MessagesTo& messages);
  // The same from another rank: for one stream. False if it was not to be.
  [[nodiscard]] bool take_head(std::size_t stream, std::span<const std::uint32_t> numbers);
  // Stages the chunks that had to wait for that. Collective when the stage is full.
  Status write_tails(LocalOutput& out);
  // Where chunks are that hold other ranks' heads, once they are written.
  void add_places(MessagesTo& messages) const;
  [[nodiscard]] bool take_place(std::size_t stream, const WrittenChunk& chunk);

  // Of the manifest, once all is written. Requires rows.
  ManifestShard describe(const std::string& file) const;
  // What the file's leader has to know: for each stream how many chunks are this rank's, and their
  // offsets and sizes; then the blocks.
  void add_table(std::vector<std::uint64_t>& words) const;
  std::uint64_t rows() const { return rows_; }
  std::uint64_t groups() const { return groups_; }

 private:
  struct Stream {
    std::vector<std::uint32_t> head;  // numbers of another rank's chunk
    std::vector<std::uint32_t> tail;  // the first numbers of a chunk that waits for other ranks'
    std::vector<WrittenChunk> chunks;  // of this rank, in order; as many as it will have
    std::size_t written = 0;  // of them
    WrittenChunk first;  // the chunk that holds the head
  };

  std::uint64_t file_id(std::size_t stream) const { return stream_file_id(image_, stream); }
  int rank() const { return context_.comm.rank(); }
  Status take_chunks(FileStreams<NumberStream>& numbers);
  Status add_chunk(std::size_t stream, std::span<const std::uint32_t> numbers);
  Status end_stream(std::size_t stream, std::span<const std::uint32_t> rest);
  // Calls visit(rank) for ranks that have a head in this rank's last chunk.
  template <typename Visit>
  void for_each_guest(std::size_t stream, Visit&& visit) const;

  const SaveContext& context_;
  std::size_t image_;
  std::size_t number_;
  const StreamPlan& plan_;
  StreamStage& stage_;
  std::vector<Stream> streams_;
  std::uint64_t rows_ = 0;
  std::uint64_t groups_ = 0;
  std::vector<Cell> keys_;  // of blocks
  std::vector<std::uint64_t> begins_;  // of blocks, and the end; among this rank's numbers
  std::vector<Cell> zones_;
};

}  // namespace stratalog
