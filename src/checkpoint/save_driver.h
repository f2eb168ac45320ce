// SPDX-License-Identifier: Apache-2.0
// SaveDriver: opens a store for writing and carries out the commit protocol's steps in order, with
// one agreement between "every rank's data is durable" and "rank 0 writes the manifest". How a save
// begins is in begin_save.cc, who writes it, the caller or a thread, in checkpoint_writer.cc, and
// how it ends in close_save.cc. Collective.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/chain_base.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/generation_sequence.h"
#include "checkpoint/learned_layout.h"
#include "checkpoint/node_stages.h"
#include "checkpoint/open_save.h"

namespace stratalog {

class SaveDriver final : public CheckpointWriter {
 public:
  SaveDriver(Comm& comm, Store& store, const WriterOptions& options)
      : comm_(comm),
        store_(store),
        stages_(stages_of_nodes(store)),
        options_(options),
        generations_(store, options_) {}

  Status open();
  Result<SaveReport> save(const SaveRequest& request) override;
  Status begin(SaveRequest request) override;
  Result<SaveReport> finish() override;
  bool is_written() const override {
    if (!pending_) return true;
    if (pending_->needs_meetings()) return pending_->calls->is_ready();
    return pending_->is_written.load() && pending_->queue.is_done();
  }
  bool advance() override;
  OverlapPlan overlap(CheckpointMode mode) const override {
    return plan_overlap(overlap_facts_, options_.overlap, mode);
  }
  bool can_fold() const override { return stages_ == nullptr; }
  const std::string& base() const override { return base_.generation(); }
  Status confirm_base() override;
  ChainFacts chain(const std::string& relation, RelationVersion version) const override {
    return base_.facts(relation, version);
  }
  SaveOutcome last_outcome() const override { return outcome_; }
  const std::vector<std::string>& notes() const override { return generations_.notes(); }

 private:
  Status choose_layout(const SaveRequest& request, OpenSave& open);
  Status check_alike(const SaveRequest& request, OverlapWay overlap);
  Status check_base(const SaveRequest& request, OverlapWay overlap) const;
  Result<CarriedOver> carry(const SaveRequest& request);
  Result<Beginning> begin_generation();
  Status open_save(const SaveRequest& request, OpenSave& open);
  Status write_data(const SaveContext& context, Manifest& manifest, LocalOutput& out);
  void prepare_folds(OpenSave& open);
  Status judge_folds(const SaveContext& context, const Status& written);
  Status read_back(OpenSave& open);
  Status begin_files(OpenSave& open);
  void write_now(OpenSave& open);
  Status start_thread(OpenSave& open);
  void write_in_thread(OpenSave& open);
  void write_with_calls(OpenSave& open);
  void pack_now_write_in_thread(OpenSave& open);
  void remember_costs(const SaveReport& report);
  Result<SaveReport> close_save(OpenSave& open);
  Status clean_up(const SaveContext& context, const Status& why);
  Status commit(const SaveContext& context, Manifest& manifest, LocalOutput& out,
                SaveReport& report);
  Status word_manifest(const SaveContext& context, Manifest& manifest, const LocalOutput& out,
                       std::string& text);
  void list_relations(const SaveRequest& request, std::span<const std::uint64_t> sums,
                      std::vector<ManifestRelation>& relations) const;
  Status publish(const SaveContext& context, const Manifest& manifest, const std::string& text,
                 SaveReport& report);

  Comm& comm_;
  Store& store_;
  StagedStore* stages_;  // where they lie on several nodes
  WriterOptions options_;
  JobFacts job_;
  GenerationSequence generations_;
  ChainBase base_;
  CheckpointMode mode_ = CheckpointMode::kFilePerProcess;  // of the save that runs
  LearnedLayout learned_;  // of modes auto and hdf5-auto
  OverlapFacts overlap_facts_;
  SaveOutcome outcome_ = SaveOutcome::kNone;
  Status over_;  // why no further save is possible
  bool has_lasting_notes_ = false;  // said once in a job
  std::unique_ptr<OpenSave> pending_;  // between begin() and finish()
};

}  // namespace stratalog
