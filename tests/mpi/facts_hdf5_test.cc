// SPDX-License-Identifier: Apache-2.0
// HDF5 output on real ranks: values, order, names and types read back through HDF5's own interface;
// empty ranks, empty relations, symbols that HDF5 cannot hold.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <bit>
#include <string>
#include <vector>

#include "datalog/facts/fact_writer.h"
#include "datalog/facts/hdf5_errors.h"
#include "datalog/facts/hdf5_output.h"
#include "mpi/mpi_main.h"
#include "unit/facts/fact_text.h"

namespace stratalog::datalog {
namespace {

// A directory that all ranks see, named by rank 0.
class Hdf5Output : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "facts-hdf5-XXXXXX";
    if (comm_.rank() == 0) {
      ASSERT_NE(::mkdtemp(path.data()), nullptr);
    }
    Bytes bytes(reinterpret_cast<const std::byte*>(path.data()),
                reinterpret_cast<const std::byte*>(path.data() + path.size()));
    ASSERT_TRUE(comm_.broadcast(bytes, 0).is_ok());
    directory_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    store_ = open_posix_store(directory_, RootMode::kMustExist).value();
  }
  void TearDown() override {
    ASSERT_TRUE(comm_.barrier().is_ok());
    if (comm_.rank() != 0) return;
    ::unlink((directory_ + "/r.h5").c_str());
    EXPECT_EQ(::rmdir(directory_.c_str()), 0);  // nothing else is left behind
  }

  Result<WrittenFacts> write(const Relation& relation, const ValueDictionary& dictionary,
                             const TupleColumns& mine) {
    ValueOrder order(dictionary);
    WriteOptions options;
    options.limits.rows_per_pass = 40;
    options.hdf5 = write_hdf5;
    return write_facts(comm_, *store_, relation,
                       make_directive(IoAction::kOutput, {{"IO", "hdf5"}}), order, mine, options);
  }

  template <typename T>
  std::vector<T> read(const std::string& name, hid_t type) {
    const Hdf5Handle file(H5Fopen((directory_ + "/r.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
                          H5Fclose);
    const Hdf5Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
    std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id())));
    EXPECT_GE(H5Dread(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
    return values;
  }

  std::vector<std::string> read_strings(const std::string& name) {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), H5T_VARIABLE);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    std::vector<std::string> texts;
    for (char* text : read<char*>(name, type.id())) {
      texts.emplace_back(text);
      H5free_memory(text);
    }
    return texts;
  }

  Comm& comm_ = mpi_test_world();
  std::string directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(Hdf5Output, ColumnsOfEveryKindInOrder) {
  const Relation relation = make_relation("r", "s:symbol x:number u:unsigned f:float");
  ValueDictionary dictionary;
  dictionary.encode_symbol("never used");
  TupleColumns mine;
  mine.columns.resize(4);
  constexpr int kRows = 500;
  for (int i = kRows - 1; i >= 0; --i) {
    const Cell row[] = {dictionary.encode_symbol(fmt::format("s{:03}", i)),
                        dictionary.encode(static_cast<std::uint64_t>(i - 100) * 1000000007ULL),
                        dictionary.encode(~0ULL - static_cast<unsigned>(i)),
                        dictionary.encode(std::bit_cast<std::uint64_t>(i * 0.1))};
    if (i % comm_.size() != comm_.rank() || comm_.rank() == 1) {
      // Rank 1 is empty; its rows are on rank 0.
      if (comm_.rank() != 0 || i % comm_.size() != 1) continue;
    }
    for (std::size_t c = 0; c < 4; ++c) mine.columns[c].push_back(row[c]);
    ++mine.rows;
  }
  const auto written = write(relation, dictionary, mine);
  ASSERT_TRUE(written.is_ok()) << written.status().to_string();
  EXPECT_EQ(written.value().rows, static_cast<std::uint64_t>(kRows));
  if (comm_.rank() != 0) return;
  const auto positions = read<std::uint32_t>("r/s", H5T_NATIVE_UINT32);
  const auto texts = read_strings("r/symbols:");
  const auto numbers = read<std::int64_t>("r/x", H5T_NATIVE_INT64);
  const auto unsigneds = read<std::uint64_t>("r/u", H5T_NATIVE_UINT64);
  const auto floats = read<double>("r/f", H5T_NATIVE_DOUBLE);
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(kRows));
  ASSERT_EQ(floats.size(), static_cast<std::size_t>(kRows));
  for (int i = 0; i < kRows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(texts.at(positions[at]), fmt::format("s{:03}", i));
    ASSERT_EQ(numbers[at], (i - 100) * 1000000007LL);
    ASSERT_EQ(unsigneds[at], ~0ULL - static_cast<unsigned>(i));
    ASSERT_EQ(floats[at], i * 0.1);
  }
}

TEST_F(Hdf5Output, EmptyAndNullaryRelations) {
  const ValueDictionary dictionary;
  ASSERT_TRUE(
      write(make_relation("r", "x:number s:symbol"), dictionary, {.rows = 0, .columns = {{}, {}}})
          .is_ok());
  if (comm_.rank() == 0) {
    EXPECT_TRUE(read<std::int64_t>("r/x", H5T_NATIVE_INT64).empty());
    EXPECT_TRUE(read_strings("r/symbols:").empty());
  }
  ASSERT_TRUE(comm_.barrier().is_ok());
  TupleColumns unit;
  unit.rows = comm_.rank() == 0 ? 1 : 0;
  ASSERT_TRUE(write(make_relation("r", ""), dictionary, unit).is_ok());
  if (comm_.rank() != 0) return;
  const Hdf5Handle file(H5Fopen((directory_ + "/r.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
                        H5Fclose);
  const Hdf5Handle rows(H5Aopen_by_name(file.id(), "r", "rows", H5P_DEFAULT, H5P_DEFAULT),
                        H5Aclose);
  std::uint64_t count = 0;
  ASSERT_GE(H5Aread(rows.id(), H5T_NATIVE_UINT64, &count), 0);
  EXPECT_EQ(count, 1U);
}

TEST_F(Hdf5Output, ASymbolWithANulByteIsRefusedAndNoFileAppears) {
  ValueDictionary dictionary;
  const Cell cell = dictionary.encode_symbol(std::string_view("a\0b", 3));
  TupleColumns mine{.rows = 0, .columns = {{}}};
  if (comm_.rank() == 0) mine = {.rows = 1, .columns = {{cell}}};
  const auto written = write(make_relation("r", "s:symbol"), dictionary, mine);
  EXPECT_EQ(written.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(written.status().message().find("relation r: a symbol holds a NUL byte"),
            std::string::npos);
  EXPECT_EQ(store_->info("r.h5").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace stratalog::datalog
