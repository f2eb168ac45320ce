// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "datalog/facts/database_lock.h"
#include "datalog/facts/fact_format.h"
#include "datalog/facts/fact_location.h"
#include "datalog/facts/fact_parser.h"
#include "datalog/facts/fact_text_source.h"
#include "datalog/facts/json_facts.h"
#include "datalog/facts/rank_zero.h"
#include "datalog/facts/remap_columns.h"
#include "datalog/facts/sqlite_facts.h"
#include "model/ordered_agreement.h"

namespace stratalog::datalog {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
constexpr std::size_t kShownProblems = FactParser::kMaxProblems - 1;
// Shorter files are read faster by one rank than opened by several.
constexpr std::uint64_t kShortFileBytes = std::uint64_t{1} << 14;
// The ranks agree on new values after files of so many bytes together, because until then each of
// them is there twice.
constexpr std::uint64_t kBytesPerAgreement = std::uint64_t{1} << 28;
constexpr int kEveryRank = -1;
constexpr std::string_view kStandardInput = "<standard input>";

// What rank 0 found out about the file, for all.
struct FactFile {
  FactLocation location;
  std::uint64_t size_bytes = 0;
  bool is_gzip = false;
};

// A file to read, and what is known about it.
struct PlannedFile {
  FactInput input;
  FactFormat format;
  FactFile file;
  int reader = kEveryRank;

  bool is_whole() const { return is_json(format.medium) || format.medium == FactMedium::kSqlite; }
  bool is_standard_input() const { return format.medium == FactMedium::kConsole; }
  bool is_text() const { return format.medium == FactMedium::kText; }
  bool is_missing() const { return file.location.path.empty() && !is_standard_input(); }
  bool can_be_cut() const {
    return !file.is_gzip && !format.is_rfc4180 && !is_whole() && !is_standard_input();
  }
  std::string shown(const Store& store) const {
    return is_standard_input() ? std::string(kStandardInput) : shown_path(store, format.path);
  }
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
  if (format.medium == FactMedium::kSqlite)
    STRATALOG_RETURN_IF_ERROR(refuse_unfinished(located.get(), found.location.path));
  return found;
}

Status explain_missing(const FactInput& input, const std::string& shown, const Status& reason,
                       std::string_view advice) {
  const std::string where = place_of(*input.relation, *input.directive);
  if (reason.code() != StatusCode::kNotFound)
    return reason.with_context(fmt::format("{}: cannot read {}", where, shown));
  return Status::not_found(fmt::format(
      "{}: there is no fact file {}; name the directory of the fact files (-F DIR, `facts` "
      "of the library), or the file with .input {}(filename=\"...\"){}{}",
      where, shown, input.relation->name, advice.empty() ? "" : "; ", advice));
}

// Whether the caller has what the medium takes.
Status check_medium(const PlannedFile& planned, const ReadOptions& options) {
  if (planned.is_standard_input() && !options.standard_input)
    return Status::not_supported(
        fmt::format("{}: IO=stdin: there is no standard input here",
                    place_of(*planned.input.relation, *planned.input.directive)));
  if (planned.format.medium == FactMedium::kHdf5 && !options.hdf5)
    return Status::not_supported(
        fmt::format("{}: IO=hdf5: this program was built without HDF5, or is used as a library",
                    place_of(*planned.input.relation, *planned.input.directive)));
  return Status::ok();
}

// Collective. Only rank 0 looks at names, and its verdict is everyone's, word for word.
Status examine_together(Comm& comm, Store& store, const ReadOptions& options,
                        std::span<PlannedFile> files, std::vector<std::string>* missing) {
  STRATALOG_ASSIGN_OR_RETURN(
      const nlohmann::json told, ask_rank_zero(comm, [&]() -> Result<nlohmann::json> {
        nlohmann::json answer = nlohmann::json::array();
        for (const PlannedFile& planned : files) {
          STRATALOG_RETURN_IF_ERROR(check_medium(planned, options));
          FactFile file;
          if (!planned.is_standard_input()) {
            auto found = examine(store, planned.format);
            const bool is_missing = found.status().code() == StatusCode::kNotFound;
            if (is_missing && options.missing_texts_are_empty && planned.is_text()) {
              // Nothing to say: somebody wanted it so.
            } else if (is_missing && planned.input.may_be_missing) {
              if (missing != nullptr) missing->push_back(planned.shown(store));
            } else if (!found.is_ok()) {
              return explain_missing(planned.input, planned.shown(store), found.status(),
                                     planned.is_text() ? options.missing_advice : "");
            } else {
              file = std::move(found).value();
            }
          }
          answer.push_back(
              {file.location.directory, file.location.path, file.size_bytes, file.is_gzip});
        }
        return answer;
      }));
  for (std::size_t i = 0; i < files.size(); ++i)
    files[i].file = {.location = {.directory = told[i][0].get<std::string>(),
                                  .path = told[i][1].get<std::string>()},
                     .size_bytes = told[i][2].get<std::uint64_t>(),
                     .is_gzip = told[i][3].get<bool>()};
  return Status::ok();
}

// Files that one rank reads go to the one that has least to read so far.
void choose_readers(int ranks, std::span<PlannedFile> files) {
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(ranks), 0);
  for (PlannedFile& planned : files) {
    if (planned.is_standard_input()) {
      planned.reader = 0;
      continue;
    }
    if (planned.can_be_cut() && planned.file.size_bytes > kShortFileBytes) continue;
    const auto least = std::min_element(bytes.begin(), bytes.end());
    planned.reader = static_cast<int>(least - bytes.begin());
    *least += planned.file.size_bytes;
  }
}

// `expected_bytes` is what the source will give, where that is known.
// `buffer` keeps its memory from file to file.
Status parse_all(const FactTextSource& source, std::uint64_t expected_bytes, FactParser& parser,
                 std::vector<char>& buffer) {
  const std::size_t wanted = std::min<std::uint64_t>(kBlockBytes, expected_bytes + 1);
  if (buffer.size() < wanted) buffer.resize(wanted);
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

ParsedShare share_of(ParsedFacts facts) {
  ParsedShare share;
  share.tuples = std::move(facts.tuples);
  if (facts.problem) share.problems.push_back(std::move(*facts.problem));
  return share;
}

// A document or database, which only one rank reads. Local.
Result<ParsedShare> parse_whole(Store& store, const std::string& path, const Relation& relation,
                                const FactFormat& format, NewValues& values) {
  const bool is_database = format.medium == FactMedium::kSqlite;
  DatabaseLock lock;
  if (is_database) {
    STRATALOG_ASSIGN_OR_RETURN(lock, DatabaseLock::take(store, path, DatabaseUse::kRead));
  }
  STRATALOG_ASSIGN_OR_RETURN(const auto file, store.open(path, OpenMode::kRead));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t size, file->size_bytes());
  Bytes content(size);
  STRATALOG_RETURN_IF_ERROR(file->read_at(0, content));
  lock = {};
  STRATALOG_ASSIGN_OR_RETURN(ParsedFacts facts,
                             is_database ? read_sqlite_facts(relation, format.name, content, values)
                                         : parse_json_facts(relation, to_text(content), values));
  return share_of(std::move(facts));
}

Status parse_standard_input(const FactTextSource& standard_input, const PlannedFile& planned,
                            NewValues& values, std::vector<char>& buffer, ParsedShare& share) {
  FactParser parser(*planned.input.relation, planned.format, LinePlace::kFirstOfFile, values);
  STRATALOG_RETURN_IF_ERROR(parse_all(standard_input, kBlockBytes, parser, buffer));
  share.problems = parser.problems();
  share.tuples = parser.take_tuples();
  return Status::ok();
}

Result<ParsedShare> parse_hdf5(const Comm& comm, Store& store, const Hdf5Reader& read,
                               const PlannedFile& planned, NewValues& values) {
  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located,
                             LocatedStore::open(store, planned.file.location));
  RowShare share;
  if (planned.reader == kEveryRank)
    share = {.part = static_cast<std::uint64_t>(comm.rank()),
             .parts = static_cast<std::uint64_t>(comm.size())};
  auto facts = read({.relation = *planned.input.relation,
                     .path = located.get().name_of(planned.file.location.path),
                     .group = planned.format.name,
                     .share = share},
                    values);
  if (!facts.is_ok()) return facts.status().with_context(planned.shown(store));
  return share_of(std::move(facts).value());
}

// This rank's share of the file. Local.
Result<ParsedShare> parse_share(const Comm& comm, Store& store, const ReadOptions& options,
                                const PlannedFile& planned, NewValues& values,
                                std::vector<char>& buffer) {
  const Relation& relation = *planned.input.relation;
  const FactFormat& format = planned.format;
  ParsedShare share;
  share.tuples.columns.resize(relation.attributes.size());
  const std::uint64_t size = planned.file.size_bytes;
  if (planned.is_missing()) return share;
  if (planned.reader != kEveryRank && planned.reader != comm.rank()) return share;
  if (planned.is_standard_input()) {
    STRATALOG_RETURN_IF_ERROR(
        parse_standard_input(options.standard_input, planned, values, buffer, share));
    return share;
  }
  const bool is_text = !planned.is_whole() && format.medium != FactMedium::kHdf5;
  if (size == 0 && is_text) return share;
  if (format.medium == FactMedium::kHdf5)
    return parse_hdf5(comm, store, options.hdf5, planned, values);

  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located,
                             LocatedStore::open(store, planned.file.location));
  if (planned.is_whole()) {
    auto parsed = parse_whole(located.get(), planned.file.location.path, relation, format, values);
    if (!parsed.is_ok()) return parsed.status().with_context(shown_path(store, format.path));
    return parsed;
  }
  STRATALOG_ASSIGN_OR_RETURN(const auto file,
                             located.get().open(planned.file.location.path, OpenMode::kRead));
  FileRange range{.from = 0, .to = size};
  FactTextSource source;
  std::uint64_t expected_bytes = kBlockBytes;
  if (planned.file.is_gzip) {
    STRATALOG_ASSIGN_OR_RETURN(source,
                               make_gzip_source(*file, size, shown_path(store, format.path)));
  } else {
    if (planned.reader == kEveryRank) {
      STRATALOG_ASSIGN_OR_RETURN(range, lines_of_rank(*file, size, comm.rank(), comm.size()));
    }
    source = make_range_source(*file, range);
    expected_bytes = range.to - range.from;
  }
  if (range.from == range.to) return share;
  FactParser parser(relation, format, range.from == 0 ? LinePlace::kFirstOfFile : LinePlace::kLater,
                    values);
  STRATALOG_RETURN_IF_ERROR(parse_all(source, expected_bytes, parser, buffer));
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

// What this rank has of some files, up to the first one that it cannot read.
struct ParsedFiles {
  std::vector<ParsedShare> shares;
  std::vector<DictionarySize> value_ends;  // of the new values, after each file
  Status status;
};

ParsedFiles parse_files(const Comm& comm, Store& store, const ReadOptions& options,
                        std::span<const PlannedFile> files, NewValues& values) {
  ParsedFiles parsed;
  std::vector<char> buffer;
  for (const PlannedFile& planned : files) {
    auto share = parse_share(comm, store, options, planned, values, buffer);
    parsed.status = share.status();
    if (!parsed.status.is_ok()) break;
    parsed.shares.push_back(std::move(share).value());
    parsed.value_ends.push_back(values.size());
    if (!parsed.shares.back().problems.empty()) break;
  }
  return parsed;
}

// Collective. Speaks of the first file that is not as it should be for any rank.
Status agree_on_files(Comm& comm, const Store& store, std::span<const PlannedFile> files,
                      const ParsedFiles& parsed) {
  const bool is_good = parsed.status.is_ok() && parsed.shares.size() == files.size() &&
                       (files.empty() || parsed.shares.back().problems.empty());
  const std::uint64_t read = parsed.shares.size();
  std::uint64_t first_bad = is_good ? files.size() : read - (parsed.status.is_ok() ? 1 : 0);
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(std::span(&first_bad, 1), ReduceOp::kMin));
  if (first_bad == files.size()) return Status::ok();
  STRATALOG_RETURN_IF_ERROR(agree(comm, read > first_bad ? Status::ok() : parsed.status));
  return agree_on_problems(comm, files[first_bad].shown(store), parsed.shares[first_bad].problems);
}

// Collective. Appends the tuples of some files.
Status load_together(Comm& comm, Store& store, const ReadOptions& options,
                     std::span<const PlannedFile> files, ValueDictionary& dictionary,
                     std::vector<TupleColumns>& loaded) {
  NewValues values = comm.size() == 1 ? NewValues::of_only_rank(dictionary) : NewValues(dictionary);
  ParsedFiles parsed = parse_files(comm, store, options, files, values);
  STRATALOG_RETURN_IF_ERROR(agree_on_files(comm, store, files, parsed));
  STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                             agree_on_values_in_order(comm, dictionary, values, parsed.value_ends));
  for (std::size_t i = 0; i < files.size(); ++i) {
    remap_columns(*files[i].input.relation, remapping, parsed.shares[i].tuples);
    loaded.push_back(std::move(parsed.shares[i].tuples));
  }
  return Status::ok();
}

}  // namespace

Result<std::vector<TupleColumns>> load_facts(Comm& comm, Store& store,
                                             std::span<const FactInput> inputs,
                                             ValueDictionary& dictionary,
                                             const ReadOptions& options,
                                             std::vector<std::string>* missing) {
  std::vector<PlannedFile> files;
  for (const FactInput& input : inputs) {
    PlannedFile& planned = files.emplace_back(PlannedFile{.input = input});
    STRATALOG_ASSIGN_OR_RETURN(planned.format, plan_input(*input.relation, *input.directive));
  }
  std::vector<TupleColumns> loaded;
  if (files.empty()) return loaded;
  STRATALOG_RETURN_IF_ERROR(examine_together(comm, store, options, files, missing));
  choose_readers(comm.size(), files);
  for (std::span<const PlannedFile> rest = files; !rest.empty();) {
    std::size_t count = 0;
    for (std::uint64_t bytes = 0; count < rest.size() && bytes < kBytesPerAgreement; ++count)
      bytes += rest[count].file.size_bytes;
    STRATALOG_RETURN_IF_ERROR(
        load_together(comm, store, options, rest.first(count), dictionary, loaded));
    rest = rest.subspan(count);
  }
  return loaded;
}

Result<TupleColumns> load_facts(Comm& comm, Store& store, const Relation& relation,
                                const IoDirective& directive, ValueDictionary& dictionary,
                                const ReadOptions& options) {
  const FactInput input{.relation = &relation, .directive = &directive};
  STRATALOG_ASSIGN_OR_RETURN(std::vector<TupleColumns> loaded,
                             load_facts(comm, store, std::span(&input, 1), dictionary, options));
  return std::move(loaded.front());
}

}  // namespace stratalog::datalog
