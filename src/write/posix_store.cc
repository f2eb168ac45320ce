// SPDX-License-Identifier: Apache-2.0
// The Store on a real file system. Everything is opened relative to one descriptor of the root,
// component by component and without following symbolic links, so that a planted link cannot lead
// outside. Local; thread-compatible.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "write/errno_status.h"
#include "write/file_descriptor.h"
#include "write/lustre_striping.h"
#include "write/posix_calls.h"
#include "write/posix_file.h"
#include "write/public_files.h"
#include "write/store.h"

namespace stratalog {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

class PosixLock final : public StoreLock {
 public:
  explicit PosixLock(FileDescriptor fd) : fd_(std::move(fd)) {}

 private:
  FileDescriptor fd_;  // an open-file-description lock lives as long as this
};

// An open parent directory and a name in it.
struct Entry {
  FileDescriptor parent;
  std::string name;
};

// What the umask may still take away.
struct Permissions {
  mode_t file = 0600;
  mode_t directory = 0700;
};
constexpr Permissions kPublic{.file = 0666, .directory = 0777};

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

class PosixStore final : public Store {
 public:
  PosixStore(FileDescriptor root, std::string path, const PosixCalls& calls,
             Permissions permissions)
      : root_(std::move(root)), path_(std::move(path)), calls_(calls), permissions_(permissions) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status make_directory(const std::string& path) override;
  Status remove_file(const std::string& path) override { return remove(path, 0); }
  Status remove_directory(const std::string& path) override { return remove(path, AT_REMOVEDIR); }
  Status rename(const std::string& from, const std::string& to) override;
  Status sync_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Status take_mode(const std::string& from, const std::string& to, FileModeUse use) override;
  Result<std::uint64_t> free_bytes() override;
  Result<FileSystemFacts> file_system() override;
  Status stripe_new_files(const std::string& path, const StripingPlan& striping) override {
    return set_new_file_striping(full(path), striping);
  }
  Result<std::unique_ptr<StoreLock>> lock(const std::string& path) override;
  Result<std::unique_ptr<StoreLock>> lock_bytes(const std::string& path,
                                                const LockedBytes& bytes) override;
  Status confirm_root() override;
  Status random_bytes(std::span<std::byte> bytes) override;
  std::string root() const override { return path_; }

 private:
  std::string full(const std::string& path) const {
    return path == "." ? path_ : path_ + "/" + path;
  }
  Result<Entry> enter(const std::string& path) const;
  Result<FileDescriptor> open_directory(const std::string& path) const;
  Status remove(const std::string& path, int flags);

  FileDescriptor root_;
  std::string path_;
  PosixCalls calls_;
  Permissions permissions_;
};

Result<Entry> PosixStore::enter(const std::string& path) const {
  if (!is_store_path(path) || path == ".")
    return Status::invalid_argument(fmt::format("\"{}\" is not a path inside {}", path, path_));
  Entry entry;
  entry.parent = FileDescriptor(::openat(root_.get(), ".", kDirectoryFlags));
  std::size_t begin = 0;
  while (entry.parent.is_open()) {
    const std::size_t slash = path.find('/', begin);
    if (slash == std::string::npos) break;
    const std::string part = path.substr(begin, slash - begin);
    entry.parent = FileDescriptor(::openat(entry.parent.get(), part.c_str(), kDirectoryFlags));
    begin = slash + 1;
  }
  if (!entry.parent.is_open()) return errno_status(errno, "open the directory of", full(path));
  entry.name = path.substr(begin);
  return entry;
}

Result<FileDescriptor> PosixStore::open_directory(const std::string& path) const {
  FileDescriptor fd;
  if (path == ".") {
    fd = FileDescriptor(::openat(root_.get(), ".", kDirectoryFlags));
  } else {
    STRATALOG_ASSIGN_OR_RETURN(const Entry entry, enter(path));
    fd = FileDescriptor(::openat(entry.parent.get(), entry.name.c_str(), kDirectoryFlags));
  }
  if (!fd.is_open()) return errno_status(errno, "open directory", full(path));
  return fd;
}

Result<std::unique_ptr<File>> PosixStore::open(const std::string& path, OpenMode mode) {
  STRATALOG_ASSIGN_OR_RETURN(const Entry entry, enter(path));
  // O_NONBLOCK: a FIFO planted under our name must not make us wait; regular files ignore it.
  int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  switch (mode) {
    case OpenMode::kRead:
      flags |= O_RDONLY;
      break;
    case OpenMode::kCreateExclusive:
      flags |= O_WRONLY | O_CREAT | O_EXCL;
      break;
    case OpenMode::kWriteExisting:
      flags |= O_WRONLY;
      break;
  }
  FileDescriptor fd(::openat(entry.parent.get(), entry.name.c_str(), flags, permissions_.file));
  if (!fd.is_open())
    return errno_status(errno, mode == OpenMode::kCreateExclusive ? "create" : "open", full(path));
  struct stat about = {};
  if (::fstat(fd.get(), &about) != 0) return errno_status(errno, "examine", full(path));
  if (!S_ISREG(about.st_mode))
    return Status::io_error(full(path) + " is not a regular file; it is not touched");
  return std::unique_ptr<File>(std::make_unique<PosixFile>(std::move(fd), full(path), calls_));
}

Status PosixStore::make_directory(const std::string& path) {
  STRATALOG_ASSIGN_OR_RETURN(const Entry entry, enter(path));
  if (::mkdirat(entry.parent.get(), entry.name.c_str(), permissions_.directory) != 0)
    return errno_status(errno, "make directory", full(path));
  return Status::ok();
}

Status PosixStore::remove(const std::string& path, int flags) {
  STRATALOG_ASSIGN_OR_RETURN(const Entry entry, enter(path));
  if (::unlinkat(entry.parent.get(), entry.name.c_str(), flags) != 0)
    return errno_status(errno, "remove", full(path));
  return Status::ok();
}

Status PosixStore::rename(const std::string& from, const std::string& to) {
  STRATALOG_ASSIGN_OR_RETURN(const Entry source, enter(from));
  STRATALOG_ASSIGN_OR_RETURN(const Entry target, enter(to));
  if (::renameat(source.parent.get(), source.name.c_str(), target.parent.get(),
                 target.name.c_str()) != 0)
    return errno_status(errno, fmt::format("rename {} to", full(from)), full(to));
  return Status::ok();
}

Status PosixStore::sync_directory(const std::string& path) {
  STRATALOG_ASSIGN_OR_RETURN(const FileDescriptor fd, open_directory(path));
  if (calls_.fsync(fd.get()) != 0)
    return errno_status(errno, "make durable (fsync) directory", full(path));
  return Status::ok();
}

Result<std::vector<std::string>> PosixStore::list(const std::string& path) {
  STRATALOG_ASSIGN_OR_RETURN(FileDescriptor fd, open_directory(path));
  DIR* directory = ::fdopendir(fd.get());
  if (directory == nullptr) return errno_status(errno, "list", full(path));
  (void)fd.release();  // closedir closes it
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(directory, ::closedir);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int error_number = errno;
  if (error_number != 0) return errno_status(error_number, "list", full(path));
  std::sort(names.begin(), names.end());
  return names;
}

Result<FileInfo> PosixStore::info(const std::string& path) {
  struct stat about = {};
  int failed = 0;
  if (path == ".") {
    failed = ::fstat(root_.get(), &about);
  } else {
    STRATALOG_ASSIGN_OR_RETURN(const Entry entry, enter(path));
    failed = ::fstatat(entry.parent.get(), entry.name.c_str(), &about, AT_SYMLINK_NOFOLLOW);
  }
  if (failed != 0) return errno_status(errno, "examine", full(path));
  FileInfo info;
  info.kind = S_ISREG(about.st_mode)   ? FileKind::kRegular
              : S_ISDIR(about.st_mode) ? FileKind::kDirectory
                                       : FileKind::kOther;
  info.size_bytes = static_cast<std::uint64_t>(about.st_size);
  return info;
}

Status PosixStore::take_mode(const std::string& from, const std::string& to, FileModeUse use) {
  constexpr mode_t kPermissionBits = 0777;
  STRATALOG_ASSIGN_OR_RETURN(const Entry source, enter(from));
  STRATALOG_ASSIGN_OR_RETURN(const Entry target, enter(to));
  struct stat about = {};
  if (::fstatat(source.parent.get(), source.name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Status::ok() : errno_status(errno, "examine", full(from));
  if (!S_ISREG(about.st_mode)) return Status::ok();
  mode_t wanted = about.st_mode & kPermissionBits;
  if (use == FileModeUse::kWhileWritten) wanted |= S_IRUSR | S_IWUSR;
  if (::fstatat(target.parent.get(), target.name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_status(errno, "examine", full(to));
  // Some file systems have one mode for all, and refuse others.
  if ((about.st_mode & kPermissionBits) == wanted) return Status::ok();
  const FileDescriptor fd(::openat(target.parent.get(), target.name.c_str(),
                                   O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return errno_status(errno, "open", full(to));
  if (::fchmod(fd.get(), wanted) != 0)
    return errno_status(errno, fmt::format("give the mode of {} to", full(from)), full(to));
  return Status::ok();
}

Result<std::uint64_t> PosixStore::free_bytes() {
  struct statvfs about = {};
  if (::fstatvfs(root_.get(), &about) != 0) return errno_status(errno, "examine", path_);
  return static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize;
}

Result<FileSystemFacts> PosixStore::file_system() {
  struct statfs about = {};
  struct stat root = {};
  if (::fstatfs(root_.get(), &about) != 0 || ::fstat(root_.get(), &root) != 0)
    return errno_status(errno, "examine the file system of", path_);
  return facts_of_statfs(static_cast<std::uint64_t>(about.f_type),
                         static_cast<std::uint64_t>(about.f_bsize),
                         static_cast<std::uint64_t>(root.st_blksize));
}

Result<std::unique_ptr<StoreLock>> PosixStore::lock(const std::string& path) {
  STRATALOG_ASSIGN_OR_RETURN(const Entry entry, enter(path));
  FileDescriptor fd(::openat(entry.parent.get(), entry.name.c_str(),
                             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!fd.is_open()) return errno_status(errno, "open", full(path));
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_SETLK, &range) == 0)
    return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(std::move(fd)));
  if (errno == EAGAIN || errno == EACCES)
    return Status::already_exists(full(path) + " is locked by another process");
  // ENOLCK, ENOSYS, EINVAL, 524 on some network file systems: no locks here.
  return Status::not_supported(errno_status(errno, "lock", full(path)).message());
}

Result<std::unique_ptr<StoreLock>> PosixStore::lock_bytes(const std::string& path,
                                                          const LockedBytes& bytes) {
  const bool is_shared = bytes.sharing == LockSharing::kShared;
  const int flags = (is_shared ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  constexpr int kMostReplacements = 100;
  for (int tries = 0; tries < kMostReplacements; ++tries) {
    STRATALOG_ASSIGN_OR_RETURN(const Entry entry, enter(path));
    FileDescriptor fd(::openat(entry.parent.get(), entry.name.c_str(), flags));
    if (!fd.is_open()) {
      Status refused = errno_status(errno, "open", full(path));
      return refused.code() == StatusCode::kNotFound ? refused
                                                     : Status::not_supported(refused.message());
    }
    struct flock range = {};
    range.l_type = is_shared ? F_RDLCK : F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = static_cast<off_t>(bytes.offset);
    range.l_len = static_cast<off_t>(bytes.length);
    if (::fcntl(fd.get(), F_OFD_SETLK, &range) != 0) {
      if (errno == EAGAIN || errno == EACCES)
        return Status::already_exists(full(path) + " is locked by another process");
      return Status::not_supported(errno_status(errno, "lock", full(path)).message());
    }
    // A file that was replaced between the two is not the one to lock.
    struct stat locked = {};
    struct stat named = {};
    if (::fstat(fd.get(), &locked) != 0) return errno_status(errno, "examine", full(path));
    if (::fstatat(entry.parent.get(), entry.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_same_file(locked, named))
      return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(std::move(fd)));
  }
  return Status::not_supported(full(path) + " cannot be locked: it never is what was opened");
}

Status PosixStore::confirm_root() {
  struct stat held = {};
  struct stat named = {};
  if (::fstat(root_.get(), &held) != 0) return errno_status(errno, "examine", path_);
  // A name that cannot be looked up for another reason than that it is gone says nothing.
  if (::stat(path_.c_str(), &named) != 0 && errno != ENOENT && errno != ENOTDIR)
    return Status::ok();
  if (is_same_file(named, held)) return Status::ok();
  // Directories of layered file systems (overlayfs) may get another number once something is
  // written into them; a file that this store has is then the same by either way.
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<std::string> names, list("."));
  for (const std::string& name : names)
    if (::fstatat(root_.get(), name.c_str(), &held, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(held.st_mode) && ::lstat(full(name).c_str(), &named) == 0 &&
        is_same_file(named, held))
      return Status::ok();
  return Status::not_found(fmt::format(
      "{} is not the directory any more that this job opened: it was moved, removed or replaced "
      "while the job ran; what the job had written lies where it was moved to",
      path_));
}

Status PosixStore::random_bytes(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min<std::size_t>(bytes.size(), 256);
    if (::getentropy(bytes.data(), piece) != 0)
      return errno_status(errno, "read random bytes from", "the system");
    bytes = bytes.subspan(piece);
  }
  return Status::ok();
}

// The root is the user's word and may be a link, which what lies below may not: so not errno's
// advice.
Status refused_root(int error, std::string_view action, const std::string& root) {
  Status status = errno_status(error, action, root);
  if (error != ENOENT && error != ENOTDIR) return status;
  std::error_code no_link;
  const std::string target = std::filesystem::read_symlink(root, no_link).string();
  std::string why = "it, or what it lies in, is no directory";
  if (!target.empty())
    why = fmt::format("it is a link to {}, which is {}", target,
                      error == ENOENT ? "not there" : "no directory");
  else if (error == ENOENT)
    return status;
  return {status.code(), fmt::format("cannot {} {}: {}", action, root, why)};
}

// Makes the root if it is not there, and its name durable.
Status make_root(const std::string& root, const PosixCalls& calls, mode_t permissions) {
  const bool is_new = ::mkdir(root.c_str(), permissions) == 0;
  if (!is_new && errno != EEXIST) {
    const int error = errno;
    Status refused = refused_root(error, "make directory", root);
    // Not that something is not there yet: nothing can be.
    if (refused.code() != StatusCode::kNotFound) return refused;
    return Status::io_error(error == ENOENT
                                ? fmt::format("cannot make directory {}: what it lies in does not "
                                              "exist; make that first",
                                              root)
                                : refused.message());
  }
  // An empty one that is there may be of a job that ended before its name was durable.
  std::error_code unknown;
  if (!is_new && !std::filesystem::is_empty(root, unknown)) return Status::ok();
  std::string parent = root;
  while (parent.size() > 1 && parent.back() == '/') parent.pop_back();
  const std::size_t slash = parent.rfind('/');
  parent = slash == std::string::npos ? "." : parent.substr(0, std::max<std::size_t>(slash, 1));
  const FileDescriptor fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Whose parent nobody here may open was made by somebody else.
  if ((!fd.is_open() || calls.fsync(fd.get()) != 0) && is_new)
    return errno_status(errno, "make durable (fsync) directory", parent);
  return Status::ok();
}

Result<std::unique_ptr<Store>> open_store(const std::string& root, RootMode mode,
                                          const PosixCalls& calls, Permissions permissions) {
  if (root.empty()) return Status::invalid_argument("the directory's name is empty");
  if (mode == RootMode::kCreate)
    STRATALOG_RETURN_IF_ERROR(make_root(root, calls, permissions.directory));
  FileDescriptor fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return refused_root(errno, "open directory", root);
  return std::unique_ptr<Store>(
      std::make_unique<PosixStore>(std::move(fd), root, calls, permissions));
}

}  // namespace

PosixCalls posix_calls() { return {.pwrite = ::pwrite, .pread = ::pread, .fsync = ::fsync}; }

Result<std::unique_ptr<Store>> open_posix_store_with(const std::string& root, RootMode mode,
                                                     const PosixCalls& calls) {
  return open_store(root, mode, calls, {});
}

Result<std::unique_ptr<Store>> open_posix_store(const std::string& root, RootMode mode) {
  return open_posix_store_with(root, mode, posix_calls());
}

Result<std::unique_ptr<Store>> open_public_store(const std::string& root, RootMode mode) {
  return open_store(root, mode, posix_calls(), kPublic);
}

bool leads_to_open_file(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  std::error_code error;
  fs::path at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path folder = fs::canonical(at.has_parent_path() ? at.parent_path() : ".", error);
    if (error) return false;
    const fs::path target = fs::read_symlink(folder / at.filename(), error);
    if (error) return false;  // no link
    if (folder.string().starts_with("/proc/")) return true;
    at = folder / target;  // which is `target` where that is absolute
  }
  return false;
}

}  // namespace stratalog
