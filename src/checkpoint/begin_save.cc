// SPDX-License-Identifier: Apache-2.0
// How a save begins: ranks agree on what is saved and on its layout, and a generation is begun.
#include <fmt/format.h>

#include "base/memory_end.h"
#include "checkpoint/auto_layout.h"
#include "checkpoint/save_checks.h"
#include "checkpoint/save_driver.h"
#include "checkpoint/told.h"

namespace stratalog {

// The lists must be the same everywhere, or ranks would write different files under one number.
Status SaveDriver::check_alike(const SaveRequest& request, OverlapWay overlap) {
  const Status mine = check_request(request, mode_, options_);
  STRATALOG_RETURN_IF_ERROR(agree(comm_, mine.is_ok() ? check_base(request, overlap) : mine));
  const std::uint64_t digest = image_list_digest(request, mode_);
  std::uint64_t extremes[2] = {digest, ~digest};
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(extremes, ReduceOp::kMax));
  if (extremes[0] == ~extremes[1]) return Status::ok();
  return Status::ranks_disagree("the ranks do not save the same list of relations");
}

// Growth needs the generation that it builds on, and that is always the last acknowledged one.
Status SaveDriver::check_base(const SaveRequest& request, OverlapWay overlap) const {
  if (!request.base.empty() && request.base != base_.generation())
    return Status::invalid_argument(
        fmt::format("a checkpoint cannot build on {}; the last one is {}", request.base,
                    base_.generation().empty() ? "none" : base_.generation()));
  for (std::size_t i = 0; i < request.images.size(); ++i)
    if (request.base.empty() && part_of(request, i) != ImagePart::kWhole)
      return Status::invalid_argument(fmt::format(
          "the growth of {} cannot be saved without what it builds on", request.images[i].name));
  if (!has_folds(request)) return Status::ok();
  if (!can_fold())
    return Status::not_supported("chains cannot be folded where stages lie on several nodes");
  // One thread would read while another writes.
  if (overlap == OverlapWay::kWrite)
    return Status::not_supported("chains are folded by the thread that packs, if there is one");
  return Status::ok();
}

Status SaveDriver::confirm_base() {
  if (base_.generation().empty() || stages_ != nullptr) return {};
  Status there;
  if (comm_.rank() == 0)
    there = or_no_space("not enough memory to look for files",
                        [&] { return base_.find_files(store_); });
  const Status told = tell_status(comm_, there);
  if (!told.is_ok()) base_.forget();
  return told;
}

Result<CarriedOver> SaveDriver::carry(const SaveRequest& request) {
  Result<CarriedOver> carried = CarriedOver{};
  carried.value().sections.resize(request.sections.size());
  if (request.base.empty()) return carried;
  if (comm_.rank() == 0) carried = base_.carry(request);
  STRATALOG_RETURN_IF_ERROR(tell_status(comm_, carried.status()));
  return carried;
}

// Collective. The layout of this save, which a learned mode chooses.
Status SaveDriver::choose_layout(const SaveRequest& request, OpenSave& open) {
  open.option = option_of(request.mode, options_.layout);
  if (!is_learned(request.mode)) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(open.facts, gather_auto_facts(comm_, job_, options_, request));
  const MeasuredOn on = measured_on(*open.facts, options_, request, store_);
  STRATALOG_ASSIGN_OR_RETURN(AutoChoice choice,
                             learned_.choose(comm_, generations_, *open.facts, on));
  open.option = choice.option;
  open.manifest.reasons = std::move(choice.reasons);
  open.manifest.learned = learned_.record(on);
  return Status::ok();
}

// Collective: the next number, and its folder in every stage.
Result<Beginning> SaveDriver::begin_generation() {
  if (stages_ == nullptr) return generations_.begin(comm_);
  STRATALOG_RETURN_IF_ERROR(make_room_in_stages(comm_, *stages_));
  STRATALOG_ASSIGN_OR_RETURN(const Beginning beginning, generations_.begin(comm_));
  const Status begun = begin_in_stages(comm_, *stages_, beginning.id, options_.durability);
  if (begun.is_ok()) return beginning;
  if (comm_.rank() == 0) (void)discard_generation(store_, beginning.id);
  discard_in_stage(*stages_, beginning.id);
  return begun;
}

// Of a request that the save owns.
void SaveDriver::prepare_folds(OpenSave& open) {
  open.fold.emplace(comm_, store_, open.owned.base);
  walk_through(*open.fold, base_, open.owned);
}

Status SaveDriver::open_save(const SaveRequest& request, OpenSave& open) {
  const HeldUp held(open);
  outcome_ = SaveOutcome::kFailed;
  STRATALOG_RETURN_IF_ERROR(choose_layout(request, open));
  mode_ = open.option.mode;
  const OverlapWay wished = open.overlap.way;
  open.overlap = limit_overlap(open.overlap, mode_);
  STRATALOG_RETURN_IF_ERROR(check_alike(request, open.overlap.way));
  for (const RelationImage& image : request.images) open.rows.push_back(image.rows);
  STRATALOG_RETURN_IF_ERROR(comm_.allreduce(open.rows, ReduceOp::kSum));

  LayoutWishes wishes = wishes_with(open.option, options_.layout);
  if (stages_ != nullptr) {
    STRATALOG_ASSIGN_OR_RETURN(wishes.files,
                               plan_stage_files(mode_, wishes.files, job_.node_of_rank));
  }
  {
    const Stopwatch watch(open.out.times.metadata_ns);
    const ShardEncoding encoding = stores_rows(mode_) ? ShardEncoding::kRowsU64
                                   : stores_streams(mode_)
                                       ? ShardEncoding::kStreams
                                       : encoding_of(open.option.coding, request.encoding);
    STRATALOG_ASSIGN_OR_RETURN(open.layout, plan_save(comm_, job_, request, wishes, encoding));
  }
  if (open.overlap.way == OverlapWay::kPack &&
      packs_with_calls(mode_, open.layout.plan.edge_alignment))
    open.calls = std::make_unique<CommBeside>(comm_);
  const Stopwatch watch(open.out.times.commit_ns);
  STRATALOG_ASSIGN_OR_RETURN(open.carried, carry(request));
  STRATALOG_ASSIGN_OR_RETURN(const Beginning beginning, begin_generation());
  open.context.emplace(SaveContext{.comm = open.calls ? *open.calls : comm_,
                                   .store = store_,
                                   .request = request,
                                   .options = options_,
                                   .id = beginning.id,
                                   .nonce = beginning.nonce,
                                   .store_id = beginning.store_id,
                                   .total_rows = open.rows,
                                   .carried = open.carried,
                                   .layout = open.layout,
                                   .queue = open.queue,
                                   .fold = open.fold ? &*open.fold : nullptr,
                                   .overlap = open.overlap.way});
  Manifest& manifest = open.manifest;
  manifest.store = beginning.store_id;
  manifest.id = beginning.id;
  manifest.nonce = beginning.nonce;
  manifest.ranks = static_cast<std::uint32_t>(comm_.size());
  manifest.mode = mode_;
  manifest.encoding = open.layout.encoding;
  manifest.durability = options_.durability;
  manifest.iteration = request.iteration;
  manifest.program_hash = request.program_hash;
  manifest.engine_state = request.engine_state;
  // The plain modes have nothing to explain.
  if (format_of(mode_) != mode_ || !manifest.reasons.empty())
    manifest.reasons.insert(manifest.reasons.end(), open.layout.plan.reasons.begin(),
                            open.layout.plan.reasons.end());
  if (wished != OverlapWay::kNone)
    manifest.reasons.push_back({.about = "overlap", .text = open.overlap.reason});
  return Status::ok();
}

}  // namespace stratalog
