// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/node_stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "checkpoint/told.h"
#include "commit/drain.h"
#include "commit/generations.h"
#include "commit/store_file.h"
#include "place/checkpoint_names.h"

namespace stratalog {
namespace {

using nlohmann::json;

// An empty folder in a stage, for a moment.
constexpr std::string_view kStageProbePrefix = "probe-";

bool keeps_other_stage(const StagedStore& store) { return store.seat().role == StageRole::kDrains; }

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What draining had to say elsewhere is said by rank 0.
Status collect_notes(Comm& comm, StagedStore& store) {
  std::string mine;
  if (keeps_other_stage(store))
    for (const std::string& note : store.take_notes()) mine += note + "\n";
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.gather(as_bytes(mine), 0));
  if (comm.rank() != 0) return Status::ok();
  for (int r = 0; r < comm.size(); ++r) {
    const std::string theirs = text_of(all.from(r));
    for (std::size_t at = 0; at < theirs.size();) {
      const std::size_t end = theirs.find('\n', at);
      store.add_note(fmt::format("rank {}: {}", r, theirs.substr(at, end - at)));
      at = end + 1;
    }
  }
  return Status::ok();
}

// The others' files must be on their way before rank 0 waits for them.
template <typename Wait>
Status others_first(Comm& comm, StagedStore& store, Wait wait) {
  const Status copied = agree(comm, keeps_other_stage(store) ? wait() : Status::ok());
  STRATALOG_RETURN_IF_ERROR(collect_notes(comm, store));
  STRATALOG_RETURN_IF_ERROR(copied);
  return tell_status(comm, comm.rank() == 0 ? wait() : Status::ok());
}

// Recovery. What travels is JSON.
json to_json(std::span<const StagedFile> files) {
  json list = json::array();
  for (const StagedFile& file : files) list.push_back({file.name, file.bytes});
  return list;
}

std::vector<StagedFile> files_of(const json& list) {
  std::vector<StagedFile> files;
  files.reserve(list.size());
  for (const json& file : list)
    files.push_back(
        {.name = file.at(0).get<std::string>(), .bytes = file.at(1).get<std::uint64_t>()});
  return files;
}

GenerationId id_of(const json& generation) {
  return {.epoch = generation.at("epoch").get<std::uint32_t>(),
          .sequence = generation.at("sequence").get<std::uint64_t>()};
}

// What a leader tells rank 0 of its stage.
json listing_of(StagedStore& store) {
  json generations = json::array();
  const Result<Store*> stage = store.stage(RootMode::kMustExist);
  if (!store.seat().leads() || !stage.is_ok()) return generations;
  const auto ids = list_generation_ids(*stage.value());
  if (!ids.is_ok()) return generations;
  for (const GenerationId& id : ids.value()) {
    const auto files = data_files_in(*stage.value(), id);
    if (!files.is_ok()) continue;
    const auto text = read_text_file(*stage.value(), generation_name(id) + "/" + kManifestName,
                                     kMaxManifestBytes);
    generations.push_back({{"epoch", id.epoch},
                           {"sequence", id.sequence},
                           {"files", to_json(files.value())},
                           {"manifest", text.is_ok() ? text.value() : ""}});
  }
  return generations;
}

// Rank 0's picture of all stages and of home.
struct Found {
  std::vector<StageHolding> holdings;
  std::vector<ManifestOnDisk> manifests;  // newer than anything published, oldest first
  std::vector<StagedGeneration> generations;  // of these
};

// Generations and manifests that `home` does not need any more are left out.
Result<Found> understand(Store& home, const Received& listings, std::span<const int> node_of_rank) {
  Found found;
  STRATALOG_ASSIGN_OR_RETURN(const Hash128 store_id, read_store_id(home));
  STRATALOG_ASSIGN_OR_RETURN(const auto at_home, list_generation_ids(home));
  const auto newest = std::find_if(at_home.begin(), at_home.end(),
                                   [&](const GenerationId& id) { return is_drained(home, id); });
  std::vector<std::pair<GenerationId, std::string>> texts;
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) {
    const json listing = json::parse(text_of(listings.from(static_cast<int>(r))), nullptr, false);
    if (!listing.is_array()) continue;
    for (const json& entry : listing) {
      StageHolding holding{
          .id = id_of(entry), .node = node_of_rank[r], .files = files_of(entry.at("files"))};
      if (newest != at_home.end() && holding.id < *newest) continue;
      if (!entry.value("manifest", "").empty() && !is_drained(home, holding.id))
        texts.emplace_back(holding.id, entry.value("manifest", ""));
      found.holdings.push_back(std::move(holding));
    }
  }
  std::sort(texts.begin(), texts.end());
  for (auto& [id, text] : texts) {
    Result<Manifest> manifest = parse_manifest(text, CheckManifest::kYes);
    const bool is_new = found.manifests.empty() || found.manifests.back().manifest.id < id;
    if (!manifest.is_ok() || !is_new || !(manifest.value().store == store_id) ||
        manifest.value().id != id)
      continue;
    STRATALOG_ASSIGN_OR_RETURN(std::vector<StagedFile> arrived, data_files_in(home, id));
    found.generations.push_back(
        {.id = id, .files = own_files_of(manifest.value()), .home = std::move(arrived)});
    found.manifests.push_back({.text = std::move(text), .manifest = std::move(manifest).value()});
  }
  return found;
}

json to_json(std::span<const StageRecovery> recoveries) {
  json all = json::array();
  for (const StageRecovery& recovery : recoveries) {
    json copies = json::object();
    for (const StageCopies& part : recovery.copies)
      copies[std::to_string(part.node)] = to_json(part.files);
    all.push_back({{"epoch", recovery.id.epoch},
                   {"sequence", recovery.id.sequence},
                   {"complete", recovery.is_complete()},
                   {"copies", copies}});
  }
  return all;
}

// This leader's copies of one generation.
Status copy_planned(StagedStore& store, const json& plan, const GenerationId& id,
                    const CommitRules& rules) {
  const std::string node = std::to_string(store.seat().node);
  if (!store.seat().leads() || !plan.at("copies").contains(node)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(Store* const stage, store.stage(RootMode::kMustExist));
  return drain_files(*stage, store.home(), id, files_of(plan.at("copies").at(node)),
                     store.seat().node, rules);
}

std::string lost_note(const StageRecovery& recovery) {
  return fmt::format(
      "{} was not drained, and {} of its files lie in the stage of no node of this job (the first "
      "is {}); it is passed over",
      generation_name(recovery.id), recovery.missing.size(), recovery.missing.front());
}

class Recovery {
 public:
  Recovery(Comm& comm, StagedStore& store, Durability durability)
      : comm_(comm), store_(store), rules_{.epoch = 0, .durability = durability, .steps = {}} {}

  Result<std::vector<std::string>> run();

 private:
  Result<std::string> plan_if_ours(const Received& listings, std::span<const int> node_of_rank);
  Result<std::string> plan(const Received& listings, std::span<const int> node_of_rank);
  Status drain(const json& plan, std::size_t number);

  Comm& comm_;
  StagedStore& store_;
  CommitRules rules_;
  std::unique_ptr<StoreLock> lock_;  // rank 0
  Found found_;  // rank 0
  std::vector<std::string> notes_;  // rank 0
};

Result<std::string> Recovery::plan(const Received& listings, std::span<const int> node_of_rank) {
  STRATALOG_ASSIGN_OR_RETURN(found_, understand(store_.home(), listings, node_of_rank));
  STRATALOG_ASSIGN_OR_RETURN(rules_.epoch, highest_epoch(store_.home()));
  const auto recoveries = plan_stage_recovery(found_.generations, found_.holdings);
  for (const StageRecovery& recovery : recoveries)
    if (!recovery.is_complete()) notes_.push_back(lost_note(recovery));
  const json told = {{"epoch", rules_.epoch}, {"generations", to_json(recoveries)}};
  return told.dump();
}

// One generation: all copy, rank 0 publishes.
Status Recovery::drain(const json& plan, std::size_t number) {
  const GenerationId id = id_of(plan);
  STRATALOG_RETURN_IF_ERROR(agree(comm_, copy_planned(store_, plan, id, rules_)));
  Status published;
  if (comm_.rank() == 0) {
    const std::vector<StagedFile>& files = found_.generations[number].files;
    const auto arrived = first_not_arrived(store_.home(), id, files, 0);
    published = arrived.status();
    if (arrived.is_ok() && arrived.value() < files.size())
      published = Status::io_error(
          fmt::format("{} of another node does not appear in {}, which all nodes must share",
                      files[arrived.value()].name, store_.home().root()));
    if (published.is_ok())
      published = publish_drained(store_.home(), found_.manifests[number], rules_);
  }
  return tell_status(comm_, published);
}

// Rank 0. Another job that runs drains for itself; a new folder has nothing to recover.
Result<std::string> Recovery::plan_if_ours(const Received& listings,
                                           std::span<const int> node_of_rank) {
  const StatusCode known = read_store_id(store_.home()).status().code();
  if (known == StatusCode::kNotFound || known == StatusCode::kCorruption) return std::string("{}");
  Result<std::unique_ptr<StoreLock>> lock = store_.home().lock(kLockFileName);
  if (lock.status().code() == StatusCode::kAlreadyExists) return std::string("{}");
  if (lock.is_ok()) lock_ = std::move(lock).value();
  return plan(listings, node_of_rank);
}

Result<std::vector<std::string>> Recovery::run() {
  STRATALOG_ASSIGN_OR_RETURN(const Topology topology, comm_.topology());
  const std::string mine = listing_of(store_).dump(-1, ' ', false, json::error_handler_t::replace);
  STRATALOG_ASSIGN_OR_RETURN(const Received listings, comm_.gather(as_bytes(mine), 0));
  Result<std::string> planned = std::string();
  if (comm_.rank() == 0) planned = plan_if_ours(listings, topology.node_of_rank);
  STRATALOG_ASSIGN_OR_RETURN(const std::string text, tell(comm_, planned));
  const json plan = json::parse(text, nullptr, false);
  rules_.epoch = plan.value("epoch", 0U);
  const json generations = plan.value("generations", json::array());
  for (std::size_t i = 0; i < generations.size(); ++i) {
    if (!generations[i].value("complete", false)) continue;
    const Status drained = drain(generations[i], i);
    if (drained.is_ok()) continue;
    notes_.push_back(fmt::format("{} was not drained from the stages: {}",
                                 generation_name(id_of(generations[i])), drained.to_string()));
    break;  // newer ones may build on it
  }
  return std::move(notes_);
}

void remove_probes(Store& stage) {
  const auto names = stage.list(".");
  if (!names.is_ok()) return;
  for (const std::string& name : names.value())
    if (name.starts_with(kStageProbePrefix)) (void)stage.remove_directory(name);
}

}  // namespace

StagedStore* stages_of_nodes(Store& store) {
  auto* const staged = dynamic_cast<StagedStore*>(&store);
  return staged != nullptr && staged->seat().spans_nodes() ? staged : nullptr;
}

Status check_home_is_shared(Comm& comm, StagedStore& store) {
  std::string id;
  Status mine;
  if (store.seat().leads()) {
    const auto found = read_store_id(store.home());
    mine = found.status();
    if (found.is_ok()) id = to_hex(found.value());
  }
  STRATALOG_ASSIGN_OR_RETURN(const std::string told, tell(comm, id));
  if (store.seat().leads() && id != told)
    mine = Status::invalid_argument(fmt::format(
        "the checkpoint folder {} is not the same on all nodes; only staging directories may lie "
        "on single nodes",
        store.home().root()));
  return agree(comm, mine);
}

// A folder of one name can be made once only in one stage.
Status check_stages_are_apart(Comm& comm, StagedStore& store) {
  std::array<std::byte, 8> random{};
  Status mine;
  if (comm.rank() == 0) mine = store.random_bytes(random);
  STRATALOG_RETURN_IF_ERROR(tell_status(comm, mine));
  const auto number = std::bit_cast<std::uint64_t>(random);
  STRATALOG_ASSIGN_OR_RETURN(const std::string name,
                             tell(comm, fmt::format("{}{:016x}", kStageProbePrefix, number)));
  const bool leads = store.seat().leads();
  // A stage that cannot be opened or written costs checkpoints when they are due.
  Result<Store*> stage = Status::not_found("another rank of the node looks");
  if (leads) stage = store.stage(RootMode::kCreate);
  const Status made = stage.is_ok() ? stage.value()->make_directory(name) : Status::ok();
  if (made.code() == StatusCode::kAlreadyExists)
    mine = Status::invalid_argument(fmt::format(
        "the staging directory {} is the same on several nodes; put {{node}} into its path, which "
        "stands for the number of the node, as in --stage {}-{{node}}",
        store.stage_root(), store.stage_root()));
  const Status apart = agree(comm, mine);
  // Also what a job left that ended in between.
  if (stage.is_ok() && made.is_ok()) remove_probes(*stage.value());
  return apart;
}

Status make_room_in_stages(Comm& comm, StagedStore& store) {
  return others_first(comm, store, [&] { return store.wait_for_room(); });
}

Status begin_in_stages(Comm& comm, StagedStore& store, const GenerationId& id,
                       Durability durability) {
  Status mine;
  if (keeps_other_stage(store)) {
    const Result<Store*> stage = store.stage(RootMode::kCreate);
    mine = stage.is_ok() ? stage.value()->make_directory(generation_name(id)) : stage.status();
    // Nodes that were given one folder find it made.
    if (mine.code() == StatusCode::kAlreadyExists) mine = Status::ok();
    if (mine.is_ok() && durability == Durability::kFull) mine = stage.value()->sync_directory(".");
    if (!mine.is_ok())
      mine = mine.with_context(fmt::format("staging directory {}", store.stage_root()));
  }
  return agree(comm, mine);
}

Status seal_in_stages(Comm& comm, StagedStore& store, const GenerationId& id, Durability durability,
                      const ProtocolSteps& steps) {
  Status mine;
  if (keeps_other_stage(store) && durability == Durability::kFull &&
      steps.includes(ProtocolStep::kSealStages)) {
    const Result<Store*> stage = store.stage(RootMode::kMustExist);
    mine = stage.is_ok() ? stage.value()->sync_directory(generation_name(id)) : stage.status();
  }
  return agree(comm, mine);
}

void discard_in_stage(StagedStore& store, const GenerationId& id) {
  if (!keeps_other_stage(store)) return;
  const Result<Store*> stage = store.stage(RootMode::kMustExist);
  if (stage.is_ok()) (void)discard_generation(*stage.value(), id);
}

Status settle_stages(Comm& comm, StagedStore& store) {
  return others_first(comm, store, [&] { return store.settle(); });
}

Result<std::vector<std::string>> recover_stages(Comm& comm, StagedStore& store,
                                                Durability durability) {
  return Recovery(comm, store, durability).run();
}

}  // namespace stratalog
