# SPDX-License-Identifier: Apache-2.0
"""The wheel of `pip install .` in a fresh environment, where it opens a checkpoint. Without
network, and without the compiled library, which takes minutes (STRATALOG_PURE_PYTHON, or give
STRATALOG_WHEEL_LIBRARY=1 to compile it and run a program as well)."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[2]
GOLDEN = PROJECT / "tests" / "golden" / "checkpoint_v1"
HAS_LIBRARY = os.environ.get("STRATALOG_WHEEL_LIBRARY", "") == "1"

READS = """
import sys, stratalog
checkpoint = stratalog.open(sys.argv[1])
print(stratalog.__file__)
for name in checkpoint:
    for row in checkpoint[name].cells():
        print(f"{name}.total", *row, sep="\\t")
"""

RUNS = """
import numpy, stratalog
text = ".decl e(x: number, y: number)\\n.decl p(x: number, y: number)\\n.output p\\n"
p = stratalog.Program(text + "p(x, y) :- e(x, y).\\np(x, z) :- p(x, y), e(y, z).\\n")
p.insert("e", numpy.array([[1, 2], [2, 3]]))
p.run()
print(sorted(map(tuple, p["p"].to_numpy().tolist())))
"""


def run(*command: str | Path, **extra: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    result = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=3000,
        env={**environment, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **extra},
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("scikit_build_core", reason="no scikit-build-core, which builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    way = {} if HAS_LIBRARY else {"STRATALOG_PURE_PYTHON": "1"}
    # From a copy, so that nothing is written into the tree.
    copy = folder / "source"
    kept = ("CMakeLists.txt", "LICENSE", "pyproject.toml", "src", "cmake", "python", "docs")
    copy.mkdir()
    for name in kept:
        run("cp", "-r", PROJECT / name, copy / name)
    options = ("--no-build-isolation", "--no-deps", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, copy, **way)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The interpreter of an environment with the wheel, and the variables that let it see numpy."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-deps")
    run(*pip, wheel)
    # What the wheel depends on would come over the network: the one at hand stands in for it.
    borrowed = tmp_path_factory.mktemp("borrowed")
    packages = Path(np.__file__).resolve().parents[1]
    for found in packages.glob("numpy*"):
        (borrowed / found.name).symlink_to(found)
    return python, {"PYTHONPATH": str(borrowed)}


def test_holds_the_packages_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        metadata = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        about = archive.read(metadata).decode()
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "stratalog",
        "stratalog_formats",
    }
    assert "Name: stratalog" in about
    assert "Requires-Dist: numpy>=2.0" in about


def test_opens_a_checkpoint(fresh: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    python, variables = fresh
    script = tmp_path / "reads.py"
    script.write_text(READS)
    place, *rows = run(python, script, GOLDEN / "auto", **variables).splitlines()
    assert Path(place).is_relative_to(python.parents[1])
    rows.remove("flag.total")  # holds, and the file lists what has columns
    expected = (GOLDEN / "tuples.tsv").read_text().splitlines()
    assert sorted(rows) == sorted(row for row in expected if ".total\t" in row)


def test_runs_a_program(fresh: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    if not HAS_LIBRARY:
        pytest.skip("STRATALOG_WHEEL_LIBRARY is not 1: the wheel was made without the library")
    python, variables = fresh
    script = tmp_path / "runs.py"
    script.write_text(RUNS)
    assert run(python, script, **variables).strip() == "[(1, 2), (1, 3), (2, 3)]"
