// SPDX-License-Identifier: Apache-2.0
// TupleMail: the executor behind every exchange of tuples. Rules append tuples and whole sets for
// any rank and any of several streams (one stream = one relation's index, say); deliver() sends all
// of it in one Comm::exchange and hands what arrived to the caller, sender by sender in rank order.
// It decides nothing: who gets what is a planner's business. append_* are local; deliver* are
// collective, also for ranks that appended nothing. What it keeps goes by the ranks that there is
// something for, not by the ranks there are.
// Where the group has posts, much mail need not wait for its delivery: post_full() sends it while
// its rank goes on, take_posted() hands over what has come so far, both local. The delivery says
// how many pieces there were and waits for those that are missing, so that a rank that posts
// nothing costs nothing. Between two deliveries all ranks post and take with the same mail only.
// One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "comm/comm.h"
#include "route/mail_format.h"

namespace stratalog {

// Whether a rank will take part in another delivery, or the group has to.
enum class Outlook : std::uint8_t { kLast, kMoreToCome };

// Whether the last round ends with an agreement on the handlers' errors (one small collective), or
// each rank returns its own and the caller agrees, for example in its fixpoint test.
enum class MailAgreement : std::uint8_t { kInDelivery, kByCaller };

struct MailOptions {
  int ranks = 1;
  int self = 0;
  // Columns of each stream's tuples; at most kMaxMailStreams streams. A group's prefix has one
  // less.
  std::vector<std::uint32_t> arity_of_stream;
  // About how many bytes a rank sends in one round, and how many it receives; more goes in further
  // rounds. Each pair of ranks gets an equal share, but at least `min_part_bytes`, and may exceed
  // it by one record.
  std::uint64_t round_bytes = std::uint64_t{1} << 30U;
  std::uint64_t min_part_bytes = 64 << 10;
  // A rank in the middle of its work delivers when about so many bytes wait, and where there are
  // more than 512 ranks, so many for each 512 of them: what goes to one rank is worth a message.
  std::uint64_t full_bytes = 8 << 20;
  // What waits for one rank is posted from so many bytes on.
  std::uint64_t post_bytes = 256 << 10;
  MailAgreement agreement = MailAgreement::kInDelivery;
};

struct MailCounters {
  std::uint64_t rounds = 0;
  std::uint64_t bytes_sent = 0;  // to other ranks
  std::uint64_t bytes_received = 0;  // from other ranks
  std::uint64_t posts = 0;  // pieces that left before their delivery
};

class TupleMail {
 public:
  explicit TupleMail(MailOptions options);

  // A few nanoseconds. `tuple` has the stream's arity.
  void append(int to, int stream, std::span<const Cell> tuple) {
    Cell* const into = append_slot(to, stream);
    for (std::size_t i = 0; i < tuple.size(); ++i) into[i] = tuple[i];
  }
  // Room for one tuple, to be filled before the next call.
  Cell* append_slot(int to, int stream) {
    return box(to, stream).run.extend(width_[static_cast<std::size_t>(stream)]);
  }
  // Many tuples back to back; arity >= 1.
  void append_tuples(int to, int stream, std::span<const Cell> tuples);

  // All tuples prefix x set, where `set` is ascending and distinct. Travels as plain tuples, cells,
  // offsets or bitmaps, whichever is smallest; a set that spans much may arrive as several groups.
  void append_set(int to, int stream, std::span<const Cell> prefix, std::span<const Cell> set);
  // The same for a set that has a representation already, which it keeps.
  void append_group(int to, int stream, const TupleGroup& group);

  // One exchange. Everything that fits goes; kMoreToCome on all ranks if anything is left anywhere
  // or a rank's `mine` is kMoreToCome, and then all must come back: so a rank whose outboxes fill
  // up can deliver in the middle of its work. The handler must not append to this mail. After a
  // handler's error the rest of its mail is dropped but still received, and what waits here as
  // well; the error is returned by the round that returns kLast otherwise. Want of memory, here or
  // in the handler, is such an error.
  Result<Outlook> deliver_round(Comm& comm, Outlook mine, const MailHandler& handler);
  // Called in the middle of work by a rank that has appended at most `appended` bytes since its
  // last call. Delivers a round if its outboxes have become full; so every rank must end its work
  // with deliver(), which is what meets these rounds.
  Status deliver_if_full(Comm& comm, std::uint64_t appended, const MailHandler& handler);
  // Rounds until nothing is left anywhere; one for all that fits in round_bytes.
  Status deliver(Comm& comm, const MailHandler& handler);

  // Local. What was appended is not all that there is to send: nothing of it goes any more, and
  // `why` is this rank's verdict of the deliveries. For whoever could not append, for want of
  // memory.
  void give_up(const Status& why);

  // Local; requires Comm::has_post(). Posts what waits for ranks for which much waits, as far as
  // the group takes it. Not from within a handler of this mail.
  Status post_full(Comm& comm);
  // Local; requires Comm::has_post(). Hands over what other ranks have posted and is there by now.
  // A handler's error is returned by the delivery, as are its others; the status is the group's.
  Status take_posted(Comm& comm, const MailHandler& handler);

  // Nothing waits for delivery. As the two below, O(ranks with mail * streams).
  bool is_empty() const;
  // What waits for delivery.
  std::uint64_t waiting_bytes() const;
  // Memory of all outboxes and of the send buffer, kept capacity included.
  std::uint64_t memory_bytes() const;
  const MailCounters& counters() const { return counters_; }

 private:
  // What waits for one rank in one stream. What is left of it begins at `tuples_gone` of the run
  // and `words_gone` of the groups.
  struct Box {
    WordBuffer<Cell> run;
    MailWords groups;  // encoded records
    std::uint64_t tuples_gone = 0;
    std::uint64_t words_gone = 0;
  };
  // A rank that there is, or lately was, something for. Its boxes, one a stream, stand in boxes_.
  struct Destination {
    int rank = 0;
    std::uint64_t words_left = 0;  // while a round is assembled
    std::uint64_t posted = 0;  // pieces since the last round
  };

  // Where a rank's boxes begin; of nobody where none has been entered.
  struct Slot {
    int rank = -1;
    std::uint32_t first_box = 0;
  };

  // Opens the rank's boxes if need be.
  Box& box(int to, int stream) {
    const Slot slot = slots_[static_cast<std::uint32_t>(to) & slot_mask_];
    const std::uint32_t first = slot.rank == to ? slot.first_box : open_destination(to);
    return boxes_[first + static_cast<std::uint32_t>(stream)];
  }
  std::uint32_t open_destination(int to);
  void enter_slot(const Slot& entered);
  // Forgets destinations, for which nothing waits, where they are many.
  void close_destinations();
  std::span<Box> boxes_of(std::size_t destination) {
    return std::span(boxes_).subspan(destination * static_cast<std::size_t>(streams_),
                                     static_cast<std::size_t>(streams_));
  }
  std::uint64_t tuples_in(const Box& box, int stream) const {
    return box.run.size() / width_[static_cast<std::size_t>(stream)];
  }
  std::uint64_t count_words_left(std::size_t destination);
  // Moves what fits into out_; true if this rank will need another round.
  bool assemble(Outlook mine);
  void drop_all();
  void assemble_part(std::size_t destination, std::uint64_t limit);
  void assemble_run(Box& box, int stream, std::uint64_t end);
  void assemble_groups(Box& box, std::uint64_t end);
  bool is_told_of_more(const ReceivedParcels& received) const;
  Status receive(const ReceivedParcels& received, const MailHandler& handler);
  Status receive_posts(Comm& comm, const ReceivedParcels& received, const MailHandler& handler);
  Status read_post(const Bytes& data, int sender, const MailHandler& handler);
  Status deliver_own(const MailHandler& handler);

  MailOptions options_;
  std::size_t ranks_;
  int streams_;
  std::vector<std::uint32_t> width_;  // cells per tuple in a box: max(1, arity)
  std::vector<Destination> destinations_;
  std::vector<Box> boxes_;  // [destination][stream]
  // By rank, open addressing by the lowest bits: a small group has a slot for each.
  std::vector<Slot> slots_;
  std::uint32_t slot_mask_ = 0;
  std::vector<std::uint32_t>
      by_rank_;  // destinations ascending by rank, while a round is assembled
  MailWords out_;
  std::vector<Parcel> parcels_;  // in out_
  std::vector<std::uint64_t> taken_;  // pieces that were taken before a round, by sender; or none
  std::uint64_t most_waiting_ = 0;  // bytes at the last look, and what was appended since
  Status failure_;  // the first error since the last kLast
  bool is_dropped_ = false;  // by all ranks, as one had no memory for what others sent
  MailCounters counters_;
};

}  // namespace stratalog
