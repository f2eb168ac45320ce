// SPDX-License-Identifier: Apache-2.0
// Pools of sets: what goes in comes out, in batches as one by one, for any number of prefix cells;
// sets are named as far as they reach; the decoder survives anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "encode/byte_order.h"
#include "encode/pool_codec.h"
#include "unit/model/group_list.h"
#include "unit/model/sample_sets.h"

namespace stratalog {
namespace {

struct Given {
  std::vector<Cell> prefix;
  std::uint64_t content = 0;  // 0: a set of its own
};

// Cells of the set that stands for a content, so that equal contents have equal sets.
std::vector<Cell> cells_of(std::uint64_t content) {
  std::mt19937_64 random(content);
  std::vector<Cell> cells(1 + (random() % (content % 7 == 0 ? 300 : 9)));
  for (Cell& cell : cells) cell = static_cast<Cell>(content % 3 == 0 ? random() : random() % 512);
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  return cells;
}

std::vector<Given> make_groups(std::size_t prefix_cells, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Given> groups;
  std::vector<Cell> prefix(prefix_cells, 70);
  for (std::size_t g = 0; g < count; ++g) {
    Cell& cell = prefix[random() % 8 == 0 ? random() % prefix_cells : prefix_cells - 1];
    const std::uint64_t way = random() % 4;
    cell = way == 0 ? static_cast<Cell>(random()) : cell + static_cast<Cell>(way);
    const std::uint64_t near = g / 20;
    groups.push_back({prefix, 1 + (random() % 50 == 0 ? random() % (near + 1) : near)});
  }
  return groups;
}

struct Payload {
  std::vector<std::byte> bytes;
  std::uint64_t groups = 0;
  std::uint64_t rows = 0;
};

Payload encode_one_by_one(std::size_t prefix_cells, const std::vector<Given>& groups) {
  PoolEncoder encoder(prefix_cells);
  encoder.begin_block();
  Payload payload;
  payload.bytes.resize((1 << 20) + pool_slack_bytes(prefix_cells + 1));
  std::byte* end = payload.bytes.data() + pool_head_bytes(prefix_cells);
  for (const Given& group : groups) {
    const std::vector<Cell> cells = cells_of(group.content);
    end = encoder.add(group.prefix, array_view(cells), group.content, end);
    payload.rows += cells.size();
  }
  payload.groups = encoder.groups();
  end = encoder.finish(payload.bytes.data(), end);
  payload.bytes.resize(static_cast<std::size_t>(end - payload.bytes.data()));
  return payload;
}

enum class Show : std::uint8_t { kSets, kRows };

Payload encode_in_batches(std::size_t prefix_cells, const std::vector<Given>& groups,
                          std::uint64_t rows_at_once, Show show = Show::kSets,
                          std::uint64_t groups_at_once = 1 << 20) {
  PoolEncoder encoder(prefix_cells);
  encoder.begin_block();
  const std::vector<std::uint32_t> order = {0, 1, 2, 3};
  ZoneBuilder zones({order.data(), prefix_cells + 1});
  zones.begin_block();
  std::map<std::uint64_t, std::vector<Cell>> sets;
  GroupList list;
  for (const Given& group : groups) {
    auto& cells = sets.try_emplace(group.content, cells_of(group.content)).first->second;
    list.add(group.prefix, array_view(cells), group.content);
  }
  if (show == Show::kRows) list.show_rows();
  Payload payload;
  payload.bytes.resize((1 << 20) + pool_slack_bytes(prefix_cells + 1));
  std::byte* end = payload.bytes.data() + pool_head_bytes(prefix_cells);
  const GroupBatch batch = list.batch();
  for (BatchPlace place; place.run < batch.runs();) {
    const PoolEncoder::Added added =
        encoder.add(batch, place,
                    {.groups = groups_at_once, .rows = rows_at_once, .bytes = 1 << 20}, zones, end);
    EXPECT_NE(added.groups, 0U);
    EXPECT_LE(added.groups, groups_at_once);
    if (added.groups == 0) break;
    end = added.end;
    payload.rows += added.rows;
    payload.groups += added.groups;
    EXPECT_EQ(place.group, payload.groups);
  }
  EXPECT_EQ(payload.groups, encoder.groups());
  EXPECT_LT(list.looks(), groups.size() / 4);
  end = encoder.finish(payload.bytes.data(), end);
  payload.bytes.resize(static_cast<std::size_t>(end - payload.bytes.data()));
  return payload;
}

void expect_groups(std::size_t prefix_cells, const std::vector<Given>& groups,
                   const Payload& payload) {
  EXPECT_EQ(payload.groups, groups.size());
  PoolDecoder decoder(prefix_cells);
  std::size_t at = 0;
  const Status decoded = decoder.decode(
      payload.bytes, PoolForm::kRuns, payload.groups, payload.rows, [&](const TupleGroup& group) {
        EXPECT_TRUE(std::equal(group.prefix.begin(), group.prefix.end(), groups[at].prefix.begin(),
                               groups[at].prefix.end()));
        EXPECT_EQ(cells_in(group.set), cells_of(groups[at].content));
        ++at;
        return Status::ok();
      });
  ASSERT_TRUE(decoded.is_ok()) << decoded.to_string();
  EXPECT_EQ(at, groups.size());
}

TEST(PoolCodec, GroupsComeBackInOrder) {
  for (std::size_t prefix_cells = 1; prefix_cells <= 3; ++prefix_cells) {
    for (const std::size_t count : {1, 255, 256, 257, 3000}) {
      const auto groups = make_groups(prefix_cells, count, count);
      const Payload payload = encode_one_by_one(prefix_cells, groups);
      expect_groups(prefix_cells, groups, payload);
    }
  }
}

// Sets are looked at once, and the bytes are those of groups that come one by one.
TEST(PoolCodec, BatchesAreTheSameBytes) {
  for (std::size_t prefix_cells = 1; prefix_cells <= 3; ++prefix_cells) {
    for (const std::uint64_t rows_at_once : {1, 40, 1 << 20}) {
      const auto groups = make_groups(prefix_cells, 3000, rows_at_once);
      const Payload expected = encode_one_by_one(prefix_cells, groups);
      const Payload found = encode_in_batches(prefix_cells, groups, rows_at_once);
      EXPECT_EQ(found.groups, expected.groups);
      EXPECT_EQ(found.rows, expected.rows);
      ASSERT_EQ(found.bytes, expected.bytes) << prefix_cells << " cells";
    }
  }
}

// Rows among sets that are none, cut anywhere.
TEST(PoolCodec, RowsComeBackInOrder) {
  for (std::size_t prefix_cells = 1; prefix_cells <= 3; ++prefix_cells) {
    for (const std::uint64_t at_once : {1, 40, 1 << 20}) {
      const auto groups = make_groups(prefix_cells, 6000, at_once);
      const Payload sets = encode_in_batches(prefix_cells, groups, 1 << 20);
      const Payload rows =
          encode_in_batches(prefix_cells, groups, at_once == 40 ? 1 << 20 : at_once, Show::kRows,
                            at_once == 40 ? 40 : 1 << 20);
      expect_groups(prefix_cells, groups, rows);
      EXPECT_NE(rows.bytes, sets.bytes);
    }
  }
}

constexpr std::size_t kOfATable = 500;

class TwoTables final : public SetSource {
 public:
  SetView set(std::size_t /*index*/) override { return {}; }
  BitRow row(std::size_t index) override {
    const std::size_t table = index / kOfATable;
    return {.words = words[index], .cells = cells[table], .table = table + 5};
  }
  std::vector<BitRowWords> words;
  std::array<std::vector<Cell>, 2> cells;
};

// Rows of two tables that differ by little from each other, come again, or begin anew.
TEST(PoolCodec, RowsAreWrittenByWhatChanges) {
  std::mt19937_64 random(3);
  TwoTables sets;
  for (std::vector<Cell>& table : sets.cells) {
    for (Cell i = 0, cell = 7; i < 500; ++i, cell += 1 + (random() % 900)) table.push_back(cell);
  }
  BitRowWords row{1};
  std::vector<std::uint64_t> contents;
  for (std::size_t i = 0; i < 2 * kOfATable; ++i) {
    if (i % 50 == 0)
      for (std::uint64_t& word : row) word = random() & random();
    else if (i % 7 != 0)
      row[random() % 8] ^= std::uint64_t{1} << (random() % 64);
    row[7] &= (std::uint64_t{1} << 52) - 1;  // 500 cells
    row[0] |= 1;
    sets.words.push_back(row);
    contents.push_back(i % 13 == 0 ? 0 : i + 1);
  }
  const std::vector<std::uint32_t> lengths(contents.size(), 3);
  std::vector<Cell> prefixes(contents.size() * 3);
  for (Cell& cell : prefixes) cell = static_cast<Cell>(random() % 1000);
  const std::vector<std::uint32_t> order = {0, 1};
  ZoneBuilder zones(order);
  zones.begin_block();
  PoolEncoder encoder(1);
  encoder.begin_block();
  std::vector<std::byte> bytes((1 << 20) + pool_slack_bytes(2));
  std::byte* end = bytes.data() + pool_head_bytes(1);
  const GroupBatch batch{.prefixes = prefixes,
                         .lengths = lengths,
                         .contents = contents,
                         .prefix_cells = 1,
                         .sets = sets};
  std::uint64_t rows = 0;
  for (BatchPlace place; place.run < batch.runs();) {
    const auto added =
        encoder.add(batch, place, {.groups = 100, .rows = 1 << 20, .bytes = 1 << 20}, zones, end);
    end = added.end;
    rows += added.rows;
  }
  end = encoder.finish(bytes.data(), end);
  bytes.resize(static_cast<std::size_t>(end - bytes.data()));
  EXPECT_LT(bytes.size(), rows / 20);
  PoolDecoder decoder(1);
  std::size_t at = 0;
  Cell lowest = ~Cell{0};
  Cell highest = 0;
  const Status decoded =
      decoder.decode(bytes, PoolForm::kRuns, prefixes.size(), rows, [&](const TupleGroup& group) {
        const BitRow expected = sets.row(at / 3);
        const BitPositions bits(expected.words);
        std::vector<Cell> cells;
        for (const std::uint16_t bit : bits.all()) cells.push_back(expected.cells[bit]);
        EXPECT_EQ(cells_in(group.set), cells) << at;
        EXPECT_EQ(group.prefix[0], prefixes[at++]);
        lowest = std::min(lowest, cells.front());
        highest = std::max(highest, cells.back());
        return Status::ok();
      });
  ASSERT_TRUE(decoded.is_ok()) << decoded.to_string();
  EXPECT_EQ(at, prefixes.size());
  EXPECT_EQ(zones.zones()[2], lowest);
  EXPECT_EQ(zones.zones()[3], highest);
}

TEST(PoolCodec, SetsReachSoFarAndNoFarther) {
  for (const std::size_t others : {kPoolReach - 1, kPoolReach}) {
    PoolEncoder encoder(1);
    encoder.begin_block();
    std::vector<std::byte> bytes((1 << 20) + pool_slack_bytes(2));
    std::byte* const sets = bytes.data() + pool_head_bytes(1);
    const Cell prefix = 3;
    const auto put = [&](Cell first, std::uint64_t content, std::byte* at) {
      const std::vector<Cell> cells = {first, first + 5};
      return encoder.add(std::span(&prefix, 1), array_view(cells), content, at);
    };
    std::byte* end = put(10, 1, sets);
    for (std::size_t i = 0; i < others; ++i) end = put(static_cast<Cell>(100 + i), 0, end);
    std::byte* const before = end;
    end = put(10, 1, end);
    EXPECT_EQ(end == before, others < kPoolReach);
    end = encoder.finish(bytes.data(), end);
    bytes.resize(static_cast<std::size_t>(end - bytes.data()));
    std::uint64_t seen = 0;
    PoolDecoder decoder(1);
    const Status decoded = decoder.decode(bytes, PoolForm::kRuns, others + 2, (others + 2) * 2,
                                          [&](const TupleGroup& group) {
                                            if (++seen == others + 2) {
                                              EXPECT_EQ(first_of(group.set), 10U);
                                            }
                                            return Status::ok();
                                          });
    ASSERT_TRUE(decoded.is_ok()) << decoded.to_string();
  }
}

TEST(PoolDecoder, RefusesWhatDoesNotAddUp) {
  const auto groups = make_groups(1, 600, 5);
  const Payload good = encode_one_by_one(1, groups);
  PoolDecoder decoder(1);
  const GroupVisitor ignore = [](const TupleGroup& /*group*/) { return Status::ok(); };
  const auto code = [&](const std::vector<std::byte>& bytes, std::uint64_t count,
                        std::uint64_t rows) {
    return decoder.decode(bytes, PoolForm::kRuns, count, rows, ignore).code();
  };
  EXPECT_EQ(code(good.bytes, good.groups, good.rows), StatusCode::kOk);
  EXPECT_EQ(code(good.bytes, good.groups, good.rows + 1), StatusCode::kCorruption);
  EXPECT_EQ(code(good.bytes, good.groups + 1, good.rows), StatusCode::kCorruption);
  EXPECT_EQ(code(good.bytes, good.groups - 1, good.rows), StatusCode::kCorruption);
  EXPECT_EQ(code(good.bytes, kPoolGroupLimit, good.rows), StatusCode::kCorruption);
  EXPECT_EQ(code(good.bytes, good.groups, kPoolRowLimit), StatusCode::kCorruption);
  std::vector<std::byte> bad = good.bytes;
  store_le(bad.data(), load_le<std::uint32_t>(bad.data()) + 1);
  EXPECT_EQ(code(bad, good.groups, good.rows), StatusCode::kCorruption) << "more sets";
  bad = good.bytes;
  bad.resize(bad.size() + 4);
  EXPECT_EQ(code(bad, good.groups, good.rows), StatusCode::kCorruption) << "bytes at the end";
  EXPECT_EQ(
      PoolDecoder(0).decode(good.bytes, PoolForm::kRuns, good.groups, good.rows, ignore).code(),
      StatusCode::kCorruption)
      << "no prefixes";
}

// Whatever the payload holds: an error or groups within the limits, no crash. (Run under sanitizers
// in CI.)
TEST(PoolDecoder, SurvivesRandomAndMutatedPayloads) {
  const Payload good = encode_in_batches(2, make_groups(2, 700, 9), 1 << 20, Show::kRows);
  PoolDecoder decoder(2);
  const GroupVisitor check = expect_ascending_sets(kMaxDecodedElements);
  ASSERT_TRUE(decoder.decode(good.bytes, PoolForm::kRuns, good.groups, good.rows, check).is_ok());
  std::mt19937_64 random(4);
  std::size_t refused = 0;
  for (int i = 0; i < 8000; ++i) {
    std::vector<std::byte> bad = good.bytes;
    if (i % 8 == 0)
      for (std::byte& b : bad) b = static_cast<std::byte>(random() % 256);
    for (std::uint64_t k = 0; k < 1 + (random() % 4); ++k)
      bad[random() % (i % 2 == 0 ? bad.size() : 200)] = static_cast<std::byte>(random() % 256);
    bad.resize(random() % 3 == 0 ? random() % bad.size() : bad.size());
    bad.shrink_to_fit();
    const PoolForm form = i % 5 == 0 ? PoolForm::kGroups : PoolForm::kRuns;
    refused += decoder.decode(bad, form, good.groups, good.rows, check).is_ok() ? 0U : 1U;
  }
  EXPECT_GT(refused, 3000U);
}

}  // namespace
}  // namespace stratalog
