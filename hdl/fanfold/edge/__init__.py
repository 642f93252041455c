"""AXI4-Stream and AXI4-Lite: the only place with foreign names."""

from .axi_lite import AxiLite, axi_lite_signature
from .axi_stream import FromAxi, ToAxi, axi_layout
from .frame_buffer import FrameBuffer
from .top import Fanfold

__all__ = ["AxiLite", "Fanfold", "FrameBuffer", "FromAxi", "ToAxi", "axi_layout", "axi_lite_signature"]
