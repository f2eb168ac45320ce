// SPDX-License-Identifier: Apache-2.0
#include "datalog/functors/shared_libraries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "datalog/functors/souffle_tables.h"

#ifdef STRATALOG_HAS_LIBFFI
#include <dlfcn.h>
#include <ffi.h>
#endif

namespace stratalog::datalog {
namespace {

void find_calls(const Expression& e, std::vector<bool>& called) {
  if (e.kind == ExpressionKind::kFunctor && e.functor == Functor::kExternal) called[e.shape] = true;
  for (const Expression& argument : e.arguments) find_calls(argument, called);
}

void find_calls(const std::vector<Literal>& body, std::vector<bool>& called) {
  for (const Literal& literal : body) {
    if (literal.kind == LiteralKind::kComparison) {
      find_calls(literal.left, called);
      find_calls(literal.right, called);
    }
    if (literal.aggregate) {
      find_calls(literal.aggregate->target, called);
      find_calls(literal.aggregate->body, called);
    }
    if (literal.range)
      for (const Expression* e : {&literal.range->from, &literal.range->to, &literal.range->step})
        find_calls(*e, called);
  }
}

std::vector<bool> called_functors(const Program& program) {
  std::vector<bool> called(program.external_functors.size());
  for (const Rule& rule : program.rules) {
    for (const Expression& e : rule.head_arguments) find_calls(e, called);
    find_calls(rule.body, called);
  }
  return called;
}

std::string where(const ExternalFunctor& functor) {
  return fmt::format("{}:{}:{}: .functor {}", functor.place.file, functor.place.line,
                     functor.place.column, functor.name);
}

#ifdef STRATALOG_HAS_LIBFFI

// A loaded library; closed when the last function out of it is gone.
using Library = std::shared_ptr<void>;

Library open_library(const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  return {handle, [](void* loaded) { dlclose(loaded); }};
}

std::vector<std::string> candidates(const std::string& name,
                                    const std::vector<std::string>& directories) {
  if (name.find('/') != std::string::npos) return {name};
  const std::string file = fmt::format("lib{}.so", name);
  std::vector<std::string> found;
  found.reserve(directories.size() + 1);
  for (const std::string& directory : directories)
    found.push_back(fmt::format("{}/{}", directory, file));
  found.push_back(file);  // where the system looks
  return found;
}

Result<Library> find_library(const std::string& name, const std::vector<std::string>& directories) {
  std::string reasons;
  for (const std::string& file : candidates(name, directories)) {
    if (Library library = open_library(file)) return library;
    const char* const reason = dlerror();
    reasons += fmt::format("\n  {}", reason == nullptr ? file : reason);
  }
  return Status::not_found(fmt::format(
      "the shared library `{}` cannot be loaded; name it (-l NAME or -l ./FILE.so, `libraries` "
      "of the library) and its folder (-L DIR, `library_directories`):{}",
      name, reasons));
}

ffi_type* type_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::kUnsigned:
      return &ffi_type_uint64;
    case ValueKind::kFloat:
      return &ffi_type_double;
    case ValueKind::kSymbol:
      return &ffi_type_pointer;
    case ValueKind::kNumber:
    case ValueKind::kRecord:
      break;
  }
  return &ffi_type_sint64;
}

std::uint64_t word_of(const void* pointer) {
  std::uint64_t word = 0;
  std::memcpy(&word, static_cast<const void*>(&pointer), sizeof pointer);
  return word;
}

// One function with its prepared call. Not copied: the call points into it.
class Caller {
 public:
  // `tables` are those of a stateful functor, which has them as its first arguments.
  Caller(const ExternalFunctor& functor, Library library, void* function,
         std::shared_ptr<SouffleTables> tables)
      : functor_(functor),
        library_(std::move(library)),
        function_(function),
        tables_(std::move(tables)) {
    if (functor.is_stateful) types_.assign(2, &ffi_type_pointer);
    for (const ExternalType& type : functor.arguments)
      types_.push_back(functor.is_stateful ? &ffi_type_sint64 : type_of(type.kind));
    is_ready_ = ffi_prep_cif(&call_, FFI_DEFAULT_ABI, static_cast<unsigned>(types_.size()),
                             functor.is_stateful ? &ffi_type_sint64 : type_of(functor.result.kind),
                             types_.data()) == FFI_OK;
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() = default;

  bool is_ready() const { return is_ready_; }

  Result<ExternalValue> call(std::span<const ExternalValue> arguments) {
    std::vector<std::uint64_t> words(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
      words[i] = functor_.arguments[i].kind == ValueKind::kSymbol
                     ? word_of(arguments[i].text.c_str())
                     : arguments[i].bits;
    const std::lock_guard lock(one_at_a_time());
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t result, call_words(words));
    if (functor_.result.kind != ValueKind::kSymbol)
      return ExternalValue{.bits = result, .text = {}};
    const char* text = nullptr;
    std::memcpy(static_cast<void*>(&text), &result, sizeof text);
    if (text != nullptr) return ExternalValue{.bits = 0, .text = text};
    return Status::invalid_argument(
        fmt::format("the functor `@{}` gave a null pointer instead of a symbol", functor_.name));
  }

  Result<std::uint64_t> call_stateful(std::span<const std::uint64_t> arguments) {
    std::vector<std::uint64_t> words = {word_of(tables_->symbol_table()),
                                        word_of(tables_->record_table())};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const std::lock_guard lock(one_at_a_time());
    auto result = call_words(words);
    const std::string misuse = tables_->take_misuse();
    if (!result.is_ok() || misuse.empty()) return result;
    return Status::invalid_argument(
        fmt::format("the functor `@{}` cannot go on: {}", functor_.name, misuse));
  }

 private:
  // Functions give out pointers into memory of their own, and ranks may be threads.
  static std::mutex& one_at_a_time() {
    static std::mutex mutex;
    return mutex;
  }

  Result<std::uint64_t> call_words(std::vector<std::uint64_t>& words) {
    std::vector<void*> places(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) places[i] = &words[i];
    std::uint64_t result = 0;
    try {
      ffi_call(&call_, reinterpret_cast<void (*)()>(function_), &result, places.data());
    } catch (const std::exception& error) {
      return Status::invalid_argument(
          fmt::format("the functor `@{}` threw an exception: {}", functor_.name, error.what()));
    }
    return result;
  }

  ExternalFunctor functor_;
  Library library_;
  void* function_;
  std::shared_ptr<SouffleTables> tables_;
  std::vector<ffi_type*> types_;
  ffi_cif call_ = {};
  bool is_ready_ = false;
};

Result<ExternalFunction> find_function(const ExternalFunctor& functor,
                                       const std::vector<Library>& libraries,
                                       const std::vector<std::string>& names,
                                       const std::shared_ptr<SouffleTables>& tables) {
  for (const Library& library : libraries) {
    void* const function = dlsym(library.get(), functor.name.c_str());
    if (function == nullptr) continue;
    const auto caller = std::make_shared<Caller>(functor, library, function, tables);
    if (!caller->is_ready())
      return Status::not_supported(
          fmt::format("{}: libffi cannot call a function of this type", where(functor)));
    ExternalFunction found;
    if (functor.is_stateful) {
      found.tables = tables;
      found.stateful = [caller](std::span<const std::uint64_t> arguments) {
        return caller->call_stateful(arguments);
      };
    } else {
      found.plain = [caller](std::span<const ExternalValue> arguments) {
        return caller->call(arguments);
      };
    }
    return found;
  }
  return Status::not_found(fmt::format(
      "{}: there is no function `{}` in {} ({}); in C++ it must be declared extern \"C\"",
      where(functor), functor.name, names.size() == 1 ? "the library" : "the libraries",
      fmt::join(names, ", ")));
}

Result<std::vector<ExternalFunction>> load(const Program& program, const std::vector<bool>& called,
                                           const ExternalFunctor& first,
                                           const LibrarySearch& search) {
  std::vector<std::string> names = search.libraries;
  if (names.empty()) names.emplace_back("functors");
  std::vector<std::string> directories = search.directories;
  if (directories.empty()) directories.emplace_back(".");
  std::vector<Library> libraries;
  for (const std::string& name : names) {
    auto library = find_library(name, directories);
    if (!library.is_ok()) return library.status().with_context(where(first));
    libraries.push_back(std::move(library).value());
  }
  std::vector<ExternalFunction> functions(called.size());
  const auto tables = std::make_shared<SouffleTables>();
  for (std::size_t i = 0; i < called.size(); ++i)
    if (called[i]) {
      STRATALOG_ASSIGN_OR_RETURN(
          functions[i], find_function(program.external_functors[i], libraries, names, tables));
    }
  return functions;
}

#else

Result<std::vector<ExternalFunction>> load(const Program& /*program*/,
                                           const std::vector<bool>& /*called*/,
                                           const ExternalFunctor& first,
                                           const LibrarySearch& /*search*/) {
  return Status::not_supported(fmt::format(
      "{}: this build cannot call functions of shared libraries, because libffi was not there when "
      "it was made; install libffi-dev and build again",
      where(first)));
}

#endif

}  // namespace

Result<std::vector<ExternalFunction>> load_external_functions(const Program& program,
                                                              const LibrarySearch& search) {
  const std::vector<bool> called = called_functors(program);
  for (std::size_t i = 0; i < called.size(); ++i)
    if (called[i]) return load(program, called, program.external_functors[i], search);
  return std::vector<ExternalFunction>(called.size());
}

}  // namespace stratalog::datalog
