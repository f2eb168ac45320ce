// SPDX-License-Identifier: Apache-2.0
// Outboxes, the assembly of rounds from them, and the reading of what arrives. A rank's mail to
// itself is handed over from its outboxes without being copied.
#include "route/tuple_mail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "base/memory_end.h"
#include "route/set_encoding.h"

namespace stratalog {
namespace {

// The first word of a part: this flag, and how many pieces of it were posted.
constexpr std::uint64_t kMoreFlag = 1;
constexpr int kPostedShift = 1;
constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);

const MailHandler& dropping_handler() {
  static const MailHandler kDrop{.on_run = [](const MailRun&) { return Status::ok(); },
                                 .on_group = [](const MailGroup&) { return Status::ok(); }};
  return kDrop;
}

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
      counts_(ranks_),
      left_(ranks_),
      posted_(ranks_),
      taken_(ranks_) {
  assert(options_.arity_of_stream.size() <= kMaxMailStreams);
  for (const std::uint32_t arity : options_.arity_of_stream) width_.push_back(std::max(1U, arity));
  // A rank without memory must still be able to say whether it comes back.
  (void)out_.extend(ranks_);
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

void TupleMail::drop_all() {
  for (auto& box : runs_) box.release();
  for (auto& box : groups_) box.release();
  std::ranges::fill(cursors_, Cursor());
}

void TupleMail::give_up(const Status& why) {
  drop_all();
  if (failure_.is_ok()) failure_ = why;
}

bool TupleMail::assemble(Outlook mine) {
  const std::uint64_t limit =
      std::max(options_.round_bytes / ranks_, options_.min_part_bytes) / kWordBytes;
  recycle(out_);
  bool more = mine == Outlook::kMoreToCome;
  for (int to = 0; to < options_.ranks; ++to) {
    if (to == options_.self) continue;
    left_[static_cast<std::size_t>(to)] = words_left(to);
    more = more || left_[static_cast<std::size_t>(to)] > limit;
  }
  for (int to = 0; to < options_.ranks; ++to) {
    const std::size_t begin = out_.size();
    const bool has_mail = left_[static_cast<std::size_t>(to)] != 0;
    // Everybody must hear of another round, but an empty part costs nothing where there is none.
    const std::uint64_t posted = posted_[static_cast<std::size_t>(to)];
    if (to != options_.self && (more || has_mail || posted != 0))
      out_.append((more ? kMoreFlag : 0) | (posted << kPostedShift));
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

// Whether another rank goes on after this round.
bool TupleMail::is_told_of_more(const Received& received) const {
  std::uint64_t offset = 0;
  for (const std::uint64_t bytes : received.counts) {
    const std::byte* const part = received.data.data() + offset;
    if (bytes != 0 && (*reinterpret_cast<const std::uint64_t*>(part) & kMoreFlag) != 0) return true;
    offset += bytes;
  }
  return false;
}

Status TupleMail::read_post(const Bytes& data, int sender, const MailHandler& handler) {
  counters_.bytes_received += data.size();
  const std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(data.data()),
                                             data.size() / kWordBytes);
  return or_no_space("not enough memory for tuples that arrive", [&] {
    return decode_records(words, sender, options_.arity_of_stream, handler);
  });
}

// Pieces that parts tell of and that have not been taken; all of them also after an error.
Status TupleMail::receive_posts(Comm& comm, const Received& received, const MailHandler& handler) {
  Status first;
  std::uint64_t offset = 0;
  for (std::size_t sender = 0; sender < received.counts.size(); ++sender) {
    const std::byte* const part = received.data.data() + offset;
    offset += received.counts[sender];
    if (received.counts[sender] == 0) continue;
    const std::uint64_t count = *reinterpret_cast<const std::uint64_t*>(part) >> kPostedShift;
    for (; taken_[sender] < count; ++taken_[sender]) {
      const Result<Bytes> data = comm.await_post(static_cast<int>(sender));
      if (first.is_ok())
        first = data.is_ok() ? read_post(data.value(), static_cast<int>(sender), handler)
                             : data.status();
    }
    taken_[sender] = 0;
  }
  return first;
}

Status TupleMail::receive(const Received& received, const MailHandler& handler) {
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
    if (first.is_ok())
      first = decode_records(words.subspan(1), sender, options_.arity_of_stream, handler);
  }
  return first;
}

Result<Outlook> TupleMail::deliver_round(Comm& comm, Outlook mine, const MailHandler& handler) {
  if (comm.size() != options_.ranks || comm.rank() != options_.self)
    return Status::invalid_argument(fmt::format("this mail is of rank {} of {}, the group is not",
                                                options_.self, options_.ranks));
  bool more = false;
  if (!failure_.is_ok()) drop_all();
  const Status assembled = or_no_space("not enough memory to send tuples", [&]() -> Status {
    more = assemble(mine);
    return Status::ok();
  });
  if (!assembled.is_ok()) {
    give_up(assembled);
    more = assemble(mine);
  }
  Received received;
  if (options_.ranks > 1) {
    Result<Received> arrived = comm.exchange(std::as_bytes(out_.words()), counts_);
    // So it is for all ranks, some of which may be in the middle of their work: they meet again.
    if (arrived.status().code() == StatusCode::kNoSpace) {
      ++counters_.rounds;
      give_up(arrived.status());
      return Outlook::kMoreToCome;
    }
    STRATALOG_ASSIGN_OR_RETURN(received, std::move(arrived));
  }
  ++counters_.rounds;
  std::ranges::fill(posted_, 0);  // the others have been told
  more = more || is_told_of_more(received);
  const bool had_failed = !failure_.is_ok();
  const MailHandler& taking = had_failed ? dropping_handler() : handler;
  const Status posts = receive_posts(comm, received, taking);
  const MailHandler& reading = posts.is_ok() ? taking : dropping_handler();
  Status read = or_no_space("not enough memory for tuples that arrive",
                            [&] { return receive(received, reading); });
  if (!posts.is_ok()) read = posts;
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

Status TupleMail::post_full(Comm& comm) {
  const std::uint64_t full = options_.post_bytes / kWordBytes;
  for (int to = 0; to < options_.ranks; ++to) {
    if (to == options_.self) continue;
    while (words_left(to) >= full && comm.may_post()) {
      recycle(out_);
      assemble_part(to, full);
      const auto bytes = std::as_bytes(out_.words());
      STRATALOG_RETURN_IF_ERROR(comm.post(to, Bytes(bytes.begin(), bytes.end())));
      ++posted_[static_cast<std::size_t>(to)];
      ++counters_.posts;
      counters_.bytes_sent += bytes.size();
    }
  }
  return Status::ok();
}

Status TupleMail::take_posted(Comm& comm, const MailHandler& handler) {
  for (;;) {
    STRATALOG_ASSIGN_OR_RETURN(const std::optional<Post> post, comm.take_post());
    if (!post) return Status::ok();
    ++taken_[static_cast<std::size_t>(post->sender)];
    if (failure_.is_ok()) failure_ = read_post(post->data, post->sender, handler);
  }
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
