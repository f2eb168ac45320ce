// SPDX-License-Identifier: Apache-2.0
// Tables of symbols and numbers that ranks in one memory have together: what is read and made in
// turns gets the ids that it gets in separate memories, memory is counted once, and a rank that
// changes its dictionary alone has tables of its own from then on.
#include "model/joint_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/ordered_agreement.h"
#include "model/value_agreement.h"
#include "unit/model/dictionary_contents.h"

namespace stratalog {
namespace {

// Of a few new values, or of many, some of which others have, too.
Status agree_once(Comm& comm, ValueDictionary& dictionary, int round) {
  NewValues mine(dictionary);
  const int count = round % 3 == 2 ? 9000 : 3;
  const int first = (round * 5000) + (comm.rank() * count / 2);
  for (int i = first; i < first + count; ++i) {
    mine.symbol(fmt::format("text {}", i));
    mine.number((std::uint64_t{1} << 40) + static_cast<std::uint64_t>(i));
  }
  if (round % 2 == 0) {
    const std::vector<DictionarySize> ends = {mine.size()};
    return agree_on_values_in_order(comm, dictionary, mine, ends).status();
  }
  return agree_on_new_values(comm, dictionary, mine).status();
}

TEST(JointTables, RoundsOfReadAndMadeValues) {
  for (const int ranks : {2, 3, 7}) {
    std::vector<std::vector<DictionaryContents>> by_space(2);  // after each round
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
      std::vector<DictionaryContents>& found = by_space[space == AddressSpace::kShared ? 1 : 0];
      const auto run = [&](Comm& comm) -> Status {
        ValueDictionary dictionary;
        dictionary.encode_symbol("constant");
        for (int round = 0; round < 6; ++round) {
          STRATALOG_RETURN_IF_ERROR(agree_once(comm, dictionary, round));
          EXPECT_EQ(dictionary.is_joint(), space == AddressSpace::kShared);
          EXPECT_EQ(dictionary.symbols().find("constant"), 0U);
          const DictionaryContents mine = contents_of(dictionary);
          for (Cell id = 0; id < mine.symbols.size(); ++id)
            EXPECT_EQ(dictionary.symbols().find(mine.symbols[id]), id);
          STRATALOG_RETURN_IF_ERROR(comm.barrier());
          if (comm.rank() == 0) found.push_back(mine);
          STRATALOG_RETURN_IF_ERROR(comm.barrier());
          EXPECT_EQ(mine, found.back());
        }
        return comm.barrier();
      };
      const Status status = sim_run(ranks, run, space);
      ASSERT_TRUE(status.is_ok()) << status.to_string();
    }
    EXPECT_EQ(by_space[0], by_space[1]) << ranks << " ranks";
  }
}

TEST(JointTables, AreCountedOnce) {
  const auto run = [](Comm& comm) -> Status {
    ValueDictionary dictionary;
    STRATALOG_RETURN_IF_ERROR(agree_once(comm, dictionary, 2));
    const std::uint64_t tables =
        dictionary.symbols().memory_bytes() + dictionary.wides().memory_bytes();
    const std::uint64_t records = dictionary.records().memory_bytes();
    EXPECT_EQ(dictionary.memory_bytes(), records + (comm.rank() == 0 ? tables : 0));
    return comm.barrier();
  };
  EXPECT_TRUE(sim_run(3, run, AddressSpace::kShared).is_ok());
}

TEST(JointTables, WhoChangesThemAloneHasACopy) {
  const auto run = [](Comm& comm) -> Status {
    ValueDictionary dictionary;
    STRATALOG_RETURN_IF_ERROR(agree_once(comm, dictionary, 0));
    const std::uint64_t size = dictionary.symbols().size();
    const std::string text = fmt::format("of rank {}", comm.rank());
    if (comm.rank() != 1) {
      EXPECT_EQ(dictionary.encode_symbol(text), size);
      EXPECT_FALSE(dictionary.is_joint());
      const std::uint64_t wides = dictionary.size().wides;
      EXPECT_EQ(dictionary.encode(~std::uint64_t{0} >> 1U), kWideBase + wides);
    }
    STRATALOG_RETURN_IF_ERROR(comm.barrier());
    EXPECT_EQ(dictionary.symbols().size(), size + (comm.rank() == 1 ? 0 : 1));
    EXPECT_EQ(dictionary.symbols().find(text).has_value(), comm.rank() != 1);
    return comm.barrier();
  };
  EXPECT_TRUE(sim_run(3, run, AddressSpace::kShared).is_ok());
}

}  // namespace
}  // namespace stratalog
