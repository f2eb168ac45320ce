// SPDX-License-Identifier: Apache-2.0
// What leaves a rank: each tuple once a round, and of best values only those that beat all that has
// left before.
#include "datalog/evaluate/outbound.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "comm/comm.h"

namespace stratalog::datalog {
namespace {

using Tuple = std::vector<Cell>;

// A shard of p(x, y, v), dealt by x and y, one rank, and what a round has posted.
struct Way {
  explicit Way(const BestCells* best) {
    shard.placement.columns = {0, 1};
    shard.indices.push_back(
        std::make_unique<Index>(std::vector<std::uint32_t>{0, 1, 2}, std::vector<std::uint32_t>{}));
    outbound = std::make_unique<Outbound>(shard, 1, best);
  }

  std::multiset<Tuple> send(const std::vector<Tuple>& tuples) {
    for (const Tuple& tuple : tuples) outbound->add(tuple, scratch);
    MailOptions options;
    options.arity_of_stream = {3};
    TupleMail mail(options);
    outbound->post(mail, 0, scratch);
    std::multiset<Tuple> sent;
    const auto comm = make_self_comm();
    const Status delivered =
        mail.deliver(*comm, {.on_run = [&](const MailRun& run) -> Status {
                               for (std::size_t at = 0; at < run.cells.size(); at += 3)
                                 sent.insert({run.cells[at], run.cells[at + 1], run.cells[at + 2]});
                               return {};
                             },
                             .on_group = [&](const MailGroup& group) -> Status {
                               walk_set(group.group.set, [&](Cell cell) {
                                 sent.insert({group.group.prefix[0], group.group.prefix[1], cell});
                               });
                               return {};
                             }});
    EXPECT_TRUE(delivered.is_ok()) << delivered.to_string();
    return sent;
  }

  Shard shard;
  SetAccumulator scratch;
  std::unique_ptr<Outbound> outbound;
};

TEST(Outbound, EachTupleOnceARound) {
  Way way(nullptr);
  EXPECT_EQ(way.send({{1, 2, 7}, {1, 2, 7}, {1, 2, 5}, {3, 2, 7}}),
            (std::multiset<Tuple>{{1, 2, 5}, {1, 2, 7}, {3, 2, 7}}));
  EXPECT_EQ(way.send({{1, 2, 7}}), (std::multiset<Tuple>{{1, 2, 7}}));
}

TEST(Outbound, OnlyTheBestValueOfAKeyAndNoneThatIsNoBetterLater) {
  ValueDictionary values;
  const BestCells least(values, NumberOrder::kSigned, Wanted::kLeast);
  Way way(&least);
  EXPECT_EQ(way.send({{1, 2, 7}, {1, 2, 6}, {1, 2, 9}, {3, 2, 7}}),
            (std::multiset<Tuple>{{1, 2, 6}, {3, 2, 7}}));
  EXPECT_EQ(way.send({{1, 2, 6}, {1, 2, 8}, {3, 2, 5}, {3, 2, 6}, {4, 4, 4}}),
            (std::multiset<Tuple>{{3, 2, 5}, {4, 4, 4}}));
  EXPECT_EQ(way.send({{3, 2, 6}}), std::multiset<Tuple>{});
}

}  // namespace
}  // namespace stratalog::datalog
