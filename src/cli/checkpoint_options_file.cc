// SPDX-License-Identifier: Apache-2.0
#include "cli/checkpoint_options_file.h"

#include <nlohmann/json.hpp>
#include <string>

#include "commit/options_file.h"
#include "commit/vocabulary.h"

namespace stratalog::cli {

namespace {

using nlohmann::json;

template <typename T>
T number_member(const json& options, const char* name, T otherwise) {
  const auto member = options.find(name);
  return member != options.end() && member->is_number() && *member >= 0 ? member->get<T>()
                                                                        : otherwise;
}

RunPlaces places_of(const RunArguments& run) {
  return {.facts = run.facts,
          .output = run.output,
          .libraries = run.libraries,
          .library_directories = run.library_directories};
}

}  // namespace

std::string path_member(const json& options, const char* name, const std::string& otherwise) {
  const auto member = options.find(name);
  const auto path = member == options.end() ? std::nullopt : path_of_item(*member);
  return path.value_or(otherwise);
}

std::vector<std::string> paths_member(const json& options, const char* name) {
  std::vector<std::string> paths;
  const auto member = options.find(name);
  if (member == options.end() || !member->is_array()) return paths;
  for (const json& item : *member)
    if (const auto path = path_of_item(item)) paths.push_back(*path);
  return paths;
}

std::string layout_text(const LayoutWishes& wishes) {
  return json{{"ladder", ladder_text(wishes.ladder)},
              {"files", wishes.files},
              {"relations_per_file", wishes.relations_per_file},
              {"alignment", wishes.alignment},
              {"aggregators", wishes.aggregators},
              {"deflate", wishes.deflate_level ? json(*wishes.deflate_level) : json()}}
      .dump();
}

void take_layout_text(std::string_view text, LayoutWishes& wishes) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return;
  const auto ladder = object.find("ladder");
  if (ladder != object.end() && ladder->is_string()) {
    const auto choice = parse_ladder(ladder->get<std::string>());
    if (choice.is_ok()) wishes.ladder = choice.value();
  }
  wishes.files = number_member(object, "files", wishes.files);
  wishes.relations_per_file =
      number_member(object, "relations_per_file", wishes.relations_per_file);
  wishes.alignment = number_member(object, "alignment", wishes.alignment);
  wishes.aggregators = number_member(object, "aggregators", wishes.aggregators);
  // Of older files, where 0 said nothing.
  const auto level = number_member<std::uint32_t>(object, "deflate_level", 0);
  if (level != 0) wishes.deflate_level = level;
  const auto deflate = object.find("deflate");
  if (deflate != object.end() && deflate->is_number_unsigned())
    wishes.deflate_level = deflate->get<std::uint32_t>();
}

json options_object(const std::string& program_name, const RunArguments& run) {
  json options = places_object(places_of(run));
  options.update(
      json{{"program", program_name},
           {"missing_facts", run.missing_facts == MissingFacts::kEmpty ? "empty" : "error"},
           {"stage", path_item(run.stage)},
           {"every_iterations", run.every.iterations},
           {"every_seconds", run.every.seconds},
           {"most_share", run.every.most_share},
           {"mode", mode_name(run.mode)},
           {"layout", layout_text(run.layout)},
           {"encoding", encoding_name(run.encoding)},
           {"durability", durability_name(run.durability)},
           {"keep_generations", run.keep_generations},
           {"full_every", run.whole_every},
           {"compaction", run.folding == Folding::kAllowed ? "auto" : "none"},
           {"mtbf_seconds", run.mtbf_seconds}});
  return options;
}

Status write_options_file(Store& store, const std::string& program_name, const RunArguments& run) {
  RunPlaces places = absolute_places(places_of(run));
  if (run.output == kConsoleName) places.output = kConsoleName;
  json options = options_object(program_name, run);
  options.update(places_object(places));
  return replace_options(store, options);
}

Result<std::string> complete_from_options_file(Store& store, RunArguments& run) {
  const auto read = read_options(store);
  if (read.status().code() == StatusCode::kNotFound) return std::string();
  if (!read.is_ok()) return read.status();
  const json& options = read.value();
  if (!run.has_every) {
    run.every.iterations = number_member<std::uint64_t>(options, "every_iterations", 0);
    run.every.seconds = number_member<double>(options, "every_seconds", 60);
    run.every.most_share = number_member<double>(options, "most_share", 0);
    run.mtbf_seconds = number_member<double>(options, "mtbf_seconds", 0);
  }
  if (!run.has_keep) {
    run.keep_generations =
        std::max(2U, number_member<std::uint32_t>(options, "keep_generations", 2));
  }
  if (!run.has_whole_every)
    run.whole_every = number_member<std::uint32_t>(options, "full_every", 0);
  const auto word = [&](const char* name) {
    const auto member = options.find(name);
    return member != options.end() && member->is_string() ? member->get<std::string>()
                                                          : std::string();
  };
  if (word("missing_facts") == "empty") run.missing_facts = MissingFacts::kEmpty;
  if (!run.has_folding && word("compaction") == "none") run.folding = Folding::kNo;
  if (!run.has_mode) run.mode = parse_mode(word("mode")).value_or(run.mode);
  if (run.given_layout.empty()) {
    take_layout_text(word("layout"), run.layout);
    // Files were asked for in another mode.
    if (run.mode == CheckpointMode::kFilePerProcess) run.layout.files = 0;
  }
  if (!run.has_encoding) run.encoding = parse_encoding(word("encoding")).value_or(run.encoding);
  if (!run.has_durability)
    run.durability = parse_durability(word("durability")).value_or(run.durability);
  if (run.libraries.empty() && run.library_directories.empty()) {
    run.libraries = paths_member(options, "libraries");
    run.library_directories = paths_member(options, "library_directories");
  }
  for (const auto& [name, path] : {std::pair("stage", &run.stage), std::pair("facts", &run.facts),
                                   std::pair("output", &run.output)})
    if (path->empty()) *path = path_member(options, name, "");
  return word("program");
}

std::string stage_in_options_file(Store& store) {
  // Whoever only reads checkpoints does without a damaged file.
  RunArguments run;
  (void)complete_from_options_file(store, run);
  return run.stage;
}

}  // namespace stratalog::cli
