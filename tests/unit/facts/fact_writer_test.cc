// SPDX-License-Identifier: Apache-2.0
// Writing: the bytes of a file at 1 to 7 ranks, from columns and from groups, plain and compressed;
// round trips through the reader; and failures at every call, after which the old file or the new
// one is there, never a part.
#include "datalog/facts/fact_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "datalog/facts/fact_printer.h"
#include "datalog/facts/fact_reader.h"
#include "datalog/facts/field_parser.h"
#include "datalog/facts/small_outputs.h"
#include "datalog/facts/text_sink.h"
#include "unit/facts/fact_text.h"
#include "write/faulty_store.h"

namespace stratalog::datalog {
namespace {

constexpr int kWriterRanks[] = {1, 2, 3, 4, 7};

// kShort: as one of many short files, where it is one.
enum class Input { kColumns, kGroups, kShort };

// A relation image over sorted tuples, one group per prefix in the given column order.
class GroupedTuples {
 public:
  GroupedTuples(const TupleColumns& tuples, std::vector<std::uint32_t> order) {
    image.arity = static_cast<std::uint32_t>(order.size());
    image.column_order = order;
    image.rows = order.empty() ? tuples.rows : 0;  // must be counted, not believed
    for (std::uint64_t i = 0; i < tuples.rows && !order.empty(); ++i) {
      std::vector<Cell> prefix;
      for (std::size_t c = 0; c + 1 < order.size(); ++c)
        prefix.push_back(tuples.columns[order[c]][i]);
      groups_[prefix].insert(tuples.columns[order.back()][i]);
    }
    image.for_each_group = [this](const GroupVisitor& visit) -> Status {
      for (const auto& [prefix, set] : groups_) {
        const std::vector<Cell> cells(set.begin(), set.end());
        TupleGroup group;
        group.prefix = prefix;
        group.set.values = cells;
        group.set.count = cells.size();
        STRATALOG_RETURN_IF_ERROR(visit(group));
      }
      return Status::ok();
    };
  }
  RelationImage image;

 private:
  std::map<std::vector<Cell>, std::set<Cell>> groups_;
};

struct WriteCase {
  Relation relation;
  std::vector<std::vector<std::string>> rows;  // fields as they are typed
  std::map<std::string, std::string> parameters;
  std::uint64_t rows_per_pass = 1U << 20;
};

// Loads the rows through a dictionary filled in an order of its own, deals them to ranks and writes
// r.out.
std::string write_by(int ranks, const WriteCase& test, Input input) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
    ValueDictionary dictionary;
    TupleColumns mine;
    mine.columns.resize(test.relation.attributes.size());
    for (std::size_t i = 0; i < test.rows.size(); ++i) {
      const bool is_mine =
          static_cast<int>((i * 7) % static_cast<std::size_t>(ranks)) == comm.rank();
      for (std::size_t c = 0; c < mine.columns.size(); ++c) {
        const ValueKind kind = test.relation.attributes[c].kind;
        const std::string& field = test.rows[i][c];
        const Cell cell = kind == ValueKind::kSymbol
                              ? dictionary.encode_symbol(field)
                              : dictionary.encode(parse_field(kind, field).bits);
        if (is_mine) mine.columns[c].push_back(cell);
      }
      mine.rows += is_mine ? 1 : 0;
    }
    const auto store = open_memory_store(disk);
    ValueOrder order(dictionary);
    auto parameters = test.parameters;
    parameters["filename"] = "r.out";
    const IoDirective directive = make_directive(IoAction::kOutput, parameters);
    WriteOptions options;
    options.limits.rows_per_pass = test.rows_per_pass;
    std::vector<std::uint32_t> column_order(mine.columns.size());
    for (std::size_t c = 0; c < column_order.size(); ++c)
      column_order[c] =
          static_cast<std::uint32_t>(test.rows.size() % 2 == 0 ? c : column_order.size() - 1 - c);
    const auto written = [&]() -> Result<WrittenFacts> {
      if (input == Input::kColumns)
        return write_facts(comm, *store, test.relation, directive, order, mine, options);
      const GroupedTuples grouped(mine, column_order);
      const FactOutput output{.relation = &test.relation,
                              .directive = &directive,
                              .total_rows = test.rows.size(),
                              .image = [&] { return grouped.image; }};
      const std::span outputs(&output, 1);
      if (input == Input::kShort && are_small(ranks, outputs, options)[0]) {
        STRATALOG_RETURN_IF_ERROR(write_small_facts(comm, *store, outputs, order, options));
        return WrittenFacts{.path = {},
                            .rows = test.rows.size(),
                            .bytes = store->info("r.out").value().size_bytes,
                            .console = {}};
      }
      return write_facts(comm, *store, test.relation, directive, order, grouped.image, options);
    }();
    STRATALOG_RETURN_IF_ERROR(written.status());
    EXPECT_EQ(written.value().rows, test.rows.size());
    EXPECT_EQ(written.value().bytes, store->info("r.out").value().size_bytes);
    EXPECT_EQ(store->list(".").value(), std::vector<std::string>{"r.out"});
    return Status::ok();
  });
  if (!status.is_ok()) return status.to_string();
  return get_file(*open_memory_store(disk), "r.out");
}

std::string join(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text += (c == 0 ? "" : "\t") + row[c];
    text += "\n";
  }
  return text;
}

TEST(WriteFacts, SortsByValueAtAnyRankCount) {
  const std::vector<std::vector<std::string>> sorted = {
      {"-9223372036854775808", "", "-inf"},
      {"-16777217", "a", "0"},
      {"-16777216", "b", "-1.5"},
      {"-16777216", "b", "1.0000000000000001e-09"},
      {"-1", "B", "0.5"},
      {"0", "ab", "inf"},
      {"7", "abcdefgh", "1"},
      {"7", "abcdefghi", "1"},
      {"7", "abcdefgi", "1"},
      {"2130706431", "x", "2"},
      {"2130706432", "x", "0.10000000000000001"},
      {"2147483648", "z z", "3"},
      {"9223372036854775807", "\xff", "1e+22"}};
  WriteCase test{.relation = make_relation("r", "x:number s:symbol f:float"),
                 .rows = sorted,
                 .parameters = {}};
  std::reverse(test.rows.begin(), test.rows.end());
  for (const int ranks : kWriterRanks)
    for (const Input input : {Input::kColumns, Input::kGroups, Input::kShort})
      for (const std::uint64_t pass : {1U, 1000U}) {
        test.rows_per_pass = pass;
        EXPECT_EQ(write_by(ranks, test, input), join(sorted)) << ranks << " ranks";
      }
}

TEST(WriteFacts, ManyPairsInPasses) {
  std::mt19937 random(3);
  std::set<std::pair<unsigned, unsigned>> pairs;
  while (pairs.size() < 20000) pairs.emplace(random() % 500, random() % 5000);
  WriteCase test{
      .relation = make_relation("r", "x:number y:unsigned"), .rows = {}, .parameters = {}};
  std::string expected;
  for (const auto& [x, y] : pairs) {
    test.rows.push_back({std::to_string(x), std::to_string(y)});
    expected += fmt::format("{}\t{}\n", x, y);
  }
  std::shuffle(test.rows.begin(), test.rows.end(), random);
  test.rows_per_pass = 700;
  for (const int ranks : kWriterRanks)
    for (const Input input : {Input::kColumns, Input::kGroups, Input::kShort})
      EXPECT_TRUE(write_by(ranks, test, input) == expected) << ranks << " ranks";
}

TEST(WriteFacts, FormatsOfText) {
  WriteCase test{.relation = make_relation("r", "x:number s:symbol"),
                 .rows = {{"1", "say \"hi\""}, {"2", "b"}},
                 .parameters = {}};
  test.parameters = {{"delimiter", ";;"}, {"headers", "true"}};
  EXPECT_EQ(write_by(3, test, Input::kColumns), "x;;s\n1;;say \"hi\"\n2;;b\n");
  test.parameters = {{"rfc4180", "true"}, {"headers", "true"}};
  EXPECT_EQ(write_by(2, test, Input::kShort), "x,s\n1,\"say \"\"hi\"\"\"\n2,\"b\"\n");
  test.parameters = {{"headers", "true"}, {"attributeNames", "A,B|C"}};
  EXPECT_EQ(write_by(2, test, Input::kColumns), "A,B|C\n1\tsay \"hi\"\n2\tb\n");
  test.parameters = {{"attributeNames", "A,B"}};
  EXPECT_EQ(write_by(2, test, Input::kColumns), "1\tsay \"hi\"\n2\tb\n");
}

TEST(WriteFacts, NullaryAndEmptyRelations) {
  WriteCase nullary{.relation = make_relation("r", ""), .rows = {{}}, .parameters = {}};
  WriteCase empty{
      .relation = make_relation("r", "x:number y:number"), .rows = {}, .parameters = {}};
  for (const int ranks : kWriterRanks) {
    EXPECT_EQ(write_by(ranks, nullary, Input::kShort), "()\n");
    EXPECT_EQ(write_by(ranks, empty, Input::kColumns), "");
  }
  nullary.rows.clear();
  EXPECT_EQ(write_by(2, nullary, Input::kColumns), "");
  empty.parameters = {{"headers", "true"}};
  EXPECT_EQ(write_by(3, empty, Input::kShort), "x\ty\n");
}

std::string gunzip(const std::string& bytes, std::uint64_t* members) {
  std::string text;
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string piece(1U << 16, '\0');
  while (stream.avail_in != 0) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
    if (outcome == Z_STREAM_END) {
      ++*members;
      EXPECT_EQ(inflateReset(&stream), Z_OK);
    } else if (outcome != Z_OK) {
      ADD_FAILURE() << "inflate: " << outcome;
      break;
    }
  }
  inflateEnd(&stream);
  return text;
}

TEST(WriteFacts, CompressedBytesDoNotDependOnRanks) {
  WriteCase test{.relation = make_relation("r", "x:number s:symbol"),
                 .rows = {},
                 .parameters = {{"compress", "true"}}};
  std::string expected;
  for (int i = 0; i < 30000; ++i) {
    test.rows.push_back({std::to_string(i), fmt::format("{:0100}", i)});
    expected += fmt::format("{}\t{:0100}\n", i, i);
  }
  const std::string one = write_by(1, test, Input::kColumns);
  std::uint64_t members = 0;
  EXPECT_TRUE(gunzip(one, &members) == expected);
  EXPECT_EQ(members, (expected.size() + kGzipMemberTextBytes - 1) / kGzipMemberTextBytes);
  for (const int ranks : kWriterRanks)
    for (const std::uint64_t pass : {500U, 4000U, 1000000U}) {
      test.rows_per_pass = pass;
      EXPECT_TRUE(write_by(ranks, test, Input::kColumns) == one)
          << ranks << " ranks, pass " << pass;
    }
  test.rows.clear();
  const std::string empty = write_by(1, test, Input::kColumns);
  EXPECT_FALSE(empty.empty());
  for (const int ranks : kWriterRanks) EXPECT_TRUE(write_by(ranks, test, Input::kColumns) == empty);
}

TEST(WriteFacts, FloatsReadBackExactly) {
  std::mt19937_64 random(17);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    const auto value = std::bit_cast<double>(bits);
    if (value != value) continue;
    std::string text;
    append_float(value, text);
    const ParsedField field = parse_float(text);
    ASSERT_EQ(field.problem, FieldProblem::kNone) << text;
    ASSERT_EQ(field.bits, bits) << text;
  }
}

TEST(WriteFacts, RoundTripThroughTheReader) {
  const Relation relation = make_relation("r", "s:symbol x:number u:unsigned f:float");
  const std::string text =
      "\t-5\t18446744073709551615\t0.5\na b\t9223372036854775807\t0\t-0\n"
      "z\xC3\xA4\t-9223372036854775808\t77\t1e-300\n";
  for (const auto& extra : std::vector<std::map<std::string, std::string>>{{},
                                                                           {{"compress", "true"}},
                                                                           {{"delimiter", "|"}},
                                                                           {{"rfc4180", "true"}},
                                                                           {{"headers", "true"}}}) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto store = open_memory_store(disk);
    put_file(*store, "r.facts", text);
    const auto comm = make_self_comm();
    ValueDictionary dictionary;
    auto tuples = load_facts(*comm, *store, relation, make_directive(IoAction::kInput), dictionary);
    ASSERT_TRUE(tuples.is_ok()) << tuples.status().to_string();
    auto output = extra;
    output["filename"] = "out";
    ValueOrder order(dictionary);
    ASSERT_TRUE(write_facts(*comm, *store, relation, make_directive(IoAction::kOutput, output),
                            order, tuples.value())
                    .is_ok());
    ValueDictionary other;
    auto again =
        load_facts(*comm, *store, relation, make_directive(IoAction::kInput, output), other);
    ASSERT_TRUE(again.is_ok()) << again.status().to_string();
    ValueOrder other_order(other);
    ASSERT_TRUE(write_facts(*comm, *store, relation, make_directive(IoAction::kOutput), other_order,
                            again.value())
                    .is_ok());
    EXPECT_EQ(get_file(*store, "r.csv"),
              "\t-5\t18446744073709551615\t0.5\na b\t9223372036854775807\t0\t-0\n"
              "z\xC3\xA4\t-9223372036854775808\t77\t1e-300\n");
  }
}

TEST(WriteFacts, Console) {
  const Relation relation = make_relation("r", "x:number");
  std::mutex mutex;
  std::vector<std::string> consoles(3);
  const Status status = sim_run(3, [&](Comm& comm) -> Status {
    ValueDictionary dictionary;
    TupleColumns mine{.rows = 1, .columns = {{static_cast<Cell>(9 - comm.rank())}}};
    ValueOrder order(dictionary);
    const auto store = open_memory_store(std::make_shared<MemoryDisk>());
    STRATALOG_ASSIGN_OR_RETURN(
        const WrittenFacts written,
        write_facts(
            comm, *store, relation,
            make_directive(
                IoAction::kOutput,
                {{"IO", "stdout"}, {"headers", "true"}, {"name", "R2"}, {"attributeNames", "X"}}),
            order, mine));
    const std::lock_guard lock(mutex);
    consoles[static_cast<std::size_t>(comm.rank())] = written.console;
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(consoles[0], "---------------\nR2\nX\n===============\n7\n8\n9\n===============\n");
  EXPECT_EQ(consoles[1] + consoles[2], "");
}

TEST(WriteFacts, AnyFailingCallLeavesTheOldFileOrTheNewOne) {
  const Relation relation = make_relation("r", "x:number");
  const TupleColumns tuples{.rows = 3, .columns = {{3, 1, 2}}};
  const ValueDictionary dictionary;
  for (const std::string compress : {"false", "true"}) {
    std::uint64_t calls = 1;
    std::string fresh;
    for (std::uint64_t n = 0; n < calls; ++n) {
      const auto disk = std::make_shared<MemoryDisk>();
      const auto inner = open_memory_store(disk);
      put_file(*inner, "r.out", "old\n");
      const auto counter = std::make_shared<FaultCounter>(FaultPlan{
          .fail_at = n == 0 ? ~0ULL : n - 1, .error_number = ENOSPC, .short_write = true});
      const auto store = open_faulty_store(*inner, counter);
      const auto comm = make_self_comm();
      ValueOrder order(dictionary);
      const auto written = write_facts(
          *comm, *store, relation,
          make_directive(IoAction::kOutput, {{"filename", "r.out"}, {"compress", compress}}), order,
          tuples);
      const std::string now = get_file(*inner, "r.out");
      if (n == 0) {
        ASSERT_TRUE(written.is_ok()) << written.status().to_string();
        calls = counter->calls() + 1;
        fresh = now;
        continue;
      }
      if (written.is_ok()) {
        EXPECT_EQ(now, fresh) << "call " << n;
      }
      EXPECT_TRUE(now == "old\n" || now == fresh) << "call " << n;
    }
    EXPECT_GT(calls, 8U);
  }
}

TEST(WriteFacts, OneFailingRankFailsAllAndRemovesTheFile) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status status = sim_run(3, [&](Comm& comm) -> Status {
    const auto inner = open_memory_store(disk);
    const auto counter = std::make_shared<FaultCounter>(
        FaultPlan{.fail_at = comm.rank() == 2 ? 1ULL : ~0ULL, .error_number = EIO});
    const auto store = open_faulty_store(*inner, counter);
    const ValueDictionary dictionary;
    ValueOrder order(dictionary);
    const TupleColumns tuples{.rows = 1, .columns = {{static_cast<Cell>(comm.rank())}}};
    const auto written = write_facts(comm, *store, make_relation("r", "x:number"),
                                     make_directive(IoAction::kOutput), order, tuples);
    EXPECT_EQ(written.status().code(), StatusCode::kIoError);
    EXPECT_TRUE(written.status().message().starts_with("rank 2: ")) << written.status().message();
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_TRUE(open_memory_store(disk)->list(".").value().empty());
}

}  // namespace
}  // namespace stratalog::datalog
