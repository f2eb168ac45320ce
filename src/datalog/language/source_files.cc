// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/source_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "datalog/language/compile.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::string_view kByteOrderMarkBytes = "\xEF\xBB\xBF";

bool has_mode(const std::string& path, mode_t wanted) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == wanted;
}

// Joins the parts of a path again, without `.` and with `..` undone where something precedes it.
std::string normalised(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(part.size() == rest.size() ? rest.size() : part.size() + 1);
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  std::string result = path.starts_with('/') ? "/" : "";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result += '/';
    result += parts[i];
  }
  return result.empty() ? "." : result;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  if (!is_regular_file(path)) return std::nullopt;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  char buffer[1 << 16];
  ssize_t count = 0;
  while ((count = read(descriptor, buffer, sizeof buffer)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kMaxExpandedBytes) break;
  }
  close(descriptor);
  if (count != 0) return std::nullopt;
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMarkBytes)) text.remove_prefix(kByteOrderMarkBytes.size());
  return text;
}

bool is_regular_file(const std::string& path) { return has_mode(path, S_IFREG); }

bool is_directory(const std::string& path) { return has_mode(path, S_IFDIR); }

std::string canonical_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(realpath(path.c_str(), nullptr),
                                                        &std::free);
  return resolved ? std::string(resolved.get()) : path;
}

std::string directory_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? "/" : file.substr(0, slash);
}

std::string path_beside(const std::string& file, const std::string& path) {
  const std::string directory = directory_of(file);
  if (path.starts_with('/') || directory.empty()) return normalised(path);
  return normalised(directory + '/' + path);
}

}  // namespace stratalog::datalog::language
