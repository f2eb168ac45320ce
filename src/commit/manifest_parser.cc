// SPDX-License-Identifier: Apache-2.0
// The reading half of commit/manifest.h: first the self-hash over everything, then line by line,
// then whether the parts fit together (manifest_checks.cc). Every field is checked for type and
// range. Local.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "commit/json_items.h"
#include "commit/learned_json.h"
#include "commit/manifest.h"
#include "commit/manifest_checks.h"
#include "encode/block_format.h"
#include "encode/compact_codec.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Numbers in a chunk of a stream: what a reader has to hold, four bytes each.
constexpr std::uint64_t kMaxStreamChunk = std::uint64_t{1} << 24;

bool as_number(JsonItem item, std::uint64_t limit, std::uint64_t& number) {
  const auto found = item.unsigned_number();
  number = found.value_or(0);
  return found && number <= limit;
}

// One line's object, with typed access that remembers the first field that was not as it must be.
class Fields {
 public:
  explicit Fields(JsonItem object) : object_(object) {
    if (!object_.is_object()) bad_ = "is not a JSON object";
  }

  bool is_ok() const { return bad_.empty(); }
  const std::string& problem() const { return bad_; }
  bool has(const char* key) const { return object_.find(key).has_value(); }

  std::uint64_t number(const char* key, std::uint64_t limit = kNoLimit) {
    const auto value = find(key);
    std::uint64_t number = 0;
    return value && as_number(*value, limit, number) ? number : fail(key);
  }
  std::string text(const char* key) { return std::string(view(key)); }
  Hash128 hash(const char* key) {
    const auto parsed = parse_hash128(view(key));
    if (!parsed) fail(key);
    return parsed.value_or(Hash128{});
  }
  // Told for people: what is not as expected is left out.
  PartChoice choice(const char* key) {
    const auto value = find(key);
    if (!value) return {};
    Fields in(*value);
    PartChoice choice{.part = in.text("part"),
                      .reason = in.text("reason"),
                      .parts = in.number("parts"),
                      .whole_bytes = in.number("whole_bytes"),
                      .growth_bytes = in.number("growth_bytes")};
    return in.is_ok() ? choice : PartChoice{};
  }
  // Nonsense is nothing: only a writer would look at it, and can do without.
  std::optional<LearnedRecord> learned(const char* key) const {
    const auto value = object_.find(key);
    return value ? learned_of(*value) : std::nullopt;
  }
  template <typename Visit>
  void each(const char* key, Visit&& visit) {
    const auto value = find(key);
    if (!value) return;
    if (!value->is_array()) {
      fail(key);
      return;
    }
    for (const JsonItem item : *value)
      if (!visit(item)) fail(key);
  }
  template <typename T>
  std::vector<T> numbers(const char* key, std::uint64_t limit) {
    std::vector<T> numbers;
    each(key, [&](JsonItem item) {
      std::uint64_t number = 0;
      if (!as_number(item, limit, number)) return false;
      numbers.push_back(static_cast<T>(number));
      return true;
    });
    return numbers;
  }
  std::vector<std::uint64_t> checksums(const char* key) {
    std::vector<std::uint64_t> checksums;
    each(key, [&](JsonItem item) {
      const auto text = item.text();
      const auto hash = text ? parse_hex64(*text) : std::nullopt;
      checksums.push_back(hash.value_or(0));
      return hash.has_value();
    });
    return checksums;
  }
  std::vector<Extent> extents(const char* key) {
    std::vector<Extent> extents;
    each(key, [&](JsonItem item) {
      Extent extent;
      if (!item.is_array() || item.size() != 2) return false;
      auto field = item.begin();
      if (!as_number(*field, kMaxFileBytes, extent.offset)) return false;
      if (!as_number(*++field, kMaxFileBytes - extent.offset, extent.bytes)) return false;
      extents.push_back(extent);
      return extent.bytes != 0;
    });
    return extents;
  }
  std::uint64_t fail(const char* key) {
    if (bad_.empty()) bad_ = fmt::format("field \"{}\" is missing or not as it must be", key);
    return 0;
  }

 private:
  std::string_view view(const char* key) {
    const auto value = find(key);
    const auto text = value ? value->text() : std::nullopt;
    if (!text) fail(key);
    return text.value_or(std::string_view{});
  }
  std::optional<JsonItem> find(const char* key) {
    if (!is_ok()) return std::nullopt;
    const auto found = object_.find(key);
    if (!found) fail(key);
    return found;
  }

  JsonItem object_;
  std::string bad_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Manifest> run() {
    STRATALOG_RETURN_IF_ERROR(parse_head());
    for (std::uint64_t i = 0; i < relations_; ++i) STRATALOG_RETURN_IF_ERROR(parse_relation());
    for (std::uint64_t i = 0; i < sections_; ++i) STRATALOG_RETURN_IF_ERROR(parse_section());
    for (std::uint64_t i = 0; i < links_; ++i) STRATALOG_RETURN_IF_ERROR(parse_link());
    for (std::uint64_t i = 0; i < files_; ++i) STRATALOG_RETURN_IF_ERROR(parse_file());
    for (std::uint64_t i = 0; i < shards_; ++i) STRATALOG_RETURN_IF_ERROR(parse_shard());
    if (!text_.empty()) return bad("more lines than announced");
    STRATALOG_RETURN_IF_ERROR(check_parts(manifest_));
    return std::move(manifest_);
  }

 private:
  Status bad(std::string_view what) const {
    return Status::corruption(fmt::format("MANIFEST line {}: {}", line_number_, what));
  }
  // Good until the next call.
  Result<Fields> next_line() {
    ++line_number_;
    const std::size_t end = text_.find('\n');
    if (end == std::string_view::npos) return bad("is missing");
    Fields fields(line_.parse(text_.substr(0, end)));
    text_.remove_prefix(end + 1);
    return fields;
  }

  Status parse_head();
  Status parse_relation();
  Status parse_section();
  Status parse_link();
  Status parse_file();
  Status parse_shard();
  void parse_zones(Fields& in, ManifestShard& shard) const;
  std::uint32_t link_of(Fields& in);

  std::string_view text_;
  JsonItems line_;
  std::uint64_t line_number_ = 0;
  std::uint64_t relations_ = 0;
  std::uint64_t sections_ = 0;
  std::uint64_t links_ = 0;
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
  bool may_link = false;
  in.each("critical", [&](JsonItem item) {
    const std::string feature(item.text().value_or("?"));
    may_link |= feature == kLinksFeature;
    if (feature != kLinksFeature && feature != kDeflatedChunks && feature != kStreamsFeature &&
        feature != kCopiesFeature && feature != kPoolsFeature && feature != kRunPoolsFeature &&
        feature != kSectionPieces)
      critical = feature;
    return item.text().has_value();
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
  const auto format = parse_mode(in.text("mode")).value_or(CheckpointMode::kAuto);
  const bool is_format = format != CheckpointMode::kAuto && format_of(format) == format;
  m.mode = format;
  if (is_format && in.has("layout")) {
    // Which writer it was. An unknown one does not matter: the format is what `mode` says.
    const auto layout = parse_mode(in.text("layout")).value_or(format);
    if (!is_learned(layout) && format_of(layout) == format) m.mode = layout;
  }
  const auto encoding = parse_encoding(in.text("encoding"));
  const auto durability = parse_durability(in.text("durability"));
  m.iteration = in.number("iteration");
  m.program_hash = in.text("program");
  m.engine_state = in.text("state");
  if (in.has("reasons"))
    in.each("reasons", [&](JsonItem item) {
      if (!item.is_array() || item.size() != 2) return false;
      auto part = item.begin();
      const auto what = (*part).text();
      const auto why = (*++part).text();
      if (what && why) m.reasons.push_back({std::string(*what), std::string(*why)});
      return what && why;
    });
  m.learned = in.learned("learned");
  relations_ = in.number("relations");
  sections_ = in.number("sections");
  if (in.has("links")) links_ = in.number("links", 0xFFFFFFFFU);
  files_ = in.number("files");
  shards_ = in.number("shards");
  if (links_ != 0 && !may_link) in.fail("critical");
  if (!in.is_ok()) return bad(in.problem());
  if (version < 1 || m.ranks < 1 || !is_format || !encoding || !durability)
    return bad("version, ranks, mode, encoding or durability is not as it must be");
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
  in.each("columns", [&](JsonItem item) {
    std::uint64_t column = 0;
    if (!as_number(item, kMaxArity, column) || column >= r.arity || seen[column]) return false;
    seen[column] = true;
    r.column_order.push_back(static_cast<std::uint32_t>(column));
    return true;
  });
  r.rows = in.number("rows");
  const Hash128 hash = in.hash("hash");
  r.hash = {.low = hash.low, .high = hash.high};
  if (in.has("choice")) r.choice = in.choice("choice");
  if (r.column_order.size() != r.arity) in.fail("columns");
  if (r.arity == 0 && r.rows > 1) in.fail("rows");
  if (!in.is_ok()) return bad(in.problem());
  manifest_.relations.push_back(std::move(r));
  return Status::ok();
}

// The link that a line names, if it names one.
std::uint32_t Parser::link_of(Fields& in) {
  if (!in.has("link")) return kOwnFiles;
  const std::uint64_t link = in.number("link", 0xFFFFFFFEU);
  if (link >= links_) in.fail("link");
  return static_cast<std::uint32_t>(link);
}

Status Parser::parse_link() {
  STRATALOG_ASSIGN_OR_RETURN(Fields in, next_line());
  const auto id = parse_generation_name(in.text("link"));
  const auto mode = parse_mode(in.text("mode"));
  const Nonce nonce = in.hash("nonce");
  if (!in.is_ok()) return bad(in.problem());
  // A job builds on its own generations only: those of others may be collected by their jobs.
  const auto& links = manifest_.links;
  if (!id || !mode || *mode == CheckpointMode::kAuto || format_of(*mode) != *mode ||
      id->epoch != manifest_.id.epoch || *id >= manifest_.id ||
      (!links.empty() && links.back().id >= *id))
    return bad("links to a generation that it cannot build on");
  manifest_.links.push_back({.id = *id, .nonce = nonce, .mode = *mode});
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
  if (in.has("piece")) s.piece = static_cast<std::uint32_t>(in.number("piece", 0xFFFFFFFFU));
  s.link = link_of(in);
  if (s.link != kOwnFiles) s.image = static_cast<std::uint32_t>(in.number("image", 0xFFFFFFFFU));
  if (!in.is_ok()) return bad(in.problem());
  if (s.piece != 0 && (manifest_.sections.empty() || manifest_.sections.back().name != s.name ||
                       manifest_.sections.back().piece != s.piece - 1))
    return bad("is a piece of a section that does not follow the one before it");
  manifest_.sections.push_back(std::move(s));
  return Status::ok();
}

Status Parser::parse_file() {
  STRATALOG_ASSIGN_OR_RETURN(Fields in, next_line());
  ManifestFile f;
  f.name = in.text("data");
  f.bytes = in.number("bytes", kMaxFileBytes);
  if (in.has("frame")) f.frame = in.hash("frame");
  f.link = link_of(in);
  if (in.has("others")) f.others = in.extents("others");
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
  s.link = link_of(in);
  if (s.link != kOwnFiles) s.image = static_cast<std::uint32_t>(in.number("image", 0xFFFFFFFEU));
  if (!in.is_ok()) return bad(in.problem());
  const CheckpointMode mode = manifest_.mode_of(s.link);
  if (stores_rows(mode)) {
    if (in.has("chunk_rows")) {
      s.chunk_rows = in.number("chunk_rows", kMaxFileBytes);
      s.first_row = in.number("first_row", kMaxFileBytes);
    }
    s.piece_rows = in.number("piece_rows");
    s.pieces = in.checksums("pieces");
    if (s.piece_rows == 0 || s.pieces.size() != s.blocks) in.fail("pieces");
  } else if (stores_streams(mode)) {
    s.streams.chunks = in.numbers<std::uint64_t>("chunks", kMaxStreamChunk);
    s.streams.begins = in.numbers<std::uint64_t>("begins", kMaxFileBytes);
    s.streams.keys = in.numbers<Cell>("keys", 0xFFFFFFFFU);
    s.pieces = in.checksums("pieces");
  } else {
    s.hash = in.hash("hash");
  }
  s.extents = in.extents("extents");
  if (s.relation >= manifest_.relations.size())
    in.fail("shard");
  else if (!stores_blocks(mode) && (s.is_deflated() || s.is_streams()))
    s.row_bytes = 8ULL * manifest_.relations[s.relation].arity;
  if (s.rows > kMaxFileBytes / (8ULL * kMaxArity)) in.fail("rows");
  if (s.rank >= manifest_.ranks) in.fail("rank");
  if (in.has("streams_blocks")) s.streams_blocks = in.number("streams_blocks", s.blocks);
  if (in.has("copies")) s.copies = in.number("copies", s.groups);
  if (in.has("pools")) s.pools = in.number("pools", s.blocks);
  if (in.has("run_pools")) s.run_pools = in.number("run_pools", s.blocks);
  if (in.is_ok() && in.has("zones")) parse_zones(in, s);
  if (!in.is_ok()) return bad(in.problem());
  manifest_.shards.push_back(std::move(s));
  return Status::ok();
}

// Lowest and highest cell of every column, block by block.
void Parser::parse_zones(Fields& in, ManifestShard& shard) const {
  const std::size_t each = std::size_t{manifest_.relations[shard.relation].arity} * 2;
  in.each("zones", [&](JsonItem item) {
    if (!item.is_array() || item.size() != each) return false;
    bool is_highest = false;
    for (const JsonItem bound : item) {
      std::uint64_t cell = 0;
      if (!as_number(bound, 0xFFFFFFFFU, cell)) return false;
      if (is_highest && cell < shard.zones.back()) return false;
      shard.zones.push_back(static_cast<Cell>(cell));
      is_highest = !is_highest;
    }
    return true;
  });
  if (shard.zones.size() != shard.blocks * each) in.fail("zones");
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text, CheckManifest check) {
  if (text.empty() || text.back() != '\n')
    return Status::corruption("MANIFEST ends in the middle of a line");
  const std::size_t last = text.substr(0, text.size() - 1).rfind('\n') + 1;
  const std::string_view body = text.substr(0, last);
  JsonItems last_line;
  Fields tail(last_line.parse(text.substr(last, text.size() - last - 1)));
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
