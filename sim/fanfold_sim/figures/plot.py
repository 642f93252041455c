"""The trade-off of the fold as a drawing (SVG): cycles to the right, clock upwards, a circle's area is that of the
design, in LUTs."""

from collections.abc import Sequence

from .fold import Measured

__all__ = ["plot"]

_WIDTH, _HEIGHT = 900, 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 190, 24, 48
#: square pixels of a circle for a LUT
_PIXELS_A_LUT = 0.25
_COLOURS = (
    *("#1b6ca8", "#c8553d", "#4f772d", "#7b4b94", "#b8860b", "#2a9d8f"),
    *("#8d5524", "#444444", "#d1495b", "#6a994e", "#3a506b", "#e07a5f"),
)


def plot(found: Sequence[Measured]) -> str:
    """The drawing; designs that differ in their stages alone are joined by a line."""
    cycles = [each.cycles for each in found] or [1]
    clocks = [each.clock for each in found] or [1.0]
    first, last = min(cycles) - 1, max(cycles) + 1
    low, high = 50 * (min(clocks) // 50), 50 * (max(clocks) // 50 + 1)

    def x(value: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - first) / (last - first), 1)

    def y(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / (high - low), 1)

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for mhz in range(int(low), int(high) + 1, 50):
        drawn.append(_line(x(first), y(mhz), x(last), y(mhz), "#dddddd"))
        drawn.append(_text(_LEFT - 8, y(mhz) + 4, f"{mhz}", "end"))
    for cycle in range(first, last + 1, max((last - first) // 12, 1)):
        drawn.append(_line(x(cycle), y(low), x(cycle), y(low) + 5, "#888888"))
        drawn.append(_text(x(cycle), y(low) + 20, f"{cycle}", "middle"))
    drawn.append(_text(_LEFT, _TOP - 8, "clock, MHz", "middle"))
    drawn.append(_text(x(last), y(low) + 38, "cycles; a circle's area: LUTs", "end"))

    series: dict[tuple[str, str], list[Measured]] = {}
    for each in found:
        series.setdefault((each.point.part, each.point.name), []).append(each)
    for index, ((part, name), designs) in enumerate(series.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        places = [(x(each.cycles), y(each.clock), each) for each in sorted(designs, key=lambda each: each.cycles)]
        path = " ".join(f"{right},{up}" for right, up, _ in places)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
        for right, up, each in places:
            radius = (_PIXELS_A_LUT * each.ecp5.luts / 3.1416) ** 0.5
            drawn.append(f'<circle cx="{right}" cy="{up}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.5"/>')
            drawn.append(_text(right, up - radius - 3, f"{each.ecp5.luts:,}", "middle"))
        beside = _TOP + 20 * index
        drawn.append(f'<circle cx="{_WIDTH - _RIGHT + 24}" cy="{beside}" r="6" fill="{colour}" fill-opacity="0.5"/>')
        drawn.append(_text(_WIDTH - _RIGHT + 36, beside + 4, f"{part} {name}", "start"))
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
