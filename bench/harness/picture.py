"""Two loss curves and their difference, or several differences, as an SVG that suits light and dark pages."""

import math

WIDTH, LEFT, RIGHT = 720, 62, 20
TOP, HEIGHT = 64, 230
GAP, LOWER = 46, 90
STYLE = """
  .page { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d8dee4 }
  .first { stroke: #f0a35e } .second { stroke: #1d4ed8 } .apart { stroke: #59636e }
  .fourth { stroke: #a21caf }
  text { font: 13px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 }
  polyline { fill: none; stroke-linejoin: round }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #2f353d }
    .first { stroke: #b3712f } .second { stroke: #93b4ff } .apart { stroke: #9198a1 }
    .fourth { stroke: #f0abfc }
  }
"""


def nice_step(span, count):
    """A step of 1, 2 or 5 times a power of ten that cuts the span into about `count` parts."""
    power = 10 ** math.floor(math.log10(span / count))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * count >= span)


class Panel:
    """A rectangle with its own axis upwards; steps run to the right."""

    def __init__(self, top, height, low, high, steps):
        self.top, self.height, self.low, self.high, self.steps = top, height, low, high, steps

    def x(self, step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / (self.steps - 1)

    def y(self, value):
        return self.top + self.height * (self.high - value) / (self.high - self.low)

    def line(self, values, kind, width, dash=""):
        points = " ".join(f"{self.x(i):.1f},{self.y(value):.1f}" for i, value in enumerate(values))
        return f'<polyline class="{kind}" stroke-width="{width}"{dash} points="{points}"/>'

    def mark(self, value, label):
        y = self.y(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield text(LEFT - 8, y + 4, label, "faint", "end")


def text(x, y, content, kind="text", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{content}</text>'


def legend(names):
    """A stroke and a name for each curve, as they are drawn."""
    x = LEFT
    for (name, kind, width, dash), room in zip(names, (170, 0)):
        yield f'<line class="{kind}" stroke-width="{width}"{dash} x1="{x}" x2="{x + 34}" y1="46" y2="46"/>'
        yield text(x + 42, 50, name)
        x += room


def upper(series, steps):
    """The two curves: the first broad, the second dashed above it, so that both are seen where they agree."""
    highest = max(max(values) for _, values in series)
    step = nice_step(highest, 5)
    panel = Panel(TOP, HEIGHT, 0.0, math.ceil(highest / step) * step, steps)
    for index in range(math.ceil(highest / step) + 1):
        yield from panel.mark(index * step, f"{index * step:g}")
    yield text(WIDTH - RIGHT, 50, "training loss of each step", "faint", "end")
    (first, first_values), (second, second_values) = series
    styles = [(first, "first", 6, ""), (second, "second", 2, ' stroke-dasharray="7 4"')]
    yield from legend(styles)
    for (_, kind, width, dash), values in zip(styles, (first_values, second_values)):
        yield panel.line(values, kind, width, dash)


def lower(series, steps):
    """The difference relative to the first curve, in powers of ten."""
    (_, first), (_, second) = series
    apart = [math.log10(max(abs(b - a) / abs(a), 1e-9)) for a, b in zip(first, second)]
    low, high = math.floor(min(apart)), max(math.ceil(max(apart)), -3)
    panel = Panel(TOP + HEIGHT + GAP, LOWER, low, high, steps)
    yield text(LEFT, panel.top - 10, "relative difference of the two losses (at the bottom: the same bits)", "faint")
    for power in range(low, high + 1, 2 if high - low > 4 else 1):
        yield from panel.mark(power, f"1e{power}")
    yield panel.line(apart, "apart", 1.2)
    for step in range(0, steps + 1, 50):
        yield text(panel.x(max(step - 1, 0)), panel.top + LOWER + 18, str(max(step, 1)), "faint", "middle")
    yield text(WIDTH / 2, panel.top + LOWER + 36, "step", "faint", "middle")


def frame(title, description, height, parts):
    """The picture around its parts."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
            f"<title>{description}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>',
            text(LEFT, 26, title, "text title"),
            *parts,
            "</svg>\n",
        ]
    )


def curves(title, series):
    """The picture of two named series of the same length."""
    steps, height = len(series[0][1]), TOP + HEIGHT + GAP + LOWER + 46
    description = f"{title}: training loss of {' and '.join(name for name, _ in series)}"
    return frame(title, description, height, [*upper(series, steps), *lower(series, steps)])


def powers(title, series):
    """Up to four named series of positive numbers of the same length, in powers of ten; 0 is drawn at 1e-17."""
    steps, top = len(series[0][1]), TOP + 18
    logs = [(name, [math.log10(max(value, 1e-17)) for value in values]) for name, values in series]
    low = math.floor(min(min(values) for _, values in logs) / 2) * 2
    panel = Panel(top, HEIGHT + 60, low, 0, steps)
    parts = [line for power in range(low, 1, 2) for line in panel.mark(power, f"1e{power}")]
    kinds = [("first", 3, ""), ("apart", 1.6, ' stroke-dasharray="2 3"'), ("second", 2, ""), ("fourth", 1.6, ' stroke-dasharray="2 3"')]
    for index, ((name, values), (kind, width, dash)) in enumerate(zip(logs, kinds)):
        x, y = LEFT + 310 * (index % 2), 46 + 20 * (index // 2)
        parts.append(f'<line class="{kind}" stroke-width="{width}"{dash} x1="{x}" x2="{x + 34}" y1="{y}" y2="{y}"/>')
        parts += [text(x + 42, y + 4, name), panel.line(values, kind, width, dash)]
    bottom = top + HEIGHT + 60
    parts += [text(panel.x(max(step - 1, 0)), bottom + 18, str(max(step, 1)), "faint", "middle") for step in range(0, steps + 1, 50)]
    parts.append(text(WIDTH / 2, bottom + 36, "step", "faint", "middle"))
    return frame(title, f"{title}: relative differences of losses, step by step", bottom + 46, parts)
