// SPDX-License-Identifier: Apache-2.0
#include "route/copy_mail.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/memory_end.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

// The first word of a part.
constexpr std::uint64_t kLastPart = 0;
constexpr std::uint64_t kMoreParts = 1;

}  // namespace

CopyMail::CopyMail(CopyMailOptions options)
    : options_(std::move(options)),
      part_words_(std::max(options_.round_bytes / static_cast<std::uint64_t>(options_.ranks),
                           options_.least_part_bytes) /
                  kMailWordBytes),
      runs_(options_.arity_of_stream.size()) {
  assert(options_.arity_of_stream.size() <= kMaxMailStreams);
}

// The last part, or a new one where that is full.
MailWords& CopyMail::open_part() {
  if (parts_.empty() || parts_.back().size() >= part_words_) {
    MailWords part;
    part.append(kLastPart);
    parts_.push_back(std::move(part));
    if (parts_.size() > 1) parts_[parts_.size() - 2][0] = kMoreParts;
  }
  return parts_.back();
}

void CopyMail::close_run(int stream) {
  WordBuffer<Cell>& run = runs_[static_cast<std::size_t>(stream)];
  if (run.empty()) return;
  encode_run(stream, run.size() / options_.arity_of_stream[static_cast<std::size_t>(stream)],
             run.words(), open_part());
  run.clear();
}

void CopyMail::append(int stream, std::span<const Cell> tuple) {
  WordBuffer<Cell>& run = runs_[static_cast<std::size_t>(stream)];
  run.append(tuple);
  if (run.size() * sizeof(Cell) >= part_words_ * kMailWordBytes) close_run(stream);
}

void CopyMail::append_group(int stream, const TupleGroup& group) {
  const std::uint64_t cells = group.set.count * (group.prefix.size() + 1);
  if (cells > 2 * group_words(group)) {
    encode_group(stream, group, open_part());
    return;
  }
  WordBuffer<Cell>& run = runs_[static_cast<std::size_t>(stream)];
  walk_set(group.set, [&](Cell cell) {
    Cell* const into = run.extend(group.prefix.size() + 1);
    std::ranges::copy(group.prefix, into);
    into[group.prefix.size()] = cell;
  });
  if (run.size() * sizeof(Cell) >= part_words_ * kMailWordBytes) close_run(stream);
}

void CopyMail::drop_all() {
  parts_.clear();
  for (WordBuffer<Cell>& run : runs_) run.clear();
}

void CopyMail::give_up(const Status& why) {
  drop_all();
  if (failure_.is_ok()) failure_ = why;
}

std::span<const std::uint64_t> CopyMail::part_of_round(std::size_t round) {
  if (round >= parts_.size()) return {};
  if (round != 0) parts_[round - 1].release();
  return parts_[round].words();
}

Status CopyMail::receive(const Received& received, const MailHandler& handler, bool& more) {
  Status first;
  const std::byte* at = received.data.data();
  for (int sender = 0; sender < options_.ranks; ++sender) {
    const std::uint64_t bytes = received.counts[static_cast<std::size_t>(sender)];
    if (bytes == 0) continue;
    const std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(at),
                                               bytes / kMailWordBytes);
    at += bytes;
    more = more || words.front() == kMoreParts;
    if (failure_.is_ok() && first.is_ok())
      first = or_no_space("not enough memory for tuples that arrive", [&] {
        return decode_records(words.subspan(1), sender, options_.arity_of_stream, handler);
      });
  }
  return first;
}

Status CopyMail::deliver(Comm& comm, const MailHandler& handler) {
  const Status closed = or_no_space("not enough memory to send tuples", [&]() -> Status {
    for (int stream = 0; stream < static_cast<int>(runs_.size()); ++stream) close_run(stream);
    return {};
  });
  if (!closed.is_ok()) give_up(closed);
  bool more = true;
  for (std::size_t round = 0; more; ++round) {
    const auto mine = std::as_bytes(part_of_round(round));
    const Result<Received> received = comm.allgather(mine);
    if (!received.is_ok()) {  // want of room for what arrives, like any failure, is everybody's
      drop_all();
      failure_ = {};
      return received.status();
    }
    bytes_sent_ += mine.size() * static_cast<std::uint64_t>(options_.ranks - 1);
    more = false;
    const Status read = receive(received.value(), handler, more);
    if (failure_.is_ok()) failure_ = read;
  }
  parts_.clear();
  return agree(comm, std::exchange(failure_, Status::ok()));
}

}  // namespace stratalog
