// SPDX-License-Identifier: Apache-2.0
// What packing sorted pairs into key streams costs on one core, alone and with the chunks of mode
// and export hdf5-streams deflated:
//   bench_key_streams FILE      FILE: little-endian uint32, two to a pair, sorted
// Prints one line of JSON: pairs, CPU seconds of the best of three for packing, for packing and
// encoding, and for a copy of the same pairs (the fastest that anything could be). A program of
// its own; local.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <span>
#include <vector>

#include "datalog/facts/key_streams.h"
#include "encode/shuffled_chunk.h"

namespace stratalog::datalog {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<std::uint32_t> read_numbers(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<std::uint32_t> numbers(file ? static_cast<std::size_t>(file.tellg()) / 4 : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * 4));
  return numbers;
}

constexpr std::size_t kPiece = std::size_t{1} << 17;  // numbers; what stays in cache
constexpr std::size_t kChunk = std::size_t{1} << 18;  // numbers; of an export
constexpr int kRepeats = 3;

std::uint64_t numbers_in(KeyStreams& streams) {
  std::uint64_t count = 0;
  for (std::size_t s = 0; s < streams.size(); ++s) count += streams.stream(s).size();
  return count;
}

// Calls take(stream), which is to empty what it takes, after each piece and at the end.
template <typename Take>
void pack(std::span<const std::uint32_t> numbers, Take&& take) {
  KeyStreams streams(2);
  for (std::size_t at = 0; at < numbers.size(); at += kPiece) {
    streams.add(numbers.subspan(at, std::min(kPiece, numbers.size() - at)));
    take(streams, false);
  }
  streams.finish();
  take(streams, true);
}

// Seconds of the best.
template <typename Work>
double best_of(Work&& work) {
  double best = 1e9;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double start = cpu_seconds();
    work();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

int run(const char* path) {
  const std::vector<std::uint32_t> numbers = read_numbers(path);
  if (numbers.size() < 2) return 1;
  std::uint64_t streamed = 0;
  const double packing = best_of([&] {
    streamed = 0;
    pack(numbers, [&](KeyStreams& streams, bool) {
      streamed += numbers_in(streams);
      for (std::size_t s = 0; s < streams.size(); ++s) streams.stream(s).clear();
    });
  });
  std::uint64_t stored = 0;
  const double encoding = best_of([&] {
    ChunkDeflater deflater(1);
    std::vector<std::byte> chunk;
    stored = 0;
    pack(numbers, [&](KeyStreams& streams, bool is_end) {
      for (std::size_t s = 0; s < streams.size(); ++s) {
        KeyStreams::Stream& stream = streams.stream(s);
        if (is_end) stream.resize((stream.size() + kChunk - 1) / kChunk * kChunk, 0);
        std::size_t at = 0;
        for (; at + kChunk <= stream.size(); at += kChunk) {
          chunk.clear();
          stored += deflater.append(std::span(stream).subspan(at, kChunk), chunk);
        }
        stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(at));
      }
    });
  });
  std::uint64_t seen = 0;
  std::vector<std::uint32_t> piece(kPiece);
  const double copying = best_of([&] {
    for (std::size_t at = 0; at < numbers.size(); at += kPiece) {
      const std::size_t some = std::min(kPiece, numbers.size() - at);
      std::memcpy(piece.data(), numbers.data() + at, some * 4);
      seen += piece[some / 2];
    }
  });
  if (streamed + seen == 0) return 1;
  std::printf(
      "{\"pairs\": %zu, \"numbers_in_streams\": %llu, \"stored_bytes\": %llu, "
      "\"pack_seconds\": %.6f, \"pack_and_encode_seconds\": %.6f, \"copy_seconds\": %.6f}\n",
      numbers.size() / 2, static_cast<unsigned long long>(streamed),
      static_cast<unsigned long long>(stored), packing, encoding, copying);
  return 0;
}

}  // namespace
}  // namespace stratalog::datalog

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "bench_key_streams FILE\n");
    return 2;
  }
  return stratalog::datalog::run(words[1]);
}
