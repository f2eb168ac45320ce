// SPDX-License-Identifier: Apache-2.0
// The C interface of Stratalog (docs/library.md): compile a program, hand it tuples, run it, read
// its relations. Opaque handles, status codes, no exceptions; the message of a failure stays with
// the handle until its next call. A handle may be used by one thread at a time, stratalog_stop()
// excepted; handles do not know of each other. Calls marked "collective" must be made by all ranks
// where stratalog_set_collectives() named several; everything else is local.
#pragma once

// C names and C headers.
// NOLINTBEGIN(readability-identifier-naming, modernize-*)
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stratalog_program stratalog_program;

typedef enum stratalog_status {
  STRATALOG_OK = 0,
  STRATALOG_CANCELLED = 1,  // by stratalog_stop()
  STRATALOG_NOT_FOUND = 2,  // no such relation, file or checkpoint
  STRATALOG_ALREADY_EXISTS = 3,  // checkpoints that would be written over
  STRATALOG_INVALID_ARGUMENT = 4,  // a program, fact or argument is wrong
  STRATALOG_NOT_SUPPORTED = 5,
  STRATALOG_NO_SPACE = 6,  // memory, or a disk
  STRATALOG_IO_ERROR = 7,
  STRATALOG_CORRUPTION = 8,  // damaged files
  STRATALOG_RANKS_DISAGREE = 9,
  STRATALOG_INTERNAL = 10
} stratalog_status;

typedef enum stratalog_kind {
  STRATALOG_NUMBER = 0,  // int64_t
  STRATALOG_UNSIGNED = 1,  // uint64_t
  STRATALOG_FLOAT = 2,  // double
  STRATALOG_SYMBOL = 3,  // bytes
  STRATALOG_STRUCTURED = 4  // a record or a value of an algebraic type, as Souffle's text
} stratalog_kind;

// Never null unless there is no memory.
stratalog_program* stratalog_new(void);
void stratalog_free(stratalog_program* program);

// Of the last call with this handle, empty after success. Valid until the next call.
const char* stratalog_message(const stratalog_program* program);
// Warnings of the compiler and notes of the last run, one after another. Valid until the next call.
const char* stratalog_notes(const stratalog_program* program);
const char* stratalog_version(void);

// Settings, by name; unknown names are refused. For compile, and refused after it: "name" (how
// messages call the program; its folder is where .include looks first), "include" and "define" (may
// be repeated). For run: "library" and "library-folder" (of .functor, as -l and -L of the command;
// may be repeated), "facts" and "output" (folders of .input and .output files; without them such
// directives do nothing), "checkpoint" (a folder), "checkpoint-every" (seconds), "on-checkpoints"
// ("refuse", "resume" or "overwrite" what the folder holds), "memory-limit" (bytes per rank),
// "threads" (ranks that are threads of this process, 1 unless set; 0: one a core). For the next
// call of either: "refusal", why this rank cannot make it. The call then only tells the other
// ranks, which would wait for this one: all end with STRATALOG_INVALID_ARGUMENT and that text.
stratalog_status stratalog_set(stratalog_program* program, const char* name, const char* value);

// Once for each handle, before everything below. Collective where stratalog_set_collectives() came
// before: all ranks compile the same text, and where one of them finds an error, all end with it.
stratalog_status stratalog_compile(stratalog_program* program, const char* text, size_t bytes);

// Relations in the order of their declarations. Null, 0 or STRATALOG_NUMBER where out of range.
size_t stratalog_relation_count(const stratalog_program* program);
const char* stratalog_relation_name(const stratalog_program* program, size_t relation);
size_t stratalog_arity(const stratalog_program* program, size_t relation);
const char* stratalog_column_name(const stratalog_program* program, size_t relation, size_t column);
const char* stratalog_column_type(const stratalog_program* program, size_t relation, size_t column);
stratalog_kind stratalog_column_kind(const stratalog_program* program, size_t relation,
                                     size_t column);
stratalog_status stratalog_find_relation(stratalog_program* program, const char* name,
                                         size_t* relation);

// A column of values to insert. Numbers: `values` are 64 bits wide and `stride` bytes apart.
// Symbols and structured values: text i is the bytes offsets[i] to offsets[i + 1] of `text`
// (Arrow's layout of large strings); row r holds text number values[r] (int32_t, `stride` bytes
// apart), or text r where `values` is null.
typedef struct stratalog_column_in {
  const void* values;
  int64_t stride;
  const char* text;
  const int64_t* offsets;
  int64_t texts;
} stratalog_column_in;

// Adds tuples, which the next run starts from; repeated ones count once. All are checked before one
// is added. On several ranks each may insert its own.
stratalog_status stratalog_insert(stratalog_program* program, size_t relation, uint64_t rows,
                                  const stratalog_column_in* columns);
// Forgets what was inserted into one relation.
stratalog_status stratalog_clear(stratalog_program* program, size_t relation);

// Collective. Computes everything anew from what was inserted and what .input names. What an
// earlier run found is gone from here on, also where this one fails.
stratalog_status stratalog_run(stratalog_program* program);
// From any thread or a signal handler: a run in progress ends with STRATALOG_CANCELLED within about
// half a second (rank 0's word counts). If it has a folder for checkpoints it goes on to where it
// can write one, for ten seconds at most.
void stratalog_stop(stratalog_program* program);
// What .printsize and, with a folder of outputs, .output with IO=stdout have to say. Valid until
// the next run.
const char* stratalog_console(const stratalog_program* program);
// The same with its length (`bytes` may be null): symbols may hold zeros.
const char* stratalog_console_bytes(const stratalog_program* program, size_t* bytes);
// The last run: "seconds", "peak-memory-bytes", "checkpoints", "failed-checkpoints", "saved" (1:
// its folder of checkpoints holds the answer; otherwise 0) and "resumed" (1 or 0).
stratalog_status stratalog_measure(stratalog_program* program, const char* name, double* value);
// Why a checkpoint of the last run could not be written, of number `failed` < "failed-checkpoints";
// null where there is none. The run went on without it. Valid until the next run.
const char* stratalog_failed_checkpoint(const stratalog_program* program, size_t failed);

// After a run. Tuples on all ranks, and on this one.
stratalog_status stratalog_count(stratalog_program* program, size_t relation, uint64_t* rows);
stratalog_status stratalog_count_here(stratalog_program* program, size_t relation, uint64_t* rows);

// Where a column goes that is read: `stride` bytes from one value to the next. Numbers are written
// as 64 bits; symbols and structured values as a uint32_t cell, for stratalog_text(). Columns with
// a null pointer are left out.
typedef struct stratalog_column_out {
  void* values;
  int64_t stride;
} stratalog_column_out;

// This rank's tuples number `from` to `from + rows`, in an order that does not change until the
// next run; so large relations can be had in pieces, of millions: each call walks from the start.
stratalog_status stratalog_read(stratalog_program* program, size_t relation, uint64_t from,
                                uint64_t rows, const stratalog_column_out* columns);
// The same, with every column as bare 32-bit cells (docs/formats/facts.md).
stratalog_status stratalog_read_cells(stratalog_program* program, size_t relation, uint64_t from,
                                      uint64_t rows, const stratalog_column_out* columns);
// The text of a cell that stratalog_read() gave for this column; not ended by a zero. Valid until
// the next call.
stratalog_status stratalog_text(stratalog_program* program, size_t relation, size_t column,
                                uint32_t cell, const char** text, size_t* bytes);
// Bytes that explain cells, as checkpoints hold them (docs/formats): "dictionary", "records", and
// "schema" (JSON). Valid until the next call.
stratalog_status stratalog_section(stratalog_program* program, const char* name, const char** data,
                                   size_t* bytes);

// What a library of message passing does for several ranks, so that any of them can be used (MPI
// through mpi4py, for one). Every function returns 0 on success; all are called by all ranks in the
// same order. Counts are bytes.
typedef enum stratalog_reduction {
  STRATALOG_SUM = 0,
  STRATALOG_MIN = 1,
  STRATALOG_MAX = 2,
  STRATALOG_BIT_OR = 3
} stratalog_reduction;

typedef struct stratalog_collectives {
  void* context;  // first argument of all functions
  int rank;
  int size;
  // In place, element by element.
  int (*allreduce)(void* context, uint64_t* values, uint64_t count, stratalog_reduction operation);
  // `data` is as long on every rank.
  int (*broadcast)(void* context, void* data, uint64_t bytes, int root);
  // Everybody's `mine` into `all`, in rank order; counts[r] bytes from rank r.
  int (*allgather)(void* context, const void* mine, uint64_t bytes, void* all,
                   const uint64_t* counts);
  // Parts for rank 0, 1, ... back to back, and the same of what comes in.
  int (*alltoall)(void* context, const void* data, const uint64_t* counts, void* received,
                  const uint64_t* received_counts);
} stratalog_collectives;

// Before stratalog_compile(), so that ranks compare their programs there, or at the latest before
// the run; the structure is copied, its context must outlive the handle. Ranks whose arguments of a
// collective call differ (settings, the program; not tuples) all get STRATALOG_RANKS_DISAGREE.
stratalog_status stratalog_set_collectives(stratalog_program* program,
                                           const stratalog_collectives* collectives);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming, modernize-*)
