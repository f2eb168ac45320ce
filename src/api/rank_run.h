// SPDX-License-Identifier: Apache-2.0
// RankRun: one rank of this process in a run of the library, its folders and what the run has left.
// Where ranks are threads there is one for each, and results are read from all of them. Running is
// collective; reading is local and comes after all ranks have run.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "api/result_reader.h"
#include "comm/comm.h"
#include "datalog/evaluate/kept_run.h"
#include "write/store.h"

namespace stratalog {

// Folders of a run, by path; without a path there is none.
struct FolderPaths {
  const std::string& facts;
  const std::string& output;
  const std::string& checkpoints;
};

class RankRun {
 public:
  // Collective over `comm`, which need not outlive the call. Opens the folders, makes those for
  // results, and runs the program with `options`, in which stores are filled in. The folder of
  // checkpoints remembers `remembered` (commit/options_file.h) from the first of them on. Nothing
  // is open any more when this returns.
  Status run(Comm& comm, std::shared_ptr<const datalog::Program> program, const FolderPaths& paths,
             const nlohmann::json& remembered, datalog::RunOptions options,
             datalog::RunHooks hooks);

  // After run() has returned OK.
  const datalog::KeptRun& kept() const { return *run_; }

 private:
  class LeftComm;

  std::unique_ptr<LeftComm> comm_;
  std::unique_ptr<datalog::KeptRun> run_;

 public:
  RankRun();
  RankRun(RankRun&&) noexcept;
  RankRun& operator=(RankRun&&) noexcept;
  ~RankRun();
};

// count_tuples and read_tuples (result_reader.h) over the ranks of this process, one after another.
Result<std::uint64_t> count_tuples(std::span<const RankRun> ranks, datalog::RelationId relation);
Status read_tuples(std::span<const RankRun> ranks, const datalog::Relation& relation,
                   datalog::RelationId id, std::uint64_t from, std::uint64_t rows, ColumnForm form,
                   std::span<const stratalog_column_out> columns);

}  // namespace stratalog
