// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/small_outputs.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "datalog/facts/fact_format.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kFewCodes = std::uint64_t{1} << 14;  // of a file
// Of the files of one exchange, at least: what a rank may hold of them.
constexpr std::uint64_t kCodesOfBatch = std::uint64_t{1} << 20;

std::uint64_t codes_of(const FactOutput& output) {
  return output.total_rows * std::max<std::uint64_t>(1, output.relation->attributes.size());
}

bool is_text_file(const FactOutput& output) {
  const auto format = plan_output(*output.relation, *output.directive);
  if (!format.is_ok()) return false;  // write_facts() says why
  return format.value().medium == FactMedium::kText || format.value().medium == FactMedium::kJson;
}

// A file of a batch: who writes it, and what of it lies where.
struct Part {
  const FactOutput* output = nullptr;
  int writer = 0;
  std::vector<ColumnOrder> orders;
  CodeRows rows;  // this rank's; then, on the writer, all
  std::uint64_t count = 0;  // of rows, also of no columns
};

Status collect(Part& part, ValueOrder& order) {
  part.orders = order.for_relation(*part.output->relation);
  const RelationImage image = part.output->image();
  STRATALOG_ASSIGN_OR_RETURN(part.count, count_rows(image));
  if (part.orders.empty() || part.count == 0) return {};
  return source_of_image(image, part.orders, part.count).collect({}, part.rows);
}

void append_bytes(const void* data, std::size_t size, Bytes& bytes) {
  const auto* const first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
}

// To each writer, of each of its files in order: how many rows, and the rows.
Result<Received> deal(Comm& comm, std::vector<Part>& parts) {
  Bytes sent;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(comm.size()));
  for (int writer = 0; writer < comm.size(); ++writer) {
    const std::size_t before = sent.size();
    for (Part& part : parts) {
      if (part.writer != writer) continue;
      append_bytes(&part.count, sizeof part.count, sent);
      append_bytes(part.rows.data(), part.rows.size() * sizeof(OrderCode), sent);
      part.rows = {};
      part.count = 0;
    }
    counts[static_cast<std::size_t>(writer)] = sent.size() - before;
  }
  return comm.exchange(sent, counts);
}

void take(const Received& received, int ranks, int me, std::vector<Part>& parts) {
  const std::byte* at = received.data.data();
  for (int sender = 0; sender < ranks; ++sender)
    for (Part& part : parts) {
      if (part.writer != me) continue;
      std::uint64_t count = 0;
      std::memcpy(&count, at, sizeof count);
      at += sizeof count;
      const std::size_t held = part.rows.size();
      part.rows.resize(held + (count * part.orders.size()));
      const std::size_t bytes = (part.rows.size() - held) * sizeof(OrderCode);
      if (bytes != 0) std::memcpy(part.rows.data() + held, at, bytes);
      at += bytes;
      part.count += count;
    }
}

Status write_mine(Store& store, const Part& part, ValueOrder& order, const WriteOptions& options) {
  TupleSource source;
  source.rows = part.count;
  source.width = static_cast<std::uint32_t>(part.orders.size());
  // Few enough for one range without bounds.
  source.sample = [](std::uint64_t /*stride*/, CodeRows& /*out*/) { return Status::ok(); };
  source.collect = [&](const RowRange& /*range*/, CodeRows& out) {
    out.insert(out.end(), part.rows.begin(), part.rows.end());
    return Status::ok();
  };
  const std::unique_ptr<Comm> self = make_self_comm();
  return write_facts(*self, store, *part.output->relation, *part.output->directive, order, source,
                     options)
      .status();
}

Status write_batch(Comm& comm, Store& store, std::vector<Part>& parts, ValueOrder& order,
                   const WriteOptions& options) {
  Status mine;
  for (Part& part : parts)
    if (mine.is_ok()) mine = collect(part, order);
  STRATALOG_RETURN_IF_ERROR(agree(comm, mine));
  STRATALOG_ASSIGN_OR_RETURN(const Received received, deal(comm, parts));
  take(received, comm.size(), comm.rank(), parts);
  for (const Part& part : parts)
    if (part.writer == comm.rank() && mine.is_ok()) mine = write_mine(store, part, order, options);
  return agree(comm, mine);
}

}  // namespace

std::vector<bool> are_small(int ranks, std::span<const FactOutput> outputs,
                            const WriteOptions& options) {
  std::vector<bool> small;
  small.reserve(outputs.size());
  for (const FactOutput& output : outputs)
    small.push_back(ranks > 1 && codes_of(output) <= kFewCodes &&
                    output.total_rows <= options.limits.rows_per_pass && is_text_file(output));
  return small;
}

Status write_small_facts(Comm& comm, Store& store, std::span<const FactOutput> outputs,
                         ValueOrder& order, const WriteOptions& options) {
  const std::vector<bool> small = are_small(comm.size(), outputs, options);
  std::vector<Part> parts;
  std::uint64_t codes = 0;
  int files = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (small[i]) {
      parts.push_back({.output = &outputs[i],
                       .writer = files++ % comm.size(),
                       .orders = {},
                       .rows = {},
                       .count = 0});
      codes += codes_of(outputs[i]);
    }
    if (parts.empty() || (codes < kCodesOfBatch && i + 1 < outputs.size())) continue;
    STRATALOG_RETURN_IF_ERROR(write_batch(comm, store, parts, order, options));
    parts.clear();
    codes = 0;
  }
  return {};
}

}  // namespace stratalog::datalog
