// SPDX-License-Identifier: Apache-2.0
// Damage after the fact: every bit of every file of a small checkpoint flipped, every truncation,
// files missing, swapped, grown or replayed from another generation. All of it must be refused
// before a tuple is handed out for good, with an older generation in its place; and each of the
// readers' checks must be needed for that.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "commit/manifest.h"
#include "fault/sample_relations.h"
#include "one_core.h"
#include "place/checkpoint_names.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kSize = 6;

// kPools: sets that come again are said to be equal.
enum class Sets : std::uint8_t { kPlain, kPools };

// Two generations, iterations 1 and 2, by `ranks` ranks.
std::shared_ptr<MemoryDisk> make_store(CheckpointMode mode, ShardEncoding encoding, int ranks,
                                       Sets sets = Sets::kPlain) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status run = sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    WriterOptions options;
    options.block_bytes = 256;
    STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
    for (const std::uint64_t iteration : {1, 2}) {
      SaveRequest request =
          sample::request_of(sample::sample_relations(iteration, kSize), comm.rank(), comm.size());
      if (sets == Sets::kPools) sample::walk_in_batches(request);
      request.mode = mode;
      request.encoding = encoding;
      request.iteration = iteration;
      request.engine_state = "{\"iteration\":" + std::to_string(iteration) + "}";
      if (comm.rank() == 0)
        request.sections.push_back({.name = "symbols", .data = Bytes(50, std::byte{7})});
      STRATALOG_RETURN_IF_ERROR(writer->save(request).status());
    }
    return Status::ok();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  return disk;
}

enum class Verdict : std::uint8_t {
  kRefused,  // an error, or the older generation with a reason
  kAccepted,  // the damaged generation, all content right
  kWrong,  // the damaged generation, some content wrong
};

Verdict judge(const std::shared_ptr<MemoryDisk>& disk, const ProtocolSteps& steps) {
  const auto store = open_memory_store(disk);
  const auto self = make_self_comm();
  sample::Collected collected;
  std::vector<StoredRelation> stored;
  LoadRequest request;
  request.steps = steps;
  const auto loaded =
      load_checkpoint(*self, *store, request, sample::sink_into(collected, *self, stored));
  if (!loaded.is_ok()) return Verdict::kRefused;
  const LoadReport& report = loaded.value();
  const auto relations = sample::sample_relations(
      report.state.generation == generation_name({.epoch = 1, .sequence = 2}) ? 2 : 1, kSize);
  bool right = report.state.relations.size() == relations.size() &&
               report.state.sections.size() == 1 &&
               report.state.sections[0].data == Bytes(50, std::byte{7});
  for (std::size_t i = 0; right && i < relations.size(); ++i) {
    right = report.state.relations[i].name == relations[i].name &&
            (relations[i].arity == 0 ? report.state.relations[i].rows == relations[i].tuples.size()
                                     : collected.tuples(i) == relations[i].tuples);
  }
  if (report.state.iteration == 1 && right)
    return report.skipped.empty() ? Verdict::kWrong : Verdict::kRefused;
  right = right && report.state.iteration == 2 && report.state.engine_state == "{\"iteration\":2}";
  return right ? Verdict::kAccepted : Verdict::kWrong;
}

std::string newest() { return generation_name({.epoch = 1, .sequence = 2}); }

std::vector<std::string> newest_files(MemoryDisk& disk) {
  std::vector<std::string> paths;
  const NodeId directory = disk.find(newest()).value();
  for (const auto& [name, id] : disk.node(directory).entries)
    paths.push_back(newest() + "/" + name);
  return paths;
}

struct Counts {
  std::size_t mutants = 0;
  std::size_t accepted = 0;
  std::size_t wrong = 0;
};

void count(Counts& counts, Verdict verdict) {
  ++counts.mutants;
  counts.accepted += verdict == Verdict::kAccepted ? 1 : 0;
  counts.wrong += verdict == Verdict::kWrong ? 1 : 0;
}

// Flips every `stride`-th bit of a file, one at a time.
Counts flip_bits(const std::shared_ptr<MemoryDisk>& disk, const std::string& path,
                 std::size_t stride, const ProtocolSteps& steps) {
  Counts counts;
  Bytes& data = disk->change(disk->find(path).value()).data;
  for (std::size_t bit = 0; bit < data.size() * 8; bit += stride) {
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    count(counts, judge(disk, steps));
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  return counts;
}

Counts truncate(const std::shared_ptr<MemoryDisk>& disk, const std::string& path,
                const ProtocolSteps& steps) {
  Counts counts;
  Bytes& data = disk->change(disk->find(path).value()).data;
  const Bytes whole = data;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    data.resize(length);
    count(counts, judge(disk, steps));
    data = whole;
  }
  return counts;
}

// Bytes of a shared file between the extents: no reader looks at them, except verify.
std::size_t padding_bits(const std::shared_ptr<MemoryDisk>& disk, const std::string& path) {
  if (!path.ends_with(".shared")) return 0;
  // Shards of few tuples: each shard begins at a multiple of 4096 and is shorter than that, and
  // ends with its trailer.
  const Bytes& data = disk->node(disk->find(path).value()).data;
  std::size_t zeros = 0;
  for (std::size_t begin = 0; begin + 4096 < data.size(); begin += 4096) {
    std::size_t end = begin + 4096;
    while (end > begin && data[end - 1] == std::byte{0}) --end;
    // The trailer's last 24 bytes are zero and belong to the shard.
    zeros += ((begin + 4096 - end) / 8 * 8 - 24) / 8 * 8;
  }
  return zeros * 8;
}

// STRATALOG_DAMAGE_STRIDE=1 flips every bit of all three; by default the first has every bit
// flipped, the others a sample, and every length of all is tried.
TEST(Damage, EveryBitAndEveryLength) {
  const bool all = std::getenv("STRATALOG_DAMAGE_STRIDE") != nullptr;
  std::size_t mutants = 0;
  for (const auto& [mode, ranks] :
       {std::pair{CheckpointMode::kFilePerProcess, 1},
        std::pair{CheckpointMode::kFilePerProcess, 2}, std::pair{CheckpointMode::kShared, 2}}) {
    const auto disk = make_store(mode, ShardEncoding::kCompact, ranks);
    ASSERT_EQ(judge(disk, {}), Verdict::kAccepted);
    std::vector<std::string> paths = newest_files(*disk);
    paths.emplace_back(kStoreFileName);
    for (const std::string& path : paths) {
      const bool shared = path.ends_with(".shared");
      const Counts flips = flip_bits(disk, path, all || ranks == 1 ? 1 : shared ? 23 : 11, {});
      EXPECT_EQ(flips.wrong, 0U) << path;
      if (shared)
        EXPECT_LE(flips.accepted, padding_bits(disk, path)) << path;
      else
        EXPECT_EQ(flips.accepted, 0U) << path;
      const Counts cuts = truncate(disk, path, {});
      EXPECT_EQ(cuts.wrong + cuts.accepted, 0U) << path;
      mutants += flips.mutants + cuts.mutants;
    }
  }
  std::printf("[ DAMAGE   ] %zu mutants\n", mutants);
  EXPECT_GE(mutants, 50000U);
}

TEST(Damage, EveryBitOfTheReferenceEncoding) {
  const auto disk = make_store(CheckpointMode::kFilePerProcess, ShardEncoding::kRowsU64, 1);
  for (const std::string& path : newest_files(*disk)) {
    const Counts flips = flip_bits(disk, path, 1, {});
    EXPECT_EQ(flips.wrong + flips.accepted, 0U) << path;
  }
}

TEST(Damage, EveryBitAndEveryLengthOfStreams) {
  for (const ShardEncoding encoding : {ShardEncoding::kStreams, ShardEncoding::kAuto}) {
    const auto disk = make_store(CheckpointMode::kFilePerProcess, encoding, 1);
    ASSERT_EQ(judge(disk, {}), Verdict::kAccepted);
    for (const std::string& path : newest_files(*disk)) {
      const Counts flips = flip_bits(disk, path, encoding == ShardEncoding::kStreams ? 1 : 7, {});
      EXPECT_EQ(flips.wrong + flips.accepted, 0U) << path;
      const Counts cuts = truncate(disk, path, {});
      EXPECT_EQ(cuts.wrong + cuts.accepted, 0U) << path;
    }
  }
}

TEST(Damage, EveryBitAndEveryLengthOfPools) {
  const auto disk =
      make_store(CheckpointMode::kFilePerProcess, ShardEncoding::kCompact, 1, Sets::kPools);
  ASSERT_EQ(judge(disk, {}), Verdict::kAccepted);
  for (const std::string& path : newest_files(*disk)) {
    if (path.ends_with("MANIFEST")) {
      const Bytes& data = disk->node(disk->find(path).value()).data;
      const std::string text(reinterpret_cast<const char*>(data.data()), data.size());
      EXPECT_NE(text.find("\"critical\":[\"run-pools\"]"), std::string::npos);
    }
    const Counts flips = flip_bits(disk, path, 3, {});
    EXPECT_EQ(flips.wrong + flips.accepted, 0U) << path;
    const Counts cuts = truncate(disk, path, {});
    EXPECT_EQ(cuts.wrong + cuts.accepted, 0U) << path;
  }
}

// Without checksums the decoder meets the damage itself: an error or wrong tuples, no crash.
TEST(Damage, BlocksWithoutChecksumsAreDecodedWithCare) {
  const ProtocolSteps unchecked{.left_out = static_cast<std::uint32_t>(ProtocolStep::kCheckBlocks)};
  for (const auto& disk :
       {make_store(CheckpointMode::kFilePerProcess, ShardEncoding::kStreams, 1),
        make_store(CheckpointMode::kFilePerProcess, ShardEncoding::kCompact, 1, Sets::kPools)}) {
    std::size_t wrong = 0;
    for (const char* name : {"/0001-path.total.000000", "/0004-triple.total.000000"})
      wrong += flip_bits(disk, newest() + name, 1, unchecked).wrong;
    EXPECT_GT(wrong, 0U);
  }
}

TEST(Damage, FlippedPaddingIsFoundByVerify) {
  const auto disk = make_store(CheckpointMode::kShared, ShardEncoding::kCompact, 2);
  const std::string path = newest() + "/0001-path.total.shared";
  Bytes& data = disk->change(disk->find(path).value()).data;
  ASSERT_GT(data.size(), 4096U);
  const auto store = open_memory_store(disk);
  EXPECT_TRUE(verify_generation(*store, newest(), VerifyDepth::kContent).value().problems.empty());
  data[4095] = std::byte{1};
  const auto report = verify_generation(*store, newest(), VerifyDepth::kContent);
  ASSERT_EQ(report.value().problems.size(), 1U);
  EXPECT_NE(report.value().problems[0].find("offset 4095"), std::string::npos);
}

// A manifest whose writer was wrong about zones: its hash is right, only the tuples tell.
TEST(Damage, ZonesThatDoNotHoldAreFoundByVerify) {
  for (const ShardEncoding encoding : {ShardEncoding::kCompact, ShardEncoding::kAuto}) {
    const auto disk = make_store(CheckpointMode::kFilePerProcess, encoding, 2);
    const auto store = open_memory_store(disk);
    Bytes& data = disk->change(disk->find(newest() + "/" + kManifestName).value()).data;
    const std::string text(reinterpret_cast<const char*>(data.data()), data.size());
    auto parsed = parse_manifest(text, CheckManifest::kYes);
    ASSERT_TRUE(parsed.is_ok());
    Manifest& manifest = parsed.value();
    const auto problems = [&] {
      std::string files;
      std::string shards;
      for (const ManifestFile& file : manifest.files) files += file_line(file);
      for (const ManifestShard& shard : manifest.shards) shards += shard_line(shard);
      const std::string changed = manifest_text(manifest, files, shards);
      const auto bytes = std::as_bytes(std::span(changed));
      data.assign(bytes.begin(), bytes.end());
      return verify_generation(*store, newest(), VerifyDepth::kContent).value().problems;
    };
    EXPECT_TRUE(problems().empty());
    for (ManifestShard& shard : manifest.shards) {
      ASSERT_FALSE(shard.zones.empty());
      for (std::size_t i = 0; i < shard.zones.size(); ++i) {
        Cell& end = shard.zones[i];
        const Cell before = end;
        end = i % 2 == 0 ? end + 1 : end - 1;
        if (i % 2 == 0 ? end > shard.zones[i + 1] : shard.zones[i - 1] > end) {
          end = before;  // one value only; such a zone would not parse
          continue;
        }
        const auto found = problems();
        end = before;
        ASSERT_EQ(found.size(), 1U) << shard.file << ", zone " << i;
        EXPECT_NE(found[0].find("outside of the zones"), std::string::npos) << found[0];
      }
    }
  }
}

TEST(Damage, MissingSwappedReplayedGrownAndExtraFiles) {
  for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared}) {
    const auto base = make_store(mode, ShardEncoding::kCompact, 2);
    const std::vector<std::string> paths = newest_files(*base);
    const std::string older = generation_name({.epoch = 1, .sequence = 1});
    for (const std::string& path : paths) {
      if (!path.ends_with(kManifestName)) {
        const auto disk = base->clone();
        disk->change(disk->find(newest()).value()).entries.erase(path.substr(path.find('/') + 1));
        EXPECT_EQ(judge(disk, {}), Verdict::kRefused) << "without " << path;
      }
      {
        const auto disk = base->clone();
        disk->change(disk->find(path).value()).data.push_back(std::byte{0});
        EXPECT_EQ(judge(disk, {}), Verdict::kRefused) << "grown " << path;
      }
      {  // the same name from the older generation
        const auto disk = base->clone();
        const auto other = disk->find(older + path.substr(path.find('/')));
        if (other.is_ok()) {
          disk->change(disk->find(path).value()).data = disk->node(other.value()).data;
          EXPECT_EQ(judge(disk, {}), Verdict::kRefused) << "replayed " << path;
        }
      }
      for (const std::string& second : paths) {
        if (second == path) continue;
        const auto disk = base->clone();
        std::swap(disk->change(disk->find(path).value()).data,
                  disk->change(disk->find(second).value()).data);
        EXPECT_EQ(judge(disk, {}), Verdict::kRefused) << path << " and " << second;
      }
    }
    const auto disk = base->clone();
    const auto store = open_memory_store(disk);
    ASSERT_TRUE(store->open(newest() + "/stranger", OpenMode::kCreateExclusive).is_ok());
    EXPECT_EQ(judge(disk, {}), Verdict::kAccepted);
    EXPECT_EQ(verify_generation(*store, newest(), VerifyDepth::kContent).value().problems.size(),
              1U);
  }
}

TEST(Damage, AGenerationCopiedUnderAnotherNameOrFromAnotherStore) {
  const auto disk = make_store(CheckpointMode::kFilePerProcess, ShardEncoding::kCompact, 1);
  const NodeId original = disk->find(newest()).value();
  disk->change(MemoryDisk::kRoot).entries["gen-00000001-0000000009"] = original;
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  ASSERT_EQ(listed.value().size(), 3U);
  EXPECT_EQ(listed.value()[0].condition, GenerationCondition::kDamaged);
  EXPECT_EQ(judge(disk, {}), Verdict::kAccepted);

  const auto foreign = std::make_shared<MemoryDisk>();
  foreign->random_state = 99;
  {
    const auto self = make_self_comm();
    const auto other = open_memory_store(foreign);
    ASSERT_TRUE(open_checkpoint_writer(*self, *other, {}).is_ok());
  }
  foreign->change(foreign->find(kStoreFileName).value()).data =
      disk->node(disk->find(kStoreFileName).value()).data;
  // Same STORE: a moved store. Another STORE: refused.
  const auto mine = disk->clone();
  Bytes& id = mine->change(mine->find(kStoreFileName).value()).data;
  const auto empty = std::make_shared<MemoryDisk>();
  empty->random_state = 1234;
  const auto self = make_self_comm();
  const auto empty_store = open_memory_store(empty);
  ASSERT_TRUE(open_checkpoint_writer(*self, *empty_store, {}).is_ok());
  id = empty->node(empty->find(kStoreFileName).value()).data;
  EXPECT_EQ(judge(mine, {}), Verdict::kRefused);
}

TEST(Damage, NothingValidIsNotNothing) {
  const auto disk = make_store(CheckpointMode::kFilePerProcess, ShardEncoding::kCompact, 1);
  for (const std::uint64_t sequence : {1, 2}) {
    const std::string path =
        generation_name({.epoch = 1, .sequence = sequence}) + "/" + kManifestName;
    disk->change(disk->find(path).value()).data[10] ^= std::byte{1};
  }
  const auto store = open_memory_store(disk);
  const auto self = make_self_comm();
  const auto loaded = load_checkpoint(*self, *store, {}, {});
  EXPECT_EQ(loaded.status().code(), StatusCode::kCorruption);
  EXPECT_NE(loaded.status().message().find("gen-00000001-0000000001"), std::string::npos);
  EXPECT_NE(loaded.status().message().find("gen-00000001-0000000002"), std::string::npos);
  const auto nothing = open_memory_store(std::make_shared<MemoryDisk>());
  EXPECT_EQ(load_checkpoint(*self, *nothing, {}, {}).status().code(), StatusCode::kNotFound);
}

// The readers' checks, left out one at a time, must let damage through.
TEST(CheckMutants, EachCheckIsNeeded) {
  const auto disk = make_store(CheckpointMode::kFilePerProcess, ShardEncoding::kCompact, 1);
  const auto without = [](ProtocolStep step) {
    return ProtocolSteps{.left_out = static_cast<std::uint32_t>(step)};
  };
  const Counts blocks =
      flip_bits(disk, newest() + "/0001-path.total.000000", 1, without(ProtocolStep::kCheckBlocks));
  EXPECT_GT(blocks.wrong, 0U) << "leaving out the block checksums goes unnoticed";
  const Counts manifest =
      flip_bits(disk, newest() + "/" + kManifestName, 1, without(ProtocolStep::kCheckManifest));
  EXPECT_GT(manifest.wrong + manifest.accepted, 0U)
      << "leaving out the manifest's hash goes unnoticed";
  disk->change(disk->find(newest() + "/0001-path.total.000000").value())
      .data.push_back(std::byte{1});
  EXPECT_EQ(judge(disk, {}), Verdict::kRefused);
  EXPECT_NE(judge(disk, without(ProtocolStep::kCheckSizes)), Verdict::kRefused)
      << "leaving out the size check goes unnoticed";
}

}  // namespace
}  // namespace stratalog
