# SPDX-License-Identifier: Apache-2.0
"""Several ranks: what the library asks them to do together, done by mpi4py or by anything else.

Works with any MPI, because the library calls back into Python, and Python into mpi4py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from stratalog import arguments
from stratalog.library import ALLGATHER, ALLREDUCE, ALLTOALL, BROADCAST, CollectiveCalls

U64s = npt.NDArray[np.uint64]
Octets = npt.NDArray[np.uint8]
_PIECE = 1 << 30  # bytes in one broadcast: counts of MPI have 31 bits


@runtime_checkable
class Collectives(Protocol):
    """A group of ranks. All make the same calls in the same order; an exception ends the run."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...

    def allreduce(self, values: U64s, operation: str) -> None:
        """In place, element by element; `operation` is sum, min, max or bit_or."""

    def broadcast(self, data: Octets, root: int) -> None:
        """root's bytes into everyone's array, which is as long."""

    def allgather(self, mine: Octets, everything: Octets, counts: U64s) -> None:
        """Everyone's bytes into `everything`, in rank order; counts[r] of rank r."""

    def alltoall(self, data: Octets, counts: U64s, received: Octets, received_counts: U64s) -> None:
        """counts[r] bytes to rank r, from front to back, and the same of what comes in."""


class MpiCollectives:
    """Collectives over a communicator of mpi4py."""

    def __init__(self, communicator: Any) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._communicator = communicator
        self.rank: int = communicator.Get_rank()
        self.size: int = communicator.Get_size()
        self._operations = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX, "bit_or": MPI.BOR}

    def allreduce(self, values: U64s, operation: str) -> None:
        self._communicator.Allreduce(
            self._mpi.IN_PLACE, [values, self._mpi.UINT64_T], op=self._operations[operation]
        )

    def broadcast(self, data: Octets, root: int) -> None:
        for at in range(0, len(data), _PIECE):
            self._communicator.Bcast([data[at : at + _PIECE], self._mpi.BYTE], root=root)

    def _parts(self, data: Octets, counts: U64s) -> list[Any]:
        sizes = counts.astype(np.int64)
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)[:-1]])
        return [data, (sizes, starts), self._mpi.BYTE]

    def allgather(self, mine: Octets, everything: Octets, counts: U64s) -> None:
        self._communicator.Allgatherv([mine, self._mpi.BYTE], self._parts(everything, counts))

    def alltoall(self, data: Octets, counts: U64s, received: Octets, received_counts: U64s) -> None:
        self._communicator.Alltoallv(
            self._parts(data, counts), self._parts(received, received_counts)
        )


def collectives_of(communicator: Any) -> Collectives:
    """Of a communicator of mpi4py, or what is a group of ranks already."""
    found = _known(communicator)
    rank, size = (arguments.whole_number(f"comm.{n}", getattr(found, n)) for n in ("rank", "size"))
    if not 0 <= rank < size:
        raise ValueError(f"comm: expected a rank from 0 to size - 1, found rank {rank} of {size}")
    return found


def _known(communicator: Any) -> Collectives:
    if hasattr(communicator, "Get_rank"):
        return MpiCollectives(communicator)
    if isinstance(communicator, Collectives):
        return communicator
    raise TypeError(
        "comm is a communicator of mpi4py, or has the methods of "
        f"stratalog.communicator.Collectives, not {communicator!r}"
    )


def _view(address: int | None, count: int, dtype: Any) -> npt.NDArray[Any]:
    if not address or count == 0:
        return np.empty(0, dtype=dtype)
    octets = (ctypes.c_uint8 * (count * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(octets, dtype=dtype)


_OPERATIONS = ("sum", "min", "max", "bit_or")


class Bridge:
    """Collectives as the functions that the library calls. Keeps the first exception."""

    def __init__(self, collectives: Collectives) -> None:
        self.error: BaseException | None = None
        self._collectives = collectives
        size = collectives.size

        def total(counts: Any) -> int:
            return int(counts.sum(dtype=np.uint64))

        def allreduce(_: Any, values: int, count: int, operation: int) -> int:
            array = _view(values, count, np.uint64)
            return self._try(lambda: collectives.allreduce(array, _OPERATIONS[operation]))

        def broadcast(_: Any, data: int, count: int, root: int) -> int:
            array = _view(data, count, np.uint8)
            return self._try(lambda: collectives.broadcast(array, root))

        def allgather(_: Any, mine: int, count: int, everything: int, counts: int) -> int:
            sizes = _view(counts, size, np.uint64)
            own = _view(mine, count, np.uint8)
            whole = _view(everything, total(sizes), np.uint8)
            return self._try(lambda: collectives.allgather(own, whole, sizes))

        def alltoall(_: Any, data: int, counts: int, received: int, received_counts: int) -> int:
            out, into = _view(counts, size, np.uint64), _view(received_counts, size, np.uint64)
            sent = _view(data, total(out), np.uint8)
            got = _view(received, total(into), np.uint8)
            return self._try(lambda: collectives.alltoall(sent, out, got, into))

        self.calls = CollectiveCalls(
            None,
            collectives.rank,
            size,
            ALLREDUCE(allreduce),
            BROADCAST(broadcast),
            ALLGATHER(allgather),
            ALLTOALL(alltoall),
        )

    def _try(self, work: Callable[[], None]) -> int:
        if self.error is not None:
            return 1
        try:
            work()
        except BaseException as error:
            self.error = error
            return 1
        return 0
