// SPDX-License-Identifier: Apache-2.0
// The reading half of the streams encoding. It trusts nothing: the directory must fit the payload
// and the levels each other before anything is unpacked, and every count must fit what is left.
#include <algorithm>
#include <array>

#include "encode/byte_order.h"
#include "encode/streams_codec.h"

namespace stratalog {
namespace {

struct Level {
  StreamUnpacker count;
  StreamUnpacker first;
  StreamUnpacker gaps;
  std::uint64_t left = 0;  // children of the open node of the level above that are still to come
};

// Takes the streams of a payload one after another.
class Directory {
 public:
  Directory(std::span<const std::byte> payload, std::size_t streams)
      : entries_(payload.first(streams * 8)), rest_(payload.subspan(streams * 8)) {}

  std::uint64_t values() const { return load_le<std::uint32_t>(entries_.data()); }
  bool open(StreamUnpacker& stream) {
    const std::uint64_t count = values();
    const std::size_t bytes = load_le<std::uint32_t>(entries_.data() + 4);
    if (bytes > rest_.size() || !stream.open(rest_.first(bytes), count)) return false;
    entries_ = entries_.subspan(8);
    rest_ = rest_.subspan(bytes);
    return true;
  }
  bool is_used_up() const { return entries_.empty() && rest_.empty(); }

 private:
  std::span<const std::byte> entries_;
  std::span<const std::byte> rest_;
};

}  // namespace

struct StreamsDecoder::Streams {
  StreamUnpacker keys;
  std::vector<Level> levels;
  std::vector<Cell> prefix;
  std::array<Cell, kStreamsLimits.elements> elements;
};

StreamsDecoder::StreamsDecoder(std::size_t arity) : arity_(arity) {}
StreamsDecoder::~StreamsDecoder() = default;
StreamsDecoder::StreamsDecoder(StreamsDecoder&&) noexcept = default;
StreamsDecoder& StreamsDecoder::operator=(StreamsDecoder&&) noexcept = default;

Status StreamsDecoder::open(std::span<const std::byte> payload, std::uint64_t groups,
                            std::uint64_t rows) {
  Status bad = Status::corruption("the streams do not fit the block or each other");
  const std::size_t streams = stream_count(arity_);
  if (payload.size() < streams * 8) return bad;
  if (in_ == nullptr) in_ = std::make_unique<Streams>();
  in_->levels.resize(arity_ == 1 ? 1 : arity_ - 1);
  in_->prefix.assign(arity_ - 1, 0);
  Directory directory(payload, streams);
  // Nodes of the column at hand.
  std::uint64_t nodes = 1;
  if (arity_ > 1) {
    nodes = directory.values();
    if (nodes == 0 || !directory.open(in_->keys)) return bad;
  }
  std::uint64_t groups_found = nodes;
  for (Level& level : in_->levels) {
    groups_found = nodes;
    if (arity_ > 1 && (directory.values() != nodes || !directory.open(level.count))) return bad;
    if (directory.values() != nodes || !directory.open(level.first)) return bad;
    const std::uint64_t further = directory.values();
    if (!directory.open(level.gaps)) return bad;
    nodes += further;
    level.left = 0;
  }
  if (!directory.is_used_up() || nodes != rows || groups_found != groups) return bad;
  return Status::ok();
}

// Moves `prefix` to the next group and tells how many elements it has.
Status StreamsDecoder::next_group(std::uint64_t& elements) {
  std::vector<Level>& levels = in_->levels;
  std::size_t column = arity_ - 1;  // the deepest prefix column with a further node, plus 1
  while (column > 1 && levels[column - 2].left == 0) --column;
  if (column == 1) {
    if (in_->keys.remaining() == 0) return Status::corruption("fewer groups than announced");
    in_->prefix[0] += in_->keys.next();
  } else {
    Level& level = levels[column - 2];
    in_->prefix[column - 1] += level.gaps.next() + 1;
    --level.left;
  }
  for (std::size_t c = column; c < arity_; ++c) {
    Level& level = levels[c - 1];
    const std::uint64_t children = level.count.next();
    if (children == 0 || children - 1 > level.gaps.remaining())
      return Status::corruption("a number of children that cannot be");
    if (c + 1 == arity_) {
      elements = children;
    } else {
      in_->prefix[c] = level.first.next();
      level.left = children - 1;
    }
  }
  return Status::ok();
}

Status StreamsDecoder::visit_elements(std::uint64_t count, const GroupVisitor& visit) {
  Level& level = in_->levels.back();
  std::uint64_t value = level.first.next();
  std::array<Cell, kStreamsLimits.elements>& elements = in_->elements;
  elements[0] = static_cast<Cell>(value);
  std::size_t filled = 1;
  std::uint64_t left = count - 1;
  SetView set;
  for (;;) {
    while (left != 0 && filled < elements.size()) {
      const auto gaps = level.gaps.take(std::min<std::uint64_t>(left, elements.size() - filled));
      for (const std::uint32_t gap : gaps) {
        value += std::uint64_t{gap} + 1;
        elements[filled++] = static_cast<Cell>(value);
      }
      left -= gaps.size();
    }
    if (value > kCellLimit) return Status::corruption("elements beyond 32 bits");
    set.values = std::span(elements).first(filled);
    set.count = filled;
    STRATALOG_RETURN_IF_ERROR(visit({.prefix = in_->prefix, .set = set}));
    if (left == 0) return Status::ok();
    filled = 0;
  }
}

Status StreamsDecoder::decode(std::span<const std::byte> payload, std::uint64_t groups,
                              std::uint64_t rows, const GroupVisitor& visit) {
  STRATALOG_RETURN_IF_ERROR(open(payload, groups, rows));
  std::uint64_t seen = 0;
  for (std::uint64_t g = 0; g < groups; ++g) {
    std::uint64_t count = rows;
    if (arity_ > 1) STRATALOG_RETURN_IF_ERROR(next_group(count));
    STRATALOG_RETURN_IF_ERROR(visit_elements(count, visit));
    seen += count;
  }
  if (seen != rows) return Status::corruption("the groups do not add up to the block's tuples");
  for (const Level& level : in_->levels)
    if (level.left != 0 || level.gaps.remaining() != 0 || level.first.remaining() != 0)
      return Status::corruption("numbers are left over");
  return Status::ok();
}

}  // namespace stratalog
