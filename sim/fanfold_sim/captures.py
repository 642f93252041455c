"""Captures: frames from pcap and pcapng files, and pcapng files of what crossed a NIC's ports.

Reading is scapy's work. Writing is done here, since scapy writes microseconds and no direction: one interface a port,
times in nanoseconds, each frame marked as inbound or outbound.
"""

from collections.abc import Sequence
from pathlib import Path
from struct import Struct

__all__ = ["CaptureWriter", "read_frames"]

_LINKTYPE_ETHERNET = 1


def read_frames(path: Path | str) -> list[bytes]:
    """The Ethernet frames in a pcap or pcapng file, in the file's order; of a file that breaks off, those before.

    Raises ``ValueError`` naming the file when it cannot be read, is neither, or holds something else than Ethernet.
    """
    # takes half a second, which programs that read no captures need not wait for
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader

    try:
        # opened here, because scapy leaves a file open that it does not understand
        with Path(path).open("rb") as file, RawPcapReader(file) as reader:  # type: ignore[arg-type]
            frames = []
            for frame, meta in reader:
                linktype = getattr(meta, "linktype", None) or getattr(reader, "linktype", None)
                if linktype != _LINKTYPE_ETHERNET:
                    raise ValueError(f"{path}: link type {linktype} is not Ethernet ({_LINKTYPE_ETHERNET})")
                frames.append(frame)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except (Scapy_Exception, EOFError) as error:
        raise ValueError(f"{path}: not a pcap or pcapng file ({error})") from None
    return [frame for frame in frames if frame]


# ------------------------------------------------------------------------------------------------- blocks of pcapng

_SECTION, _INTERFACE, _ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
_OPTION_END, _IF_NAME, _IF_TSRESOL, _EPB_FLAGS = 0, 2, 9, 2
_INBOUND, _OUTBOUND = 1, 2
#: a time is a number of 10^-9 seconds
_NANOSECONDS = 9

_BLOCK, _LENGTH, _OPTION = Struct("<II"), Struct("<I"), Struct("<HH")
_SECTION_BODY = Struct("<IHHq")
_INTERFACE_BODY = Struct("<HHI")
_PACKET_BODY = Struct("<IIIII")


def _padded(raw: bytes) -> bytes:
    return raw + bytes(-len(raw) % 4)


def _option(code: int, value: bytes) -> bytes:
    return _OPTION.pack(code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = _BLOCK.size + len(body) + _LENGTH.size
    return _BLOCK.pack(kind, length) + body + _LENGTH.pack(length)


class CaptureWriter:
    """Writes a pcapng file with an interface for each name in ``interfaces``; a context manager.

    Times are nanoseconds from a beginning of the caller's choice, and should not go backwards within an interface.
    """

    def __init__(self, path: Path | str, interfaces: Sequence[str]):
        self._numbers = {name: number for number, name in enumerate(interfaces)}
        if len(self._numbers) != len(interfaces) or not interfaces:
            raise ValueError(f"interfaces is {list(interfaces)!r}: it must be one or more different names")
        self._file = Path(path).open("wb")  # noqa: SIM115 - this object is the context manager
        self._file.write(_block(_SECTION, _SECTION_BODY.pack(_BYTE_ORDER, 1, 0, -1)))
        for name in interfaces:
            options = _option(_IF_NAME, name.encode()) + _option(_IF_TSRESOL, bytes([_NANOSECONDS]))
            body = _INTERFACE_BODY.pack(_LINKTYPE_ETHERNET, 0, 0) + options + _option(_OPTION_END, b"")
            self._file.write(_block(_INTERFACE, body))

    def write(self, interface: str, frame: bytes, nanoseconds: int, *, outbound: bool) -> None:
        """Adds a frame: outbound when it left the NIC, inbound when it came in.

        Raises ``KeyError`` for an interface that was not announced.
        """
        body = _PACKET_BODY.pack(
            self._numbers[interface], nanoseconds >> 32, nanoseconds & 0xFFFFFFFF, len(frame), len(frame)
        )
        flags = _LENGTH.pack(_OUTBOUND if outbound else _INBOUND)
        options = _option(_EPB_FLAGS, flags) + _option(_OPTION_END, b"")
        self._file.write(_block(_ENHANCED_PACKET, body + _padded(frame) + options))

    def close(self) -> None:
        """Completes the file."""
        self._file.close()

    def __enter__(self) -> "CaptureWriter":
        return self

    def __exit__(self, *_exception) -> None:
        self.close()
