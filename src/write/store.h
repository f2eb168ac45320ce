// SPDX-License-Identifier: Apache-2.0
// Store: what the project may ask of a file system. One of its two virtual interfaces (the other is
// Comm), so that tests can record, crash and fail every call. All file I/O of the library goes
// through it; nothing else opens files. Paths are relative to the store's root. Local calls,
// thread-compatible; no retries of fsync (a failed fsync kills the file for good, see
// docs/formats/checkpoint.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "policy/file_system_facts.h"

namespace stratalog {

struct StripingPlan;

enum class OpenMode : std::uint8_t {
  kRead,  // must exist; never follows a symbolic link in the last component
  kCreateExclusive,  // must not exist (O_CREAT | O_EXCL | O_NOFOLLOW), mode 0600
  kWriteExisting,  // must exist; opened for writing at offsets (shared-file mode)
};

enum class FileKind : std::uint8_t { kRegular, kDirectory, kOther };

enum class FileModeUse : std::uint8_t { kWhileWritten, kWhenDone };

struct FileInfo {
  FileKind kind = FileKind::kRegular;
  std::uint64_t size_bytes = 0;
};

class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;  // closes; errors are lost, so writers call close()

  // Writes all bytes (looping over short writes and EINTR, pieces <= 1 GiB) or fails.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Reads exactly bytes.size() bytes or fails (Corruption if the file ends early).
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual Result<std::uint64_t> size_bytes() = 0;
  // Hints, which may do nothing: bytes that will be read front to back; a few MiB that the disk
  // should begin with, as they will be read soon; and written bytes that will not change again and
  // should be on their way to the disk before sync() waits for them.
  virtual void will_read(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  virtual void begin_reading(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  virtual void begin_writeback(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  // fsync. One attempt; after an error the file is dead.
  virtual Status sync() = 0;
  virtual Status close() = 0;
};

enum class SyncFiles : std::uint8_t { kYes, kNo };

// Syncs if asked and closes, whatever of it fails; the first error.
Status close_file(File& file, SyncFiles sync);

// A lock that is held until it is destroyed.
class StoreLock {
 public:
  StoreLock() = default;
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;
  virtual ~StoreLock() = default;
};

enum class LockSharing : std::uint8_t { kShared, kExclusive };

struct LockedBytes {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  LockSharing sharing = LockSharing::kShared;
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Status make_directory(const std::string& path) = 0;  // AlreadyExists if there
  virtual Status remove_file(const std::string& path) = 0;
  virtual Status remove_directory(const std::string& path) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // fsync of the directory itself; makes creations, renames and removals inside it durable.
  virtual Status sync_directory(const std::string& path) = 0;
  // Names (not paths), ascending.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual Result<FileInfo> info(const std::string& path) = 0;  // does not follow symbolic links
  virtual Result<std::uint64_t> free_bytes() = 0;
  // Gives a new file the permission bits of the one that it is to replace, if that is there: all of
  // them, or, while its maker still opens it, with the owner's right to read and write. Does
  // nothing where files have no such bits.
  virtual Status take_mode(const std::string& /*from*/, const std::string& /*to*/,
                           FileModeUse /*use*/) {
    return Status::ok();
  }
  // What the file system under the root is like; unknown unless an implementation knows better.
  virtual Result<FileSystemFacts> file_system();
  // Files created in the directory `path` from now on are spread like this; without stripes, as the
  // file system thinks best. NotSupported where that cannot be said.
  virtual Status stripe_new_files(const std::string& path, const StripingPlan& striping);
  // Takes an advisory lock on `path`, creating it. AlreadyExists if another process holds it;
  // NotSupported where the file system has no locks, so nothing may depend on it for safety.
  virtual Result<std::unique_ptr<StoreLock>> lock(const std::string& path);
  // Takes an advisory lock on some bytes of the file at `path`, there or beyond its end, as other
  // programs take them that agree on which. AlreadyExists if another one holds it, NotFound if
  // there is no file, NotSupported where there are no locks or the file may not be opened as that
  // needs.
  virtual Result<std::unique_ptr<StoreLock>> lock_bytes(const std::string& path,
                                                        const LockedBytes& bytes);
  // Whether the root is still what its name leads to. NotFound if somebody has moved it away or put
  // another directory in its place: what is written then does not arrive where readers look for it.
  virtual Status confirm_root() { return Status::ok(); }
  // Unpredictable bytes for nonces and ids; stores for tests give reproducible ones.
  virtual Status random_bytes(std::span<std::byte> bytes) = 0;
  // Where the store's root is, for messages.
  virtual std::string root() const = 0;
  // Where `path` lies, or would lie if it were created now, for MPI-IO and HDF5, which open files
  // by name.
  virtual std::string name_of(const std::string& path) { return root() + "/" + path; }
};

// True for a relative path of one or more components, none empty, "." or ".."; the root itself is
// ".".
bool is_store_path(std::string_view path);

// The real file system below `root` (which must exist unless `create` made it). Local.
enum class RootMode : std::uint8_t { kMustExist, kCreate };
Result<std::unique_ptr<Store>> open_posix_store(const std::string& root, RootMode mode);

}  // namespace stratalog
