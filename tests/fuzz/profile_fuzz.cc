// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of profiles and the page made of them: no text may crash either, a profile that
// was read is written and read again as the same, and no text of it leaves its place on the page.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "profile/profile_json.h"
#include "profile/profile_page.h"

namespace stratalog {
namespace {

std::size_t scripts(std::string_view page) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = page.find("<script", at)) != std::string_view::npos; ++at) ++found;
  return found;
}

void fuzz(std::string_view text) {
  static const std::size_t kScriptsOfAPage = scripts(profile_page(RunProfile()));
  const auto profile = profile_from_json(text);
  if (!profile.is_ok()) return;
  const std::string written = profile_to_json(profile.value());
  const auto again = profile_from_json(written);
  if (!again.is_ok() || profile_to_json(again.value()) != written) std::abort();
  if (scripts(profile_page(profile.value())) > kScriptsOfAPage) std::abort();
}

}  // namespace
}  // namespace stratalog

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stratalog::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
