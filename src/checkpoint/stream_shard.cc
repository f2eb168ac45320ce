// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/stream_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "encode/piece_checksum.h"

namespace stratalog {
namespace {

// Streams are looked at for full chunks whenever so many tuples have come.
constexpr std::uint64_t kTuplesBetweenLooks = std::uint64_t{1} << 14;

// Adds the time of its life to walk_ns, but for what was spent writing.
class WalkWatch {
 public:
  explicit WalkWatch(PhaseTimes& times)
      : times_(times), start_(working_ns()), write_before_(times.write_ns) {}
  WalkWatch(const WalkWatch&) = delete;
  WalkWatch& operator=(const WalkWatch&) = delete;
  ~WalkWatch() { times_.walk_ns += passed_ns(); }
  std::uint64_t passed_ns() const {
    return working_ns() - start_ - (times_.write_ns - write_before_);
  }

 private:
  PhaseTimes& times_;
  std::uint64_t start_;
  std::uint64_t write_before_;
};

}  // namespace

Status StreamStage::add(std::uint64_t file_id, std::uint64_t number,
                        std::span<const std::uint32_t> numbers, WrittenChunk& chunk) {
  if (!stage_.empty() && stage_.size() + numbers.size_bytes() > context_.round_bytes())
    STRATALOG_RETURN_IF_ERROR(round(GrowingFile::RankState::kGoesOn));
  const Stopwatch watch(out_.times.encode_ns);
  chunk.offset = stage_.size();
  chunk.bytes = deflater_.append(numbers, stage_);
  stage_.resize(stage_.size() + kPiecePadding);
  chunk.checksum = piece_checksum(std::span(stage_).subspan(chunk.offset), chunk.bytes,
                                  context_.nonce, file_id, number);
  stage_.resize(stage_.size() - kPiecePadding);
  staged_.push_back(&chunk);
  return Status::ok();
}

Status StreamStage::drain(Status status) {
  while (!file_.is_over()) {
    const Status went =
        round(status.is_ok() ? GrowingFile::RankState::kDone : GrowingFile::RankState::kFailed);
    if (status.is_ok()) status = went;
  }
  return status;
}

Status StreamStage::round(GrowingFile::RankState state) {
  const std::vector<WrittenChunk*> chunks = std::move(staged_);
  staged_.clear();
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t offset, file_.round(stage_, state));
  for (WrittenChunk* const chunk : chunks) chunk->offset += offset;
  return Status::ok();
}

StreamShard::StreamShard(const SaveContext& context, std::size_t image, std::size_t number,
                         const StreamPlan& plan, StreamStage& stage)
    : context_(context),
      image_(image),
      number_(number),
      plan_(plan),
      stage_(stage),
      streams_(plan.streams.size()) {
  // The stage keeps pointers to them.
  for (std::size_t s = 0; s < streams_.size(); ++s)
    streams_[s].chunks.resize(plan.streams[s].chunks_of(rank()).size());
}

Status StreamShard::write(LocalOutput& out) {
  const RelationImage& image = context_.request.images[image_];
  FileStreams<NumberStream> numbers(image.column_order, plan_.key_before,
                                    tuples_a_block(context_.options));
  const WalkWatch watch(out.times);
  std::uint64_t waiting = 0;
  SampledTime sample;
  Status status;
  if (image.rows != 0 && image.for_each_group)
    status = image.for_each_group([&](const TupleGroup& group) -> Status {
      STRATALOG_RETURN_IF_ERROR(
          sample.run(group.set.count, out.times.write_ns, [&] { return numbers.add(group); }));
      waiting += group.set.count;
      if (waiting < kTuplesBetweenLooks) return Status::ok();
      waiting = 0;
      return take_chunks(numbers);
    });
  if (status.is_ok()) {
    numbers.finish();
    status = check_rows(image, numbers.rows());
  }
  if (status.is_ok()) status = take_chunks(numbers);
  for (std::size_t s = 0; s < streams_.size() && status.is_ok(); ++s)
    status = end_stream(s, numbers.stream(s).numbers());
  out.times.encode_ns += std::min(sample.total_ns(), watch.passed_ns());
  rows_ = numbers.rows();
  groups_ = numbers.groups();
  keys_ = numbers.keys();
  begins_ = numbers.begins();
  for (std::size_t s = 0; s < streams_.size(); ++s) begins_.push_back(numbers.stream(s).values());
  zones_ = numbers.take_zones();
  return status;
}

Status StreamShard::take_chunks(FileStreams<NumberStream>& numbers) {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    NumberStream& from = numbers.stream(s);
    std::vector<std::uint32_t>& head = streams_[s].head;
    const std::size_t missing = plan_.streams[s].head_of(rank()) - head.size();
    const std::size_t taken = std::min(missing, from.numbers().size());
    if (taken != 0) {
      head.insert(head.end(), from.numbers().begin(),
                  from.numbers().begin() + static_cast<std::ptrdiff_t>(taken));
      from.take(taken);
    }
    const std::uint64_t chunk = plan_.streams[s].chunk();
    while (from.numbers().size() >= chunk) {
      STRATALOG_RETURN_IF_ERROR(add_chunk(s, from.numbers().first(chunk)));
      from.take(chunk);
    }
  }
  return Status::ok();
}

Status StreamShard::add_chunk(std::size_t stream, std::span<const std::uint32_t> numbers) {
  Stream& mine = streams_[stream];
  if (mine.written == mine.chunks.size())
    return Status::internal(
        fmt::format("{} hands out other tuples to be written than it did to be counted",
                    context_.request.images[image_].name));
  const std::uint64_t number = plan_.streams[stream].chunks_of(rank()).begin + mine.written;
  return stage_.add(file_id(stream), number, numbers, mine.chunks[mine.written++]);
}

// `rest`: fewer numbers than a chunk holds.
Status StreamShard::end_stream(std::size_t stream, std::span<const std::uint32_t> rest) {
  const ChunkOwners& owners = plan_.streams[stream];
  if (rest.empty()) return Status::ok();
  std::vector<std::uint32_t> chunk(rest.begin(), rest.end());
  if (owners.numbers_of(rank()).end != owners.numbers()) {  // others go on
    streams_[stream].tail = std::move(chunk);
    return Status::ok();
  }
  chunk.resize(owners.chunk());
  return add_chunk(stream, chunk);
}

void StreamShard::add_heads(MessagesTo& messages) {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    std::vector<std::uint32_t>& head = streams_[s].head;
    if (head.empty()) continue;
    std::vector<std::uint64_t>& words = messages[plan_.streams[s].head_owner(rank())];
    words.insert(words.end(), {number_, s, head.size()});
    const std::size_t at = words.size();
    words.resize(at + ((head.size() + 1) / 2));
    std::memcpy(words.data() + at, head.data(), head.size() * 4);
    head = {};
  }
}

bool StreamShard::take_head(std::size_t stream, std::span<const std::uint32_t> numbers) {
  if (stream >= streams_.size()) return false;
  std::vector<std::uint32_t>& tail = streams_[stream].tail;
  if (tail.empty() || numbers.size() > plan_.streams[stream].chunk() - tail.size()) return false;
  tail.insert(tail.end(), numbers.begin(), numbers.end());
  return true;
}

Status StreamShard::write_tails(LocalOutput& out) {
  const WalkWatch watch(out.times);
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    std::vector<std::uint32_t>& tail = streams_[s].tail;
    if (tail.empty()) continue;
    const ChunkOwners& owners = plan_.streams[s];
    const std::uint64_t first = (owners.chunks_of(rank()).end - 1) * owners.chunk();
    if (tail.size() != std::min(owners.chunk(), owners.numbers() - first))
      return Status::internal(
          fmt::format("{}: {} did not get all numbers of the chunk that ranks share",
                      context_.request.images[image_].name, stream_name(s)));
    tail.resize(owners.chunk());
    STRATALOG_RETURN_IF_ERROR(add_chunk(s, tail));
    tail = {};
  }
  return Status::ok();
}

template <typename Visit>
void StreamShard::for_each_guest(std::size_t stream, Visit&& visit) const {
  const ChunkOwners& owners = plan_.streams[stream];
  const NumberRange chunks = owners.chunks_of(rank());
  if (chunks.size() == 0) return;
  const std::uint64_t end = chunks.end * owners.chunk();
  for (int r = rank() + 1; r < context_.comm.size() && owners.numbers_of(r).begin < end; ++r)
    if (owners.head_of(r) != 0) visit(r);
}

void StreamShard::add_places(MessagesTo& messages) const {
  for (std::size_t s = 0; s < streams_.size(); ++s)
    for_each_guest(s, [&](int guest) {
      const WrittenChunk& last = streams_[s].chunks.back();
      std::vector<std::uint64_t>& words = messages[guest];
      words.insert(words.end(), {number_, s, last.offset, last.bytes, last.checksum});
    });
}

bool StreamShard::take_place(std::size_t stream, const WrittenChunk& chunk) {
  if (stream >= streams_.size() || plan_.streams[stream].head_of(rank()) == 0) return false;
  streams_[stream].first = chunk;
  return true;
}

ManifestShard StreamShard::describe(const std::string& file) const {
  ManifestShard shard;
  shard.relation = static_cast<std::uint32_t>(image_);
  shard.rank = static_cast<std::uint32_t>(rank());
  shard.file = file;
  shard.rows = rows_;
  shard.groups = groups_;
  shard.blocks = keys_.size();
  shard.zones = zones_;
  shard.streams.keys = keys_;
  shard.streams.begins = begins_;
  for (std::size_t at = 0; at < begins_.size(); ++at)
    shard.streams.begins[at] += plan_.streams[at % streams_.size()].numbers_of(rank()).begin;
  const auto add = [&](const WrittenChunk& chunk) {
    shard.extents.push_back({.offset = chunk.offset, .bytes = chunk.bytes});
    shard.pieces.push_back(chunk.checksum);
  };
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    shard.streams.chunks.push_back(plan_.streams[s].chunk());
    if (plan_.streams[s].head_of(rank()) != 0) add(streams_[s].first);
    for (const WrittenChunk& chunk : streams_[s].chunks) add(chunk);
  }
  return shard;
}

void StreamShard::add_table(std::vector<std::uint64_t>& words) const {
  for (const Stream& stream : streams_) {
    words.push_back(stream.chunks.size());
    for (const WrittenChunk& chunk : stream.chunks)
      words.insert(words.end(), {chunk.offset, chunk.bytes});
  }
  words.push_back(keys_.size());
  for (std::size_t b = 0; b < keys_.size(); ++b) {
    words.push_back(keys_[b]);
    for (std::size_t s = 0; s < streams_.size(); ++s)
      words.push_back(begins_[(b * streams_.size()) + s] +
                      plan_.streams[s].numbers_of(rank()).begin);
  }
}

}  // namespace stratalog
