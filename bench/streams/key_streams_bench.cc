// SPDX-License-Identifier: Apache-2.0
// What packing sorted pairs into key streams costs on one core, and what taking them apart costs:
//   bench_key_streams FILE      FILE: little-endian uint32, two to a pair, sorted
// Prints one line of JSON: pairs, CPU seconds of the best of three for packing and for a copy of
// the same pairs (the fastest that anything could be). A program of its own; local.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <vector>

#include "datalog/facts/key_streams.h"

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

int run(const char* path) {
  const std::vector<std::uint32_t> numbers = read_numbers(path);
  if (numbers.size() < 2) return 1;
  double pack = 1e9;
  double copy = 1e9;
  std::uint64_t streamed = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    constexpr std::size_t kPiece = std::size_t{1} << 17;  // what stays in cache
    KeyStreams streams(2);
    double start = cpu_seconds();
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < numbers.size(); at += kPiece) {
      streams.add(std::span(numbers).subspan(at, std::min(kPiece, numbers.size() - at)));
      for (std::size_t s = 0; s < streams.size(); ++s) {
        count += streams.stream(s).size();
        streams.stream(s).clear();  // as if a filter had taken them
      }
    }
    streams.finish();
    for (std::size_t s = 0; s < streams.size(); ++s) count += streams.stream(s).size();
    pack = std::min(pack, cpu_seconds() - start);
    streamed = count;
    std::vector<std::uint32_t> piece(kPiece);
    start = cpu_seconds();
    for (std::size_t at = 0; at < numbers.size(); at += kPiece) {
      const std::size_t some = std::min(kPiece, numbers.size() - at);
      std::memcpy(piece.data(), numbers.data() + at, some * 4);
      count += piece[some / 2];
    }
    copy = std::min(copy, cpu_seconds() - start);
    if (count == 0) return 1;
  }
  std::printf(
      "{\"pairs\": %zu, \"numbers_in_streams\": %llu, \"pack_seconds\": %.6f, "
      "\"copy_seconds\": %.6f}\n",
      numbers.size() / 2, static_cast<unsigned long long>(streamed), pack, copy);
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
