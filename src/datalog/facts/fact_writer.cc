// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_writer.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "datalog/facts/database_lock.h"
#include "datalog/facts/fact_format.h"
#include "datalog/facts/fact_printer.h"
#include "datalog/facts/json_printer.h"
#include "datalog/facts/output_clashes.h"
#include "datalog/facts/output_file.h"
#include "datalog/facts/rank_zero.h"
#include "datalog/facts/sqlite_facts.h"
#include "datalog/facts/text_sink.h"

namespace stratalog::datalog {
namespace {

// IO=stdout: the text on rank 0.
class ConsoleSink {
 public:
  Status append(Comm& comm, std::string_view text) {
    STRATALOG_ASSIGN_OR_RETURN(const Received all,
                               comm.gather(std::as_bytes(std::span(text.data(), text.size())), 0));
    text_.append(reinterpret_cast<const char*>(all.data.data()), all.data.size());
    return Status::ok();
  }
  Status finish(Comm& /*comm*/) { return Status::ok(); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Collective. How many of these rows lie on ranks before this one, and on all.
struct RowsBefore {
  std::uint64_t here = 0;
  std::uint64_t all = 0;
};
Result<RowsBefore> rows_before(Comm& comm, std::uint64_t mine) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(comm.size()));
  counts[static_cast<std::size_t>(comm.rank())] = mine;
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(counts, ReduceOp::kSum));
  const auto begin = counts.begin();
  return RowsBefore{.here = std::accumulate(begin, begin + comm.rank(), std::uint64_t{0}),
                    .all = std::accumulate(begin, counts.end(), std::uint64_t{0})};
}

// Collective. The whole relation as one JSON document.
template <typename Sink>
Status print_json(Comm& comm, const FactFormat& format, const SortedRelation& sorted, Sink& sink) {
  const JsonPrinter printer(sorted.relation, format, sorted.dictionary, sorted.orders);
  std::string text = comm.rank() == 0 ? "[" : "";
  const auto close = [&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(sink.append(comm, comm.rank() == 0 ? text + "]\n" : text));
    return sink.finish(comm);
  };
  const std::size_t width = sorted.relation.attributes.size();
  if (width == 0) {
    if (sorted.total_rows != 0 && comm.rank() == 0) text += "null\n";  // as Soufflé has it
    return close();
  }
  std::uint64_t done = 0;  // rows of all ranks
  STRATALOG_RETURN_IF_ERROR(for_each_sorted_range(
      comm, sorted.source, sorted.limits, [&](std::span<const OrderCode> rows) -> Status {
        STRATALOG_ASSIGN_OR_RETURN(const RowsBefore before, rows_before(comm, rows.size() / width));
        std::uint64_t row = done + before.here;
        for (std::size_t at = 0; at < rows.size(); at += width) {
          printer.print(rows.subspan(at, width), text);
          if (++row != sorted.total_rows) text += ",\n";
        }
        done += before.all;
        const Status appended = sink.append(comm, text);
        text.clear();
        return appended;
      }));
  return close();
}

// Collective. The whole relation as text into a sink, with the header where one is wanted.
template <typename Sink>
Status print_relation(Comm& comm, const FactFormat& format, const SortedRelation& sorted,
                      Sink& sink) {
  if (is_json(format.medium)) return print_json(comm, format, sorted, sink);
  FactPrinter printer(sorted.relation, format, sorted.dictionary, sorted.orders);
  std::string text;
  if (format.has_headers && comm.rank() == 0) text = printer.header();
  if (sorted.relation.attributes.empty()) {
    if (sorted.total_rows != 0 && comm.rank() == 0) text += "()\n";
    STRATALOG_RETURN_IF_ERROR(sink.append(comm, text));
    return sink.finish(comm);
  }
  STRATALOG_RETURN_IF_ERROR(for_each_sorted_range(comm, sorted.source, sorted.limits,
                                                  [&](std::span<const OrderCode> rows) -> Status {
                                                    printer.print(rows, text);
                                                    const Status appended = sink.append(comm, text);
                                                    text.clear();
                                                    return appended;
                                                  }));
  return sink.finish(comm);
}

// Soufflé's frame around a relation on standard output.
Status print_to_console(Comm& comm, const FactFormat& format, const SortedRelation& sorted,
                        std::string& console) {
  FactFormat inner = format;
  inner.has_headers = false;
  ConsoleSink sink;
  STRATALOG_RETURN_IF_ERROR(print_relation(comm, inner, sorted, sink));
  if (comm.rank() != 0) return Status::ok();
  if (format.medium == FactMedium::kJsonConsole) {
    console = sink.take();
    return Status::ok();
  }
  const FactPrinter printer(sorted.relation, format, sorted.dictionary, sorted.orders);
  console = fmt::format("---------------\n{}\n{}===============\n{}===============\n", format.name,
                        format.has_headers ? printer.header() : "", sink.take());
  return Status::ok();
}

// Collective. Rank 0 gets all rows and puts them into the database that is there, or a new one.
Status fill_database(Comm& comm, OutputFile& file, const FactFormat& format,
                     const SortedRelation& sorted, std::uint64_t& bytes) {
  SqliteDatabase database;
  std::optional<SqliteTable> table;
  Status status;  // of rank 0
  if (comm.rank() == 0) {
    status = [&]() -> Status {
      STRATALOG_ASSIGN_OR_RETURN(const Bytes older, file.read_older_database());
      STRATALOG_ASSIGN_OR_RETURN(database, SqliteDatabase::begin(older));
      STRATALOG_ASSIGN_OR_RETURN(table, SqliteTable::create(database, sorted.relation, format.name,
                                                            sorted.dictionary, sorted.orders));
      return Status::ok();
    }();
    if (!status.is_ok()) status = status.with_context(file.shown());
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  STRATALOG_RETURN_IF_ERROR(for_each_sorted_range(
      comm, sorted.source, sorted.limits, [&](std::span<const OrderCode> rows) -> Status {
        STRATALOG_ASSIGN_OR_RETURN(const Received all, comm.gather(std::as_bytes(rows), 0));
        if (comm.rank() != 0 || !status.is_ok()) return Status::ok();
        std::vector<OrderCode> codes(all.data.size() / sizeof(OrderCode));
        if (!codes.empty()) std::memcpy(codes.data(), all.data.data(), all.data.size());
        status = table->append(codes);
        return Status::ok();
      }));
  if (comm.rank() == 0 && status.is_ok()) {
    status = [&]() -> Status {
      STRATALOG_RETURN_IF_ERROR(table->finish());
      STRATALOG_ASSIGN_OR_RETURN(const Bytes image, database.image());
      bytes = image.size();
      return file.write_at(0, image);
    }();
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  return comm.allreduce(std::span(&bytes, 1), ReduceOp::kSum);
}

Status fill_file(Comm& comm, OutputFile& file, const FactFormat& format,
                 const SortedRelation& sorted, const WriteOptions& options, WrittenFacts& written) {
  if (format.medium == FactMedium::kHdf5) {
    Relation named = sorted.relation;
    named.name = format.name;
    STRATALOG_RETURN_IF_ERROR(options.hdf5(comm, file.temporary_path(),
                                           {.relation = named,
                                            .dictionary = sorted.dictionary,
                                            .orders = sorted.orders,
                                            .source = sorted.source,
                                            .total_rows = sorted.total_rows,
                                            .limits = sorted.limits}));
    return file.open_for_sync();
  }
  if (format.medium == FactMedium::kSqlite)
    return fill_database(comm, file, format, sorted, written.bytes);
  if (format.is_compressed) {
    GzipSink sink(file);
    STRATALOG_RETURN_IF_ERROR(print_relation(comm, format, sorted, sink));
    written.bytes = sink.bytes_written();
    return Status::ok();
  }
  PlainSink sink(file);
  STRATALOG_RETURN_IF_ERROR(print_relation(comm, format, sorted, sink));
  written.bytes = sink.bytes_written();
  return Status::ok();
}

Result<FactFormat> plan_writable(const Relation& relation, const IoDirective& directive,
                                 const WriteOptions& options) {
  STRATALOG_ASSIGN_OR_RETURN(FactFormat format, plan_output(relation, directive));
  if (format.medium == FactMedium::kHdf5 && !options.hdf5)
    return Status::not_supported(fmt::format("{}: this build cannot write HDF5; choose IO=file",
                                             place_of(relation, directive)));
  return format;
}

Result<WrittenFacts> write_source(Comm& comm, Store& store, const Relation& relation,
                                  const IoDirective& directive, const ValueDictionary& dictionary,
                                  std::span<const ColumnOrder> orders, const TupleSource& source,
                                  const WriteOptions& options) {
  STRATALOG_ASSIGN_OR_RETURN(const FactFormat format, plan_writable(relation, directive, options));
  WrittenFacts written;
  written.rows = source.rows;
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(std::span(&written.rows, 1), ReduceOp::kSum));
  const SortedRelation sorted{.relation = relation,
                              .dictionary = dictionary,
                              .orders = orders,
                              .source = source,
                              .total_rows = written.rows,
                              .limits = options.limits};
  if (!has_file(format)) {
    STRATALOG_RETURN_IF_ERROR(print_to_console(comm, format, sorted, written.console));
    return written;
  }
  STRATALOG_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(comm, store, format.path));
  const Status filled = fill_file(comm, file, format, sorted, options, written);
  STRATALOG_RETURN_IF_ERROR(file.publish(comm, filled));
  written.path = file.shown();
  return written;
}

Status check_database(Store& store, const FactLocation& location) {
  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located, LocatedStore::open(store, location));
  return refuse_unfinished(located.get(), location.path);
}

// On rank 0.
Status check_place(Store& store, PlacedOutput output, OutputClashes& clashes) {
  const std::string where = place_of(*output.relation, *output.directive);
  const auto located = locate_output(store, output.format.path);
  if (!located.is_ok())
    return located.status().with_context(
        fmt::format("{}: cannot write {}", where, shown_path(store, output.format.path)));
  if (output.format.medium == FactMedium::kSqlite) {
    const Status finished = check_database(store, located.value());
    if (!finished.is_ok())
      return finished.with_context(
          fmt::format("{}: cannot write {}", where, shown_path(store, output.format.path)));
  }
  output.file = one_name_of(store, located.value());
  const std::string clash = clashes.add(output);
  return clash.empty() ? Status::ok()
                       : Status::invalid_argument(fmt::format("{}: {}", where, clash));
}

}  // namespace

Status check_outputs(Comm& comm, Store& store, const Program& program,
                     const WriteOptions& options) {
  std::vector<PlacedOutput> outputs;
  for (const Relation& relation : program.relations) {
    for (const IoDirective& directive : relation.io) {
      if (directive.action != IoAction::kOutput) continue;
      STRATALOG_ASSIGN_OR_RETURN(FactFormat format, plan_writable(relation, directive, options));
      if (!has_file(format)) continue;
      PlacedOutput& output = outputs.emplace_back();
      output.format = std::move(format);
      output.relation = &relation;
      output.directive = &directive;
    }
  }
  if (outputs.empty()) return Status::ok();
  return ask_rank_zero(comm,
                       [&]() -> Result<nlohmann::json> {
                         OutputClashes clashes;
                         for (const PlacedOutput& output : outputs)
                           STRATALOG_RETURN_IF_ERROR(check_place(store, output, clashes));
                         return nlohmann::json(true);
                       })
      .status();
}

Result<WrittenFacts> write_facts(Comm& comm, Store& store, const Relation& relation,
                                 const IoDirective& directive, ValueOrder& order,
                                 const TupleColumns& tuples, const WriteOptions& options) {
  const std::vector<ColumnOrder> orders = order.for_relation(relation);
  TupleSource source;
  source.rows = tuples.rows;
  if (!orders.empty()) source = source_of_columns(tuples, orders);
  return write_source(comm, store, relation, directive, order.dictionary(), orders, source,
                      options);
}

Result<WrittenFacts> write_facts(Comm& comm, Store& store, const Relation& relation,
                                 const IoDirective& directive, ValueOrder& order,
                                 const TupleSource& source, const WriteOptions& options) {
  return write_source(comm, store, relation, directive, order.dictionary(),
                      order.for_relation(relation), source, options);
}

Result<WrittenFacts> write_facts(Comm& comm, Store& store, const Relation& relation,
                                 const IoDirective& directive, ValueOrder& order,
                                 const RelationImage& image, const WriteOptions& options) {
  const std::vector<ColumnOrder> orders = order.for_relation(relation);
  const auto rows = count_rows(image);
  STRATALOG_RETURN_IF_ERROR(agree(comm, rows.status()));
  TupleSource source;
  source.rows = rows.value();
  if (!orders.empty()) source = source_of_image(image, orders, rows.value());
  return write_source(comm, store, relation, directive, order.dictionary(), orders, source,
                      options);
}

}  // namespace stratalog::datalog
