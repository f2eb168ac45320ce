// SPDX-License-Identifier: Apache-2.0
// export: a relation of a checkpoint as a file of decoded values, sorted, through the same writers
// that .output uses. Streams the stored groups (several passes over large relations), so memory
// does not grow with the relation. Local.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/parallel_module.h"
#include "cli/stored_program.h"
#include "comm/comm.h"
#include "datalog/facts/fact_writer.h"
#include "datalog/language/spelling.h"
#include "datalog/relation_storage.h"
#include "model/set_walk.h"

namespace stratalog::cli {

namespace {

ExitCode fail(const Status& status, Part part) {
  complain(status);
  return exit_code_of(status, part);
}

struct StoredChoice {
  std::size_t index = 0;  // into StoredState::relations
  const datalog::Relation* relation = nullptr;
};

Result<StoredChoice> choose_relation(const StoredState& state, const datalog::Program& program,
                                     const StoredArguments& arguments) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < state.relations.size(); ++i) {
    const StoredRelation& stored = state.relations[i];
    if (stored.name == arguments.relation && stored.version == arguments.version) {
      const auto declared =
          std::find_if(program.relations.begin(), program.relations.end(),
                       [&](const auto& relation) { return relation.name == stored.name; });
      if (declared != program.relations.end() && declared->attributes.size() == stored.arity) {
        return StoredChoice{.index = i, .relation = &*declared};
      }
      return Status::corruption(fmt::format("{}: relation {} does not fit the stored program",
                                            state.generation, stored.name));
    }
    if (stored.version == arguments.version) names.push_back(stored.name);
  }
  const std::string near = datalog::language::suggest(arguments.relation, names);
  return Status::invalid_argument(fmt::format(
      "{} holds no {} of a relation '{}'; {}", state.generation,
      arguments.version == RelationVersion::kTotal ? "total" : "delta", arguments.relation,
      near.empty() ? fmt::format("it holds {}", fmt::join(names, ", ")) : near));
}

datalog::IoDirective directive_of(const StoredArguments& arguments) {
  datalog::IoDirective directive;
  directive.action = datalog::IoAction::kOutput;
  if (arguments.target == "-") {
    directive.parameters["IO"] = "stdout";
  } else {
    directive.parameters["IO"] = arguments.format == ExportFormat::kHdf5 ? "hdf5" : "file";
    directive.parameters["filename"] = arguments.target;
  }
  return directive;
}

// Checkpoints hold an equivalence relation as the least element of each class with its elements
// (in pieces); here every element gets a group of all elements of its class.
Status visit_pairs(const std::function<Status(const GroupVisitor&)>& stored_groups,
                   const GroupVisitor& visit) {
  std::map<Cell, std::vector<Cell>> classes;
  STRATALOG_RETURN_IF_ERROR(stored_groups([&](const TupleGroup& group) -> Status {
    std::vector<Cell>& members = classes[group.prefix[0]];
    walk_set(group.set, [&](Cell cell) { members.push_back(cell); });
    return {};
  }));
  for (auto& [least, members] : classes) {
    std::sort(members.begin(), members.end());
    const SetView all{.kind = SetKind::kArray,
                      .base = 0,
                      .values = members,
                      .offsets = {},
                      .words = {},
                      .count = members.size()};
    for (const Cell& cell : members)
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = std::span(&cell, 1), .set = all}));
  }
  return {};
}

Result<datalog::WrittenFacts> write_relation(Store& store, const StoredState& state,
                                             const datalog::Program& program,
                                             const StoredArguments& arguments) {
  STRATALOG_ASSIGN_OR_RETURN(const StoredChoice choice, choose_relation(state, program, arguments));
  STRATALOG_ASSIGN_OR_RETURN(const ValueDictionary dictionary, stored_dictionary(state));
  const StoredRelation& stored = state.relations[choice.index];
  RelationImage image;
  image.name = stored.name;
  image.version = stored.version;
  image.arity = stored.arity;
  image.column_order = stored.column_order;
  image.rows = stored.rows;
  image.hash = stored.hash;
  image.for_each_group = [&](const GroupVisitor& visit) {
    return for_each_stored_group(store, state.generation, choice.index, visit);
  };
  if (datalog::is_equivalence(*choice.relation))
    image.for_each_group = [stored_groups = image.for_each_group](const GroupVisitor& visit) {
      return visit_pairs(stored_groups, visit);
    };
  datalog::ValueOrder order(dictionary);
  const std::unique_ptr<Comm> self = make_self_comm();
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<Store> target,
                             open_posix_store(".", RootMode::kMustExist));
  datalog::WriteOptions options;
  options.hdf5 = write_hdf5_by_module;
  return write_facts(*self, *target, *choice.relation, directive_of(arguments), order, image,
                     options);
}

}  // namespace

ExitCode export_command(const StoredArguments& arguments) {
  const auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok()) return fail(store.status(), Part::kCheckpoint);
  const auto generation = choose_generation(*store.value(), arguments.generation);
  if (!generation.is_ok()) return fail(generation.status(), Part::kCheckpoint);
  const auto state = inspect_generation(*store.value(), generation.value());
  if (!state.is_ok()) return fail(state.status(), Part::kCheckpoint);
  const auto program = stored_program(state.value());
  if (!program.is_ok()) return fail(program.status(), Part::kCheckpoint);
  const auto written = write_relation(*store.value(), state.value(), program.value(), arguments);
  if (!written.is_ok()) {
    const StatusCode code = written.status().code();
    const bool is_damage = code == StatusCode::kCorruption || code == StatusCode::kInvalidArgument;
    return fail(written.status(), is_damage ? Part::kCheckpoint : Part::kOutput);
  }
  const Status printed = print_result(written.value().console);
  if (!printed.is_ok()) return fail(printed, Part::kOutput);
  if (arguments.style == OutputStyle::kJson) {
    const nlohmann::json entry = {{"generation", generation.value()},
                                  {"relation", arguments.relation},
                                  {"rows", written.value().rows},
                                  {"file", written.value().path}};
    const Status told = print_result(json_text(entry));
    if (!told.is_ok()) return fail(told, Part::kOutput);
  }
  return ExitCode::kDone;
}

}  // namespace stratalog::cli
