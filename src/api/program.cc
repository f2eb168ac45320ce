// SPDX-License-Identifier: Apache-2.0
#include "api/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/collectives_comm.h"
#include "api/equal_arguments.h"
#include "api/inserted_facts.h"
#include "api/rank_run.h"
#include "api/run_settings.h"
#include "base/memory_end.h"
#include "datalog/evaluate/schema_json.h"
#include "datalog/functors/shared_libraries.h"
#include "datalog/language/compile.h"
#include "datalog/made_relations.h"
#include "model/record_image.h"

namespace stratalog {
namespace {

// So long a run that was asked to stop may work on to where it can write a checkpoint.
constexpr std::chrono::seconds kStopPatience(10);
using Clock = std::chrono::steady_clock;

using datalog::Attribute;
using datalog::Relation;
using datalog::ValueKind;

ColumnKind kind_of(const Attribute& attribute) {
  if (attribute.structure != datalog::kNoStructure) return ColumnKind::kStructured;
  switch (attribute.kind) {
    case ValueKind::kNumber:
      return ColumnKind::kNumber;
    case ValueKind::kUnsigned:
      return ColumnKind::kUnsigned;
    case ValueKind::kFloat:
      return ColumnKind::kFloat;
    case ValueKind::kSymbol:
      return ColumnKind::kSymbol;
    case ValueKind::kRecord:
      break;
  }
  return ColumnKind::kStructured;
}

datalog::ResumePolicy policy_of(OnCheckpoints wish) {
  switch (wish) {
    case OnCheckpoints::kRefuse:
      return datalog::ResumePolicy::kFresh;
    case OnCheckpoints::kResume:
      return datalog::ResumePolicy::kResumeOrFresh;
    case OnCheckpoints::kOverwrite:
      break;
  }
  return datalog::ResumePolicy::kFreshForced;
}

// The functions behind .functor, or what this rank has against a run before it begins.
Result<std::vector<datalog::ExternalFunction>> prepare(const datalog::Program& program,
                                                       const RunSettings& settings, int ranks,
                                                       int threads) {
  STRATALOG_RETURN_IF_ERROR(check_settings(settings, ranks, threads));
  return datalog::load_external_functions(
      program, {.libraries = settings.libraries, .directories = settings.library_directories});
}

std::vector<std::string> failure_texts(const datalog::RunReport& report) {
  std::vector<std::string> texts;
  texts.reserve(report.failed_checkpoints.size());
  for (const datalog::FailedCheckpoint& failed : report.failed_checkpoints)
    texts.push_back(fmt::format("iteration {}: {}", failed.iteration, failed.status.to_string()));
  return texts;
}

std::string console_text(const datalog::RunReport& report) {
  std::string text;
  for (const std::string& part : report.console) text += part;
  for (const datalog::RelationSize& size : report.print_sizes)
    text += fmt::format("{}\t{}\n", size.name, size.rows);
  return text;
}

// Rows of values as the columns that InsertedFacts takes.
class RowColumns {
 public:
  Status add(const Relation& relation, std::span<const Row> rows) {
    const std::size_t arity = relation.attributes.size();
    columns_.resize(arity);
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows[r].size() != arity)
        return Status::invalid_argument(
            fmt::format("relation `{}`, row {}: expected {} values, "
                        "found {}",
                        relation.name, r, arity, rows[r].size()));
    for (std::size_t c = 0; c < arity; ++c)
      for (std::size_t r = 0; r < rows.size(); ++r)
        STRATALOG_RETURN_IF_ERROR(add(relation, c, r, rows[r][c]));
    views_.reserve(arity);
    for (const OneColumn& column : columns_)
      views_.push_back({.values = column.is_text ? nullptr : column.bits.data(),
                        .stride = sizeof(std::uint64_t),
                        .text = column.text.data(),
                        .offsets = column.offsets.data(),
                        .texts = static_cast<std::int64_t>(column.offsets.size()) - 1});
    return Status::ok();
  }
  std::span<const stratalog_column_in> views() const { return views_; }

 private:
  struct OneColumn {
    bool is_text = false;
    std::vector<std::uint64_t> bits = {0};  // never empty, so that there is an address
    std::string text;
    std::vector<std::int64_t> offsets = {0};
  };

  Status add(const Relation& relation, std::size_t c, std::size_t row, const Value& value) {
    OneColumn& column = columns_[c];
    const Attribute& attribute = relation.attributes[c];
    const ColumnKind kind = kind_of(attribute);
    column.is_text = kind == ColumnKind::kSymbol || kind == ColumnKind::kStructured;
    std::optional<std::uint64_t> bits;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      const bool fits =
          kind == ColumnKind::kNumber || (kind == ColumnKind::kUnsigned && *number >= 0);
      if (fits) bits = static_cast<std::uint64_t>(*number);
    } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
      const bool fits = kind == ColumnKind::kUnsigned ||
                        (kind == ColumnKind::kNumber &&
                         *natural <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
      if (fits) bits = *natural;
    } else if (const auto* real = std::get_if<double>(&value)) {
      if (kind == ColumnKind::kFloat) bits = std::bit_cast<std::uint64_t>(*real);
    } else if (column.is_text) {
      column.text += std::get<std::string>(value);
      column.offsets.push_back(static_cast<std::int64_t>(column.text.size()));
      return Status::ok();
    }
    if (!bits)
      return Status::invalid_argument(
          fmt::format("relation `{}`, row {}, column `{}`: the value does not fit type {}",
                      relation.name, row, attribute.name, attribute.type_name));
    if (row == 0) column.bits.clear();
    column.bits.push_back(*bits);
    return Status::ok();
  }

  std::vector<OneColumn> columns_;
  std::vector<stratalog_column_in> views_;
};

Status refusal_of(const std::string& why) {
  return why.empty() ? Status::ok() : Status::invalid_argument(why);
}

// The outcome has a program.
Result<datalog::CompileOutcome> compile_here(std::string_view text,
                                             const CompileSettings& settings) {
  datalog::CompileOptions options;
  options.include_directories = settings.include_directories;
  options.macros = settings.macros;
  options.other_facts = datalog::OtherFacts::kFromCaller;
  datalog::CompileOutcome outcome =
      datalog::compile({.name = settings.name, .text = std::string(text)}, options);
  if (!outcome.is_ok()) return Status::invalid_argument(datalog::render_all(outcome.diagnostics));
  return outcome;
}

std::string to_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

struct Program::Parts {
  Parts(datalog::Program checked, std::string called, std::unique_ptr<Comm> group)
      : program(std::make_shared<const datalog::Program>(std::move(checked))),
        name(std::move(called)),
        inserted(*program),
        comm(std::move(group)) {
    for (const Relation& relation : program->relations) {
      names.push_back(relation.name);
      std::vector<Column>& of_relation = columns.emplace_back();
      for (const Attribute& attribute : relation.attributes)
        of_relation.push_back(
            {.name = attribute.name, .type = attribute.type_name, .kind = kind_of(attribute)});
    }
    // Those made for rules come last.
    while (!names.empty() && datalog::is_made_name(names.back())) {
      names.pop_back();
      columns.pop_back();
    }
  }

  Result<std::span<const RankRun>> finished(std::size_t relation) const {
    if (relation >= names.size())
      return Status::invalid_argument(fmt::format(
          "there is no relation number {}; the program has {}", relation, names.size()));
    if (ranks.empty())
      return Status::invalid_argument(
          fmt::format("relation `{}` cannot be read: the program has not been run, or its last run "
                      "did not end well",
                      names[relation]));
    return std::span<const RankRun>(ranks);
  }

  // Of one rank, without its stores. What was inserted here is dealt from the first of this
  // process.
  datalog::RunOptions options(const RunSettings& settings, bool is_first) const {
    datalog::RunOptions options;
    options.externals = functors;
    options.supply = [this,
                      is_first](NewValues& values) -> Result<std::vector<datalog::TupleColumns>> {
      return is_first ? inserted.supply(values) : InsertedFacts(*program).supply(values);
    };
    options.memory_limit_bytes = settings.memory_limit_bytes;
    options.checkpoint.every_seconds = settings.checkpoint_every_seconds;
    options.checkpoint.resume = policy_of(settings.on_checkpoints);
    options.checkpoint.refusal_advice = "; on_checkpoints says which: resume or overwrite";
    return options;
  }

  std::shared_ptr<const datalog::Program> program;
  std::string name;  // for messages
  std::vector<std::string> names;
  std::vector<std::vector<Column>> columns;
  std::string warnings;
  InsertedFacts inserted;
  std::unique_ptr<Comm> comm;
  std::vector<datalog::ExternalFunction> functors;  // of the last run
  std::vector<RankRun> ranks;  // of this process, after a run that ended well
  std::atomic<bool> must_stop = false;
};

Program::Program(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Program::Program(Program&& other) noexcept = default;
Program& Program::operator=(Program&& other) noexcept = default;
Program::~Program() = default;

Result<Program> Program::compile(std::string_view text, const CompileSettings& settings) {
  std::unique_ptr<Comm> comm = make_self_comm();
  if (settings.collectives != nullptr) {
    STRATALOG_ASSIGN_OR_RETURN(comm, make_collectives_comm(*settings.collectives));
  }
  const Status refusal = refusal_of(settings.refusal);
  auto outcome = or_no_space("the machine has no memory left for the program",
                             [&]() -> Result<datalog::CompileOutcome> {
                               if (!refusal.is_ok()) return refusal;
                               return compile_here(text, settings);
                             });
  EqualArguments arguments(*comm);
  arguments.add("text of the program", text);
  arguments.add("name of the program", settings.name);
  arguments.add("list of include folders", settings.include_directories);
  arguments.add("list of macros", settings.macros);
  const Status agreed =
      refusal.is_ok() ? arguments.check(outcome.status()) : arguments.refuse(refusal);
  // Whose own error it is needs no rank in front of it.
  if (!agreed.is_ok()) return agreed.code() == outcome.status().code() ? outcome.status() : agreed;
  auto parts =
      std::make_unique<Parts>(*std::move(outcome.value().program), settings.name, std::move(comm));
  parts->warnings = datalog::render_all(outcome.value().diagnostics);
  return Program(std::move(parts));
}

const std::string& Program::warnings() const { return parts_->warnings; }
const std::vector<std::string>& Program::relations() const { return parts_->names; }
bool Program::has_run() const { return !parts_->ranks.empty(); }

Result<std::size_t> Program::find(std::string_view relation) const {
  const auto& names = parts_->names;
  const auto found = std::find(names.begin(), names.end(), relation);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  return Status::not_found(
      fmt::format("the program has no relation `{}`; it has {}", relation,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

const std::vector<Column>& Program::columns(std::size_t relation) const {
  return parts_->columns[relation];
}

Status Program::insert(std::size_t relation, std::uint64_t rows,
                       std::span<const stratalog_column_in> columns) {
  if (relation >= parts_->names.size())
    return Status::invalid_argument(fmt::format("there is no relation number {}", relation));
  return parts_->inserted.insert(relation, rows, columns);
}

Status Program::insert(std::string_view relation, std::span<const Row> rows) {
  STRATALOG_ASSIGN_OR_RETURN(const std::size_t id, find(relation));
  RowColumns columns;
  STRATALOG_RETURN_IF_ERROR(columns.add(parts_->program->relations[id], rows));
  return insert(id, rows.size(), columns.views());
}

void Program::clear(std::size_t relation) { parts_->inserted.clear(relation); }

Status Program::set_collectives(const stratalog_collectives& collectives) {
  STRATALOG_ASSIGN_OR_RETURN(auto comm, make_collectives_comm(collectives));
  parts_->ranks.clear();
  parts_->comm = std::move(comm);
  return Status::ok();
}

Result<RunSummary> Program::run(const RunSettings& settings) {
  Parts& parts = *parts_;
  parts.must_stop = false;
  parts.ranks.clear();
  const int threads = threads_of(settings, parts.comm->size());
  auto functors = prepare(*parts.program, settings, parts.comm->size(), threads);
  EqualArguments arguments(*parts.comm);
  // Collectives may have come after compile().
  arguments.add("program", parts.program->source_text);
  add_settings(settings, arguments);
  const Status refusal = refusal_of(settings.refusal);
  STRATALOG_RETURN_IF_ERROR(refusal.is_ok() ? arguments.check(functors.status())
                                            : arguments.refuse(refusal));
  parts.functors = std::move(functors).value();

  const nlohmann::json remembered = options_to_remember(parts.name, settings);
  std::vector<RankRun> ranks(static_cast<std::size_t>(threads));
  const auto run_rank = [&](Comm& comm, RankRun& rank) {
    datalog::RunHooks hooks;
    hooks.notice = settings.notice;
    hooks.stop_requested = [&parts] {
      return parts.must_stop ? datalog::StopRequest::kCheckpointAndStop
                             : datalog::StopRequest::kNone;
    };
    // Rank 0's word counts; threads all hear it.
    if (comm.rank() == 0 || threads > 1)
      hooks.is_abandoned =
          [&parts, patience = settings.checkpoint.empty() ? Clock::duration(0) : kStopPatience,
           asked = std::optional<Clock::time_point>()]() mutable {
            if (!parts.must_stop) return false;
            if (!asked) asked = Clock::now();
            return Clock::now() - *asked >= patience;
          };
    return rank.run(
        comm, parts.program,
        {.facts = settings.facts, .output = settings.output, .checkpoints = settings.checkpoint},
        remembered, parts.options(settings, &rank == ranks.data()), std::move(hooks));
  };
  const auto run_thread = [&](Comm& comm) {
    return run_rank(comm, ranks[static_cast<std::size_t>(comm.rank())]);
  };
  const Status ran = threads == 1 ? run_rank(*parts.comm, ranks[0])
                                  : sim_run(threads, run_thread, AddressSpace::kShared);
  STRATALOG_RETURN_IF_ERROR(ran);
  const datalog::RunReport& report = ranks[0].kept().report();
  const datalog::FailedCheckpoint* missing = datalog::missing_checkpoint(report);
  if (report.stopped_early)
    return Status::cancelled(missing == nullptr
                                 ? "the run was stopped before its end"
                                 : fmt::format("the run was stopped before its end, and could not "
                                               "write a checkpoint: {}",
                                               missing->status.to_string()));
  RunSummary summary{.seconds = report.times.total,
                     .peak_memory_bytes = report.peak_memory_bytes,
                     .checkpoints = report.checkpoints.size(),
                     .failed_checkpoints = failure_texts(report),
                     .is_saved = !settings.checkpoint.empty() && missing == nullptr,
                     .resumed_from = report.resumed_from,
                     .console = console_text(report)};
  parts.ranks = std::move(ranks);
  return summary;
}

void Program::stop() { parts_->must_stop = true; }

Result<std::uint64_t> Program::count(std::size_t relation) const {
  STRATALOG_ASSIGN_OR_RETURN(const auto ranks, parts_->finished(relation));
  return ranks[0].kept().report().relations[relation].rows;
}

Result<std::uint64_t> Program::count_here(std::size_t relation) const {
  STRATALOG_ASSIGN_OR_RETURN(const auto ranks, parts_->finished(relation));
  return count_tuples(ranks, static_cast<datalog::RelationId>(relation));
}

namespace {

Status read_checked(std::span<const RankRun> ranks, const datalog::Program& program,
                    std::size_t relation, std::uint64_t from, std::uint64_t rows, ColumnForm form,
                    std::span<const stratalog_column_out> columns) {
  const Relation& read = program.relations[relation];
  if (columns.size() != read.attributes.size())
    return Status::invalid_argument(fmt::format("relation `{}` has {} columns; {} were given",
                                                read.name, read.attributes.size(), columns.size()));
  return read_tuples(ranks, read, static_cast<datalog::RelationId>(relation), from, rows, form,
                     columns);
}

}  // namespace

Status Program::read(std::size_t relation, std::uint64_t from, std::uint64_t rows,
                     std::span<const stratalog_column_out> columns) const {
  STRATALOG_ASSIGN_OR_RETURN(const auto ranks, parts_->finished(relation));
  return read_checked(ranks, *parts_->program, relation, from, rows, ColumnForm::kValues, columns);
}

Status Program::read_cells(std::size_t relation, std::uint64_t from, std::uint64_t rows,
                           std::span<const stratalog_column_out> columns) const {
  STRATALOG_ASSIGN_OR_RETURN(const auto ranks, parts_->finished(relation));
  return read_checked(ranks, *parts_->program, relation, from, rows, ColumnForm::kCells, columns);
}

Result<std::string> Program::text(std::size_t relation, std::size_t column,
                                  std::uint32_t cell) const {
  STRATALOG_ASSIGN_OR_RETURN(const auto ranks, parts_->finished(relation));
  if (column >= columns(relation).size())
    return Status::invalid_argument(
        fmt::format("relation `{}` has no column number {}", parts_->names[relation], column));
  return text_of_cell(ranks[0].kept(), parts_->program->relations[relation], column, cell);
}

Result<std::vector<Row>> Program::rows(std::string_view relation) const {
  STRATALOG_ASSIGN_OR_RETURN(const std::size_t id, find(relation));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t count, count_here(id));
  const std::vector<Column>& described = columns(id);
  std::vector<std::vector<std::uint64_t>> bits(described.size(),
                                               std::vector<std::uint64_t>(count, 0));
  std::vector<stratalog_column_out> targets;
  targets.reserve(bits.size());
  for (auto& column : bits)
    targets.push_back({.values = column.data(), .stride = sizeof(std::uint64_t)});
  STRATALOG_RETURN_IF_ERROR(read(id, 0, count, targets));
  std::vector<Row> found(count, Row(described.size()));
  for (std::size_t c = 0; c < described.size(); ++c)
    for (std::uint64_t r = 0; r < count; ++r) {
      const std::uint64_t value = bits[c][r];
      switch (described[c].kind) {
        case ColumnKind::kNumber:
          found[r][c] = static_cast<std::int64_t>(value);
          break;
        case ColumnKind::kUnsigned:
          found[r][c] = value;
          break;
        case ColumnKind::kFloat:
          found[r][c] = std::bit_cast<double>(value);
          break;
        case ColumnKind::kSymbol:
        case ColumnKind::kStructured: {
          STRATALOG_ASSIGN_OR_RETURN(std::string text, text(id, c, static_cast<Cell>(value)));
          found[r][c] = std::move(text);
          break;
        }
      }
    }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> Program::section(std::string_view name) const {
  if (name == "schema") return datalog::schema_to_json(*parts_->program).dump();
  if (parts_->ranks.empty())
    return Status::invalid_argument("sections can be had after a run that ended well");
  const ValueDictionary& dictionary = parts_->ranks[0].kept().dictionary();
  if (name == "dictionary") return to_text(encode_dictionary(dictionary, {}, dictionary.size()));
  if (name == "records") return to_text(encode_records(dictionary));
  return Status::not_found(
      fmt::format("there is no section `{}`; there are dictionary, records and schema", name));
}

}  // namespace stratalog
