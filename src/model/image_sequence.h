// SPDX-License-Identifier: Apache-2.0
// Images that follow one another (docs/formats/facts.md, section 4): what was written first, and
// what was added since. Pure; local.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "base/status.h"

namespace stratalog {

// `decode_first` decodes the image at the front of what is left, and takes its bytes away. At least
// once: there is no section without an image.
template <typename DecodeFirst>
Status decode_images(std::span<const std::byte> images, DecodeFirst&& decode_first) {
  std::span<const std::byte> left = images;
  do {
    const std::size_t at = images.size() - left.size();
    const Status status = decode_first(left);
    if (!status.is_ok())
      return at == 0 ? status : status.with_context(fmt::format("the image at offset {}", at));
  } while (!left.empty());
  return Status::ok();
}

}  // namespace stratalog
