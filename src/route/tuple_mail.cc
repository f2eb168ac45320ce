// SPDX-License-Identifier: Apache-2.0
// Outboxes, the assembly of rounds from them, and the reading of what arrives. A rank's mail to
// itself is handed over from its outboxes without being copied.
#include "route/tuple_mail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>
#include <utility>

#include "base/memory_end.h"
#include "route/set_encoding.h"

namespace stratalog {
namespace {

// The first word of a part: this flag, and how many pieces of it were posted.
constexpr std::uint64_t kMoreFlag = 1;
constexpr int kPostedShift = 1;
// So many destinations are kept from round to round with the memory of their boxes.
constexpr std::size_t kKeptDestinations = 256;
constexpr std::size_t kFirstSlots = 16;

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
      slots_(kFirstSlots),
      slot_mask_(kFirstSlots - 1) {
  assert(options_.arity_of_stream.size() <= kMaxMailStreams);
  for (const std::uint32_t arity : options_.arity_of_stream) width_.push_back(std::max(1U, arity));
  // A rank without memory must still be able to say whether it comes back.
  (void)out_.extend(std::min(ranks_, kKeptDestinations));
}

void TupleMail::enter_slot(const Slot& entered) {
  auto at = static_cast<std::uint32_t>(entered.rank) & slot_mask_;
  while (slots_[at].rank >= 0) at = (at + 1) & slot_mask_;
  slots_[at] = entered;
}

std::uint32_t TupleMail::open_destination(int to) {
  for (auto at = static_cast<std::uint32_t>(to) & slot_mask_; slots_[at].rank >= 0;
       at = (at + 1) & slot_mask_)
    if (slots_[at].rank == to) return slots_[at].first_box;
  // Half of the slots at most are taken. What has grown is used only when all of it has.
  if (2 * (destinations_.size() + 1) > slots_.size()) {
    std::vector<Slot> entered(2 * slots_.size());
    std::swap(entered, slots_);
    slot_mask_ = static_cast<std::uint32_t>(slots_.size() - 1);
    for (const Slot& slot : entered)
      if (slot.rank >= 0) enter_slot(slot);
  }
  // In this order, so that nothing is out of step where memory ends in between.
  const std::size_t first = destinations_.size() * static_cast<std::size_t>(streams_);
  boxes_.resize(first + static_cast<std::size_t>(streams_));
  destinations_.push_back({.rank = to});
  const Slot opened{.rank = to, .first_box = static_cast<std::uint32_t>(first)};
  enter_slot(opened);
  return opened.first_box;
}

void TupleMail::close_destinations() {
  if (destinations_.size() <= kKeptDestinations) return;
  destinations_ = std::vector<Destination>();
  boxes_ = std::vector<Box>();
  slots_.assign(kFirstSlots, {});
  slot_mask_ = kFirstSlots - 1;
}

void TupleMail::append_tuples(int to, int stream, std::span<const Cell> tuples) {
  assert(tuples.size() % width_[static_cast<std::size_t>(stream)] == 0);
  Cell* const into = box(to, stream).run.extend(tuples.size());
  std::ranges::copy(tuples, into);
}

void TupleMail::append_group(int to, int stream, const TupleGroup& group) {
  assert(group.prefix.size() + 1 == options_.arity_of_stream[static_cast<std::size_t>(stream)]);
  if (group.set.count != 0) encode_group(stream, group, box(to, stream).groups);
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
  encode_set(stream, prefix, set, box(to, stream).groups);
}

bool TupleMail::is_empty() const {
  return std::ranges::all_of(boxes_,
                             [](const Box& box) { return box.run.empty() && box.groups.empty(); });
}

std::uint64_t TupleMail::waiting_bytes() const {
  std::uint64_t bytes = 0;
  for (const Box& box : boxes_)
    bytes += (box.run.size() * sizeof(Cell)) + (box.groups.size() * kMailWordBytes);
  return bytes;
}

std::uint64_t TupleMail::memory_bytes() const {
  std::uint64_t bytes = out_.capacity() * kMailWordBytes;
  for (const Box& box : boxes_)
    bytes += (box.run.capacity() * sizeof(Cell)) + (box.groups.capacity() * kMailWordBytes);
  return bytes;
}

std::uint64_t TupleMail::count_words_left(std::size_t destination) {
  std::uint64_t words = 0;
  for (int stream = 0; const Box& box : boxes_of(destination)) {
    const std::uint64_t tuples = tuples_in(box, stream) - box.tuples_gone;
    if (tuples != 0) words += run_words(tuples, width_[static_cast<std::size_t>(stream)]);
    words += box.groups.size() - box.words_gone;
    ++stream;
  }
  return words;
}

void TupleMail::assemble_run(Box& box, int stream, std::uint64_t end) {
  const std::uint64_t width = width_[static_cast<std::size_t>(stream)];
  const std::uint64_t left = tuples_in(box, stream) - box.tuples_gone;
  if (left == 0 || out_.size() >= end) return;
  const std::uint64_t room = (end - out_.size() - 1) * 2 / width;
  const std::uint64_t count = std::min(left, std::max<std::uint64_t>(1, room));
  encode_run(stream, count, box.run.words().subspan(box.tuples_gone * width, count * width), out_);
  box.tuples_gone += count;
  if (count != left) return;
  box.tuples_gone = 0;
  recycle(box.run);
}

void TupleMail::assemble_groups(Box& box, std::uint64_t end) {
  const auto left = box.groups.words().subspan(box.words_gone);
  std::uint64_t count = 0;
  if (out_.size() + left.size() <= end) {
    count = left.size();
  } else {
    // Cut before the record that does not fit.
    while (count < left.size() && out_.size() + count < end)
      count += record_words(left.subspan(count), options_.arity_of_stream);
  }
  std::ranges::copy(left.first(count), out_.extend(count));
  box.words_gone += count;
  if (count != left.size()) return;
  box.words_gone = 0;
  recycle(box.groups);
}

void TupleMail::assemble_part(std::size_t destination, std::uint64_t limit) {
  const std::uint64_t end = out_.size() + limit;
  for (int stream = 0; Box & box : boxes_of(destination)) {
    assemble_run(box, stream, end);
    assemble_groups(box, end);
    ++stream;
  }
}

void TupleMail::drop_all() {
  for (Box& box : boxes_) box = Box();
}

void TupleMail::give_up(const Status& why) {
  drop_all();
  if (failure_.is_ok()) failure_ = why;
}

bool TupleMail::assemble(Outlook mine) {
  const std::uint64_t limit =
      std::max(options_.round_bytes / ranks_, options_.min_part_bytes) / kMailWordBytes;
  recycle(out_);
  parcels_.clear();
  bool more = mine == Outlook::kMoreToCome;
  for (std::size_t d = 0; d < destinations_.size(); ++d) {
    if (destinations_[d].rank == options_.self) continue;
    destinations_[d].words_left = count_words_left(d);
    more = more || destinations_[d].words_left > limit;
  }
  by_rank_.resize(destinations_.size());
  std::iota(by_rank_.begin(), by_rank_.end(), 0U);
  std::ranges::sort(by_rank_, {}, [&](std::uint32_t d) { return destinations_[d].rank; });
  // Everybody must hear of another round, but a rank without mail costs nothing where there is
  // none.
  int untold = 0;
  const auto tell_up_to = [&](int end) {
    for (; more && untold < end; ++untold) {
      if (untold == options_.self) continue;
      out_.append(kMoreFlag);
      parcels_.push_back({.rank = untold, .bytes = kMailWordBytes});
    }
    untold = end + 1;
  };
  for (const std::uint32_t d : by_rank_) {
    const auto& [to, words_left, posted] = destinations_[d];
    if (to == options_.self || (words_left == 0 && posted == 0)) continue;
    tell_up_to(to);
    const std::size_t begin = out_.size();
    out_.append((more ? kMoreFlag : 0) | (posted << kPostedShift));
    if (words_left != 0) assemble_part(d, limit);
    parcels_.push_back({.rank = to, .bytes = (out_.size() - begin) * kMailWordBytes});
  }
  tell_up_to(options_.ranks);
  counters_.bytes_sent += out_.size() * kMailWordBytes;
  return more;
}

Status TupleMail::deliver_own(const MailHandler& handler) {
  for (int stream = 0; stream < streams_; ++stream) {
    const Box& own = box(options_.self, stream);
    const std::uint32_t arity = options_.arity_of_stream[static_cast<std::size_t>(stream)];
    const std::uint64_t count = tuples_in(own, stream);
    if (count != 0)
      STRATALOG_RETURN_IF_ERROR(handler.on_run({.stream = stream,
                                                .sender = options_.self,
                                                .arity = arity,
                                                .count = count,
                                                .cells = own.run.words().first(count * arity)}));
    STRATALOG_RETURN_IF_ERROR(
        decode_records(own.groups.words(), options_.self, options_.arity_of_stream, handler));
  }
  return Status::ok();
}

// Whether another rank goes on after this round.
bool TupleMail::is_told_of_more(const ReceivedParcels& received) const {
  const std::byte* part = received.data.data();
  for (const Parcel& parcel : received.parcels) {
    if ((*reinterpret_cast<const std::uint64_t*>(part) & kMoreFlag) != 0) return true;
    part += parcel.bytes;
  }
  return false;
}

Status TupleMail::read_post(const Bytes& data, int sender, const MailHandler& handler) {
  counters_.bytes_received += data.size();
  const std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(data.data()),
                                             data.size() / kMailWordBytes);
  return or_no_space("not enough memory for tuples that arrive", [&] {
    return decode_records(words, sender, options_.arity_of_stream, handler);
  });
}

// Pieces that parts tell of and that have not been taken; all of them also after an error.
Status TupleMail::receive_posts(Comm& comm, const ReceivedParcels& received,
                                const MailHandler& handler) {
  Status first;
  const std::byte* part = received.data.data();
  for (const auto& [sender, bytes] : received.parcels) {
    const std::uint64_t count = *reinterpret_cast<const std::uint64_t*>(part) >> kPostedShift;
    part += bytes;
    if (count == 0) continue;
    std::uint64_t taken =
        taken_.empty() ? 0 : std::exchange(taken_[static_cast<std::size_t>(sender)], 0);
    for (; taken < count; ++taken) {
      const Result<Bytes> data = comm.await_post(sender);
      if (first.is_ok())
        first = data.is_ok() ? read_post(data.value(), sender, handler) : data.status();
    }
  }
  return first;
}

Status TupleMail::receive(const ReceivedParcels& received, const MailHandler& handler) {
  Status first;
  bool has_own = false;
  const std::byte* part = received.data.data();
  const auto deliver_own_before = [&](int sender) {
    if (has_own || sender < options_.self) return;
    has_own = true;
    if (first.is_ok()) first = deliver_own(handler);
  };
  for (const auto& [sender, bytes] : received.parcels) {
    deliver_own_before(sender);
    const std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(part),
                                               bytes / kMailWordBytes);
    part += bytes;
    counters_.bytes_received += bytes;
    if (first.is_ok())
      first = decode_records(words.subspan(1), sender, options_.arity_of_stream, handler);
  }
  deliver_own_before(options_.ranks);
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
  ReceivedParcels received;
  if (options_.ranks > 1) {
    Result<ReceivedParcels> arrived = comm.exchange_parcels(std::as_bytes(out_.words()), parcels_);
    // So it is for all ranks, some of which may be in the middle of their work: they meet again.
    if (arrived.status().code() == StatusCode::kNoSpace && !is_dropped_) {
      is_dropped_ = true;  // with nothing on its way, it is no want of memory for it the next time
      ++counters_.rounds;
      give_up(arrived.status());
      return Outlook::kMoreToCome;
    }
    STRATALOG_ASSIGN_OR_RETURN(received, std::move(arrived));
  }
  ++counters_.rounds;
  for (Destination& told : destinations_) told.posted = 0;
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
    recycle(box(options_.self, stream).run);
    recycle(box(options_.self, stream).groups);
  }
  if (more) return Outlook::kMoreToCome;
  close_destinations();
  is_dropped_ = false;
  const Status verdict = std::exchange(failure_, Status::ok());
  if (options_.agreement == MailAgreement::kInDelivery)
    STRATALOG_RETURN_IF_ERROR(agree(comm, verdict));
  STRATALOG_RETURN_IF_ERROR(verdict);
  return Outlook::kLast;
}

Status TupleMail::post_full(Comm& comm) {
  const std::uint64_t full = options_.post_bytes / kMailWordBytes;
  for (std::size_t d = 0; d < destinations_.size(); ++d) {
    if (destinations_[d].rank == options_.self) continue;
    while (count_words_left(d) >= full && comm.may_post()) {
      recycle(out_);
      assemble_part(d, full);
      const auto bytes = std::as_bytes(out_.words());
      STRATALOG_RETURN_IF_ERROR(
          comm.post(destinations_[d].rank, Bytes(bytes.begin(), bytes.end())));
      ++destinations_[d].posted;
      ++counters_.posts;
      counters_.bytes_sent += bytes.size();
    }
  }
  return Status::ok();
}

Status TupleMail::take_posted(Comm& comm, const MailHandler& handler) {
  taken_.resize(ranks_);  // before there is a post that could be lost for want of it
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
