// SPDX-License-Identifier: Apache-2.0
#include "cli/parallel_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "cli/launch.h"

namespace stratalog::cli {

namespace {

Result<const ParallelModule*> load() {
  const std::string program = own_path();
  const std::string folder = program.substr(0, program.rfind('/') + 1);
  std::string reason;
  for (const char* place : {"", "../lib/stratalog/"}) {
    const std::string path = fmt::format("{}{}{}", folder, place, STRATALOG_MODULE_FILE);
    // Global: plug-ins that MPI libraries load themselves look up its symbols.
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (module == nullptr) {
      reason += fmt::format("\n  {}", dlerror());
      continue;
    }
    const void* table = dlsym(module, "stratalog_parallel_module");
    if (table != nullptr) return static_cast<const ParallelModule*>(table);
    reason += fmt::format("\n  {}", dlerror());
  }
  return Status::not_supported(
      fmt::format("MPI and HDF5 live in {}, which cannot be loaded; install it beside the program "
                  "(the same build), and make sure that its libraries are found:{}",
                  STRATALOG_MODULE_FILE, reason));
}

}  // namespace

Result<const ParallelModule*> parallel_module() {
  static const Result<const ParallelModule*> kLoaded = load();
  return kLoaded;
}

Result<datalog::ParsedFacts> read_hdf5_by_module(const datalog::Hdf5Input& input,
                                                 NewValues& values) {
  STRATALOG_ASSIGN_OR_RETURN(const ParallelModule* module, parallel_module());
  return module->read_hdf5(input, values);
}

Status write_hdf5_by_module(Comm& comm, const std::string& path,
                            const datalog::SortedRelation& sorted) {
  STRATALOG_ASSIGN_OR_RETURN(const ParallelModule* module, parallel_module());
  return module->write_hdf5(comm, path, sorted);
}

Status write_streams_by_module(Comm& comm, const std::string& path,
                               const datalog::SortedRelation& sorted,
                               datalog::StreamFilter filter) {
  STRATALOG_ASSIGN_OR_RETURN(const ParallelModule* module, parallel_module());
  return module->write_hdf5_streams(comm, path, sorted, filter);
}

}  // namespace stratalog::cli
