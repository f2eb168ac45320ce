// SPDX-License-Identifier: Apache-2.0
// export: a relation of a checkpoint as a file of decoded values, sorted, through the same writers
// that .output uses. Streams the stored groups (several passes over large relations), so memory
// does not grow with the relation. Local.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/stored_tuples.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/parallel_module.h"
#include "cli/stored_program.h"
#include "comm/comm.h"
#include "datalog/facts/fact_format.h"
#include "datalog/facts/fact_writer.h"
#include "datalog/facts/key_cells.h"
#include "datalog/language/spelling.h"
#include "datalog/made_relations.h"
#include "datalog/relation_storage.h"
#include "model/set_union.h"
#include "model/set_walk.h"
#include "write/public_files.h"

namespace stratalog::cli {

namespace {

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
    if (stored.version == arguments.version && !datalog::is_made_name(stored.name))
      names.push_back(stored.name);
  }
  if (names.empty())
    return Status::invalid_argument(fmt::format(
        "{} holds no {} of any relation: deltas are those of a run that has not ended",
        state.generation, arguments.version == RelationVersion::kTotal ? "total" : "delta"));
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
    directive.parameters["IO"] = arguments.format == ExportFormat::kTsv ? "file" : "hdf5";
    directive.parameters["filename"] = arguments.target;
  }
  return directive;
}

// What the format cannot hold, said of this command: no program has such a directive.
Status check_format(const datalog::Relation& relation, const datalog::IoDirective& directive) {
  Status planned = datalog::plan_output(relation, directive).status();
  if (planned.is_ok()) return planned;
  if (directive.parameters.at("IO") == "hdf5")
    for (const datalog::Attribute& attribute : relation.attributes)
      if (attribute.structure != datalog::kNoStructure)
        return Status::not_supported(fmt::format(
            "export of {}: HDF5 files cannot hold attribute `{}` of type {}, a structured value; "
            "choose --to tsv",
            relation.name, attribute.name, attribute.type_name));
  return planned.with_context("export of " + relation.name);
}

// Tuples that were chosen, so that they are read and verified once however often they are walked:
// counted, sampled, sorted range by range. More than fit are read again each time.
class ChosenGroups {
 public:
  explicit ChosenGroups(std::function<Status(const GroupVisitor&)> read) : read_(std::move(read)) {}

  Status walk(const GroupVisitor& visit) {
    if (state_ == State::kKept) return replay(visit);
    if (state_ == State::kTooMany) return read_(visit);
    const Status status = read_([&](const TupleGroup& group) {
      keep(group);
      return visit(group);
    });
    if (status.is_ok() && state_ == State::kUnread) state_ = State::kKept;
    if (!status.is_ok()) forget(State::kUnread);
    return status;
  }

 private:
  static constexpr std::size_t kMostCells = std::size_t{16} << 20;
  enum class State : std::uint8_t { kUnread, kKept, kTooMany };
  struct Group {
    std::size_t prefix_cells;
    std::size_t set_cells;
  };

  void keep(const TupleGroup& group) {
    if (state_ == State::kTooMany) return;
    if (cells_.size() + group.prefix.size() + group.set.count > kMostCells) {
      forget(State::kTooMany);
      return;
    }
    cells_.insert(cells_.end(), group.prefix.begin(), group.prefix.end());
    walk_set(group.set, [&](Cell cell) { cells_.push_back(cell); });
    groups_.push_back({.prefix_cells = group.prefix.size(), .set_cells = group.set.count});
  }

  void forget(State state) {
    state_ = state;
    cells_ = {};
    groups_ = {};
  }

  Status replay(const GroupVisitor& visit) const {
    std::span<const Cell> rest = cells_;
    for (const Group& group : groups_) {
      const std::span<const Cell> prefix = rest.first(group.prefix_cells);
      const std::span<const Cell> set = rest.subspan(group.prefix_cells, group.set_cells);
      rest = rest.subspan(group.prefix_cells + group.set_cells);
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = prefix, .set = array_view(set)}));
    }
    return Status::ok();
  }

  std::function<Status(const GroupVisitor&)> read_;
  State state_ = State::kUnread;
  std::vector<Cell> cells_;
  std::vector<Group> groups_;
};

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
    for (const Cell& cell : members)
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = std::span(&cell, 1), .set = array_view(members)}));
  }
  return {};
}

// What --where asks for.
Result<TupleFilter> filter_of(const StoredArguments& arguments, const datalog::Relation& relation,
                              std::span<const std::uint32_t> column_order,
                              const ValueDictionary& dictionary) {
  TupleFilter filter(column_order);
  for (const std::string& where : arguments.where) {
    const std::size_t equals = where.find('=');
    const std::string column = where.substr(0, equals);
    const auto attribute =
        std::find_if(relation.attributes.begin(), relation.attributes.end(),
                     [&](const datalog::Attribute& a) { return a.name == column; });
    if (equals == std::string::npos || attribute == relation.attributes.end()) {
      std::vector<std::string> names;
      names.reserve(relation.attributes.size());
      for (const datalog::Attribute& a : relation.attributes) names.push_back(a.name);
      return Status::invalid_argument(
          fmt::format("--where {}: expected COLUMN=VALUE with one of the columns of {}: {}", where,
                      relation.name, fmt::join(names, ", ")));
    }
    auto cells = datalog::cells_of_key(*attribute, *relation.structures, dictionary,
                                       std::string_view(where).substr(equals + 1));
    if (!cells.is_ok()) return cells.status().with_context("--where " + where);
    filter.want(static_cast<std::uint32_t>(attribute - relation.attributes.begin()),
                std::move(cells).value());
  }
  return filter;
}

datalog::Hdf5Writer hdf5_writer(ExportFormat format) {
  if (format == ExportFormat::kTsv || format == ExportFormat::kHdf5) return write_hdf5_by_module;
  const datalog::StreamFilter filter = format == ExportFormat::kHdf5Streams
                                           ? datalog::StreamFilter::kDeflate
                                           : datalog::StreamFilter::kBlosc;
  return [filter](Comm& comm, const std::string& path, const datalog::SortedRelation& sorted) {
    return write_streams_by_module(comm, path, sorted, filter);
  };
}

Result<datalog::WrittenFacts> write_relation(Store& store, const StoredState& state,
                                             const datalog::Program& program,
                                             const StoredArguments& arguments, ReadExtent& extent) {
  STRATALOG_ASSIGN_OR_RETURN(const StoredChoice choice, choose_relation(state, program, arguments));
  STRATALOG_ASSIGN_OR_RETURN(const ValueDictionary dictionary, stored_dictionary(state));
  const StoredRelation& stored = state.relations[choice.index];
  const datalog::IoDirective directive = directive_of(arguments);
  STRATALOG_RETURN_IF_ERROR(check_format(*choice.relation, directive));
  RelationImage image;
  image.name = stored.name;
  image.version = stored.version;
  image.arity = stored.arity;
  image.column_order = stored.column_order;
  image.rows = stored.rows;
  image.hash = stored.hash;
  STRATALOG_ASSIGN_OR_RETURN(const TupleFilter filter, filter_of(arguments, *choice.relation,
                                                                 stored.column_order, dictionary));
  // Classes are no tuples: all of them are read, and the pairs are chosen.
  const bool is_equivalence = datalog::is_equivalence(*choice.relation);
  const TupleFilter all(stored.column_order);
  image.for_each_group = [&](const GroupVisitor& visit) {
    return for_each_wanted_group(store, state.generation, choice.index,
                                 is_equivalence ? all : filter, visit, extent);
  };
  if (is_equivalence)
    image.for_each_group = [&, stored_groups = image.for_each_group](const GroupVisitor& visit) {
      return visit_pairs(stored_groups,
                         [&](const TupleGroup& group) { return filter.pass(group, visit); });
    };
  ChosenGroups chosen(image.for_each_group);
  if (!filter.wants_all())
    image.for_each_group = [&](const GroupVisitor& visit) { return chosen.walk(visit); };
  datalog::ValueOrder order(dictionary);
  const std::unique_ptr<Comm> self = make_self_comm();
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<Store> target,
                             open_public_store(".", RootMode::kMustExist));
  datalog::WriteOptions options;
  options.hdf5 = hdf5_writer(arguments.format);
  return write_facts(*self, *target, *choice.relation, directive, order, image, options);
}

struct Exported {
  std::string generation;
  datalog::WrittenFacts written;
  ReadExtent extent;
};

// `part` is what an error is of.
Result<Exported> export_generation(Store& store, const std::string& generation,
                                   const StoredArguments& arguments, Part& part) {
  part = Part::kCheckpoint;
  Exported exported{.generation = generation, .written = {}, .extent = {}};
  STRATALOG_ASSIGN_OR_RETURN(const StoredState state, inspect_generation(store, generation));
  STRATALOG_ASSIGN_OR_RETURN(const datalog::Program program, stored_program(state));
  auto written = write_relation(store, state, program, arguments, exported.extent);
  if (!written.is_ok()) {
    const StatusCode code = written.status().code();
    const bool is_failing = code == StatusCode::kIoError || code == StatusCode::kNoSpace ||
                            code == StatusCode::kNotFound || code == StatusCode::kAlreadyExists;
    if (is_failing) part = Part::kOutput;
    return written.status();
  }
  exported.written = std::move(written).value();
  return exported;
}

}  // namespace

ExitCode export_command(const StoredArguments& arguments) {
  const auto store = open_checkpoint_folder(arguments.directory);
  if (!store.is_ok()) return end_with_error(store.status(), Part::kCheckpoint);
  Part part = Part::kCheckpoint;
  const auto exported =
      use_generation(*store.value(), arguments.generation, [&](const std::string& generation) {
        return export_generation(*store.value(), generation, arguments, part);
      });
  if (!exported.is_ok()) return end_with_error(exported.status(), part);
  const auto& [generation, written, extent] = exported.value();
  const Status printed = print_result(written.console);
  if (!printed.is_ok()) return end_with_error(printed, Part::kOutput);
  if (arguments.style == OutputStyle::kJson) {
    const nlohmann::json entry = {
        {"generation", generation}, {"relation", arguments.relation},    {"rows", written.rows},
        {"blocks", extent.blocks},  {"blocks_read", extent.blocks_read}, {"file", written.path}};
    const Status told = print_result(json_text(entry));
    if (!told.is_ok()) return end_with_error(told, Part::kOutput);
  }
  return ExitCode::kDone;
}

}  // namespace stratalog::cli
