// SPDX-License-Identifier: Apache-2.0
// stratalog::Program: the engine as a C++ library (docs/library.md). A checked program, the tuples
// inserted into it, and after run() its relations in memory. Installed with base/status.h and
// base/result.h, and on its own otherwise: it names nothing of the engine. Local, except compile()
// and run(), which are collective where Collectives name several ranks; one thread at a time,
// stop() excepted. Ranks whose arguments of a collective call differ all get RanksDisagree.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error \
    "stratalog/program.h needs C++20 (-std=c++20); <stratalog/stratalog.h> is for C and older C++"
#endif

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/stratalog.h"
#include "base/result.h"
#include "base/status.h"

namespace stratalog {

enum class ColumnKind : std::uint8_t { kNumber, kUnsigned, kFloat, kSymbol, kStructured };

struct Column {
  std::string name;
  std::string type;  // as declared, possibly a subtype
  ColumnKind kind = ColumnKind::kNumber;
};

// number, unsigned, float; symbols, and structured values as Soufflé's text.
using Value = std::variant<std::int64_t, std::uint64_t, double, std::string>;
using Row = std::vector<Value>;

struct CompileSettings {
  std::string name = "program";  // for messages; its folder is where .include looks first
  std::vector<std::string> include_directories = {};
  std::vector<std::string> macros = {};  // NAME or NAME=VALUE
  // As set_collectives(), and compile() is collective: where the program of one rank has errors,
  // all end with them.
  const stratalog_collectives* collectives = nullptr;
  // Not empty: this rank has no program to compile, and why. It takes part, so that nobody waits
  // for it, and all ranks end with InvalidArgument and this text. Other settings are not looked at.
  std::string refusal = {};
};

enum class OnCheckpoints : std::uint8_t {
  kRefuse,  // AlreadyExists if the folder holds any
  kResume,  // go on from the newest valid one, if there is one
  kOverwrite,
};

struct RunSettings {
  std::string facts = {};  // folder of .input files; empty: such directives read nothing
  std::string output = {};  // folder of .output files; empty: such directives write nothing
  // Shared libraries with functions of `.functor`, and where they are; as -l and -L of the command.
  std::vector<std::string> libraries = {};
  std::vector<std::string> library_directories = {};
  std::string checkpoint = {};  // folder of checkpoints; empty: none
  double checkpoint_every_seconds = 0;  // 0: only at the end
  OnCheckpoints on_checkpoints = OnCheckpoints::kRefuse;
  std::uint64_t memory_limit_bytes = 0;  // per rank; 0: none
  // Ranks that are threads of this process, where Collectives name no others; 0: one a core.
  std::uint32_t threads = 1;
  std::function<void(const std::string&)> notice = {};  // rank 0: lines for a log
  // As CompileSettings::refusal: of a rank that cannot run.
  std::string refusal = {};
};

struct RunSummary {
  double seconds = 0;
  std::uint64_t peak_memory_bytes = 0;  // of relations, all ranks together
  std::uint64_t checkpoints = 0;
  // What failed, one text each, oldest first. The run went on without them.
  std::vector<std::string> failed_checkpoints = {};
  bool is_saved = false;  // whether the folder of checkpoints, if there is one, holds the answer
  std::string resumed_from = {};  // the generation; empty: from the start
  // Rank 0: .printsize and, with a folder of outputs, .output with IO=stdout.
  std::string console = {};
};

class Program {
 public:
  // InvalidArgument with all errors of the program, each with file, line and caret.
  static Result<Program> compile(std::string_view text, const CompileSettings& settings = {});
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;
  ~Program();

  // What the compiler warns of; may be empty.
  const std::string& warnings() const;
  const std::vector<std::string>& relations() const;
  // NotFound, with the names that there are.
  Result<std::size_t> find(std::string_view relation) const;
  // Of relation number `relation` < relations().size(), here and below.
  const std::vector<Column>& columns(std::size_t relation) const;

  // Adds tuples, which the next run starts from; repeated ones count once. InvalidArgument, and
  // nothing is added, if one does not fit.
  Status insert(std::size_t relation, std::uint64_t rows,
                std::span<const stratalog_column_in> columns);
  Status insert(std::string_view relation, std::span<const Row> rows);
  void clear(std::size_t relation);

  // Everybody's part of the work; must outlive this object. One rank unless it was called.
  Status set_collectives(const stratalog_collectives& collectives);
  // Computes everything anew from what was inserted and what .input names. Relations of an earlier
  // run are gone from here on. Cancelled after stop(); what run_program returns otherwise, with the
  // same Status on all ranks. Afterwards others may write checkpoints to its folder.
  Result<RunSummary> run(const RunSettings& settings = {});
  // From any thread. A run that is not going on is not affected.
  void stop();
  bool has_run() const;

  // After a run: tuples on all ranks, and on those of this process.
  Result<std::uint64_t> count(std::size_t relation) const;
  Result<std::uint64_t> count_here(std::size_t relation) const;
  // stratalog_read and stratalog_read_cells.
  Status read(std::size_t relation, std::uint64_t from, std::uint64_t rows,
              std::span<const stratalog_column_out> columns) const;
  Status read_cells(std::size_t relation, std::uint64_t from, std::uint64_t rows,
                    std::span<const stratalog_column_out> columns) const;
  // The text of a cell that read() gave for this column.
  Result<std::string> text(std::size_t relation, std::size_t column, std::uint32_t cell) const;
  // All tuples of this rank, ascending.
  Result<std::vector<Row>> rows(std::string_view relation) const;
  // stratalog_section.
  Result<std::string> section(std::string_view name) const;

 private:
  struct Parts;
  explicit Program(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace stratalog
