// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/gzip_members.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#ifdef STRATALOG_HAS_LIBDEFLATE
#include <libdeflate.h>
#endif

namespace stratalog::datalog {

#ifdef STRATALOG_HAS_LIBDEFLATE

namespace {

constexpr std::uint64_t kMostFileBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kMostTextBytes = std::uint64_t{64} << 20;
// What is tried where nothing is known; our own outputs have members of so much text.
constexpr std::uint64_t kUsualTextBytes = std::uint64_t{1} << 20;
// No text is smaller by more than that.
constexpr std::uint64_t kMostRatio = 1032;
// A file ends with the size of its last text, modulo 2^32.
constexpr std::size_t kSizeBytes = 4;

class WholeMembers final : public GzipMembers {
 public:
  WholeMembers(std::vector<std::byte> packed, std::unique_ptr<char[]> room)
      : packed_(std::move(packed)), text_(std::move(room)), room_(kUsualTextBytes) {}

  Status start() {
    tables_.reset(libdeflate_alloc_decompressor());
    if (tables_ == nullptr) return Status::no_space("not enough memory to inflate gzip files");
    return Status::ok();
  }

  std::uint64_t offset() const override { return at_; }

  bool next(std::span<const char>& text) override {
    for (;;) {
      std::size_t read = 0;
      std::size_t written = 0;
      const libdeflate_result outcome =
          libdeflate_gzip_decompress_ex(tables_.get(), packed_.data() + at_, packed_.size() - at_,
                                        text_.get(), room_, &read, &written);
      if (outcome == LIBDEFLATE_SUCCESS) {
        at_ += read;
        text = std::span<const char>(text_.get(), written);
        return true;
      }
      if (outcome != LIBDEFLATE_INSUFFICIENT_SPACE || !make_room()) return false;
    }
  }

 private:
  struct Free {
    void operator()(libdeflate_decompressor* it) const { libdeflate_free_decompressor(it); }
  };

  // More than there is, for what did not fit. As much as the last text has, where that may be this
  // one.
  bool make_room() {
    const std::uint64_t most =
        std::min<std::uint64_t>(kMostTextBytes, (packed_.size() - at_) * kMostRatio);
    if (room_ >= most) return false;
    std::uint32_t last = 0;
    std::memcpy(&last, packed_.data() + packed_.size() - kSizeBytes, kSizeBytes);
    room_ = last > room_ && last <= most ? last : std::min<std::uint64_t>(most, room_ * 2);
    text_.reset();  // before there is another one
    text_.reset(new (std::nothrow) char[room_]);
    return text_ != nullptr;
  }

  std::vector<std::byte> packed_;
  std::uint64_t at_ = 0;
  std::unique_ptr<char[]> text_;
  std::uint64_t room_;
  std::unique_ptr<libdeflate_decompressor, Free> tables_;
};

}  // namespace

Result<std::unique_ptr<GzipMembers>> GzipMembers::open(File& file, std::uint64_t size_bytes) {
  if (size_bytes < kSizeBytes || size_bytes > kMostFileBytes) return std::unique_ptr<GzipMembers>();
  std::vector<std::byte> packed(size_bytes);
  STRATALOG_RETURN_IF_ERROR(file.read_at(0, packed));
  auto members = std::make_unique<WholeMembers>(
      std::move(packed), std::make_unique_for_overwrite<char[]>(kUsualTextBytes));
  STRATALOG_RETURN_IF_ERROR(members->start());
  return std::unique_ptr<GzipMembers>(std::move(members));
}

#else

Result<std::unique_ptr<GzipMembers>> GzipMembers::open(File& /*file*/,
                                                       std::uint64_t /*size_bytes*/) {
  return std::unique_ptr<GzipMembers>();
}

#endif

}  // namespace stratalog::datalog
