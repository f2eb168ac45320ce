// SPDX-License-Identifier: Apache-2.0
// What hashing, encoding and decoding a relation costs on one core, from a checkpoint's relation
// held in memory as groups (the encoders' input). Prints CPU seconds, raw bytes a second (8 bytes a
// cell) and bytes a tuple.
//   bench_codec DIR RELATION [--tuples N] [--repeat N]
// --tuples N takes the first N only (default 200 million). A program of its own; local.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "encode/block_decoder.h"
#include "encode/shard_encoder.h"
#include "model/multiset_hash.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

// Groups as the engine hands them out: rows of up to 512 cells as bitmaps or offsets.
class HeldGroups {
 public:
  explicit HeldGroups(std::size_t prefix_cells) : prefix_cells_(prefix_cells) {}

  // Sets that lie within one row of 512 cells, counted from `first_cell`, are held as the engine's
  // pivot rows are: runs, offsets or a bitmap, from the row's first cell.
  void add_row(const TupleGroup& group, Cell first_cell) {
    std::vector<Cell> cells;
    walk_set(group.set, [&](Cell cell) { cells.push_back(cell); });
    const Cell base = first_cell + ((cells.front() - first_cell) / 512 * 512);
    if (cells.back() - base >= 512) return add(group);
    std::vector<std::uint16_t> offsets;
    std::vector<std::uint16_t> runs;
    std::vector<std::uint64_t> words(8);
    for (const Cell cell : cells) {
      const auto offset = static_cast<std::uint16_t>(cell - base);
      words[offset / 64] |= std::uint64_t{1} << (offset % 64);
      if (!offsets.empty() && offsets.back() + 1 == offset)
        ++runs.back();
      else
        runs.insert(runs.end(), {offset, 0});
      offsets.push_back(offset);
    }
    SetView set;
    set.base = base;
    set.count = cells.size();
    if (runs.size() < cells.size() && runs.size() <= 32) {
      set.kind = SetKind::kRuns;
      set.offsets = runs;
    } else if (cells.size() <= 32) {
      set.kind = SetKind::kOffsets;
      set.offsets = offsets;
    } else {
      set.kind = SetKind::kBitmap;
      set.words = words;
    }
    add({.prefix = group.prefix, .set = set});
  }

  void add(const TupleGroup& group) {
    prefixes_.insert(prefixes_.end(), group.prefix.begin(), group.prefix.end());
    const SetView& set = group.set;
    Held held{.kind = set.kind, .base = set.base, .at = 0, .size = 0, .count = set.count};
    switch (set.kind) {
      case SetKind::kArray:
        held.at = values_.size();
        held.size = set.values.size();
        values_.insert(values_.end(), set.values.begin(), set.values.end());
        break;
      case SetKind::kOffsets:
      case SetKind::kRuns:
        held.at = offsets_.size();
        held.size = set.offsets.size();
        offsets_.insert(offsets_.end(), set.offsets.begin(), set.offsets.end());
        break;
      case SetKind::kBitmap:
        held.at = words_.size();
        held.size = set.words.size();
        words_.insert(words_.end(), set.words.begin(), set.words.end());
        break;
    }
    groups_.push_back(held);
    tuples_ += set.count;
  }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    const Cell* prefix = prefixes_.data();
    for (const Held& held : groups_) {
      SetView set;
      set.kind = held.kind;
      set.base = held.base;
      set.count = held.count;
      if (held.kind == SetKind::kArray)
        set.values = std::span(values_).subspan(held.at, held.size);
      else if (held.kind != SetKind::kBitmap)
        set.offsets = std::span(offsets_).subspan(held.at, held.size);
      else
        set.words = std::span(words_).subspan(held.at, held.size);
      visit(TupleGroup{.prefix = {prefix, prefix_cells_}, .set = set});
      prefix += prefix_cells_;
    }
  }

  std::uint64_t tuples() const { return tuples_; }
  std::uint64_t groups() const { return groups_.size(); }

 private:
  struct Held {
    SetKind kind;
    Cell base;
    std::size_t at;
    std::size_t size;
    std::uint64_t count;
  };
  std::size_t prefix_cells_;
  std::vector<Cell> prefixes_;
  std::vector<Held> groups_;
  std::vector<Cell> values_;
  std::vector<std::uint16_t> offsets_;
  std::vector<std::uint64_t> words_;
  std::uint64_t tuples_ = 0;
};

struct Settings {
  std::string directory;
  std::string relation;
  std::uint64_t tuples = 200'000'000;
  int repeat = 3;
};

double cpu_seconds(const std::function<void()>& work, int repeat) {
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) {
    const std::clock_t start = std::clock();
    work();
    seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void report(const char* what, double seconds, std::uint64_t tuples, std::uint64_t raw_bytes,
            std::uint64_t bytes) {
  std::printf("%-22s %8.3f s  %7.3f ns/tuple  %8.2f GB/s raw", what, seconds,
              seconds * 1e9 / static_cast<double>(tuples),
              static_cast<double>(raw_bytes) / seconds / 1e9);
  if (bytes != 0)
    std::printf("  %8.4f B/tuple  %7.1fx", static_cast<double>(bytes) / static_cast<double>(tuples),
                static_cast<double>(raw_bytes) / static_cast<double>(bytes));
  std::printf("\n");
}

int fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

struct Encoded {
  std::vector<std::byte> bytes;
  std::uint64_t blocks = 0;
};

Status encode_all(const HeldGroups& held, ShardEncoding encoding,
                  std::span<const std::uint32_t> order, Encoded& out) {
  ShardHeader header;
  header.encoding = encoding;
  header.arity = static_cast<std::uint32_t>(order.size());
  out.bytes.clear();
  ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
    out.bytes.insert(out.bytes.end(), piece.begin(), piece.end());
    return Status::ok();
  });
  Status status;
  held.for_each([&](const TupleGroup& group) {
    if (status.is_ok()) status = encoder.add(group);
  });
  STRATALOG_RETURN_IF_ERROR(status);
  STRATALOG_ASSIGN_OR_RETURN(const ShardSummary summary, encoder.finish());
  out.blocks = summary.blocks;
  return Status::ok();
}

Status decode_all(const Encoded& encoded, std::span<const std::uint32_t> order,
                  std::uint64_t& tuples) {
  const auto footer_bytes = std::span(encoded.bytes).last(footer_bytes_for(encoded.blocks));
  STRATALOG_ASSIGN_OR_RETURN(const ShardFooter footer,
                             parse_shard_footer(footer_bytes, encoded.bytes.size(), 0));
  BlockDecoder decoder(order);
  std::size_t at = kShardHeaderBytes;
  tuples = 0;
  for (std::uint32_t b = 0; b < footer.blocks.size(); ++b) {
    const auto block = std::span(encoded.bytes).subspan(at, footer.blocks[b].bytes);
    STRATALOG_ASSIGN_OR_RETURN(const BlockHeader found,
                               open_block(block, footer.blocks[b], 0, b, {}, CheckBlocks::kYes));
    STRATALOG_RETURN_IF_ERROR(decoder.decode(
        found, block.subspan(kBlockHeaderBytes, found.payload_bytes), [&](const TupleGroup& group) {
          tuples += group.set.count;
          return Status::ok();
        }));
    at += block.size();
  }
  return Status::ok();
}

Result<HeldGroups> load(const Settings& settings, std::vector<std::uint32_t>& order) {
  STRATALOG_ASSIGN_OR_RETURN(const auto store,
                             open_posix_store(settings.directory, RootMode::kMustExist));
  STRATALOG_ASSIGN_OR_RETURN(const auto listed, list_generations(*store));
  if (listed.empty()) return Status::not_found("no generation in " + settings.directory);
  const std::string generation = listed.front().name;
  STRATALOG_ASSIGN_OR_RETURN(const StoredState state, inspect_generation(*store, generation));
  for (std::size_t i = 0; i < state.relations.size(); ++i) {
    const StoredRelation& relation = state.relations[i];
    if (relation.name != settings.relation || relation.version != RelationVersion::kTotal) continue;
    order = relation.column_order;
    HeldGroups held(order.size() - 1);
    Cell first = ~Cell{0};
    STRATALOG_RETURN_IF_ERROR(
        for_each_stored_group(*store, generation, i, [&](const TupleGroup& group) {
          bool is_first = true;
          walk_set(group.set, [&](Cell cell) {
            if (is_first) first = std::min(first, cell);
            is_first = false;
          });
          return Status::ok();
        }));
    const Status walked =
        for_each_stored_group(*store, generation, i, [&](const TupleGroup& group) {
          if (held.tuples() >= settings.tuples) return Status::cancelled("enough");
          held.add_row(group, first);
          return Status::ok();
        });
    if (!walked.is_ok() && walked.code() != StatusCode::kCancelled) return walked;
    return held;
  }
  return Status::not_found("no relation " + settings.relation);
}

int run(const Settings& settings) {
  std::vector<std::uint32_t> order;
  const auto loaded = load(settings, order);
  if (!loaded.is_ok()) return fail(loaded.status());
  const HeldGroups& held = loaded.value();
  const std::uint64_t raw = held.tuples() * order.size() * 8;
  std::printf("%s %s: %llu tuples in %llu groups, %zu columns\n", settings.directory.c_str(),
              settings.relation.c_str(), static_cast<unsigned long long>(held.tuples()),
              static_cast<unsigned long long>(held.groups()), order.size());
  const auto timed = [&](const char* what, std::uint64_t bytes, const std::function<void()>& work) {
    report(what, cpu_seconds(work, settings.repeat), held.tuples(), raw, bytes);
  };
  std::uint64_t walked = 0;
  timed("walk", 0, [&] { held.for_each([&](const TupleGroup& g) { walked += g.set.count; }); });
  MultisetHash hash;
  timed("multiset hash", 0, [&] {
    GroupHasher hasher(order);
    hash = {};
    held.for_each([&](const TupleGroup& g) { hash += hasher.hash(g); });
  });
  std::printf("hash %016llx%016llx\n", static_cast<unsigned long long>(hash.high),
              static_cast<unsigned long long>(hash.low));
  for (const ShardEncoding encoding :
       {ShardEncoding::kCompact, ShardEncoding::kStreams, ShardEncoding::kAuto}) {
    Encoded encoded;
    Status status = encode_all(held, encoding, order, encoded);  // sizes, and warms up
    if (!status.is_ok()) return fail(status);
    const std::string name(encoding_name(encoding));
    timed((name + " encode").c_str(), encoded.bytes.size(),
          [&] { status = encode_all(held, encoding, order, encoded); });
    std::uint64_t tuples = 0;
    timed((name + " decode").c_str(), encoded.bytes.size(),
          [&] { status = decode_all(encoded, order, tuples); });
    if (!status.is_ok()) return fail(status);
    if (tuples != held.tuples()) return fail(Status::internal("another number of tuples"));
  }
  return 0;
}

}  // namespace
}  // namespace stratalog

int main(int argc, char** argv) {
  stratalog::Settings settings;
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--tuples" && i + 1 < words.size())
      settings.tuples = std::strtoull(words[++i].c_str(), nullptr, 10);
    else if (words[i] == "--repeat" && i + 1 < words.size())
      settings.repeat = std::atoi(words[++i].c_str());
    else if (settings.directory.empty())
      settings.directory = words[i];
    else
      settings.relation = words[i];
  }
  if (settings.relation.empty()) {
    std::fprintf(stderr, "bench_codec DIR RELATION [--tuples N] [--repeat N]\n");
    return 1;
  }
  return stratalog::run(settings);
}
