# SPDX-License-Identifier: Apache-2.0
"""Memory at hand before a run is timed.

The host of a virtual machine takes back what nobody has used for a second or more, and hands it
out again at a tenth of the speed of memory: 0.4 GB/s on one such machine, and 5.3 GB/s where it was
used just before. A run after a pause would pay that, and one that needs more memory pays more. As a
program: the speed at which memory is touched after pauses, GB/s.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time

HUGE_PAGE = 2 << 20
MOST_OF_FREE = 0.6


def warm(size: int) -> None:
    """As touch(), in a process of its own: a child's peak memory is at least its parent's."""
    if size >= HUGE_PAGE:
        subprocess.run([sys.executable, __file__, str(size)], check=False)


def touch(size: int) -> None:
    """Touches so many bytes, no more than most of what is free, and frees them."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    size = min(size, int(free * MOST_OF_FREE)) // HUGE_PAGE * HUGE_PAGE
    if size <= 0:
        return
    # Shared memory, which is Python's own choice, has no huge pages.
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                memory.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                return  # without huge pages this takes longer than it saves
        for at in range(0, size, HUGE_PAGE):
            memory[at] = 1


def main() -> None:
    if len(sys.argv) > 1:
        touch(int(sys.argv[1]))
        return
    size = 4 << 30
    for pause in (0, 0, 1, 3, 10, 30, 0):
        time.sleep(pause)
        begin = time.perf_counter()
        touch(size)
        print(f"after {pause} s: {size / 1e9 / (time.perf_counter() - begin):.2f} GB/s", flush=True)


if __name__ == "__main__":
    main()
