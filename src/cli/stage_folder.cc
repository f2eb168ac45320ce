// SPDX-License-Identifier: Apache-2.0
#include "cli/stage_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "commit/store_file.h"
#include "place/checkpoint_names.h"
#include "write/absolute_path.h"

namespace stratalog::cli {
namespace {

constexpr const char* kHomeName = "HOME";
constexpr std::string_view kHomeTemporary = "HOME.new-";  // and a number of the job's own
constexpr int kMostTries = 16;
constexpr std::uint64_t kMostHomeBytes = std::uint64_t{1} << 16U;

// A checkpoint folder: where it is, and the number that the file system gives its file STORE, which
// stays when the folder is moved and which no copy has.
struct HomeMark {
  std::uint64_t inode = 0;
  std::string path;
  friend bool operator==(const HomeMark&, const HomeMark&) = default;
};

std::string text_of(const HomeMark& mark) { return fmt::format("{}\n{}\n", mark.inode, mark.path); }

std::optional<std::uint64_t> store_inode(const std::string& home) {
  struct stat about = {};
  if (::stat((home + "/STORE").c_str(), &about) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(about.st_ino);
}

std::optional<HomeMark> mark_in(Store& folder) {
  const auto text = read_text_file(folder, kHomeName, kMostHomeBytes);
  if (!text.is_ok()) return std::nullopt;
  HomeMark mark;
  std::size_t digits = 0;
  for (; digits < text.value().size() && text.value()[digits] >= '0' && text.value()[digits] <= '9';
       ++digits)
    mark.inode = (mark.inode * 10) + static_cast<std::uint64_t>(text.value()[digits] - '0');
  if (digits == 0 || text.value().size() < digits + 2 || text.value().back() != '\n')
    return std::nullopt;
  mark.path = text.value().substr(digits + 1, text.value().size() - digits - 2);
  return mark;
}

bool is_unreadable(Store& folder) {
  const StatusCode code = folder.open(kHomeName, OpenMode::kRead).status().code();
  return code != StatusCode::kOk && code != StatusCode::kNotFound;
}

// Several nodes may share a stage by mistake, which is found out later: they write the same, and
// none may fail because another one is at it.
Status write_mark(Store& folder, const HomeMark& mark) {
  if (mark_in(folder) == mark) return Status::ok();
  std::array<std::byte, 8> random{};
  STRATALOG_RETURN_IF_ERROR(folder.random_bytes(random));
  const std::string temporary =
      fmt::format("{}{:016x}", kHomeTemporary, std::bit_cast<std::uint64_t>(random));
  const Status written = write_text_file(folder, temporary, text_of(mark), Durability::kFull);
  const Status named = written.is_ok() ? folder.rename(temporary, kHomeName) : written;
  if (!named.is_ok()) (void)folder.remove_file(temporary);
  return named.is_ok() ? folder.sync_directory(".") : named;
}

enum class Owner : std::uint8_t { kMine, kAnother, kNobody };

Owner owner_of(Store& folder, const HomeMark& mine) {
  const std::optional<HomeMark> mark = mark_in(folder);
  // What is there and cannot be read may be anybody's.
  if (!mark) return is_unreadable(folder) ? Owner::kAnother : Owner::kNobody;
  const bool is_there = store_inode(mark->path) == mark->inode;
  if (mark->inode != mine.inode) return is_there ? Owner::kAnother : Owner::kNobody;
  // Files of two file systems may have the same number.
  std::error_code unknown;
  const bool is_elsewhere = is_there && mark->path != mine.path &&
                            !std::filesystem::equivalent(mark->path, mine.path, unknown);
  return is_elsewhere ? Owner::kAnother : Owner::kMine;
}

// Whether jobs of `home` may have written all that is there: it has seen their epochs.
bool may_be_of(Store& folder, const std::string& home) {
  const auto opened = open_posix_store(home, RootMode::kMustExist);
  if (!opened.is_ok()) return false;
  const auto names = folder.list(".");
  const auto highest = highest_epoch(*opened.value());
  if (!names.is_ok() || !highest.is_ok()) return false;
  return std::ranges::all_of(names.value(), [&](const std::string& name) {
    const auto id = parse_generation_name(name);
    return !id || id->epoch <= highest.value();
  });
}

// `name`, and what begins with it.
std::vector<std::string> folders_of(const std::string& stage, const std::string& name) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(stage, error), end; !error && at != end;
       at.increment(error)) {
    std::string each = at->path().filename().string();
    if (each == name || each.starts_with(name + "-")) found.push_back(std::move(each));
  }
  std::ranges::sort(found);
  return found;
}

// My own, or else one whose checkpoint folder has gone and that may have been mine before that was
// moved. `seen`: those that there were.
Result<std::string> find_folder(const std::string& stage, const std::string& name,
                                const HomeMark& mine, std::vector<std::string>& seen) {
  std::optional<std::string> left;
  seen = folders_of(stage, name);
  for (const std::string& each : seen) {
    const auto folder = open_posix_store(fmt::format("{}/{}", stage, each), RootMode::kMustExist);
    if (!folder.is_ok()) continue;
    const Owner owner = owner_of(*folder.value(), mine);
    if (owner == Owner::kMine) return each;
    if (owner == Owner::kNobody && !left && may_be_of(*folder.value(), mine.path)) left = each;
  }
  if (left) return *left;
  return Status::not_found(fmt::format("{} has no folder of {}", stage, mine.path));
}

// Makes one under a name that is free. AlreadyExists: somebody else has just made it, or another
// one beside those that were `seen`, which may be mine, too: nodes that share a stage by mistake
// must find one folder, or nobody notices.
Result<std::string> make_folder(const std::string& stage, const std::string& name,
                                const HomeMark& mine, const std::vector<std::string>& seen) {
  std::error_code unknown;
  std::string free = name;
  for (std::uint32_t tries = 0; std::filesystem::exists(fmt::format("{}/{}", stage, free), unknown);
       ++tries)
    free = fmt::format("{}-{:x}{}", name, mine.inode, tries == 0 ? "" : fmt::format("-{}", tries));
  if (folders_of(stage, name) != seen)
    return Status::already_exists(fmt::format("somebody makes folders in {}", stage));
  STRATALOG_ASSIGN_OR_RETURN(const auto all, open_posix_store(stage, RootMode::kMustExist));
  STRATALOG_RETURN_IF_ERROR(all->make_directory(free));
  STRATALOG_RETURN_IF_ERROR(all->sync_directory("."));
  return free;
}

}  // namespace

Result<std::unique_ptr<Store>> open_stage_folder(const std::string& stage, const std::string& name,
                                                 const std::string& home, RootMode mode) {
  const std::string path = absolute_path(home);
  const HomeMark mine{.inode = store_inode(path).value_or(0), .path = path};
  std::vector<std::string> seen;
  Result<std::string> found = find_folder(stage, name, mine, seen);
  for (int tries = 0; !found.is_ok(); ++tries) {
    if (mode == RootMode::kMustExist || tries == kMostTries) return found.status();
    Result<std::string> made = make_folder(stage, name, mine, seen);
    if (!made.is_ok() && made.status().code() != StatusCode::kAlreadyExists) return made.status();
    found = made.is_ok() ? std::move(made) : find_folder(stage, name, mine, seen);
  }
  const std::string folder = stage + "/" + found.value();
  STRATALOG_ASSIGN_OR_RETURN(auto store, open_posix_store(folder, RootMode::kMustExist));
  if (mode == RootMode::kCreate) STRATALOG_RETURN_IF_ERROR(write_mark(*store, mine));
  return store;
}

}  // namespace stratalog::cli
