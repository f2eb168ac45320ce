# SPDX-License-Identifier: Apache-2.0
"""What the results were measured on."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any


def _file_system(folder: Path) -> dict[str, str]:
    """Type and options of the mount that holds `folder` (Linux), else nothing."""
    best: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            device, place, kind, options, *_ = line.split()
            if folder.is_relative_to(place) and len(place) >= len(best.get("mounted_on", "")):
                best = {"device": device, "mounted_on": place, "type": kind, "options": options}
    return best


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory_bytes() -> int:
    """Of the machine that is free for programs, or 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) * 1024
    return 0


def describe(work: Path, stratalog: str) -> dict[str, Any]:
    """`work` is where checkpoints are written; it exists."""
    version = subprocess.run(
        [stratalog, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "file_system": _file_system(work.resolve()),
        "free_bytes": shutil.disk_usage(work).free,
        "load_at_start": os.getloadavg()[0],
        "stratalog": version,
        "python": platform.python_version(),
    }
