// SPDX-License-Identifier: Apache-2.0
// Runs the engine on virtual ranks with everything in memory: fact files in, output files and the
// report out. For property tests. Local; each call has its own disks unless it is given some.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "comm/comm.h"
#include "datalog/evaluate/engine.h"
#include "datalog/language/compile.h"
#include "one_core.h"
#include "write/memory_store.h"

namespace stratalog::datalog {

using FileTexts = std::map<std::string, std::string>;

inline std::shared_ptr<MemoryDisk> disk_with(const FileTexts& files) {
  auto disk = std::make_shared<MemoryDisk>();
  for (const auto& [name, text] : files) {
    const NodeId id = disk->add_node(FileKind::kRegular);
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    disk->change(id).data.assign(bytes, bytes + text.size());
    disk->change(MemoryDisk::kRoot).entries[name] = id;
  }
  return disk;
}

inline FileTexts files_on(const MemoryDisk& disk) {
  FileTexts files;
  for (const auto& [name, id] : disk.node(MemoryDisk::kRoot).entries) {
    const Bytes& data = disk.node(id).data;
    files[name] = std::string(reinterpret_cast<const char*>(data.data()), data.size());
  }
  return files;
}

inline std::string text_of(const FileTexts& files) {
  std::string text;
  for (const auto& [name, content] : files) text += fmt::format("--- {}\n{}", name, content);
  return text;
}

// Nothing lies where it is searched: bindings hop from the first row on.
inline RunOptions hop_options() {
  RunOptions options;
  options.replicate_limit_rows = 0;
  options.mirror_limit_rows = 0;
  options.read_swept_min_rows = 0;
  options.deal_equivalence_from = 0;
  return options;
}

struct EngineOutcome {
  Status status;
  FileTexts files;  // of the output directory
  RunReport report;  // of rank 0
};

// Another store in front of the one for checkpoints, on each rank.
using StoreFront = std::function<std::unique_ptr<Store>(Store&)>;

// `options` without stores: facts and outputs are set here, and the checkpoint store if there is a
// disk for it.
inline EngineOutcome run_engine(const Program& program, const FileTexts& facts, int ranks,
                                const RunOptions& options, const RunHooks& hooks = {},
                                const std::shared_ptr<MemoryDisk>& checkpoints = nullptr,
                                const FileTexts* added_facts = nullptr,
                                const StoreFront& front = {},
                                AddressSpace space = AddressSpace::kSeparate) {
  EngineOutcome outcome;
  const auto facts_disk = disk_with(facts);
  const auto added_disk = added_facts == nullptr ? nullptr : disk_with(*added_facts);
  const auto output_disk = std::make_shared<MemoryDisk>();
  std::vector<Status> statuses(static_cast<std::size_t>(ranks));
  const auto run_rank = [&](Comm& comm) -> Status {
    const auto facts_store = open_memory_store(facts_disk);
    const auto output_store = open_memory_store(output_disk);
    const auto checkpoint_store = checkpoints ? open_memory_store(checkpoints) : nullptr;
    const auto added_store = added_disk ? open_memory_store(added_disk) : nullptr;
    const auto front_store = front && checkpoint_store ? front(*checkpoint_store) : nullptr;
    RunOptions mine = options;
    mine.added_facts = added_store.get();
    mine.facts = facts_store.get();
    mine.output = output_store.get();
    mine.checkpoint.store = front_store ? front_store.get() : checkpoint_store.get();
    auto result = run_program(comm, program, mine, hooks);
    statuses[static_cast<std::size_t>(comm.rank())] = result.status();
    if (!result.is_ok()) return result.status();
    if (comm.rank() == 0) outcome.report = std::move(result).value();
    return {};
  };
  const Status all = space == AddressSpace::kShared ? sim_run(ranks, run_rank, space)
                                                    : sim_run_on_one_core(ranks, run_rank);
  outcome.status = statuses[0].is_ok() ? all : statuses[0];
  for (const Status& status : statuses)
    EXPECT_EQ(status.to_string(), statuses[0].to_string()) << "ranks end with different verdicts";
  outcome.files = files_on(*output_disk);
  return outcome;
}

inline std::optional<Program> compile_text(const std::string& text, std::string& problems,
                                           MagicSets use = MagicSets::kApply) {
  CompileOptions options;
  options.magic_sets = use;
  options.preprocessor = PreprocessorUse::kNever;
  CompileOutcome outcome = compile({.name = "case.dl", .text = text}, options);
  for (const Diagnostic& d : outcome.diagnostics)
    if (d.severity == Severity::kError) problems += render(d);
  return std::move(outcome.program);
}

// Of a text that has no errors.
inline Program compiled(const std::string& text, MagicSets use = MagicSets::kApply) {
  std::string problems;
  auto program = compile_text(text, problems, use);
  EXPECT_TRUE(program) << problems;
  return program ? *std::move(program) : Program();
}

}  // namespace stratalog::datalog
