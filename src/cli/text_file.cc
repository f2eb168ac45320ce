// SPDX-License-Identifier: Apache-2.0
#include "cli/text_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/console.h"
#include "write/errno_status.h"
#include "write/public_files.h"

namespace stratalog::cli {

namespace {

Status put(std::FILE* file, const std::string& path, std::string_view text) {
  if (file == nullptr) return errno_status(errno, "open", path);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int written_errno = errno;
  const bool is_closed = std::fclose(file) == 0;
  if (is_written && is_closed) return Status::ok();
  return errno_status(is_written ? errno : written_errno, "write", path);
}

// Of the mode of the file that it will replace, from the first byte on.
std::FILE* open_replacement(const std::string& target, const std::string& temporary) {
  constexpr mode_t kPermissionBits = 0777;
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  struct stat about = {};
  if (file == nullptr || ::stat(target.c_str(), &about) != 0) return file;
  const mode_t wanted = about.st_mode & kPermissionBits;
  if (::fstat(::fileno(file), &about) == 0 && (about.st_mode & kPermissionBits) == wanted)
    return file;
  if (::fchmod(::fileno(file), wanted) == 0) return file;
  const int refused = errno;
  (void)std::fclose(file);
  errno = refused;
  return nullptr;
}

Status write_file(const std::string& path, std::string_view text) {
  if (path == "-" || path == "/dev/stdout")
    return print_result(text);  // where others print, in order
  if (is_written_in_place(path)) return put(std::fopen(path.c_str(), "ab"), path, text);
  const std::string target = end_of_links(path);
  const std::string temporary = target + ".new";
  Status written = put(open_replacement(target, temporary), temporary, text);
  if (written.is_ok() && std::rename(temporary.c_str(), target.c_str()) != 0)
    written = errno_status(errno, fmt::format("rename {} to", temporary), target);
  if (!written.is_ok()) (void)std::remove(temporary.c_str());
  return written;
}

}  // namespace

bool is_written_in_place(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return leads_to_open_file(path) ||
         (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status));
}

std::string end_of_links(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::filesystem::path at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code no_link;
    const std::filesystem::path next = std::filesystem::read_symlink(at, no_link);
    if (no_link) break;
    at = at.parent_path() / next;  // which is `next` where that is absolute
  }
  return at.string();
}

Status write_text_file(std::string_view option, const std::string& path, std::string_view text) {
  const Status written = write_file(path, text);
  return written.is_ok() ? written : written.with_context(std::string(option));
}

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()) || file.bad()) return std::nullopt;
  return text.str();
}

}  // namespace stratalog::cli
