// SPDX-License-Identifier: Apache-2.0
// Outboxes, the assembly of rounds from them, and the reading of what arrives. A rank's mail to
// itself is handed over from its outboxes without being copied.
#include "route/tuple_mail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "route/set_encoding.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kMoreFlag = 1;
constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);

// Empties a box and keeps its memory for the next round, unless that is much more than the box
// needed.
template <typename Word>
void recycle(WordBuffer<Word>& box) {
  constexpr std::size_t kSmall = 4096;
  if (box.capacity() > kSmall && box.capacity() / 4 > box.size())
    box.release();
  else
    box.clear();
}

}  // namespace

TupleMail::TupleMail(MailOptions options)
    : options_(std::move(options)),
      ranks_(static_cast<std::size_t>(options_.ranks)),
      streams_(static_cast<int>(options_.arity_of_stream.size())),
      runs_(ranks_ * options_.arity_of_stream.size()),
      groups_(runs_.size()),
      cursors_(runs_.size()),
      counts_(ranks_) {
  assert(options_.arity_of_stream.size() <= kMaxMailStreams);
  for (const std::uint32_t arity : options_.arity_of_stream) width_.push_back(std::max(1U, arity));
}

void TupleMail::append_tuples(int to, int stream, std::span<const Cell> tuples) {
  assert(tuples.size() % width_[static_cast<std::size_t>(stream)] == 0);
  Cell* const into = runs_[box(to, stream)].extend(tuples.size());
  std::ranges::copy(tuples, into);
}

void TupleMail::append_group(int to, int stream, const TupleGroup& group) {
  assert(group.prefix.size() + 1 == options_.arity_of_stream[static_cast<std::size_t>(stream)]);
  if (group.set.count != 0) encode_group(stream, group, groups_[box(to, stream)]);
}

void TupleMail::append_set(int to, int stream, std::span<const Cell> prefix,
                           std::span<const Cell> set) {
  assert(prefix.size() + 1 == options_.arity_of_stream[static_cast<std::size_t>(stream)]);
  if (set.empty()) return;
  // A header and a padded prefix cost more than repeating the prefix in one or two tuples.
  if (set.size() * (prefix.size() + 1) <= 2 * array_words(prefix.size(), set.size())) {
    for (const Cell cell : set) {
      Cell* const into = append_slot(to, stream);
      std::ranges::copy(prefix, into);
      into[prefix.size()] = cell;
    }
    return;
  }
  encode_set(stream, prefix, set, groups_[box(to, stream)]);
}

bool TupleMail::is_empty() const {
  const auto is_clear = [](const auto& box) { return box.empty(); };
  return std::ranges::all_of(runs_, is_clear) && std::ranges::all_of(groups_, is_clear);
}

std::uint64_t TupleMail::waiting_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& box : runs_) bytes += box.size() * sizeof(Cell);
  for (const auto& box : groups_) bytes += box.size() * kWordBytes;
  return bytes;
}

std::uint64_t TupleMail::memory_bytes() const {
  std::uint64_t bytes = out_.capacity() * kWordBytes;
  for (const auto& box : runs_) bytes += box.capacity() * sizeof(Cell);
  for (const auto& box : groups_) bytes += box.capacity() * kWordBytes;
  return bytes;
}

std::uint64_t TupleMail::words_left(int to) const {
  std::uint64_t words = 0;
  for (int stream = 0; stream < streams_; ++stream) {
    const std::size_t b = box(to, stream);
    const std::uint64_t tuples = tuples_in(b, stream) - cursors_[b].tuples;
    if (tuples != 0) words += run_words(tuples, width_[static_cast<std::size_t>(stream)]);
    words += groups_[b].size() - cursors_[b].words;
  }
  return words;
}

void TupleMail::assemble_run(int to, int stream, std::uint64_t end) {
  const std::size_t b = box(to, stream);
  const std::uint64_t width = width_[static_cast<std::size_t>(stream)];
  std::uint64_t& cursor = cursors_[b].tuples;
  const std::uint64_t left = tuples_in(b, stream) - cursor;
  if (left == 0 || out_.size() >= end) return;
  const std::uint64_t room = (end - out_.size() - 1) * 2 / width;
  const std::uint64_t count = std::min(left, std::max<std::uint64_t>(1, room));
  encode_run(stream, count, runs_[b].words().subspan(cursor * width, count * width), out_);
  cursor += count;
  if (count != left) return;
  cursor = 0;
  recycle(runs_[b]);
}

void TupleMail::assemble_groups(int to, int stream, std::uint64_t end) {
  const std::size_t b = box(to, stream);
  std::uint64_t& cursor = cursors_[b].words;
  const auto left = groups_[b].words().subspan(cursor);
  std::uint64_t count = 0;
  if (out_.size() + left.size() <= end) {
    count = left.size();
  } else {
    // Cut before the record that does not fit.
    while (count < left.size() && out_.size() + count < end)
      count += record_words(left.subspan(count), options_.arity_of_stream);
  }
  std::ranges::copy(left.first(count), out_.extend(count));
  cursor += count;
  if (count != left.size()) return;
  cursor = 0;
  recycle(groups_[b]);
}

void TupleMail::assemble_part(int to, std::uint64_t limit) {
  const std::uint64_t end = out_.size() + limit;
  for (int stream = 0; stream < streams_; ++stream) {
    assemble_run(to, stream, end);
    assemble_groups(to, stream, end);
  }
}

bool TupleMail::assemble(Outlook mine) {
  const std::uint64_t limit =
      std::max(options_.round_bytes / ranks_, options_.min_part_bytes) / kWordBytes;
  recycle(out_);
  std::vector<std::uint64_t> left(ranks_);
  bool more = mine == Outlook::kMoreToCome;
  for (int to = 0; to < options_.ranks; ++to) {
    if (to == options_.self) continue;
    left[static_cast<std::size_t>(to)] = words_left(to);
    more = more || left[static_cast<std::size_t>(to)] > limit;
  }
  for (int to = 0; to < options_.ranks; ++to) {
    const std::size_t begin = out_.size();
    const bool has_mail = left[static_cast<std::size_t>(to)] != 0;
    // Everybody must hear of another round, but an empty part costs nothing where there is none.
    if (to != options_.self && (more || has_mail)) out_.append(more ? kMoreFlag : 0);
    if (has_mail) assemble_part(to, limit);
    counts_[static_cast<std::size_t>(to)] = (out_.size() - begin) * kWordBytes;
  }
  counters_.bytes_sent += out_.size() * kWordBytes;
  return more;
}

Status TupleMail::deliver_own(const MailHandler& handler) {
  for (int stream = 0; stream < streams_; ++stream) {
    const std::size_t b = box(options_.self, stream);
    const std::uint32_t arity = options_.arity_of_stream[static_cast<std::size_t>(stream)];
    const std::uint64_t count = tuples_in(b, stream);
    if (count != 0)
      STRATALOG_RETURN_IF_ERROR(handler.on_run({.stream = stream,
                                                .sender = options_.self,
                                                .arity = arity,
                                                .count = count,
                                                .cells = runs_[b].words().first(count * arity)}));
    STRATALOG_RETURN_IF_ERROR(
        decode_records(groups_[b].words(), options_.self, options_.arity_of_stream, handler));
  }
  return Status::ok();
}

Status TupleMail::receive(const Received& received, const MailHandler& handler, bool& more) {
  Status first;
  std::uint64_t offset = 0;
  for (int sender = 0; sender < options_.ranks; ++sender) {
    if (sender == options_.self) {
      if (first.is_ok()) first = deliver_own(handler);
      continue;
    }
    const std::uint64_t bytes = received.counts[static_cast<std::size_t>(sender)];
    const std::span<const std::uint64_t> words(
        reinterpret_cast<const std::uint64_t*>(received.data.data() + offset), bytes / kWordBytes);
    offset += bytes;
    counters_.bytes_received += bytes;
    if (words.empty()) continue;
    more = more || (words[0] & kMoreFlag) != 0;
    if (first.is_ok())
      first = decode_records(words.subspan(1), sender, options_.arity_of_stream, handler);
  }
  return first;
}

Result<Outlook> TupleMail::deliver_round(Comm& comm, Outlook mine, const MailHandler& handler) {
  if (comm.size() != options_.ranks || comm.rank() != options_.self)
    return Status::invalid_argument(fmt::format("this mail is of rank {} of {}, the group is not",
                                                options_.self, options_.ranks));
  bool more = assemble(mine);
  Received received;
  if (options_.ranks > 1) {
    STRATALOG_ASSIGN_OR_RETURN(received, comm.exchange(std::as_bytes(out_.words()), counts_));
  }
  ++counters_.rounds;
  const bool had_failed = !failure_.is_ok();
  static const MailHandler kDrop{.on_run = [](const MailRun&) { return Status::ok(); },
                                 .on_group = [](const MailGroup&) { return Status::ok(); }};
  const Status read = receive(received, had_failed ? kDrop : handler, more);
  if (!had_failed) failure_ = read;
  for (int stream = 0; stream < streams_; ++stream) {
    recycle(runs_[box(options_.self, stream)]);
    recycle(groups_[box(options_.self, stream)]);
  }
  if (more) return Outlook::kMoreToCome;
  const Status verdict = std::exchange(failure_, Status::ok());
  if (options_.agreement == MailAgreement::kInDelivery)
    STRATALOG_RETURN_IF_ERROR(agree(comm, verdict));
  STRATALOG_RETURN_IF_ERROR(verdict);
  return Outlook::kLast;
}

Status TupleMail::deliver_if_full(Comm& comm, std::uint64_t appended, const MailHandler& handler) {
  constexpr std::uint64_t kRanksOfFull = 512;
  const std::uint64_t full =
      std::max(options_.full_bytes, options_.full_bytes / kRanksOfFull * ranks_);
  most_waiting_ += appended;
  if (most_waiting_ < full) return Status::ok();
  most_waiting_ = waiting_bytes();
  if (most_waiting_ < full) return Status::ok();
  STRATALOG_RETURN_IF_ERROR(deliver_round(comm, Outlook::kMoreToCome, handler).status());
  most_waiting_ = 0;
  return Status::ok();
}

Status TupleMail::deliver(Comm& comm, const MailHandler& handler) {
  for (;;) {
    STRATALOG_ASSIGN_OR_RETURN(const Outlook outlook, deliver_round(comm, Outlook::kLast, handler));
    if (outlook == Outlook::kLast) return Status::ok();
  }
}

}  // namespace stratalog
