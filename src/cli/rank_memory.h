// SPDX-License-Identifier: Apache-2.0
// prepare_rank_memory: what the allocator is told before a rank evaluates. Small programs touch
// tens of megabytes for tens of milliseconds, and then a good part of their time is the kernel's:
// a fault for each fresh page of 4 KiB and, in threads that are not the first one, a system call
// for each few of them. Local; changes speed only.
#pragma once

namespace stratalog::cli {

// On the thread of the rank, before it allocates much: readies the first tens of megabytes of what
// this thread will allocate, as huge pages where the system has them. Nothing is touched yet: the
// room is in the address space only. Does nothing where the C library is not glibc.
void prepare_rank_memory();

}  // namespace stratalog::cli
