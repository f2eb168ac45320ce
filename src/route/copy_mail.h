// SPDX-License-Identifier: Apache-2.0
// CopyMail: tuples that every rank gets, for copies of a relation. Kept once, not once for each
// rank, and gathered on all: a rank passes on what it has in few messages, where mail for each rank
// (TupleMail) takes as many as there are ranks. append_* are local; deliver() is collective, also
// for ranks that appended nothing. What is sent in one round is bounded. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "route/mail_format.h"

namespace stratalog {

struct CopyMailOptions {
  int ranks = 1;
  std::vector<std::uint32_t> arity_of_stream;  // at most kMaxMailStreams; none 0
  // About how many bytes all ranks send in one round; each has an equal share, but at least
  // `least_part_bytes`, and may exceed it by one record.
  std::uint64_t round_bytes = std::uint64_t{256} << 20U;
  std::uint64_t least_part_bytes = 4 << 10;
};

class CopyMail {
 public:
  explicit CopyMail(CopyMailOptions options);

  void append(int stream, std::span<const Cell> tuple);
  // Travels as it is, or as tuples where that is less.
  void append_group(int stream, const TupleGroup& group);

  // What was appended is not all that there is to send: nothing of it goes any more, and `why` is
  // this rank's verdict of the delivery.
  void give_up(const Status& why);

  // Collective. Rounds until nothing is left anywhere; the handler gets the tuples of all ranks,
  // this one's among them, by sender in each round. After an error, of a handler or for want of
  // memory, the rest is received and dropped. The same verdict on all ranks.
  Status deliver(Comm& comm, const MailHandler& handler);

  // As far as delivered: to all other ranks, whoever passes it on.
  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  MailWords& open_part();
  void close_run(int stream);
  void drop_all();
  // Nothing for all that this rank does not have.
  std::span<const std::uint64_t> part_of_round(std::size_t round);
  Status receive(const Received& received, const MailHandler& handler, bool& more);

  CopyMailOptions options_;
  std::uint64_t part_words_;
  std::vector<WordBuffer<Cell>> runs_;  // by stream, until they are a record
  std::vector<MailWords> parts_;  // each begins with whether others follow
  Status failure_;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace stratalog
