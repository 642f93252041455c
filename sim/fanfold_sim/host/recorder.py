"""Captures of a run: a pcapng file a node, with an interface for each port of its NIC."""

from pathlib import Path

from fanfold.codes import Port

from ..captures import CaptureWriter

__all__ = ["Recorder"]

#: frames that wait to be put in order; what comes later is never older than the oldest half of them
_WAITING = 4096


class Recorder:
    """Writes ``node<N>.pcapng`` files into ``directory`` (made if it is not there); implements ``Captures``.

    A time is that of a frame's last beat; inbound frames went into the NIC, outbound ones came out.
    """

    def __init__(self, directory: Path, nodes: int):
        directory.mkdir(parents=True, exist_ok=True)
        self.paths = [directory / f"node{node}.pcapng" for node in range(nodes)]
        self._names = {port: port.name.lower() for port in Port}
        self._writers = [CaptureWriter(path, list(self._names.values())) for path in self.paths]
        self._waiting: list[list[tuple[int, int, str, bool, bytes]]] = [[] for _ in range(nodes)]
        self._written = 0

    def write(self, node: int, port: Port, inwards: bool, frame: bytes, time: int) -> None:
        """See ``Captures.write``."""
        waiting = self._waiting[node]
        self._written += 1
        waiting.append((time, self._written, self._names[port], inwards, frame))
        if len(waiting) >= _WAITING:
            self._write_out(node, _WAITING // 2)

    def _write_out(self, node: int, count: int) -> None:
        """Writes the oldest ``count`` frames that wait."""
        waiting = self._waiting[node]
        waiting.sort(key=lambda one: one[:2])
        for time, _, name, inwards, frame in waiting[:count]:
            self._writers[node].write(name, frame, time // 1000, outbound=not inwards)
        del waiting[:count]

    def close(self) -> None:
        """Completes the files."""
        for node, writer in enumerate(self._writers):
            self._write_out(node, len(self._waiting[node]))
            writer.close()
