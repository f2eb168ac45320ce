// SPDX-License-Identifier: Apache-2.0
#include "api/rank_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "commit/options_file.h"
#include "datalog/facts/fact_writer.h"
#include "write/public_files.h"

namespace stratalog {

// A group that is only there during the run; later it says who this rank was.
class RankRun::LeftComm final : public Comm {
 public:
  explicit LeftComm(Comm& live) : live_(&live), rank_(live.rank()), size_(live.size()) {}
  void leave() { live_ = nullptr; }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Status barrier() override { return live_ == nullptr ? gone() : live_->barrier(); }
  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    return live_ == nullptr ? gone() : live_->allreduce(values, op);
  }
  Status broadcast(Bytes& data, int root) override {
    return live_ == nullptr ? gone() : live_->broadcast(data, root);
  }
  Result<Received> allgather(std::span<const std::byte> mine) override {
    if (live_ == nullptr) return gone();
    return live_->allgather(mine);
  }
  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    if (live_ == nullptr) return gone();
    return live_->gather(mine, root);
  }
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    if (live_ == nullptr) return gone();
    return live_->exchange(data, counts);
  }
  Result<ReceivedParcels> exchange_parcels(std::span<const std::byte> data,
                                           std::span<const Parcel> parcels) override {
    if (live_ == nullptr) return gone();
    return live_->exchange_parcels(data, parcels);
  }
  bool has_post() const override { return live_ != nullptr && live_->has_post(); }
  bool may_post() override { return live_ != nullptr && live_->may_post(); }
  Status post(int to, Bytes data) override {
    return live_ == nullptr ? gone() : live_->post(to, std::move(data));
  }
  Result<std::optional<Post>> take_post() override {
    if (live_ == nullptr) return gone();
    return live_->take_post();
  }
  Result<Bytes> await_post(int sender) override {
    if (live_ == nullptr) return gone();
    return live_->await_post(sender);
  }
  bool shares_memory() const override { return live_ != nullptr && live_->shares_memory(); }
  Result<Topology> topology() override {
    if (live_ == nullptr) return gone();
    return live_->topology();
  }

 private:
  static Status gone() { return Status::internal("the ranks of this run have ended"); }

  Comm* live_;
  int rank_;
  int size_;
};

namespace {

using FolderOpener = Result<std::unique_ptr<Store>> (*)(const std::string& root, RootMode mode);

// Collective. Rank 0 makes a folder that is not there; the others find it.
Status open_folder(Comm& comm, const std::string& path, RootMode mode,
                   std::unique_ptr<Store>& folder, FolderOpener open = open_posix_store) {
  if (path.empty()) return Status::ok();
  for (const bool is_first : {true, false}) {
    Status mine;
    if ((comm.rank() == 0) == is_first) {
      auto opened = open(path, is_first ? mode : RootMode::kMustExist);
      mine = opened.status();
      if (mine.is_ok()) folder = std::move(opened).value();
    }
    STRATALOG_RETURN_IF_ERROR(agree(comm, mine));
    if (comm.size() == 1) break;
  }
  return Status::ok();
}

// Tells the folder of checkpoints what to remember when the first one begins: from then on it is
// this run's.
void remember_at_first_checkpoint(datalog::RunHooks& hooks, Store& checkpoints,
                                  const nlohmann::json& remembered) {
  hooks.progress = [&checkpoints, &remembered, notice = hooks.notice,
                    is_told = false](const datalog::Progress& progress) mutable {
    if (is_told || progress.phase != datalog::Phase::kCheckpointing) return;
    is_told = true;
    const Status told = replace_options(checkpoints, remembered);
    if (!told.is_ok() && notice) notice(fmt::format("note: {}", told.message()));
  };
}

}  // namespace

RankRun::RankRun() = default;
RankRun::RankRun(RankRun&&) noexcept = default;
RankRun& RankRun::operator=(RankRun&&) noexcept = default;
RankRun::~RankRun() = default;

Status RankRun::run(Comm& comm, std::shared_ptr<const datalog::Program> program,
                    const FolderPaths& paths, const nlohmann::json& remembered,
                    datalog::RunOptions options, datalog::RunHooks hooks) {
  std::unique_ptr<Store> facts;
  std::unique_ptr<Store> output;
  std::unique_ptr<Store> checkpoints;
  STRATALOG_RETURN_IF_ERROR(open_folder(comm, paths.facts, RootMode::kMustExist, facts));
  // What users asked for is theirs to share; checkpoints are the engine's own.
  STRATALOG_RETURN_IF_ERROR(
      open_folder(comm, paths.output, RootMode::kCreate, output, open_public_store));
  STRATALOG_RETURN_IF_ERROR(open_folder(comm, paths.checkpoints, RootMode::kCreate, checkpoints));
  if (output != nullptr)
    STRATALOG_RETURN_IF_ERROR(datalog::check_outputs(comm, *output, *program, options.write));
  if (checkpoints != nullptr) remember_at_first_checkpoint(hooks, *checkpoints, remembered);
  options.facts = facts.get();
  options.output = output.get();
  options.checkpoint.store = checkpoints.get();
  comm_ = std::make_unique<LeftComm>(comm);
  auto run =
      datalog::KeptRun::run(*comm_, std::move(program), std::move(options), std::move(hooks));
  comm_->leave();
  if (!run.is_ok()) return run.status();
  run_ = std::move(run).value();
  return Status::ok();
}

Result<std::uint64_t> count_tuples(std::span<const RankRun> ranks, datalog::RelationId relation) {
  std::uint64_t rows = 0;
  for (const RankRun& rank : ranks) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t here, count_tuples(rank.kept(), relation));
    rows += here;
  }
  return rows;
}

Status read_tuples(std::span<const RankRun> ranks, const datalog::Relation& relation,
                   datalog::RelationId id, std::uint64_t from, std::uint64_t rows, ColumnForm form,
                   std::span<const stratalog_column_out> columns) {
  if (ranks.size() == 1)
    return read_tuples(ranks[0].kept(), relation, id, from, rows, form, columns);
  std::vector<stratalog_column_out> rest(columns.begin(), columns.end());
  std::uint64_t skip = from;
  std::uint64_t left = rows;
  for (const RankRun& rank : ranks) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t here, count_tuples(rank.kept(), id));
    const std::uint64_t first = std::min(skip, here);
    const std::uint64_t taken = std::min(left, here - first);
    skip -= first;
    left -= taken;
    if (taken == 0) continue;
    STRATALOG_RETURN_IF_ERROR(read_tuples(rank.kept(), relation, id, first, taken, form, rest));
    for (stratalog_column_out& column : rest)
      if (column.values != nullptr)
        column.values =
            static_cast<char*>(column.values) + (static_cast<std::int64_t>(taken) * column.stride);
  }
  if (left == 0) return Status::ok();
  return Status::invalid_argument(
      fmt::format("relation `{}`: {} tuples from number {} on were asked for; there are {}",
                  relation.name, rows, from, rows - left));
}

}  // namespace stratalog
