// SPDX-License-Identifier: Apache-2.0
// The Store on a real file system: short and interrupted transfers, errors with path and offset,
// links and FIFOs refused, files beyond 4 GiB, locks; and that the store in memory behaves the
// same.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "write/errno_status.h"
#include "write/memory_store.h"
#include "write/posix_calls.h"
#include "write/public_files.h"
#include "write/store.h"

namespace stratalog {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "stratalog-store-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

// The contract that both stores keep.
void check_contract(Store& store) {
  EXPECT_EQ(store.open("a", OpenMode::kRead).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store.open("a", OpenMode::kWriteExisting).status().code(), StatusCode::kNotFound);
  auto file = store.open("a", OpenMode::kCreateExclusive);
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  EXPECT_EQ(store.open("a", OpenMode::kCreateExclusive).status().code(),
            StatusCode::kAlreadyExists);
  EXPECT_TRUE(file.value()->write_at(3, bytes_of("def")).is_ok());
  EXPECT_TRUE(file.value()->write_at(0, bytes_of("abc")).is_ok());
  EXPECT_TRUE(file.value()->sync().is_ok());
  EXPECT_TRUE(file.value()->close().is_ok());
  auto read = store.open("a", OpenMode::kRead);
  ASSERT_TRUE(read.is_ok());
  Bytes all(6);
  EXPECT_TRUE(read.value()->read_at(0, all).is_ok());
  EXPECT_EQ(all, bytes_of("abcdef"));
  EXPECT_EQ(read.value()->size_bytes().value(), 6U);
  const Status beyond = read.value()->read_at(4, all);
  EXPECT_EQ(beyond.code(), StatusCode::kCorruption);

  EXPECT_TRUE(store.make_directory("d").is_ok());
  EXPECT_EQ(store.make_directory("d").code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(store.rename("a", "d/b").is_ok());
  EXPECT_EQ(store.info("a").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store.info("d/b").value().size_bytes, 6U);
  EXPECT_EQ(store.info("d").value().kind, FileKind::kDirectory);
  EXPECT_EQ(store.list(".").value(), std::vector<std::string>{"d"});
  EXPECT_EQ(store.list("d").value(), std::vector<std::string>{"b"});
  EXPECT_TRUE(store.sync_directory("d").is_ok());
  EXPECT_TRUE(store.sync_directory(".").is_ok());
  EXPECT_FALSE(store.remove_directory("d").is_ok());
  EXPECT_TRUE(store.remove_file("d/b").is_ok());
  EXPECT_EQ(store.remove_file("d/b").code(), StatusCode::kNotFound);
  EXPECT_TRUE(store.remove_directory("d").is_ok());
  for (const char* bad : {"", "..", "../x", "/tmp/x", "a//b", "./a", "a/.."})
    EXPECT_EQ(store.open(bad, OpenMode::kCreateExclusive).status().code(),
              StatusCode::kInvalidArgument)
        << bad;
  std::uint64_t one = 0;
  std::uint64_t two = 0;
  EXPECT_TRUE(store.random_bytes(std::as_writable_bytes(std::span(&one, 1))).is_ok());
  EXPECT_TRUE(store.random_bytes(std::as_writable_bytes(std::span(&two, 1))).is_ok());
  EXPECT_NE(one, two);
  EXPECT_GT(store.free_bytes().value(), 0U);
}

TEST(Store, BothKeepTheContract) {
  const TemporaryDirectory directory;
  const auto posix = open_posix_store(directory.path(), RootMode::kMustExist);
  ASSERT_TRUE(posix.is_ok());
  check_contract(*posix.value());
  const auto memory = open_memory_store(std::make_shared<MemoryDisk>());
  check_contract(*memory);
}

TEST(PosixStore, MakesItsRootIfAsked) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/deep";
  EXPECT_EQ(open_posix_store(path, RootMode::kMustExist).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(open_posix_store(path, RootMode::kCreate).is_ok());
  struct stat about = {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0700U);
}

TEST(PosixStore, FilesArePrivate) {
  const TemporaryDirectory directory;
  const auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  ASSERT_TRUE(store.value()->open("f", OpenMode::kCreateExclusive).is_ok());
  struct stat about = {};
  ASSERT_EQ(::stat((directory.path() + "/f").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
}

TEST(PosixStore, PublicFilesHaveTheModeOfTheUmask) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/outputs";
  const mode_t before = ::umask(0027);
  const auto store = open_public_store(path, RootMode::kCreate);
  const bool is_made =
      store.is_ok() && store.value()->open("f", OpenMode::kCreateExclusive).is_ok();
  ::umask(before);
  ASSERT_TRUE(is_made);
  struct stat about = {};
  ASSERT_EQ(::stat((path + "/f").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0640U);
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0750U);
}

TEST(PosixStore, FollowsNoLinksAndTouchesNoFifo) {
  const TemporaryDirectory directory;
  const TemporaryDirectory elsewhere;
  const std::string root = directory.path();
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), (root + "/link").c_str()), 0);
  ASSERT_EQ(::symlink("target", (root + "/dangling").c_str()), 0);
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0600), 0);
  const auto opened = open_posix_store(root, RootMode::kMustExist);
  Store& store = *opened.value();
  EXPECT_FALSE(store.open("link/f", OpenMode::kCreateExclusive).is_ok());
  EXPECT_FALSE(store.list("link").is_ok());
  EXPECT_FALSE(store.make_directory("link/d").is_ok());
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
  for (const char* name : {"dangling", "link", "fifo"}) {
    EXPECT_FALSE(store.open(name, OpenMode::kRead).is_ok()) << name;
    EXPECT_FALSE(store.open(name, OpenMode::kWriteExisting).is_ok()) << name;
    EXPECT_EQ(store.open(name, OpenMode::kCreateExclusive).status().code(),
              StatusCode::kAlreadyExists)
        << name;
    EXPECT_EQ(store.info(name).value().kind, FileKind::kOther) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(root + "/target"));
}

TEST(PosixStore, LocksExcludeEachOther) {
  const TemporaryDirectory directory;
  const auto one = open_posix_store(directory.path(), RootMode::kMustExist);
  const auto two = open_posix_store(directory.path(), RootMode::kMustExist);
  auto held = one.value()->lock("LOCK");
  if (held.status().code() == StatusCode::kNotSupported) GTEST_SKIP() << "no locks here";
  ASSERT_TRUE(held.is_ok()) << held.status().to_string();
  EXPECT_EQ(two.value()->lock("LOCK").status().code(), StatusCode::kAlreadyExists);
  held.value().reset();
  EXPECT_TRUE(two.value()->lock("LOCK").is_ok());
}

TEST(PosixStore, LockedBytesAreOfTheFileThatHasTheName) {
  const TemporaryDirectory directory;
  const auto one = open_posix_store(directory.path(), RootMode::kMustExist).value();
  const auto two = open_posix_store(directory.path(), RootMode::kMustExist).value();
  const LockedBytes read{.offset = 1U << 30U, .length = 10, .sharing = LockSharing::kShared};
  const LockedBytes write{.offset = 1U << 30U, .length = 1, .sharing = LockSharing::kExclusive};
  const LockedBytes beside{.offset = 5, .length = 1, .sharing = LockSharing::kExclusive};
  EXPECT_EQ(one->lock_bytes("a", read).status().code(), StatusCode::kNotFound);
  for (const char* name : {"a", "b"})
    ASSERT_TRUE(one->open(name, OpenMode::kCreateExclusive).value()->close().is_ok());
  auto held = one->lock_bytes("a", read);
  if (held.status().code() == StatusCode::kNotSupported) GTEST_SKIP() << "no locks here";
  ASSERT_TRUE(held.is_ok()) << held.status().to_string();
  EXPECT_TRUE(two->lock_bytes("a", read).is_ok());
  EXPECT_TRUE(two->lock_bytes("a", beside).is_ok());
  EXPECT_EQ(two->lock_bytes("a", write).status().code(), StatusCode::kAlreadyExists);
  ASSERT_TRUE(one->rename("b", "a").is_ok());
  EXPECT_TRUE(two->lock_bytes("a", write).is_ok()) << "another file by now";
}

TEST(PosixStore, ANewFileTakesTheModeOfTheOneThatGoes) {
  const TemporaryDirectory directory;
  const auto store = open_public_store(directory.path(), RootMode::kMustExist).value();
  for (const char* name : {"old", "new"})
    ASSERT_TRUE(store->open(name, OpenMode::kCreateExclusive).value()->close().is_ok());
  const auto mode_of_new = [&] {
    struct stat about = {};
    EXPECT_EQ(::stat((directory.path() + "/new").c_str(), &about), 0);
    return about.st_mode & 07777U;
  };
  ASSERT_EQ(::chmod((directory.path() + "/old").c_str(), 0440), 0);
  EXPECT_TRUE(store->take_mode("old", "new", FileModeUse::kWhileWritten).is_ok());
  EXPECT_EQ(mode_of_new(), 0640U);
  EXPECT_TRUE(store->take_mode("old", "new", FileModeUse::kWhenDone).is_ok());
  EXPECT_EQ(mode_of_new(), 0440U);
  EXPECT_TRUE(store->take_mode("none", "new", FileModeUse::kWhenDone).is_ok());
  EXPECT_EQ(mode_of_new(), 0440U) << "nothing is replaced";
}

TEST(PosixStore, OffsetsBeyondFourGibibytes) {
  const TemporaryDirectory directory;
  const auto store = open_posix_store(directory.path(), RootMode::kMustExist);
  auto file = store.value()->open("sparse", OpenMode::kCreateExclusive);
  const std::uint64_t offsets[] = {(std::uint64_t{1} << 31) - 4096, (std::uint64_t{1} << 31),
                                   (std::uint64_t{1} << 31) + 4096, (std::uint64_t{1} << 32) - 40,
                                   (std::uint64_t{1} << 32) + 1,    (std::uint64_t{5} << 30)};
  for (const std::uint64_t offset : offsets) {
    const auto text = bytes_of("@" + std::to_string(offset));
    ASSERT_TRUE(file.value()->write_at(offset, text).is_ok());
  }
  ASSERT_TRUE(file.value()->close().is_ok());
  auto read = store.value()->open("sparse", OpenMode::kRead);
  for (const std::uint64_t offset : offsets) {
    const auto text = bytes_of("@" + std::to_string(offset));
    Bytes found(text.size());
    ASSERT_TRUE(read.value()->read_at(offset, found).is_ok());
    EXPECT_EQ(found, text);
  }
  EXPECT_GT(store.value()->info("sparse").value().size_bytes, std::uint64_t{5} << 30);
  EXPECT_FALSE(read.value()->read_at(~std::uint64_t{0} - 3, std::span<std::byte>()).is_ok());
}

// A file system that transfers a few bytes at a time and interrupts in between.
int interruptions = 0;
ssize_t stingy_pwrite(int fd, const void* bytes, std::size_t count, off_t offset) {
  if (++interruptions % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  return ::pwrite(fd, bytes, std::min<std::size_t>(count, 7), offset);
}
ssize_t stingy_pread(int fd, void* bytes, std::size_t count, off_t offset) {
  if (++interruptions % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  return ::pread(fd, bytes, std::min<std::size_t>(count, 5), offset);
}
int syncs = 0;
int failing_fsync(int /*fd*/) {
  errno = ++syncs == 1 ? EIO : 0;
  return syncs == 1 ? -1 : 0;
}
ssize_t full_pwrite(int /*fd*/, const void* /*bytes*/, std::size_t /*count*/, off_t /*offset*/) {
  errno = ENOSPC;
  return -1;
}
ssize_t empty_pwrite(int /*fd*/, const void* /*bytes*/, std::size_t /*count*/, off_t /*offset*/) {
  return 0;
}

TEST(PosixStore, GoesOnAfterShortAndInterruptedTransfers) {
  const TemporaryDirectory directory;
  PosixCalls calls = posix_calls();
  calls.pwrite = stingy_pwrite;
  calls.pread = stingy_pread;
  const auto store = open_posix_store_with(directory.path(), RootMode::kMustExist, calls);
  Bytes data(1000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31);
  auto file = store.value()->open("f", OpenMode::kCreateExclusive);
  ASSERT_TRUE(file.value()->write_at(11, data).is_ok());
  auto read = store.value()->open("f", OpenMode::kRead);
  Bytes found(data.size());
  ASSERT_TRUE(read.value()->read_at(11, found).is_ok());
  EXPECT_EQ(found, data);
}

TEST(PosixStore, AFailedFsyncKillsTheFileForGood) {
  const TemporaryDirectory directory;
  PosixCalls calls = posix_calls();
  calls.fsync = failing_fsync;
  const auto store = open_posix_store_with(directory.path(), RootMode::kMustExist, calls);
  auto file = store.value()->open("f", OpenMode::kCreateExclusive);
  ASSERT_TRUE(file.value()->write_at(0, bytes_of("x")).is_ok());
  EXPECT_EQ(file.value()->sync().code(), StatusCode::kIoError);
  // The system would say OK now; we do not ask again.
  EXPECT_EQ(file.value()->sync().code(), StatusCode::kIoError);
  EXPECT_EQ(file.value()->write_at(0, bytes_of("x")).code(), StatusCode::kIoError);
  EXPECT_EQ(file.value()->close().code(), StatusCode::kIoError);
  EXPECT_EQ(syncs, 1);
}

TEST(PosixStore, ErrorsNamePathOffsetAndAdvice) {
  const TemporaryDirectory directory;
  PosixCalls calls = posix_calls();
  calls.pwrite = full_pwrite;
  auto store = open_posix_store_with(directory.path(), RootMode::kMustExist, calls);
  auto file = store.value()->open("f", OpenMode::kCreateExclusive);
  const Status full = file.value()->write_at(4096, bytes_of("abc"));
  EXPECT_EQ(full.code(), StatusCode::kNoSpace);
  for (const char* part : {"/f", "3 bytes", "offset 4096", "errno 28", "free some space"})
    EXPECT_NE(full.message().find(part), std::string::npos) << full.message();
  calls.pwrite = empty_pwrite;
  store = open_posix_store_with(directory.path(), RootMode::kMustExist, calls);
  auto second = store.value()->open("g", OpenMode::kCreateExclusive);
  EXPECT_EQ(second.value()->write_at(0, bytes_of("abc")).code(), StatusCode::kIoError);
}

TEST(ErrnoStatus, CodesAndWords) {
  EXPECT_EQ(errno_status(ENOSPC, "write to", "f").code(), StatusCode::kNoSpace);
  EXPECT_EQ(errno_status(EDQUOT, "write to", "f").code(), StatusCode::kNoSpace);
  EXPECT_EQ(errno_status(ENOENT, "open", "f").code(), StatusCode::kNotFound);
  EXPECT_EQ(errno_status(EEXIST, "open", "f").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(errno_status(EIO, "read", "f").code(), StatusCode::kIoError);
  EXPECT_EQ(errno_status(EROFS, "create", "f").code(), StatusCode::kIoError);
  EXPECT_EQ(errno_in_words("ADIOI_GEN_WRITECONTIG(80)...: Other I/O error No space left on device"),
            ENOSPC);
  EXPECT_EQ(errno_in_words("errno = 122, error message = 'Disk quota exceeded', buf = 0x55b4"),
            EDQUOT);
  EXPECT_EQ(errno_in_words("MPI_ERR_ARG: invalid argument of some other kind"), std::nullopt);
}

}  // namespace
}  // namespace stratalog
