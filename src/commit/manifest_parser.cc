// SPDX-License-Identifier: Apache-2.0
// The reading half of commit/manifest.h: first the self-hash over everything, then line by line,
// then whether the parts fit together. Every field is checked for type and range.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "commit/manifest.h"
#include "encode/block_format.h"
#include "encode/compact_codec.h"

namespace stratalog {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 63;

// One line's object, with typed access that remembers the first field that was not as it must be.
class Fields {
 public:
  explicit Fields(std::string_view text)
      : object_(Json::parse(text.begin(), text.end(), nullptr, false)) {
    if (!object_.is_object()) bad_ = "is not a JSON object";
  }

  bool is_ok() const { return bad_.empty(); }
  const std::string& problem() const { return bad_; }
  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }

  std::uint64_t number(const char* key, std::uint64_t limit = kNoLimit) {
    const Json* value = find(key);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned()) return fail(key);
    const auto number = *value->get_ptr<const std::uint64_t*>();
    return number <= limit ? number : fail(key);
  }
  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    const auto* text = value->get_ptr<const std::string*>();
    if (text != nullptr) return *text;
    fail(key);
    return {};
  }
  Hash128 hash(const char* key) {
    const auto parsed = parse_hash128(text(key));
    if (!parsed) fail(key);
    return parsed.value_or(Hash128{});
  }
  template <typename Visit>
  void each(const char* key, Visit&& visit) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) {
      fail(key);
      return;
    }
    for (const Json& item : *value)
      if (!visit(item)) fail(key);
  }
  std::uint64_t fail(const char* key) {
    if (bad_.empty()) bad_ = fmt::format("field \"{}\" is missing or not as it must be", key);
    return 0;
  }

 private:
  const Json* find(const char* key) {
    if (!is_ok()) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    fail(key);
    return nullptr;
  }

  Json object_;
  std::string bad_;
};

bool as_number(const Json& item, std::uint64_t limit, std::uint64_t& number) {
  if (!item.is_number_unsigned()) return false;
  number = *item.get_ptr<const std::uint64_t*>();
  return number <= limit;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Manifest> run() {
    STRATALOG_RETURN_IF_ERROR(parse_head());
    for (std::uint64_t i = 0; i < relations_; ++i) STRATALOG_RETURN_IF_ERROR(parse_relation());
    for (std::uint64_t i = 0; i < sections_; ++i) STRATALOG_RETURN_IF_ERROR(parse_section());
    for (std::uint64_t i = 0; i < files_; ++i) STRATALOG_RETURN_IF_ERROR(parse_file());
    for (std::uint64_t i = 0; i < shards_; ++i) STRATALOG_RETURN_IF_ERROR(parse_shard());
    if (!text_.empty()) return bad("more lines than announced");
    STRATALOG_RETURN_IF_ERROR(check_whole());
    return std::move(manifest_);
  }

 private:
  Status bad(std::string_view what) const {
    return Status::corruption(fmt::format("MANIFEST line {}: {}", line_number_, what));
  }
  Result<Fields> next_line() {
    ++line_number_;
    const std::size_t end = text_.find('\n');
    if (end == std::string_view::npos) return bad("is missing");
    Fields fields(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return fields;
  }

  Status parse_head();
  Status parse_relation();
  Status parse_section();
  Status parse_file();
  Status parse_shard();
  Status check_whole() const;
  Status check_extents() const;

  std::string_view text_;
  std::uint64_t line_number_ = 0;
  std::uint64_t relations_ = 0;
  std::uint64_t sections_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t shards_ = 0;
  Manifest manifest_;
};

Status Parser::parse_head() {
  STRATALOG_ASSIGN_OR_RETURN(Fields in, next_line());
  if (in.text("stratalog") != "manifest") return bad("is not the head of a Stratalog manifest");
  const std::uint64_t version = in.number("version");
  if (in.is_ok() && version > kFormatVersion)
    return Status::not_supported(
        fmt::format("MANIFEST is of format version {}, this program reads up to {}: use a newer "
                    "Stratalog",
                    version, kFormatVersion));
  std::string critical;
  in.each("critical", [&](const Json& item) {
    critical = item.is_string() ? item.get<std::string>() : "?";
    return item.is_string();
  });
  if (!critical.empty())
    return Status::not_supported(
        fmt::format("MANIFEST needs the feature \"{}\", which this program does not know: use a "
                    "newer Stratalog",
                    critical));
  Manifest& m = manifest_;
  m.store = in.hash("store");
  m.id.epoch = static_cast<std::uint32_t>(in.number("epoch", 0xFFFFFFFFU));
  m.id.sequence = in.number("sequence", kMaxSequence);
  m.nonce = in.hash("nonce");
  m.ranks = static_cast<std::uint32_t>(in.number("ranks", 0x7FFFFFFFU));
  const auto mode = parse_mode(in.text("mode"));
  const auto encoding = parse_encoding(in.text("encoding"));
  const auto durability = parse_durability(in.text("durability"));
  m.iteration = in.number("iteration");
  m.program_hash = in.text("program");
  m.engine_state = in.text("state");
  relations_ = in.number("relations");
  sections_ = in.number("sections");
  files_ = in.number("files");
  shards_ = in.number("shards");
  if (!in.is_ok()) return bad(in.problem());
  if (version < 1 || m.ranks < 1 || !mode || format_of(*mode) != *mode ||
      *mode == CheckpointMode::kAuto || !encoding || !durability)
    return bad("version, ranks, mode, encoding or durability is not as it must be");
  m.mode = *mode;
  m.encoding = *encoding;
  m.durability = *durability;
  return Status::ok();
}

Status Parser::parse_relation() {
  STRATALOG_ASSIGN_OR_RETURN(Fields in, next_line());
  ManifestRelation r;
  r.name = in.text("relation");
  const std::string version = in.text("version");
  r.version = version == "delta" ? RelationVersion::kDelta : RelationVersion::kTotal;
  if (version != version_name(r.version)) in.fail("version");
  r.arity = static_cast<std::uint32_t>(in.number("arity", kMaxArity));
  std::vector<bool> seen(r.arity, false);
  in.each("columns", [&](const Json& item) {
    std::uint64_t column = 0;
    if (!as_number(item, kMaxArity, column) || column >= r.arity || seen[column]) return false;
    seen[column] = true;
    r.column_order.push_back(static_cast<std::uint32_t>(column));
    return true;
  });
  r.rows = in.number("rows");
  const Hash128 hash = in.hash("hash");
  r.hash = {.low = hash.low, .high = hash.high};
  if (r.column_order.size() != r.arity) in.fail("columns");
  if (r.arity == 0 && r.rows > 1) in.fail("rows");
  if (!in.is_ok()) return bad(in.problem());
  manifest_.relations.push_back(std::move(r));
  return Status::ok();
}

Status Parser::parse_section() {
  STRATALOG_ASSIGN_OR_RETURN(Fields in, next_line());
  ManifestSection s;
  s.name = in.text("section");
  s.file = in.text("file");
  s.bytes = in.number("bytes", kMaxFileBytes);
  s.blocks = in.number("blocks", 0xFFFFFFFFU);
  s.hash = in.hash("hash");
  if (!in.is_ok()) return bad(in.problem());
  manifest_.sections.push_back(std::move(s));
  return Status::ok();
}

Status Parser::parse_file() {
  STRATALOG_ASSIGN_OR_RETURN(Fields in, next_line());
  ManifestFile f;
  f.name = in.text("data");
  f.bytes = in.number("bytes", kMaxFileBytes);
  if (in.has("frame")) f.frame = in.hash("frame");
  if (!is_data_file_name(f.name)) in.fail("data");
  if (!in.is_ok()) return bad(in.problem());
  manifest_.files.push_back(std::move(f));
  return Status::ok();
}

Status Parser::parse_shard() {
  STRATALOG_ASSIGN_OR_RETURN(Fields in, next_line());
  ManifestShard s;
  s.relation = static_cast<std::uint32_t>(in.number("shard", 0xFFFFFFFFU));
  s.rank = static_cast<std::uint32_t>(in.number("rank", 0xFFFFFFFFU));
  s.file = in.text("file");
  s.rows = in.number("rows");
  s.groups = in.number("groups");
  s.blocks = in.number("blocks", 0xFFFFFFFFU);
  if (manifest_.mode == CheckpointMode::kHdf5) {
    s.piece_rows = in.number("piece_rows");
    in.each("pieces", [&](const Json& item) {
      const auto* text = item.get_ptr<const std::string*>();
      const auto hash = text == nullptr ? std::nullopt : parse_hex64(*text);
      s.pieces.push_back(hash.value_or(0));
      return hash.has_value();
    });
    if (s.piece_rows == 0 || s.pieces.size() != s.blocks) in.fail("pieces");
  } else {
    s.hash = in.hash("hash");
  }
  in.each("extents", [&](const Json& item) {
    Extent extent;
    if (!item.is_array() || item.size() != 2) return false;
    if (!as_number(item[0], kMaxFileBytes, extent.offset)) return false;
    if (!as_number(item[1], kMaxFileBytes - extent.offset, extent.bytes)) return false;
    s.extents.push_back(extent);
    return extent.bytes != 0;
  });
  if (s.relation >= manifest_.relations.size()) in.fail("shard");
  if (s.rank >= manifest_.ranks) in.fail("rank");
  if (!in.is_ok()) return bad(in.problem());
  manifest_.shards.push_back(std::move(s));
  return Status::ok();
}

Status Parser::check_extents() const {
  std::map<std::string_view, std::uint64_t> sizes;
  for (const ManifestFile& file : manifest_.files)
    if (!sizes.emplace(file.name, file.bytes).second)
      return Status::corruption(fmt::format("MANIFEST lists file {} twice", file.name));
  struct Use {
    std::string_view file;
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::vector<Use> uses;
  for (const ManifestShard& shard : manifest_.shards)
    for (const Extent& extent : shard.extents)
      uses.push_back({shard.file, extent.offset, extent.offset + extent.bytes});
  std::set<std::string_view> section_files;
  for (const ManifestSection& section : manifest_.sections) {
    const auto file = sizes.find(section.file);
    if (file == sizes.end() || !section_files.insert(section.file).second)
      return Status::corruption(fmt::format("MANIFEST: no file for section {}", section.name));
    uses.push_back({section.file, 0, file->second});
  }
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return a.file != b.file ? a.file < b.file : a.begin < b.begin;
  });
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto file = sizes.find(uses[i].file);
    if (file == sizes.end() || uses[i].end > file->second)
      return Status::corruption(
          fmt::format("MANIFEST: {} does not reach to byte {}", uses[i].file, uses[i].end));
    if (i > 0 && uses[i - 1].file == uses[i].file && uses[i - 1].end > uses[i].begin)
      return Status::corruption(fmt::format("MANIFEST: two shards overlap in {} at byte {}",
                                            uses[i].file, uses[i].begin));
  }
  return Status::ok();
}

Status Parser::check_whole() const {
  STRATALOG_RETURN_IF_ERROR(check_extents());
  std::vector<std::uint64_t> rows(manifest_.relations.size(), 0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::uint64_t total_bytes = 0;
  for (const ManifestShard& shard : manifest_.shards) {
    rows[shard.relation] += shard.rows;
    if (shard.rows > manifest_.relations[shard.relation].rows ||
        !seen.emplace(shard.relation, shard.rank).second || shard.extents.empty() ||
        shard.bytes() > kMaxFileBytes - total_bytes)
      return Status::corruption(
          fmt::format("MANIFEST: shard {} of rank {} cannot be", shard.relation, shard.rank));
    total_bytes += shard.bytes();
    if (manifest_.mode == CheckpointMode::kHdf5) {
      const std::uint64_t row_bytes = 8ULL * manifest_.relations[shard.relation].arity;
      if (row_bytes == 0 || shard.bytes() % row_bytes != 0 ||
          shard.bytes() / row_bytes != shard.rows ||
          (shard.rows + shard.piece_rows - 1) / shard.piece_rows != shard.blocks ||
          shard.piece_rows > (std::uint64_t{64} << 20) / row_bytes)
        return Status::corruption(
            fmt::format("MANIFEST: shard {} of rank {}: rows and pieces do "
                        "not match",
                        shard.relation, shard.rank));
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (manifest_.relations[i].arity != 0 && rows[i] != manifest_.relations[i].rows)
      return Status::corruption(fmt::format("MANIFEST: relation {} has {} rows, its shards {}",
                                            manifest_.relations[i].name,
                                            manifest_.relations[i].rows, rows[i]));
  return Status::ok();
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text, CheckManifest check) {
  if (text.empty() || text.back() != '\n')
    return Status::corruption("MANIFEST ends in the middle of a line");
  const std::size_t last = text.substr(0, text.size() - 1).rfind('\n') + 1;
  const std::string_view body = text.substr(0, last);
  Fields tail(text.substr(last, text.size() - last - 1));
  const Hash128 stored = tail.hash("xxh3_128");
  if (check == CheckManifest::kYes) {
    const Hash128 found = hash128(body);
    if (!tail.is_ok() || !(stored == found))
      return Status::corruption(fmt::format("MANIFEST, offset {}: hash {} expected, {} found", last,
                                            to_hex(found), tail.is_ok() ? to_hex(stored) : "none"));
    const std::string expected = fmt::format("{{\"xxh3_128\":\"{}\"}}\n", to_hex(found));
    if (text.substr(last) != expected)
      return Status::corruption(fmt::format("MANIFEST, offset {}: a strange last line", last));
  }
  return Parser(body).run();
}

}  // namespace stratalog
