// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_reader.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "datalog/facts/fact_format.h"
#include "datalog/facts/fact_location.h"
#include "datalog/facts/fact_parser.h"
#include "datalog/facts/fact_text_source.h"
#include "datalog/facts/json_facts.h"
#include "datalog/facts/rank_zero.h"
#include "datalog/facts/remap_columns.h"
#include "datalog/facts/sqlite_facts.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
constexpr std::size_t kShownProblems = FactParser::kMaxProblems - 1;

// What rank 0 found out about the file, for all.
struct FactFile {
  FactLocation location;
  std::uint64_t size_bytes = 0;
  bool is_gzip = false;
};

Bytes to_bytes(std::string_view text) {
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string_view to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<FactFile> examine(Store& store, const FactFormat& format) {
  FactFile found;
  STRATALOG_ASSIGN_OR_RETURN(found.location, locate_input(store, format.path));
  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located, LocatedStore::open(store, found.location));
  STRATALOG_ASSIGN_OR_RETURN(const auto file,
                             located.get().open(found.location.path, OpenMode::kRead));
  STRATALOG_ASSIGN_OR_RETURN(found.size_bytes, file->size_bytes());
  std::array<std::byte, 2> magic = {};
  if (found.size_bytes >= magic.size()) STRATALOG_RETURN_IF_ERROR(file->read_at(0, magic));
  found.is_gzip = magic[0] == std::byte{0x1F} && magic[1] == std::byte{0x8B};
  return found;
}

Status explain_missing(const Relation& relation, const IoDirective& directive,
                       const std::string& shown, const Status& reason) {
  const std::string where =
      fmt::format("{}:{}:{}: .input {}", directive.place.file, directive.place.line,
                  directive.place.column, relation.name);
  if (reason.code() != StatusCode::kNotFound)
    return reason.with_context(fmt::format("{}: cannot read {}", where, shown));
  return Status::not_found(
      fmt::format("{}: there is no fact file {}; name the directory of the fact files with -F DIR, "
                  "or the file with .input {}(filename=\"...\")",
                  where, shown, relation.name));
}

// Collective. Only rank 0 looks at names, and its verdict is everyone's, word for word.
Result<FactFile> examine_together(Comm& comm, Store& store, const Relation& relation,
                                  const IoDirective& directive, const FactFormat& format) {
  STRATALOG_ASSIGN_OR_RETURN(
      const nlohmann::json told, ask_rank_zero(comm, [&]() -> Result<nlohmann::json> {
        const auto found = examine(store, format);
        if (!found.is_ok())
          return explain_missing(relation, directive, shown_path(store, format.path),
                                 found.status());
        const FactFile& file = found.value();
        return nlohmann::json{file.location.directory, file.location.path, file.size_bytes,
                              file.is_gzip};
      }));
  return FactFile{
      .location = {.directory = told[0].get<std::string>(), .path = told[1].get<std::string>()},
      .size_bytes = told[2].get<std::uint64_t>(),
      .is_gzip = told[3].get<bool>()};
}

// Which rank reads a file that cannot be cut: spread over ranks by name.
int lone_reader(const Comm& comm, const Relation& relation) {
  const std::uint64_t hash = XXH3_64bits(relation.name.data(), relation.name.size());
  return static_cast<int>(hash % static_cast<std::uint64_t>(comm.size()));
}

// `expected_bytes` is what the source will give, where that is known.
Status parse_all(const FactTextSource& source, std::uint64_t expected_bytes, FactParser& parser) {
  std::vector<char> buffer(std::min<std::uint64_t>(kBlockBytes, expected_bytes + 1));
  std::size_t held = 0;
  while (!parser.is_full()) {
    if (held == buffer.size()) buffer.resize(buffer.size() * 2);  // a long line
    STRATALOG_ASSIGN_OR_RETURN(const std::size_t bytes, source(std::span(buffer).subspan(held)));
    held += bytes;
    const TextEnd end = bytes == 0 ? TextEnd::kIsEnd : TextEnd::kMoreFollows;
    const std::size_t done = parser.consume({buffer.data(), held}, end);
    if (bytes == 0) break;
    held -= done;
    std::memmove(buffer.data(), buffer.data() + done, held);
  }
  return Status::ok();
}

struct ParsedShare {
  TupleColumns tuples;
  std::vector<FactProblem> problems;  // lines counted from the start of the file
};

// A document or database, which only one rank reads. Local.
Result<ParsedShare> parse_whole(File& file, std::uint64_t size, const Relation& relation,
                                const FactFormat& format, NewValues& values) {
  Bytes content(size);
  STRATALOG_RETURN_IF_ERROR(file.read_at(0, content));
  STRATALOG_ASSIGN_OR_RETURN(ParsedFacts facts,
                             format.medium == FactMedium::kSqlite
                                 ? read_sqlite_facts(relation, format.table, content, values)
                                 : parse_json_facts(relation, to_text(content), values));
  ParsedShare share;
  share.tuples = std::move(facts.tuples);
  if (facts.problem) share.problems.push_back(std::move(*facts.problem));
  return share;
}

// This rank's share of the file. Local.
Result<ParsedShare> parse_share(const Comm& comm, Store& store, const Relation& relation,
                                const FactFormat& format, const FactFile& fact_file,
                                NewValues& values) {
  ParsedShare share;
  share.tuples.columns.resize(relation.attributes.size());
  const bool is_whole = is_json(format.medium) || format.medium == FactMedium::kSqlite;
  const bool is_cut = !fact_file.is_gzip && !format.is_rfc4180 && !is_whole;
  const std::uint64_t size = fact_file.size_bytes;
  if (size == 0 || (!is_cut && comm.rank() != lone_reader(comm, relation))) return share;

  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located, LocatedStore::open(store, fact_file.location));
  STRATALOG_ASSIGN_OR_RETURN(const auto file,
                             located.get().open(fact_file.location.path, OpenMode::kRead));
  if (is_whole) {
    auto parsed = parse_whole(*file, size, relation, format, values);
    if (!parsed.is_ok()) return parsed.status().with_context(shown_path(store, format.path));
    return parsed;
  }
  FileRange range{.from = 0, .to = size};
  FactTextSource source;
  std::uint64_t expected_bytes = kBlockBytes;
  if (fact_file.is_gzip) {
    STRATALOG_ASSIGN_OR_RETURN(source,
                               make_gzip_source(*file, size, shown_path(store, format.path)));
  } else {
    if (is_cut) {
      STRATALOG_ASSIGN_OR_RETURN(range, lines_of_rank(*file, size, comm.rank(), comm.size()));
    }
    source = make_range_source(*file, range);
    expected_bytes = range.to - range.from;
  }
  if (range.from == range.to) return share;
  FactParser parser(relation, format, range.from == 0 ? LinePlace::kFirstOfFile : LinePlace::kLater,
                    values);
  STRATALOG_RETURN_IF_ERROR(parse_all(source, expected_bytes, parser));
  share.problems = parser.problems();
  share.tuples = parser.take_tuples();
  if (!share.problems.empty()) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t before, count_lines_before(*file, range.from));
    for (FactProblem& problem : share.problems) problem.line += before;
  }
  return share;
}

// Collective. OK if no rank has problems; else the first of the file's, the same sentence at any
// number of ranks.
Status agree_on_problems(Comm& comm, const std::string& shown,
                         const std::vector<FactProblem>& problems) {
  std::string mine;
  for (const FactProblem& problem : problems)
    mine += fmt::format("{}:{}: {}\n", shown, problem.line + 1, problem.text);
  STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.allgather(to_bytes(mine)));
  std::string_view rest = to_text(all.data);
  std::string message;
  std::size_t lines = 0;
  for (; !rest.empty(); ++lines) {
    const std::size_t end = rest.find('\n');
    if (lines < kShownProblems) {
      if (lines != 0) message += '\n';
      message += rest.substr(0, end);
    }
    rest.remove_prefix(end + 1);
  }
  if (lines == 0) return Status::ok();
  if (lines > kShownProblems) message += "\nand more of the kind";
  return Status::invalid_argument(std::move(message));
}

}  // namespace

Result<TupleColumns> load_facts(Comm& comm, Store& store, const Relation& relation,
                                const IoDirective& directive, ValueDictionary& dictionary) {
  STRATALOG_ASSIGN_OR_RETURN(const FactFormat format, plan_input(relation, directive));
  STRATALOG_ASSIGN_OR_RETURN(const FactFile file,
                             examine_together(comm, store, relation, directive, format));
  NewValues values(dictionary);
  auto parsed = parse_share(comm, store, relation, format, file, values);
  STRATALOG_RETURN_IF_ERROR(agree(comm, parsed.status()));
  ParsedShare share = std::move(parsed).value();
  STRATALOG_RETURN_IF_ERROR(
      agree_on_problems(comm, shown_path(store, format.path), share.problems));
  STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                             agree_on_new_values(comm, dictionary, values));
  remap_columns(relation, remapping, share.tuples);
  return std::move(share.tuples);
}

}  // namespace stratalog::datalog
