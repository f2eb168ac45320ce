# SPDX-License-Identifier: Apache-2.0
"""What figures of stratalog bench checkpoint show, drawn from results that are made up."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_bench.figures import DRAWINGS, draw_all  # noqa: E402
from stratalog_bench.results import Results  # noqa: E402
from stratalog_bench.sequences import rivals, sequences  # noqa: E402
from stratalog_bench.strategies import LEARNED, SERIAL, STRATEGIES  # noqa: E402

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
from matplotlib import pyplot as plot  # noqa: E402

MB = 1_000_000


def made(kind: str, section: str, case: str, size: int, **more: Any) -> dict[str, Any]:
    serial = case in {one.name for one in SERIAL}
    return {
        "event": kind,
        "section": section,
        "case": case,
        "ranks": 1,
        "data": f"{size} balanced",
        "repeat": 0,
        "row_bytes": size,
        "bytes": size,
        "files": 1,
        "durability": "data" if serial else "full",
        "seconds": {"total": 0.01 + size / 1e9, "metadata": 0.001, "commit": 0.001},
        **more,
    }


def results(events: list[dict[str, Any]]) -> Results:
    return Results(events=events, options={"durability": "full"}, machine={"cores": 2})


def drawn(name: str, of: Results) -> Any:
    return next(one for one in DRAWINGS if one.name == name).draw(of, plot)


def test_modes_that_learn_stand_beside_what_they_can_choose() -> None:
    events = [
        made("save", "learned", one.name, MB, checkpoint=number, chosen="")
        for one in (*LEARNED, *STRATEGIES)
        for number in range(3)
    ]
    rows = {row.case: row for row in sequences(results(events), "learned")}
    choices = {name: {row.case for row in rivals(rows[name], rows.values())} for name in rows}
    assert choices["auto"] == {"fpp-compact", "fpp-streams"}
    assert choices["hdf5-auto"] == {"hdf5-opt", "hdf5-direct"}
    assert choices["fpp-compact"] == set()
    figure = drawn("learned", results(events))
    figure.canvas.draw()
    for axis, expected in zip(figure.axes, ("auto", "hdf5-auto"), strict=True):
        lines = {line.get_label() for line in axis.get_lines()}
        assert lines == {expected, *choices[expected]}
        assert all(float(tick).is_integer() for tick in axis.get_xticks())
    plot.close(figure)


def is_covered(one: Any, next_one: Any) -> bool:
    """Slanted labels end at their ticks: those of neighbours are a line's height apart, or meet."""
    box, other = one.get_window_extent(), next_one.get_window_extent()
    slant = math.sin(math.radians(one.get_rotation()))
    line = one.get_fontsize() * one.figure.dpi / 72
    if slant == 0:
        return bool(box.x1 > other.x0)
    return bool((other.x1 - box.x1) * slant < line)


def test_sizes_have_numbers_below_every_column(tmp_path: Path) -> None:
    events = [
        made("save", "sizes", one.name, size)
        for one in (*STRATEGIES, *SERIAL)
        for size in (64 * MB, 2000 * MB, 4000 * MB)
    ]
    figure = drawn("sizes", results(events))
    figure.canvas.draw()
    last = [axis for axis in figure.axes if axis.get_visible()][-4:]
    for axis in last:
        assert axis.get_xlabel() == "rows"
        labels = axis.get_xticklabels()
        assert all(label.get_visible() for label in labels)
        assert [label.get_text() for label in labels] == ["64 MB", "2 GB", "4 GB"]
        assert all(not is_covered(*pair) for pair in pairwise(labels))
    titles = [axis.get_title().partition("  ")[0] for axis in last]
    assert titles[-2:] == ["numpy, data", "h5py, data"]
    plot.close(figure)
    assert "sizes.png" in {picture.file for picture in draw_all(results(events), tmp_path)}


@pytest.mark.parametrize(("sizes", "growth"), [(16, 4), (4, 16)])
def test_restarts_are_those_of_the_largest_checkpoint(sizes: int, growth: int) -> None:
    events = [
        made("restart", section, "hdf5-direct", size * MB, parts="as-written")
        for section, largest in (("sizes", sizes), ("growth", growth))
        for size in (1, largest)
    ]
    figure = drawn("restart", results(events))
    assert figure.axes[0].get_title() == "restart from 16 MB"
    plot.close(figure)


def test_figures_without_data_are_left_out(tmp_path: Path) -> None:
    only_python = [made("save", "sizes", one.name, MB) for one in SERIAL]
    for events in ([], only_python):
        assert draw_all(results(events), tmp_path) == []
