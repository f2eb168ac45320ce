// SPDX-License-Identifier: Apache-2.0
// Who writes a save: the caller while it waits, a thread beside it, or both. Collective.
#include <fmt/format.h>

#include <system_error>

#include "base/memory_end.h"
#include "checkpoint/save_driver.h"

namespace stratalog {

Status SaveDriver::open() {
  Status status;
  if (options_.keep_generations < 2 && options_.steps.includes(ProtocolStep::kKeepTwo))
    status = Status::invalid_argument("at least two generations must be kept");
  if (options_.block_bytes < 256 || options_.block_bytes > (1 << 20) ||
      options_.stage_bytes < 4096 || options_.stage_bytes > (1 << 30))
    status =
        Status::invalid_argument("block_bytes must be 256 .. 1 MiB, stage_bytes 4 KiB .. 1 GiB");
  STRATALOG_RETURN_IF_ERROR(agree(comm_, status));
  STRATALOG_ASSIGN_OR_RETURN(job_, gather_job_facts(comm_, store_));
  overlap_facts_.cores = job_.cores.cores;
  overlap_facts_.ranks = job_.cores.ranks;
  overlap_facts_.buffer_bytes = options_.stage_bytes;
  if (comm_.rank() == 0) status = generations_.claim();
  STRATALOG_RETURN_IF_ERROR(agree(comm_, status));
  if (stages_ == nullptr) return Status::ok();
  STRATALOG_RETURN_IF_ERROR(check_home_is_shared(comm_, *stages_));
  return check_stages_are_apart(comm_, *stages_);
}

// Collective only in modes that are; the Status is this rank's own.
Status SaveDriver::write_data(const SaveContext& context, Manifest& manifest, LocalOutput& out) {
  Status status;
  switch (mode_) {
    case CheckpointMode::kFilePerProcess:
      status = write_own_files(context, out);
      break;
    case CheckpointMode::kShared:
    case CheckpointMode::kSharedOpt:
      status = context.overlap == OverlapWay::kNone ? write_shared_files(context, out)
                                                    : write_shared_in_rounds(context, out);
      break;
    case CheckpointMode::kHdf5:
    case CheckpointMode::kHdf5Opt:
      status = write_row_files(context, out);
      break;
    case CheckpointMode::kHdf5Direct:
      status = write_rows_directly(context, out);
      break;
    case CheckpointMode::kHdf5Streams:
      status = write_stream_files(context, out);
      break;
    case CheckpointMode::kHdf5Auto:
    case CheckpointMode::kAuto:
      status = Status::internal("a learned mode was not resolved");
      break;
  }
  if (status.is_ok() && comm_.rank() == 0) status = write_sections(context, manifest.sections, out);
  return status;
}

// Collective, with one verdict: what ranks need each other for before a thread packs.
Status SaveDriver::begin_files(OpenSave& open) {
  if (mode_ != CheckpointMode::kHdf5Direct) return Status::ok();
  const HeldUp held(open);
  STRATALOG_ASSIGN_OR_RETURN(open.write_rest, begin_rows_directly(*open.context, open.out));
  return Status::ok();
}

// Want of memory is a failed save like others.
void SaveDriver::write_now(OpenSave& open) {
  open.written = or_no_space("not enough memory to write a checkpoint", [&]() -> Status {
    if (!open.write_rest) return write_data(*open.context, open.manifest, open.out);
    STRATALOG_RETURN_IF_ERROR(open.write_rest());
    return comm_.rank() == 0 ? write_sections(*open.context, open.manifest.sections, open.out)
                             : Status::ok();
  });
}

// A thread that writes; the error says that the system has none to give.
Status SaveDriver::start_thread(OpenSave& open) {
  open.is_written.store(false);
  try {
    open.beside_since_ns = now_ns();
    open.thread = std::thread([this, &open] {
      if (!open.calls || open.calls->may_begin()) write_now(open);
      open.beside_until_ns.store(now_ns());
      open.is_written.store(true);
      if (open.calls) open.calls->end();
    });
  } catch (const std::system_error&) {
    open.beside_since_ns = 0;
    open.is_written.store(true);
    return Status::no_space("the system has no thread to give");
  }
  return Status::ok();
}

void SaveDriver::write_in_thread(OpenSave& open) {
  open.written = begin_files(open);
  if (!open.written.is_ok()) return;
  if (start_thread(open).is_ok()) return;
  const HeldUp held(open);
  write_now(open);
}

// Collective. The thread of a rank goes on where those of all do: without a thread on each, all
// write at once.
void SaveDriver::write_with_calls(OpenSave& open) {
  open.written = begin_files(open);
  if (!open.written.is_ok()) return;
  const HeldUp held(open);
  if (agree(comm_, start_thread(open)).is_ok()) {
    open.meets = true;
    open.calls->let_begin();
    return;
  }
  open.calls->give_up();
  if (open.thread.joinable()) open.thread.join();
  write_now(open);
}

void SaveDriver::pack_now_write_in_thread(OpenSave& open) {
  open.queue.start(options_.stage_bytes);
  {
    const HeldUp held(open);
    write_now(open);
    open.queue.close();
  }
  open.beside_since_ns = now_ns();
}

bool SaveDriver::advance() {
  if (!pending_ || !pending_->needs_meetings()) return true;
  const HeldUp held(*pending_);
  pending_->calls->meet();
  return false;
}

Result<SaveReport> SaveDriver::save(const SaveRequest& request) {
  STRATALOG_RETURN_IF_ERROR(over_);
  if (pending_)
    return Status::invalid_argument("a checkpoint is being written; finish() it before the next");
  OpenSave open;
  const bool folds = has_folds(request);
  if (folds) {
    open.owned = request;
    prepare_folds(open);
  }
  STRATALOG_RETURN_IF_ERROR(open_save(folds ? open.owned : request, open));
  {
    const HeldUp held(open);
    write_now(open);
  }
  return close_save(open);
}

Status SaveDriver::begin(SaveRequest request) {
  STRATALOG_RETURN_IF_ERROR(over_);
  if (pending_)
    return Status::invalid_argument("a checkpoint is being written; finish() it before the next");
  if (most_overlap(request.mode) == OverlapWay::kNone)
    return Status::not_supported(
        fmt::format("mode {} cannot be written beside other work", mode_name(request.mode)));
  auto open = std::make_unique<OpenSave>();
  open->owned = std::move(request);
  open->overlap = overlap(open->owned.mode);
  if (has_folds(open->owned)) prepare_folds(*open);
  STRATALOG_RETURN_IF_ERROR(open_save(open->owned, *open));
  pending_ = std::move(open);
  switch (pending_->overlap.way) {
    case OverlapWay::kPack:
      if (pending_->calls)
        write_with_calls(*pending_);
      else
        write_in_thread(*pending_);
      break;
    case OverlapWay::kWrite:
      pack_now_write_in_thread(*pending_);
      break;
    case OverlapWay::kNone: {
      const HeldUp held(*pending_);
      write_now(*pending_);
      break;
    }
  }
  return Status::ok();
}

Result<SaveReport> SaveDriver::finish() {
  if (!pending_) return Status::invalid_argument("no checkpoint is being written");
  const std::unique_ptr<OpenSave> open = std::move(pending_);
  {
    const HeldUp held(*open);
    for (; open->needs_meetings(); open->calls->meet()) open->calls->wait_until_ready();
    if (open->thread.joinable()) open->thread.join();
    open->finish_queue();
  }
  return close_save(*open);
}

Result<std::unique_ptr<CheckpointWriter>> open_checkpoint_writer(Comm& comm, Store& store,
                                                                 const WriterOptions& options) {
  auto writer = std::make_unique<SaveDriver>(comm, store, options);
  STRATALOG_RETURN_IF_ERROR(writer->open());
  return std::unique_ptr<CheckpointWriter>(std::move(writer));
}

}  // namespace stratalog
