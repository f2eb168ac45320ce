// SPDX-License-Identifier: Apache-2.0
// Which folder of a staging directory belongs to a checkpoint folder. Copies of a checkpoint folder
// have the id of the original, and would find its generations in the stage; so each folder of the
// stage says in a file HOME whose it is. A checkpoint folder that was moved keeps what waits for
// it. Local.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "write/store.h"

namespace stratalog::cli {

// The folder `name` of the directory `stage`, or one that is called after it, which is that of the
// checkpoint folder `home`. kMustExist: NotFound if there is none, and nothing is changed; kCreate
// makes one and marks it.
Result<std::unique_ptr<Store>> open_stage_folder(const std::string& stage, const std::string& name,
                                                 const std::string& home, RootMode mode);

}  // namespace stratalog::cli
