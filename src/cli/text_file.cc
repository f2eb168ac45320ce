// SPDX-License-Identifier: Apache-2.0
#include "cli/text_file.h"

#include <fmt/format.h>

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

// What is no file of its own: standard output and other open files, terminals, pipes. They are
// written to, never replaced.
bool is_written_in_place(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return leads_to_open_file(path) ||
         (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status));
}

Status put(std::FILE* file, const std::string& path, std::string_view text) {
  if (file == nullptr) return errno_status(errno, "open", path);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int written_errno = errno;
  const bool is_closed = std::fclose(file) == 0;
  if (is_written && is_closed) return Status::ok();
  return errno_status(is_written ? errno : written_errno, "write", path);
}

Status write_file(const std::string& path, std::string_view text) {
  if (path == "-" || path == "/dev/stdout")
    return print_result(text);  // where others print, in order
  if (is_written_in_place(path)) return put(std::fopen(path.c_str(), "ab"), path, text);
  const std::string temporary = path + ".new";
  Status written = put(std::fopen(temporary.c_str(), "wb"), temporary, text);
  if (written.is_ok() && std::rename(temporary.c_str(), path.c_str()) != 0)
    written = errno_status(errno, fmt::format("rename {} to", temporary), path);
  if (!written.is_ok()) (void)std::remove(temporary.c_str());
  return written;
}

}  // namespace

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
