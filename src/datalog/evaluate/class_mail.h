// SPDX-License-Identifier: Apache-2.0
// CellMail and OwnerQuestions: cells between ranks while they agree on classes
// (evaluate/class_agreement.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/memory_end.h"
#include "comm/comm.h"
#include "datalog/evaluate/class_agreement.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {

using Cells = std::vector<Cell>;

// How what a rank does between two collective calls went. Want of memory must not keep it from the
// next one, which all ranks begin with an agreement.
template <typename Work>
Status attempt(Work&& work) {
  return or_no_space("not enough memory to unite classes", [&]() -> Status {
    work();
    return Status::ok();
  });
}

// What came in one exchange.
class Arrived {
 public:
  explicit Arrived(ReceivedParcels received) : received_(std::move(received)) {}

  std::span<const Cell> cells() const {
    return {reinterpret_cast<const Cell*>(received_.data.data()),
            received_.data.size() / sizeof(Cell)};
  }
  // visit(sender, cells) for those who sent some, in the order of ranks.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    std::size_t at = 0;
    for (const auto& [sender, bytes] : received_.parcels) {
      visit(sender, cells().subspan(at, bytes / sizeof(Cell)));
      at += bytes / sizeof(Cell);
    }
  }

 private:
  ReceivedParcels received_;
};

// Cells for each rank, and those from each. Local calls may find no memory and are made within
// attempt(); collective ones end with the same verdict on all ranks.
class CellMail {
 public:
  CellMail(Comm& comm, ClassAgreement& spent) : comm_(comm), spent_(spent) {}

  // Before anything else.
  void open() { to_.resize(static_cast<std::size_t>(comm_.size())); }
  Cells& to(int rank) { return to_[static_cast<std::size_t>(rank)]; }
  Cells& to_owner(Cell element) { return to(owner_of_element(element, comm_.size())); }

  // Collective. What all ranks have for any rank, to all; what was to be sent is gone. `mine`: how
  // it went here so far.
  Result<Cells> tell_all(Status mine) {
    Cells packed;
    if (mine.is_ok()) mine = attempt([&] { pack(packed); });
    STRATALOG_RETURN_IF_ERROR(agree(comm_, mine));
    ++spent_.exchanges;
    spent_.sent_bytes += packed.size() * sizeof(Cell) * (to_.size() - 1);
    STRATALOG_ASSIGN_OR_RETURN(const Received all,
                               comm_.allgather(std::as_bytes(std::span(packed))));
    Cells cells(all.data.size() / sizeof(Cell));
    if (!cells.empty()) std::memcpy(cells.data(), all.data.data(), all.data.size());
    return cells;
  }

  // Collective. By sender; what was to be sent is gone. `mine` as above.
  Result<Arrived> exchange(Status mine) {
    Cells packed;
    if (mine.is_ok()) mine = attempt([&] { pack(packed); });
    STRATALOG_RETURN_IF_ERROR(agree(comm_, mine));
    for (const auto& [to, bytes] : parcels_)
      if (to != comm_.rank()) spent_.sent_bytes += bytes;
    ++spent_.exchanges;
    STRATALOG_ASSIGN_OR_RETURN(ReceivedParcels received,
                               comm_.exchange_parcels(std::as_bytes(std::span(packed)), parcels_));
    return Arrived(std::move(received));
  }

 private:
  void pack(Cells& packed) {
    std::size_t size = 0;
    for (const Cells& cells : to_) size += cells.size();
    packed.reserve(size);
    parcels_.clear();
    for (std::size_t r = 0; r < to_.size(); ++r) {
      if (to_[r].empty()) continue;
      packed.insert(packed.end(), to_[r].begin(), to_[r].end());
      parcels_.push_back({.rank = static_cast<int>(r), .bytes = to_[r].size() * sizeof(Cell)});
      to_[r] = {};
    }
  }

  Comm& comm_;
  ClassAgreement& spent_;
  std::vector<Cells> to_;
  std::vector<Parcel> parcels_;  // of the exchange under way
};

// What a rank asks the owners of elements, once for each.
class OwnerQuestions {
 public:
  explicit OwnerQuestions(const Comm& comm) : ranks_(comm.size()) {}

  // The number of its answer.
  std::uint32_t ask(Cell element, CellMail& mail) {
    const std::uint32_t id = ids_.find_or_add(&element);
    if (id == owners_.size()) {
      owners_.push_back(static_cast<std::uint32_t>(owner_of_element(element, ranks_)));
      mail.to(static_cast<int>(owners_.back())).push_back(element);
    }
    return id;
  }
  // Collective. All answers, by number; `answer` is this rank's to others. `mine`: how it went here
  // so far.
  template <typename Answer>
  Result<Cells> answers(CellMail& mail, const Status& mine, Answer&& answer) {
    STRATALOG_ASSIGN_OR_RETURN(const Arrived questions, mail.exchange(mine));
    Cells all;
    std::vector<std::span<const Cell>> told;
    const Status answered = attempt([&] {
      questions.for_each([&](int asker, std::span<const Cell> asked) {
        Cells& to = mail.to(asker);
        to.reserve(asked.size());
        for (const Cell element : asked) to.push_back(answer(element));
      });
      all.reserve(owners_.size());
      told.resize(static_cast<std::size_t>(ranks_));
    });
    STRATALOG_ASSIGN_OR_RETURN(const Arrived answers, mail.exchange(answered));
    answers.for_each([&](int owner, std::span<const Cell> cells) {
      told[static_cast<std::size_t>(owner)] = cells;
    });
    for (const std::uint32_t owner : owners_) {
      if (told[owner].empty()) return Status::internal("classes: an answer is missing");
      all.push_back(told[owner].front());
      told[owner] = told[owner].subspan(1);
    }
    return all;
  }

 private:
  int ranks_;
  PrefixMap ids_{1};
  std::vector<std::uint32_t> owners_;
};

}  // namespace stratalog::datalog
