// SPDX-License-Identifier: Apache-2.0
// Checkpoints through real MPI: file per process, MPI collective I/O and parallel HDF5, loaded on
// all ranks and on one.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "checkpoint/node_stages.h"
#include "fault/loaded_samples.h"
#include "fault/overlap_ways.h"
#include "mpi/mpi_main.h"
#include "write/hdf5_relation_writer.h"
#include "write/mpi_shared_writer.h"

namespace stratalog {
namespace {

using sample::SampleRelation;

// A directory that all ranks share; rank 0 makes and removes it.
class SharedDirectory {
 public:
  explicit SharedDirectory(Comm& comm) : comm_(comm) {
    Bytes name;
    if (comm.rank() == 0) {
      std::string pattern = (std::filesystem::temp_directory_path() / "stratalog-XXXXXX").string();
      const char* made = ::mkdtemp(pattern.data());
      EXPECT_NE(made, nullptr);
      name.resize(pattern.size());
      std::memcpy(name.data(), pattern.data(), pattern.size());
    }
    EXPECT_TRUE(comm.broadcast(name, 0).is_ok());
    path_.assign(reinterpret_cast<const char*>(name.data()), name.size());
  }
  ~SharedDirectory() {
    EXPECT_TRUE(comm_.barrier().is_ok());
    if (comm_.rank() == 0) std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  Comm& comm_;
  std::string path_;
};

WriterOptions mpi_options() {
  WriterOptions options;
  options.block_bytes = 4096;
  options.stage_bytes = 8192;
  options.backends.shared = mpi_shared_files();
  options.backends.rows = hdf5_row_files();
  return options;
}

// Loads on this process alone.
void load_alone(Store& store, const std::vector<SampleRelation>& relations) {
  const auto self = make_self_comm();
  sample::Collected collected;
  std::vector<StoredRelation> stored;
  const auto report =
      load_checkpoint(*self, store, {}, sample::sink_into(collected, *self, stored));
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
  sample::expect_collected(collected, relations);
  const auto verified =
      verify_generation(store, report.value().state.generation, VerifyDepth::kContent);
  ASSERT_TRUE(verified.is_ok()) << verified.status().to_string();
  for (const std::string& problem : verified.value().problems) ADD_FAILURE() << problem;
}

// Every rank gets back what it saved, without redistribution.
Status load_here(Comm& comm, Store& store, const std::vector<SampleRelation>& relations) {
  std::vector<MultisetHash> hashes(relations.size());
  std::vector<std::uint64_t> rows(relations.size());
  LoadSink sink;
  StoredState state;
  sink.begin = [&](const StoredState& s) {
    state = s;
    return Status::ok();
  };
  sink.accept = [&](std::size_t index, const TupleGroup& group) {
    hashes[index] += hash_group(group, relations[index].column_order);
    rows[index] += group.set.count;
    return Status::ok();
  };
  STRATALOG_ASSIGN_OR_RETURN(const LoadReport report, load_checkpoint(comm, store, {}, sink));
  EXPECT_FALSE(report.state.needs_redistribution);
  for (std::size_t i = 0; i < relations.size(); ++i) {
    if (relations[i].arity == 0) continue;
    const RelationImage mine = sample::image_of(relations[i], comm.rank(), comm.size());
    EXPECT_EQ(rows[i], mine.rows);
    EXPECT_TRUE(hashes[i] == mine.hash);
    STRATALOG_RETURN_IF_ERROR(verify_relation(comm, state.relations[i], rows[i], hashes[i]));
  }
  return Status::ok();
}

std::unique_ptr<StagedStore> open_seat(Comm& comm, const std::string& path) {
  auto home = open_posix_store(path + "/home", RootMode::kMustExist);
  EXPECT_TRUE(home.is_ok()) << home.status().to_string();
  const StageSeat seat = plan_stage_seat(comm.topology().value().node_of_rank, comm.rank());
  const std::string folder = path + "/stage" + std::to_string(seat.node);
  const auto opener = [folder](const std::string& name, RootMode mode) {
    return open_posix_store(folder + "/" + name, mode);
  };
  return open_staged_store(std::move(home).value(), opener, folder, Draining::kBeside, seat);
}

// Two ranks on a node, each node with a stage of its own: a job that ends without draining, and the
// next one, which finds everything.
TEST(CheckpointStages, OfSeveralNodesGiveBackWhatTheyHave) {
  const auto nodes = duplicate_mpi_world({.ranks_per_virtual_node = 2});
  EXPECT_TRUE(nodes.is_ok());
  if (!nodes.is_ok()) return;
  Comm& comm = *nodes.value();
  const SharedDirectory directory(comm);
  if (comm.rank() == 0) {
    std::filesystem::create_directory(directory.path() + "/home");
    for (int node = 0; 2 * node < comm.size(); ++node)
      std::filesystem::create_directory(directory.path() + "/stage" + std::to_string(node));
  }
  EXPECT_TRUE(comm.barrier().is_ok());
  std::vector<SampleRelation> relations;
  {
    const auto store = open_seat(comm, directory.path());
    auto writer = open_checkpoint_writer(comm, *store, mpi_options());
    EXPECT_TRUE(writer.is_ok()) << writer.status().to_string();
    if (!writer.is_ok()) return;
    for (std::uint64_t salt = 1; salt <= 3; ++salt) {
      relations = sample::sample_relations(salt, 300);
      SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
      request.iteration = salt;
      if (comm.rank() == 0) request.sections.push_back({.name = "symbols", .data = Bytes(99)});
      const auto report = writer.value()->save(request);
      EXPECT_TRUE(report.is_ok()) << report.status().to_string();
    }
  }
  const auto store = open_seat(comm, directory.path());
  const auto notes = recover_stages(comm, *store, Durability::kFull);
  EXPECT_TRUE(notes.is_ok()) << notes.status().to_string();
  const Status loaded = load_here(comm, *store, relations);
  EXPECT_TRUE(loaded.is_ok()) << loaded.to_string();
  EXPECT_TRUE(comm.barrier().is_ok());
  if (comm.rank() == comm.size() - 1)
    load_alone(*open_posix_store(directory.path() + "/home", RootMode::kMustExist).value(),
               relations);
  EXPECT_TRUE(comm.barrier().is_ok());
}

class CheckpointModes : public ::testing::TestWithParam<CheckpointMode> {};

TEST_P(CheckpointModes, SavedOnAllRanksLoadedOnAllAndOnOne) {
  Comm& comm = mpi_test_world();
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  EXPECT_TRUE(store.is_ok());
  auto writer = open_checkpoint_writer(comm, *store.value(), mpi_options());
  EXPECT_TRUE(writer.is_ok()) << writer.status().to_string();
  if (!writer.is_ok()) return;
  for (std::uint64_t salt = 1; salt <= 3; ++salt) {
    const auto relations = sample::sample_relations(salt, salt == 2 ? 3 : 1500);
    SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
    request.mode = GetParam();
    request.iteration = salt;
    if (comm.rank() == 0) request.sections.push_back({.name = "symbols", .data = Bytes(99)});
    const auto report = writer.value()->save(request);
    EXPECT_TRUE(report.is_ok()) << report.status().to_string();
    if (!report.is_ok()) return;
    const Status loaded = load_here(comm, *store.value(), relations);
    EXPECT_TRUE(loaded.is_ok()) << loaded.to_string();
    if (comm.rank() == comm.size() - 1) load_alone(*store.value(), relations);
    EXPECT_TRUE(comm.barrier().is_ok());
  }
  EXPECT_EQ(list_generations(*store.value()).value().size(), 2U);
}

TEST_P(CheckpointModes, RelationsThatAreEmptyEverywhere) {
  Comm& comm = mpi_test_world();
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  auto writer = open_checkpoint_writer(comm, *store.value(), mpi_options());
  EXPECT_TRUE(writer.is_ok()) << writer.status().to_string();
  if (!writer.is_ok()) return;
  const auto relations = sample::sample_relations(1, 0);
  SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
  request.mode = GetParam();
  const auto report = writer.value()->save(request);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  const Status loaded = load_here(comm, *store.value(), relations);
  EXPECT_TRUE(loaded.is_ok()) << loaded.to_string();
}

// A chain is read back by its writers and written as one.
TEST(CheckpointChains, AreFoldedByThoseWhoWroteThem) {
  Comm& comm = mpi_test_world();
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  WriterOptions options = mpi_options();
  options.overlap = OverlapWay::kPack;
  auto writer = open_checkpoint_writer(comm, *store.value(), options);
  EXPECT_TRUE(writer.is_ok()) << writer.status().to_string();
  if (!writer.is_ok()) return;
  for (std::uint64_t now = 1; now <= 6; ++now) {
    SaveRequest request =
        sample::grown_request(now, now - 1, writer.value()->base(), 400, comm.rank(), comm.size());
    if (now % 3 == 0) sample::fold_growth(request, now, 400, comm.rank(), comm.size());
    const Status begun = writer.value()->begin(std::move(request));
    EXPECT_TRUE(begun.is_ok()) << begun.to_string();
    const auto report = writer.value()->finish();
    EXPECT_TRUE(report.is_ok()) << report.status().to_string();
    if (!report.is_ok()) return;
    EXPECT_EQ(report.value().folded_images > 0, now % 3 == 0);
    const auto relations = sample::grown_relations(now, 400);
    const Status loaded = load_here(comm, *store.value(), relations);
    EXPECT_TRUE(loaded.is_ok()) << loaded.to_string();
    if (comm.rank() == comm.size() - 1) load_alone(*store.value(), relations);
    EXPECT_TRUE(comm.barrier().is_ok());
  }
}

// One rank cannot write: everybody hears of it, nothing is left, the next save works.
TEST_P(CheckpointModes, OneRanksErrorIsEverybodys) {
  Comm& comm = mpi_test_world();
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  auto writer = open_checkpoint_writer(comm, *store.value(), mpi_options());
  EXPECT_TRUE(writer.is_ok()) << writer.status().to_string();
  if (!writer.is_ok()) return;
  const auto relations = sample::sample_relations(1, 500);
  SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
  request.mode = GetParam();
  const auto good = request.images[1].for_each_group;
  const int victim = comm.size() - 1;
  if (comm.rank() == victim)
    request.images[1].for_each_group = [&](const GroupVisitor& visit) {
      int groups = 0;
      return good([&](const TupleGroup& group) {
        if (++groups == 2) return Status::no_space("out of imaginary space");
        return visit(group);
      });
    };
  const auto failed = writer.value()->save(request);
  if (sample::image_of(relations[1], victim, comm.size()).rows > 0) {
    EXPECT_EQ(failed.status().code(), StatusCode::kNoSpace) << failed.status().to_string();
    EXPECT_TRUE(list_generations(*store.value()).value().empty());
  }
  request.images[1].for_each_group = good;
  const auto report = writer.value()->save(request);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  const Status loaded = load_here(comm, *store.value(), relations);
  EXPECT_TRUE(loaded.is_ok()) << loaded.to_string();
}

INSTANTIATE_TEST_SUITE_P(All, CheckpointModes,
                         ::testing::Values(CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                           CheckpointMode::kHdf5, CheckpointMode::kSharedOpt,
                                           CheckpointMode::kHdf5Opt, CheckpointMode::kHdf5Direct,
                                           CheckpointMode::kHdf5Streams),
                         [](const auto& about) {
                           std::string name(mode_name(about.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// 16 MB of rows, so that the ladder leaves its tiny tier: deflated chunks that ranks share, phases,
// several files; each loaded on all ranks and on one.
struct LadderCase {
  const char* ladder;
  std::uint32_t files;
  bool skewed;
};

// `rows` rows in groups of one prefix, made on the fly.
constexpr std::uint64_t kGroup = 5000;

RelationImage big_image(std::uint64_t rows, Cell prefix_base, std::vector<Cell>& elements) {
  elements.resize(kGroup);
  for (std::uint64_t i = 0; i < kGroup; ++i) elements[i] = static_cast<Cell>(i * 3);
  RelationImage image;
  image.name = "big";
  image.arity = 2;
  image.column_order = {0, 1};
  image.rows = rows;
  image.for_each_group = [rows, prefix_base, &elements](const GroupVisitor& visit) {
    for (std::uint64_t done = 0; done < rows; done += kGroup) {
      const Cell prefix = prefix_base + static_cast<Cell>(done / kGroup);
      SetView set;
      set.values = std::span(elements).first(std::min(kGroup, rows - done));
      set.count = set.values.size();
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = std::span(&prefix, 1), .set = set}));
    }
    return Status::ok();
  };
  const Status hashed = image.for_each_group([&](const TupleGroup& group) {
    image.hash += hash_group(group, image.column_order);
    return Status::ok();
  });
  EXPECT_TRUE(hashed.is_ok());
  return image;
}

TEST(Ladder, EveryStepWritesWhatIsReadBack) {
  Comm& comm = mpi_test_world();
  for (const LadderCase& how :
       {LadderCase{"all", 0, false}, LadderCase{"none", 0, false}, LadderCase{"O4", 0, false},
        LadderCase{"O2,O4,O3", 2, false}, LadderCase{"all", 0, true},
        LadderCase{"O3,O4,O5,O6,O7", 3, true}, LadderCase{"printed:O3,O4,O2", 0, false},
        LadderCase{"printed:O6,printed:O7,O2", 0, true}}) {
    SCOPED_TRACE(how.ladder);
    const SharedDirectory directory(comm);
    auto store = open_posix_store(directory.path(), RootMode::kMustExist);
    WriterOptions options = mpi_options();
    options.stage_bytes = 1 << 20;
    options.layout.ladder = parse_ladder(how.ladder).value();
    options.layout.files = how.files;
    options.layout.deflate_level = 1;  // on a local disk nothing is deflated unless asked for
    auto writer = open_checkpoint_writer(comm, *store.value(), options);
    ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
    const auto ranks = static_cast<std::uint64_t>(comm.size());
    const auto rank = static_cast<std::uint64_t>(comm.rank());
    // 11 MB over all ranks, none of it on rank 1, boundaries inside chunks.
    std::uint64_t rows = (700000 / ranks) + (rank * 977);
    if (how.skewed && rank == 0) rows = 700000;
    if (how.skewed && rank != 0) rows = 20000;
    if (rank == 1) rows = 0;
    std::vector<Cell> elements;
    SaveRequest request;
    request.mode = CheckpointMode::kHdf5Opt;
    request.images.push_back(big_image(rows, static_cast<Cell>(rank * 100000), elements));
    const auto saved = writer.value()->save(request);
    ASSERT_TRUE(saved.is_ok()) << saved.status().to_string();
    MultisetHash hash;
    std::uint64_t read = 0;
    LoadSink sink;
    StoredState state;
    sink.begin = [&](const StoredState& s) {
      state = s;
      return Status::ok();
    };
    sink.accept = [&](std::size_t /*index*/, const TupleGroup& group) {
      hash += hash_group(group, request.images[0].column_order);
      read += group.set.count;
      return Status::ok();
    };
    const auto loaded = load_checkpoint(comm, *store.value(), {}, sink);
    ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
    EXPECT_EQ(read, rows);
    EXPECT_TRUE(hash == request.images[0].hash);
    if (rank == 0) {
      const auto verified =
          verify_generation(*store.value(), state.generation, VerifyDepth::kContent);
      ASSERT_TRUE(verified.is_ok());
      for (const std::string& problem : verified.value().problems) ADD_FAILURE() << problem;
    }
    EXPECT_TRUE(comm.barrier().is_ok());
  }
}

// Where a core is free a thread writes rows of more than 4 MiB: they stay until it has.
TEST(MpiCheckpoint, RowsStayUntilTheThreadHasWrittenThem) {
  Comm& comm = mpi_test_world();
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  auto writer = open_checkpoint_writer(comm, *store.value(), mpi_options());
  ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
  std::vector<Cell> elements;
  SaveRequest request;
  request.mode = CheckpointMode::kHdf5Direct;
  request.images.push_back(big_image(300000, static_cast<Cell>(comm.rank() * 100000), elements));
  for (int save = 0; save < 5; ++save) {
    const auto saved = writer.value()->save(request);
    ASSERT_TRUE(saved.is_ok()) << saved.status().to_string();
    if (comm.rank() == 0) {
      const auto verified =
          verify_generation(*store.value(), saved.value().generation, VerifyDepth::kContent);
      ASSERT_TRUE(verified.is_ok());
      for (const std::string& problem : verified.value().problems) ADD_FAILURE() << problem;
    }
    EXPECT_TRUE(comm.barrier().is_ok());
  }
}

// Rows that take their time, or nothing would be worth trying: hdf5-direct, then hdf5-opt without
// and with deflate, then neighbours. Whatever is chosen is the same on all ranks and read back.
TEST(MpiCheckpoint, Hdf5AutoTriesBothWritersAndDeflate) {
  Comm& comm = mpi_test_world();
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  WriterOptions options = mpi_options();
  options.stage_bytes = 1 << 20;
  auto writer = open_checkpoint_writer(comm, *store.value(), options);
  ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  std::vector<Cell> elements;
  SaveRequest request;
  request.mode = CheckpointMode::kHdf5Auto;
  request.images.push_back(
      big_image(900000 / ranks, static_cast<Cell>(comm.rank() * 100000), elements));
  const auto walk = request.images[0].for_each_group;
  request.images[0].for_each_group = [walk](const GroupVisitor& visit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return walk(visit);
  };
  std::set<CheckpointMode> modes;
  std::string reasons;
  const auto has = [&](const char* text) { return reasons.find(text) != std::string::npos; };
  const auto has_measured_all = [&] {
    return has("O4: data set 0: chunks of 32768 rows, deflate 1") &&
           has("hdf5-opt over 1 file, deflate 1: ");
  };
  // As a rule six saves; what the clock says of a busy machine may put others before them.
  constexpr int kMostSaves = 18;
  for (int save = 0; save < kMostSaves && !(save >= 6 && has_measured_all()); ++save) {
    const auto saved = writer.value()->save(request);
    ASSERT_TRUE(saved.is_ok()) << saved.status().to_string();
    const auto state = inspect_generation(*store.value(), saved.value().generation);
    ASSERT_TRUE(state.is_ok());
    EXPECT_TRUE(stores_rows(state.value().mode));
    modes.insert(state.value().mode);
    for (const Reason& reason : state.value().layout_reasons)
      reasons += reason.about + ": " + reason.text + "\n";
    if (comm.rank() == 0) {
      const auto verified =
          verify_generation(*store.value(), saved.value().generation, VerifyDepth::kContent);
      ASSERT_TRUE(verified.is_ok());
      EXPECT_EQ(verified.value().rows, 900000 / ranks * ranks);
      for (const std::string& problem : verified.value().problems) ADD_FAILURE() << problem;
    }
    EXPECT_TRUE(comm.barrier().is_ok());
  }
  EXPECT_EQ(modes, (std::set{CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Opt}));
  EXPECT_TRUE(has_measured_all()) << reasons;
}

// Ranks that cannot write HDF5 together, threads for example.
TEST(MpiCheckpoint, Hdf5AutoWithoutCollectiveHdf5IsDirect) {
  Comm& comm = mpi_test_world();
  const auto relations = sample::sample_relations(2, 300);
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  WriterOptions options = mpi_options();
  // One rank without it is enough.
  if (comm.rank() == comm.size() - 1) options.backends.rows.create = {};
  auto writer = open_checkpoint_writer(comm, *store.value(), options);
  ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
  SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
  request.mode = CheckpointMode::kHdf5Auto;
  const auto saved = writer.value()->save(request);
  ASSERT_TRUE(saved.is_ok()) << saved.status().to_string();
  const auto state = inspect_generation(*store.value(), saved.value().generation);
  EXPECT_EQ(state.value().mode, CheckpointMode::kHdf5Direct);
  if (comm.rank() == 0) load_alone(*store.value(), relations);
  EXPECT_TRUE(comm.barrier().is_ok());
}

// Where auto chooses a mode in which ranks write together, begin() writes before it returns.
TEST(MpiCheckpoint, AutoIsBegunWhateverItChooses) {
  Comm& comm = mpi_test_world();
  const auto relations = sample::sample_relations(2, 300);
  for (const std::uint32_t files : {0U, 1U}) {
    const SharedDirectory directory(comm);
    auto store = open_posix_store(directory.path(), RootMode::kMustExist);
    WriterOptions options = mpi_options();
    options.layout.files = files;
    auto writer = open_checkpoint_writer(comm, *store.value(), options);
    ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
    SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
    request.mode = CheckpointMode::kAuto;
    ASSERT_TRUE(writer.value()->begin(std::move(request)).is_ok());
    EXPECT_TRUE(files == 0 || comm.size() == 1 || writer.value()->is_written());
    const auto report = writer.value()->finish();
    ASSERT_TRUE(report.is_ok()) << report.status().to_string();
    if (comm.rank() == 0) load_alone(*store.value(), relations);
    EXPECT_TRUE(comm.barrier().is_ok());
  }
}

// Whoever packs: what is begun on all ranks is finished on all, and read back by one.
TEST(MpiCheckpoint, EveryOverlapWritesTheSame) {
  Comm& comm = mpi_test_world();
  const auto relations = sample::sample_relations(3, 300);
  for (const sample::OverlapCase& c : sample::overlap_cases(OverlapWay::kNone)) {
    SCOPED_TRACE(c.name());
    const SharedDirectory directory(comm);
    auto store = open_posix_store(directory.path(), RootMode::kMustExist);
    WriterOptions options = mpi_options();
    options.overlap = c.way;
    options.stage_bytes = 4096;
    auto writer = open_checkpoint_writer(comm, *store.value(), options);
    ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
    EXPECT_EQ(writer.value()->overlap(c.mode).way, c.way);
    SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
    request.mode = c.mode;
    ASSERT_TRUE(writer.value()->begin(std::move(request)).is_ok());
    const auto report = writer.value()->finish();
    ASSERT_TRUE(report.is_ok()) << report.status().to_string();
    // Blocks in which ranks meet, as network file systems have them, are packed at once.
    EXPECT_TRUE(report.value().overlap == c.way || (c.mode == CheckpointMode::kHdf5Direct &&
                                                    report.value().overlap == OverlapWay::kWrite));
    if (comm.rank() == 0) load_alone(*store.value(), relations);
    EXPECT_TRUE(comm.barrier().is_ok());
  }
}

// One rank cannot pack beside the caller: everybody hears of it at the next boundary, the
// generation before stays, and the next one is written.
TEST(MpiCheckpoint, AnErrorBesideTheCallerIsEverybodys) {
  Comm& comm = mpi_test_world();
  const auto relations = sample::sample_relations(3, 500);
  const int victim = comm.size() - 1;
  const bool has_rows = sample::image_of(relations[1], victim, comm.size()).rows > 0;
  for (const sample::OverlapCase& c : sample::overlap_cases(OverlapWay::kWrite)) {
    SCOPED_TRACE(c.name());
    const SharedDirectory directory(comm);
    auto store = open_posix_store(directory.path(), RootMode::kMustExist);
    WriterOptions options = mpi_options();
    options.overlap = c.way;
    options.stage_bytes = 4096;
    auto writer = open_checkpoint_writer(comm, *store.value(), options);
    ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
    SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
    request.mode = c.mode;
    const auto first = writer.value()->save(request);
    ASSERT_TRUE(first.is_ok()) << first.status().to_string();
    SaveRequest broken = request;
    if (comm.rank() == victim)
      broken.images[1].for_each_group = [](const GroupVisitor&) {
        return Status::no_space("out of imaginary space");
      };
    ASSERT_TRUE(writer.value()->begin(std::move(broken)).is_ok());
    const auto failed = writer.value()->finish();
    EXPECT_EQ(failed.is_ok(), !has_rows);
    if (has_rows) {
      EXPECT_EQ(failed.status().code(), StatusCode::kNoSpace) << failed.status().to_string();
      EXPECT_EQ(writer.value()->base(), first.value().generation);
      EXPECT_EQ(list_generations(*store.value()).value().size(), 1U);
    }
    EXPECT_TRUE(comm.barrier().is_ok());
    ASSERT_TRUE(writer.value()->begin(request).is_ok());
    const auto next = writer.value()->finish();
    ASSERT_TRUE(next.is_ok()) << next.status().to_string();
    EXPECT_EQ(writer.value()->base(), next.value().generation);
    if (comm.rank() == 0) load_alone(*store.value(), relations);
    EXPECT_TRUE(comm.barrier().is_ok());
  }
}

// Without a wish all ranks come to the same conclusion, however the launcher has bound them.
TEST(MpiCheckpoint, AllRanksPlanTheSameOverlap) {
  Comm& comm = mpi_test_world();
  const SharedDirectory directory(comm);
  auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  auto writer = open_checkpoint_writer(comm, *store.value(), mpi_options());
  ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
  const OverlapPlan plan = writer.value()->overlap(CheckpointMode::kFilePerProcess);
  const auto way = static_cast<std::uint64_t>(plan.way);
  EXPECT_NE(plan.way, OverlapWay::kNone);
  std::uint64_t extremes[2] = {way, ~way};
  ASSERT_TRUE(comm.allreduce(extremes, ReduceOp::kMax).is_ok());
  EXPECT_EQ(extremes[0], ~extremes[1]);
}

}  // namespace
}  // namespace stratalog
