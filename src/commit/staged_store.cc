// SPDX-License-Identifier: Apache-2.0
#include "commit/staged_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "commit/drain.h"
#include "commit/drainer.h"
#include "commit/generations.h"
#include "commit/store_file.h"
#include "place/checkpoint_names.h"

namespace stratalog {
namespace {

// Generations that may wait in the stage when the next one begins.
constexpr std::size_t kMostWaiting = 1;

bool is_absent(const Status& status) { return status.code() == StatusCode::kNotFound; }

// Of what was tried in two places: an error, or that it was in neither.
Status both(const Status& stage, const Status& home) {
  if (!stage.is_ok() && !is_absent(stage)) return stage;
  if (!home.is_ok() && !is_absent(home)) return home;
  return stage.is_ok() ? stage : home;
}

// The generation in whose directory a path lies, or which it is.
std::optional<GenerationId> generation_of(const std::string& path) {
  return parse_generation_name(path.substr(0, path.find('/')));
}

class Staged final : public StagedStore {
 public:
  Staged(std::unique_ptr<Store> home, StageOpener open_stage, std::string stage_root,
         Draining draining, const StageSeat& seat)
      : home_(std::move(home)),
        open_stage_(std::move(open_stage)),
        stage_root_(std::move(stage_root)),
        seat_(seat),
        drainer_(*home_, draining, seat) {}

  StagePlace place_of(const std::string& generation) override;
  std::string stage_root() const override { return stage_root_; }
  Status settle() override { return drainer_.wait_for(0); }
  std::vector<std::string> take_notes() override { return drainer_.take_notes(); }
  void add_note(std::string note) override { drainer_.add_note(std::move(note)); }
  const StageSeat& seat() const override { return seat_; }
  Store& home() override { return *home_; }
  Result<Store*> stage(RootMode mode) override;
  Status wait_for_room() override;
  void drain(const GenerationId& id) override;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status make_directory(const std::string& path) override;
  Status remove_file(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status sync_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Result<std::uint64_t> free_bytes() override;
  Result<FileSystemFacts> file_system() override;
  Status stripe_new_files(const std::string& path, const StripingPlan& striping) override;
  Result<std::unique_ptr<StoreLock>> lock(const std::string& path) override {
    return home_->lock(path);
  }
  // Of the stage: home is confirmed when a generation is drained to it.
  Status confirm_root() override {
    Store* staged = stage_if_there();
    return staged != nullptr ? staged->confirm_root() : Status::ok();
  }
  Status random_bytes(std::span<std::byte> bytes) override { return home_->random_bytes(bytes); }
  std::string root() const override { return home_->root(); }
  std::string name_of(const std::string& path) override;

 private:
  Store* stage_if_there();  // null if there is none
  // Where a path within a generation is looked up first; null: at home only.
  Store* stage_with(const std::string& path);
  Status change_home(const std::string& path, std::function<Status()> change);
  Status remove_at_home(const std::string& path);
  void drain_leftovers();
  void find_superseded();

  std::unique_ptr<Store> home_;
  StageOpener open_stage_;
  std::string stage_root_;
  StageSeat seat_;
  std::unique_ptr<Store> stage_;
  bool is_made_ = false;  // by open_stage_, as one that is written to
  // Generations that the stage had when it was opened and home no longer has, or never had: older
  // than the newest there, they were drained and have gone since, or were given up.
  std::set<std::string> superseded_;
  Drainer drainer_;  // goes first: its thread uses the stores
};

Result<Store*> Staged::stage(RootMode mode) {
  const bool is_written = mode == RootMode::kCreate;
  if (stage_ && (!is_written || is_made_)) return stage_.get();
  STRATALOG_ASSIGN_OR_RETURN(const Hash128 id, read_store_id(*home_));
  STRATALOG_ASSIGN_OR_RETURN(auto opened,
                             open_stage_(fmt::format("stratalog-{}", to_hex(id)), mode));
  is_made_ = is_written;
  if (stage_) return stage_.get();  // the same, which is in use
  stage_ = std::move(opened);
  find_superseded();
  return stage_.get();
}

void Staged::find_superseded() {
  const auto staged = list_generation_ids(*stage_);
  const auto home = list_generation_ids(*home_);
  if (!staged.is_ok() || !home.is_ok()) return;
  const auto newest = std::ranges::find_if(
      home.value(), [&](const GenerationId& id) { return is_drained(*home_, id); });
  if (newest == home.value().end()) return;
  for (const GenerationId& id : staged.value())
    if (id < *newest && !is_drained(*home_, id)) superseded_.insert(generation_name(id));
}

Store* Staged::stage_if_there() {
  const Result<Store*> staged = stage(RootMode::kMustExist);
  return staged.is_ok() ? staged.value() : nullptr;
}

Store* Staged::stage_with(const std::string& path) {
  if (!generation_of(path)) return nullptr;
  Store* const staged = stage_if_there();
  if (staged == nullptr || superseded_.contains(path.substr(0, path.find('/')))) return nullptr;
  return staged->info(path).is_ok() ? staged : nullptr;
}

StagePlace Staged::place_of(const std::string& generation) {
  const std::string manifest = generation + "/" + kManifestName;
  if (stage_with(manifest) == nullptr) return StagePlace::kHome;
  return home_->info(manifest).is_ok() ? StagePlace::kBoth : StagePlace::kStage;
}

Status Staged::wait_for_room() {
  const Status room = drainer_.wait_for(kMostWaiting);
  if (room.is_ok()) return Status::ok();
  return Status::no_space(
      fmt::format("the staging directory {} holds {} checkpoints that cannot be drained: {}",
                  stage_root_, kMostWaiting + 1, room.message()));
}

void Staged::drain(const GenerationId& id) {
  if (seat_.role != StageRole::kDrains) return;
  Store* const staged = stage_if_there();
  if (staged == nullptr) return;
  drainer_.set_epoch(id.epoch);
  drainer_.add_generation(*staged, id);
}

// Oldest first: what an earlier job had staged and not drained.
void Staged::drain_leftovers() {
  if (seat_.spans_nodes()) return;
  Store* const staged = stage_if_there();
  if (staged == nullptr) return;
  const auto ids = list_generation_ids(*staged);
  if (!ids.is_ok()) return;
  for (auto id = ids.value().rbegin(); id != ids.value().rend(); ++id)
    if (is_drained(*staged, *id) && !is_drained(*home_, *id) &&
        !superseded_.contains(generation_name(*id)))
      drainer_.add_generation(*staged, *id);
}

Result<std::unique_ptr<File>> Staged::open(const std::string& path, OpenMode mode) {
  if (!generation_of(path)) {
    const auto epoch = parse_epoch_name(path);
    // Before the epoch is there: what the stage has of it is not of this folder's jobs then.
    if (epoch && mode == OpenMode::kCreateExclusive && seat_.leads())
      (void)stage(RootMode::kCreate);
    auto file = home_->open(path, mode);
    if (file.is_ok() && epoch && mode == OpenMode::kCreateExclusive) {
      drainer_.set_epoch(*epoch);
      drain_leftovers();
    }
    return file;
  }
  const bool is_new = mode == OpenMode::kCreateExclusive;
  Store* const staged = stage_with(is_new ? path.substr(0, path.find('/')) : path);
  if (staged == nullptr) return home_->open(path, mode);
  auto file = staged->open(path, mode);
  // It may have been drained and removed in between.
  if (file.is_ok() || mode != OpenMode::kRead || !is_absent(file.status())) return file;
  return home_->open(path, mode);
}

// A file that is not there yet goes to where its generation is.
std::string Staged::name_of(const std::string& path) {
  Store* staged = stage_with(path);
  if (staged == nullptr) staged = stage_with(path.substr(0, path.find('/')));
  return (staged != nullptr ? *staged : *home_).name_of(path);
}

Status Staged::make_directory(const std::string& path) {
  if (!generation_of(path)) return home_->make_directory(path);
  const Result<Store*> staged = stage(RootMode::kCreate);
  if (!staged.is_ok())
    return Status::io_error(fmt::format("cannot open the staging directory {}: {}", stage_root_,
                                        staged.status().message()));
  STRATALOG_RETURN_IF_ERROR(wait_for_room());
  return staged.value()->make_directory(path);
}

// A change at home, in its turn, if `path` is there.
Status Staged::change_home(const std::string& path, std::function<Status()> change) {
  const Result<FileInfo> info = home_->info(path);
  return info.is_ok() ? drainer_.in_order(std::move(change)) : info.status();
}

// A manifest may have been hidden since its removal was asked for.
Status Staged::remove_at_home(const std::string& path) {
  Status removed = home_->remove_file(path);
  const std::size_t slash = path.find('/') + 1;
  if (!is_absent(removed) || path.substr(slash) != kManifestName) return removed;
  return home_->remove_file(path.substr(0, slash) + kManifestHiddenName);
}

Status Staged::remove_file(const std::string& path) {
  if (!generation_of(path)) return home_->remove_file(path);
  Store* const staged = stage_with(path);
  const Status there = staged != nullptr ? staged->remove_file(path) : Status::not_found(path);
  return both(there, change_home(path, [this, path] { return remove_at_home(path); }));
}

Status Staged::remove_directory(const std::string& path) {
  if (!generation_of(path)) return home_->remove_directory(path);
  Store* const staged = stage_with(path);
  const Status there = staged != nullptr ? staged->remove_directory(path) : Status::not_found(path);
  return both(there, change_home(path, [this, path] { return home_->remove_directory(path); }));
}

Status Staged::rename(const std::string& from, const std::string& to) {
  const std::optional<GenerationId> id = generation_of(from);
  if (!id) return home_->rename(from, to);
  Store* const staged = stage_with(from);
  const Status there = staged != nullptr ? staged->rename(from, to) : Status::not_found(from);
  const Status home = change_home(from, [this, from, to] { return home_->rename(from, to); });
  // The commit point: the generation exists, and its way home begins.
  if (there.is_ok() && to.ends_with(std::string("/") + kManifestName))
    drainer_.add_generation(*staged, *id);
  return both(there, home);
}

Status Staged::sync_directory(const std::string& path) {
  if (!generation_of(path)) {
    Store* const staged = path == "." ? stage_if_there() : nullptr;
    if (staged != nullptr) STRATALOG_RETURN_IF_ERROR(staged->sync_directory(path));
    return home_->sync_directory(path);
  }
  Store* const staged = stage_with(path);
  const Status there = staged != nullptr ? staged->sync_directory(path) : Status::not_found(path);
  return both(there, change_home(path, [this, path] { return home_->sync_directory(path); }));
}

Result<std::vector<std::string>> Staged::list(const std::string& path) {
  Store* const staged = path == "." ? stage_if_there() : stage_with(path);
  if (staged == nullptr) return home_->list(path);
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<std::string> staged_names, staged->list(path));
  std::set<std::string> names(staged_names.begin(), staged_names.end());
  for (const std::string& superseded : superseded_) names.erase(superseded);
  const auto home = home_->list(path);
  if (home.is_ok()) names.insert(home.value().begin(), home.value().end());
  if (!home.is_ok() && !is_absent(home.status())) return home.status();
  return std::vector<std::string>(names.begin(), names.end());
}

Result<FileInfo> Staged::info(const std::string& path) {
  Store* const staged = stage_with(path);
  if (staged != nullptr) {
    Result<FileInfo> there = staged->info(path);
    if (there.is_ok()) return there;
  }
  return home_->info(path);
}

Result<std::uint64_t> Staged::free_bytes() {
  Store* const staged = stage_if_there();
  return (staged != nullptr ? *staged : *home_).free_bytes();
}

Result<FileSystemFacts> Staged::file_system() {
  Store* const staged = stage_if_there();
  return (staged != nullptr ? *staged : *home_).file_system();
}

Status Staged::stripe_new_files(const std::string& path, const StripingPlan& striping) {
  Store* const staged = stage_with(path);
  return (staged != nullptr ? *staged : *home_).stripe_new_files(path, striping);
}

}  // namespace

Result<std::uint32_t> plan_stage_files(CheckpointMode mode, std::uint32_t wished,
                                       std::span<const int> node_of_rank) {
  if (node_of_rank.empty() || mode == CheckpointMode::kFilePerProcess) return wished;
  const auto nodes =
      static_cast<std::uint32_t>(1 + *std::max_element(node_of_rank.begin(), node_of_rank.end()));
  if (nodes == 1) return wished;
  if (mode == CheckpointMode::kAuto)
    return Status::not_supported(
        "--stage with mode auto and ranks on several nodes: it tries files that ranks of several "
        "nodes share; take mode fpp, or leave --stage away");
  if (wished != 0 && wished != nodes)
    return Status::not_supported(fmt::format(
        "--stage with mode {}, ranks on {} nodes and --files {}: ranks that share a file must "
        "share a node; take --files {}, a file for each node, or leave one of the two away",
        mode_name(mode), nodes, wished, nodes));
  return nodes;
}

std::unique_ptr<StagedStore> open_staged_store(std::unique_ptr<Store> home, StageOpener open_stage,
                                               std::string stage_root, Draining draining,
                                               const StageSeat& seat) {
  return std::make_unique<Staged>(std::move(home), std::move(open_stage), std::move(stage_root),
                                  draining, seat);
}

}  // namespace stratalog
