// SPDX-License-Identifier: Apache-2.0
// Loading by 1 to 7 ranks: the same tuples, the same ids and the same sentences, whatever the cut.
#include "datalog/facts/fact_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>

#include "unit/facts/fact_text.h"
#include "write/faulty_store.h"

namespace stratalog::datalog {
namespace {

constexpr int kReaderRanks[] = {1, 2, 3, 4, 7};

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Loaded {
  std::string status;
  std::vector<std::vector<std::uint64_t>> tuples;  // cells of all ranks, sorted
  std::vector<std::string> symbols;
  std::vector<std::uint64_t> wides;
  friend bool operator==(const Loaded&, const Loaded&) = default;
};

Loaded load(int ranks, const Relation& relation, const IoDirective& directive,
            const std::shared_ptr<MemoryDisk>& disk) {
  Loaded loaded;
  std::mutex mutex;
  std::vector<std::string> statuses;
  const Status ran = sim_run(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    ValueDictionary dictionary;
    auto tuples = load_facts(comm, *store, relation, directive, dictionary);
    const std::lock_guard lock(mutex);
    statuses.push_back(tuples.status().to_string());
    if (!tuples.is_ok()) return Status::ok();
    for (std::uint64_t i = 0; i < tuples.value().rows; ++i) {
      std::vector<std::uint64_t> row;
      for (const auto& column : tuples.value().columns) row.push_back(column.at(i));
      loaded.tuples.push_back(row);
    }
    std::vector<std::string> symbols;
    symbols.reserve(dictionary.symbols().size());
    for (Cell id = 0; id < dictionary.symbols().size(); ++id)
      symbols.emplace_back(dictionary.text(id));
    std::vector<std::uint64_t> wides(dictionary.wides().values().begin(),
                                     dictionary.wides().values().end());
    if (statuses.size() > 1) {
      EXPECT_EQ(symbols, loaded.symbols);
      EXPECT_EQ(wides, loaded.wides);
    }
    loaded.symbols = symbols;
    loaded.wides = wides;
    return Status::ok();
  });
  EXPECT_TRUE(ran.is_ok()) << ran.to_string();
  for (const std::string& status : statuses) EXPECT_EQ(status, statuses.front());
  loaded.status = statuses.front();
  std::sort(loaded.tuples.begin(), loaded.tuples.end());
  return loaded;
}

Loaded load_text(int ranks, std::string_view attributes, const std::string& text,
                 std::map<std::string, std::string> parameters = {}) {
  const auto disk = std::make_shared<MemoryDisk>();
  put_file(*open_memory_store(disk), "r.facts", text);
  return load(ranks, make_relation("r", attributes),
              make_directive(IoAction::kInput, std::move(parameters)), disk);
}

void expect_same_at_any_rank_count(std::string_view attributes, const std::string& text,
                                   std::size_t rows,
                                   const std::map<std::string, std::string>& parameters = {}) {
  const Loaded one = load_text(1, attributes, text, parameters);
  EXPECT_EQ(one.status, "OK");
  EXPECT_EQ(one.tuples.size(), rows);
  for (const int ranks : kReaderRanks)
    EXPECT_EQ(load_text(ranks, attributes, text, parameters), one) << ranks << " ranks";
}

std::string mixed_text(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += fmt::format("sym{}\t{}\t{}\n", (i * 37) % 101, (i - 50) * 1000000007LL, i * 0.37);
  return text;
}

TEST(LoadFacts, AnyNumberOfRanksReadsTheSame) {
  expect_same_at_any_rank_count("a:symbol b:number c:float", mixed_text(1000), 1000);
  expect_same_at_any_rank_count("a:symbol b:number c:float", "h1\th2\th3\n" + mixed_text(500), 500,
                                {{"headers", "true"}});
  expect_same_at_any_rank_count("a:symbol b:number c:float", mixed_text(3), 3);
}

TEST(LoadFacts, SmallAndOddFiles) {
  for (const std::string text : {"", "1\n", "1", "1\n2\n3", "\r", "12345678901234567890123\n"}) {
    const Loaded one = load_text(1, "x:symbol", text);
    EXPECT_EQ(one.status, "OK");
    for (const int ranks : kReaderRanks) EXPECT_EQ(load_text(ranks, "x:symbol", text), one) << text;
  }
  EXPECT_TRUE(load_text(3, "x:symbol", "").tuples.empty());
  EXPECT_EQ(load_text(7, "", "()\n").tuples.size(), 1U);
}

TEST(LoadFacts, GzipAndQuotedFilesAreReadByOneRank) {
  const std::string text = mixed_text(400);
  const Loaded plain = load_text(1, "a:symbol b:number c:float", text);
  for (const int ranks : kReaderRanks) {
    EXPECT_EQ(load_text(ranks, "a:symbol b:number c:float", gzip(text)), plain);
    EXPECT_EQ(load_text(ranks, "a:symbol b:number c:float",
                        gzip(text.substr(0, 700)) + gzip(text.substr(700))),
              plain);
  }
  expect_same_at_any_rank_count("a:symbol b:number", "\"x\ny\",1\n\"a,b\",2\nc,3\n", 3,
                                {{"rfc4180", "true"}});
}

TEST(LoadFacts, IdsAreInOrderOfTheFile) {
  const Loaded loaded =
      load_text(3, "a:symbol b:number", "zeta\t9999999999\nalpha\t8888888888\nzeta\t8888888888\n");
  EXPECT_EQ(loaded.symbols, (std::vector<std::string>{"zeta", "alpha"}));
  EXPECT_EQ(loaded.wides, (std::vector<std::uint64_t>{9999999999, 8888888888}));
  EXPECT_EQ(loaded.tuples, (std::vector<std::vector<std::uint64_t>>{
                               {0, kWideBase}, {0, kWideBase + 1}, {1, kWideBase + 1}}));
}

// Several files at once, of all kinds, some cut and some not, give what they give one by one.
TEST(LoadFacts, ManyFilesTogether) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto files = open_memory_store(disk);
  std::vector<Relation> relations;
  for (int i = 0; i < 6; ++i) {
    const std::string name = fmt::format("r{}", i);
    const std::string text = mixed_text(i * i * 60);
    put_file(*files, name + ".facts", i == 3 ? gzip(text) : text);
    relations.push_back(make_relation(name, "a:symbol b:number c:float"));
  }
  const IoDirective directive = make_directive(IoAction::kInput);
  std::vector<FactInput> inputs;
  for (const Relation& relation : relations)
    inputs.push_back({.relation = &relation, .directive = &directive});

  const auto self = make_self_comm();
  ValueDictionary one_by_one;
  std::vector<std::uint64_t> rows;
  for (const Relation& relation : relations) {
    const auto tuples = load_facts(*self, *files, relation, directive, one_by_one);
    ASSERT_TRUE(tuples.is_ok()) << tuples.status().to_string();
    rows.push_back(tuples.value().rows);
  }
  for (const int ranks : kReaderRanks) {
    std::mutex mutex;
    std::vector<std::uint64_t> found(relations.size(), 0);
    const Status ran = sim_run(ranks, [&](Comm& comm) -> Status {
      const auto store = open_memory_store(disk);
      ValueDictionary dictionary;
      STRATALOG_ASSIGN_OR_RETURN(const auto loaded, load_facts(comm, *store, inputs, dictionary));
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < loaded.size(); ++i) found[i] += loaded[i].rows;
      EXPECT_EQ(encode_dictionary(dictionary, {}, dictionary.size()),
                encode_dictionary(one_by_one, {}, one_by_one.size()));
      return Status::ok();
    });
    EXPECT_TRUE(ran.is_ok()) << ran.to_string();
    EXPECT_EQ(found, rows) << ranks << " ranks";
  }
}

TEST(LoadFacts, TheFirstBadFileIsTold) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto files = open_memory_store(disk);
  put_file(*files, "r0.facts", mixed_text(2000));
  put_file(*files, "r1.facts", mixed_text(2000) + "bad\n" + mixed_text(2000));
  put_file(*files, "r2.facts", "worse\n");
  std::vector<Relation> relations;
  for (const char* name : {"r0", "r1", "r2"})
    relations.push_back(make_relation(name, "a:symbol b:number c:float"));
  const IoDirective directive = make_directive(IoAction::kInput);
  std::vector<FactInput> inputs;
  for (const Relation& relation : relations)
    inputs.push_back({.relation = &relation, .directive = &directive});
  for (const int ranks : kReaderRanks) {
    const Status ran = sim_run(ranks, [&](Comm& comm) -> Status {
      const auto store = open_memory_store(disk);
      ValueDictionary dictionary;
      const auto loaded = load_facts(comm, *store, inputs, dictionary);
      EXPECT_NE(loaded.status().message().find("r1.facts:2001: "), std::string::npos)
          << loaded.status().to_string();
      EXPECT_EQ(loaded.status().message().find("r2.facts"), std::string::npos);
      return Status::ok();
    });
    EXPECT_TRUE(ran.is_ok()) << ran.to_string();
  }
}

TEST(LoadFacts, MissingFile) {
  for (const int ranks : kReaderRanks)
    EXPECT_EQ(
        load(ranks, make_relation("edge", "x:number"), make_directive(IoAction::kInput),
             std::make_shared<MemoryDisk>())
            .status,
        fmt::format(
            "NotFound: program.dl:7:1: .input edge: there is no fact file {}; name the directory "
            "of the fact files (-F DIR, `facts` of the library), or the file with .input "
            "edge(filename=\"...\")",
            open_memory_store(std::make_shared<MemoryDisk>())->root() + "/edge.facts"));
}

TEST(LoadFacts, LineNumbersAreExactAndOnlyTenErrorsAreShown) {
  std::string text;
  for (int i = 1; i <= 500; ++i) text += i % 40 == 0 ? "bad\n" : "1234567\n";
  const std::string root = open_memory_store(std::make_shared<MemoryDisk>())->root();
  std::string expected = "InvalidArgument: ";
  for (int i = 1; i <= 10; ++i)
    expected += fmt::format(
        "{}/r.facts:{}: field 1 (attribute `x`, type number): expected a whole number, "
        "found \"bad\"; declare the attribute as symbol to read any text\n",
        root, i * 40);
  for (const int ranks : kReaderRanks)
    EXPECT_EQ(load_text(ranks, "x:number", text).status, expected + "and more of the kind");
  for (const int ranks : kReaderRanks)
    EXPECT_EQ(load_text(ranks, "x:symbol y:symbol", "a\tb\nc\n").status,
              "InvalidArgument: " + root +
                  "/r.facts:2: expected 2 fields (x, y) separated by tabs, found 1: \"c\"");
}

TEST(LoadFacts, DamagedGzip) {
  std::string cut = gzip(mixed_text(400));
  cut.resize(cut.size() / 2);
  for (const int ranks : kReaderRanks) {
    const std::string status = load_text(ranks, "a:symbol b:number c:float", cut).status;
    EXPECT_NE(status.find("Corruption"), std::string::npos) << status;
    EXPECT_NE(status.find(fmt::format(
                  "r.facts, offset {}: expected gzip data: it ends in the middle; is it cut off?",
                  cut.size())),
              std::string::npos)
        << status;
  }
  std::string flipped = gzip(mixed_text(400));
  flipped[flipped.size() / 2] ^= 0x55;
  EXPECT_NE(load_text(2, "a:symbol b:number c:float", flipped).status.find("Corruption"),
            std::string::npos);
}

// Whole members, of any size, and what is wrong behind some that are not.
TEST(LoadFacts, GzipByMembers) {
  std::string text;
  for (int i = 0; i < 400000; ++i) text += fmt::format("{}\n", i);
  const auto status_of = [](const std::string& packed) {
    return load_text(1, "n:number", packed).status;
  };
  const Loaded expected = load_text(1, "n:number", text);
  const std::size_t half = text.find('\n', text.size() / 2) + 1;
  const std::string large = gzip(text);
  const std::string pair = gzip(text.substr(0, half)) + gzip("") + gzip(text.substr(half));
  EXPECT_EQ(load_text(1, "n:number", large), expected);
  EXPECT_EQ(load_text(1, "n:number", pair), expected);
  EXPECT_EQ(load_text(1, "n:number", gzip("") + large + gzip("")), expected);
  EXPECT_EQ(status_of(gzip("")), "OK");
  for (const std::string& whole : {large, pair, gzip("1\n2\n")}) {
    std::string wrong_size = whole;
    wrong_size[wrong_size.size() - 2] ^= 0x01;
    EXPECT_NE(status_of(wrong_size).find("incorrect length check"), std::string::npos);
    std::string wrong_sum = whole;
    wrong_sum[wrong_sum.size() - 6] ^= 0x01;
    EXPECT_NE(status_of(wrong_sum).find("incorrect data check"), std::string::npos);
    EXPECT_NE(status_of(whole.substr(0, whole.size() - 1)).find("it ends in the middle"),
              std::string::npos);
    EXPECT_NE(status_of(whole + "rest").find("expected gzip data"), std::string::npos);
  }
}

TEST(LoadFacts, EveryFailingCallFailsTheLoad) {
  const auto disk = std::make_shared<MemoryDisk>();
  put_file(*open_memory_store(disk), "r.facts", mixed_text(50) + "x\ty\n");
  const Relation relation = make_relation("r", "a:symbol b:number c:float");
  std::uint64_t calls = 1;
  for (std::uint64_t n = 0; n < calls; ++n) {
    const auto inner = open_memory_store(disk);
    const auto counter = std::make_shared<FaultCounter>(
        FaultPlan{.fail_at = n == 0 ? ~0ULL : n - 1, .error_number = EIO});
    const auto store = open_faulty_store(*inner, counter);
    const auto comm = make_self_comm();
    ValueDictionary dictionary;
    const auto loaded =
        load_facts(*comm, *store, relation, make_directive(IoAction::kInput), dictionary);
    ASSERT_FALSE(loaded.is_ok());  // without a fault the last line is malformed
    if (n == 0) calls = counter->calls() + 1;
  }
  EXPECT_GT(calls, 5U);
}

// Standard input that comes in pieces of a few bytes, to whoever asks.
FactTextSource in_pieces(std::string text, std::size_t piece) {
  return [text = std::move(text), piece,
          at = std::size_t{0}](std::span<char> buffer) mutable -> Result<std::size_t> {
    const std::size_t bytes = std::min({piece, buffer.size(), text.size() - at});
    std::copy_n(text.data() + at, bytes, buffer.data());
    at += bytes;
    return bytes;
  };
}

// The status, and how many tuples each of two relations got on each rank.
std::vector<std::string> load_standard_input(int ranks, const std::string& text) {
  const Relation relation = make_relation("a", "n:number s:symbol");
  const IoDirective directive = make_directive(IoAction::kInput, {{"IO", "stdin"}});
  std::vector<std::string> seen(static_cast<std::size_t>(ranks));
  const Status ran = sim_run(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(std::make_shared<MemoryDisk>());
    ValueDictionary dictionary;
    const FactInput input{.relation = &relation, .directive = &directive};
    const std::vector<FactInput> inputs{input, input};
    auto loaded =
        load_facts(comm, *store, inputs, dictionary,
                   {.standard_input = comm.rank() == 0 ? in_pieces(text, 3) : FactTextSource()});
    std::string& mine = seen[static_cast<std::size_t>(comm.rank())];
    mine = loaded.is_ok() ? fmt::format("{} {}, {} symbols", loaded.value()[0].rows,
                                        loaded.value()[1].rows, dictionary.size().symbols)
                          : loaded.status().to_string();
    return Status::ok();
  });
  EXPECT_TRUE(ran.is_ok()) << ran.to_string();
  return seen;
}

TEST(FactReader, StandardInputIsReadByTheFirstRankForTheFirstRelation) {
  for (const int ranks : kReaderRanks) {
    std::vector<std::string> expected(static_cast<std::size_t>(ranks), "0 0, 2 symbols");
    expected[0] = "3 0, 2 symbols";
    EXPECT_EQ(load_standard_input(ranks, "1\ta\n2\tb\n3\ta"), expected);
    const std::vector<std::string> refused(
        static_cast<std::size_t>(ranks),
        "InvalidArgument: <standard input>:2: field 1 (attribute `n`, type number): expected a "
        "whole number, found \"x\"; declare the attribute as symbol to read any text");
    EXPECT_EQ(load_standard_input(ranks, "1\ta\nx\tb\n"), refused);
  }
}

TEST(FactReader, AnEmptyFileIsNoJson) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto store = open_memory_store(disk);
  put_file(*store, "a.json", "");
  put_file(*store, "a.facts", "");
  const Relation relation = make_relation("a", "n:number");
  for (const int ranks : kReaderRanks) {
    const Loaded json =
        load(ranks, relation, make_directive(IoAction::kInput, {{"IO", "jsonfile"}}), disk);
    EXPECT_NE(json.status.find("a.json:1: "), std::string::npos) << json.status;
    EXPECT_EQ(load(ranks, relation, make_directive(IoAction::kInput), disk).status, "OK");
  }
}

TEST(FactReader, WithoutStandardInputItIsRefused) {
  const Loaded loaded =
      load(2, make_relation("a", "n:number"), make_directive(IoAction::kInput, {{"IO", "stdin"}}),
           std::make_shared<MemoryDisk>());
  EXPECT_NE(loaded.status.find("there is no standard input here"), std::string::npos)
      << loaded.status;
}

}  // namespace
}  // namespace stratalog::datalog
