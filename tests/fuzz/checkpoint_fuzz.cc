// SPDX-License-Identifier: Apache-2.0
// The parsers behind a checkpoint, past their checksums: the first byte chooses manifest (sealed
// here with the right hash), block payload, footer, rows, pool or streams; the rest is the input.
// Nothing may crash, hang or use memory out of proportion.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "commit/manifest.h"
#include "encode/block_decoder.h"
#include "encode/byte_order.h"
#include "encode/shuffled_chunk.h"
#include "encode/trie_decoder.h"
#include "model/set_walk.h"

namespace {

using namespace stratalog;  // NOLINT: a test program

void check(bool condition) {
  if (!condition) std::abort();
}

void fuzz_manifest(std::string body) {
  body += "\n";
  const std::string sealed = body + fmt::format("{{\"xxh3_128\":\"{}\"}}\n", to_hex(hash128(body)));
  const Result<Manifest> manifest = parse_manifest(sealed, CheckManifest::kYes);
  if (!manifest.is_ok()) return;
  const auto& learned = manifest.value().learned;
  check(!learned || (is_sound(learned->costs) && parse_learned(learned_text(*learned)) == learned));
  for (const ManifestShard& shard : manifest.value().shards)
    check(shard.relation < manifest.value().relations.size() && shard.bytes() < (1ULL << 63) &&
          (!shard.is_streams() || shard.rows_before(shard.blocks) == shard.rows));
}

// What any visitor may rely on.
Status check_group(const TupleGroup& group, std::size_t prefix_cells) {
  check(group.prefix.size() == prefix_cells && group.set.count > 0 &&
        group.set.count <= kMaxDecodedElements);
  std::uint64_t walked = 0;
  Cell last = 0;
  walk_set(group.set, [&](Cell cell) {
    check(walked == 0 || cell > last);
    last = cell;
    ++walked;
  });
  check(walked == group.set.count);
  return Status::ok();
}

void fuzz_payload(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return;
  const auto prefix_cells = static_cast<std::size_t>(bytes[0]) % 6;
  const auto groups = static_cast<std::uint64_t>(bytes[1]) + 1;
  CompactDecoder decoder(prefix_cells);
  // The number of rows cannot be guessed; the check comes after all groups.
  (void)decoder.decode(bytes.subspan(2), groups, 1,
                       [&](const TupleGroup& group) { return check_group(group, prefix_cells); });
}

void fuzz_pool(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return;
  const auto prefix_cells = (static_cast<std::size_t>(bytes[0]) % 5) + 1;
  const PoolForm form =
      (static_cast<unsigned>(bytes[0]) & 0x80) != 0 ? PoolForm::kGroups : PoolForm::kRuns;
  const auto groups = load_le<std::uint16_t>(bytes.data() + 1) + std::uint64_t{1};
  PoolDecoder decoder(prefix_cells);
  (void)decoder.decode(bytes.subspan(3), form, groups, 1,
                       [&](const TupleGroup& group) { return check_group(group, prefix_cells); });
}

void fuzz_footer(std::span<const std::byte> bytes) {
  const auto footer = parse_shard_footer(bytes, bytes.size() + 256, 0);
  if (footer.is_ok()) check(footer.value().blocks.size() <= bytes.size() / kBlockEntryBytes);
}

void fuzz_rows(std::span<const std::byte> bytes) {
  const std::vector<std::uint32_t> order = {2, 0, 1};
  (void)decode_rows(bytes, order, [&](const TupleGroup& group) { return check_group(group, 2); });
}

// The numbers of a block of mode hdf5-streams: lengths of streams, then what the chunk inflates to
// or is.
void fuzz_streams(std::span<const std::byte> bytes) {
  if (bytes.size() < 24) return;
  const std::size_t arity = (static_cast<std::size_t>(bytes[0]) % 5) + 1;
  std::vector<std::uint32_t> numbers(load_le<std::uint16_t>(bytes.data() + 1) % 4096);
  ChunkInflater inflater;
  if (!inflater.inflate(bytes.subspan(20), numbers).is_ok()) return;
  TrieDecoder<NumberSource> trie(arity);
  std::span<const std::uint32_t> left = numbers;
  std::size_t at = 3;
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;
  trie.for_each_source([&](NumberSource& source) {
    const auto taken = std::min<std::size_t>(left.size(), static_cast<std::size_t>(bytes[at]));
    at = at + 1 == 20 ? 3 : at + 1;
    source.set(left.first(taken));
    left = left.subspan(taken);
    groups = rows;
    rows = taken;
    return true;
  });
  rows += groups;
  if (arity == 1) groups = 1;
  if (!trie.fits(groups, rows)) return;
  (void)trie.decode(load_le<std::uint32_t>(bytes.data() + 16), groups, rows,
                    [&](const TupleGroup& group) { return check_group(group, arity - 1); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 6) {
    case 0:
      fuzz_manifest(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
      break;
    case 1:
      fuzz_payload(bytes);
      break;
    case 2:
      fuzz_footer(bytes);
      break;
    case 3:
      fuzz_rows(bytes);
      break;
    case 4:
      fuzz_pool(bytes);
      break;
    default:
      fuzz_streams(bytes);
      break;
  }
  return 0;
}
