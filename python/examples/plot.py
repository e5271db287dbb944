"""A table in Markdown as a picture (SVG), for `docs/python.md`.

    python python/examples/throughput.py | python python/examples/plot.py "batch" "M steps/s" > FILE

The columns whose heads end in a number are places of the horizontal axis, at equal distances. Each
row is a line, named by its first cell.
"""

import re
import sys
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT, TOP = 640, 320, 56, 44, 130, 16
COLOURS = ["#1f6feb", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c"]


def read(lines):
    """The heads of the axis, and the name and the numbers of each line."""
    lines = [line.strip().strip("|") for line in lines if "|" in line]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    heads, rows = rows[0], rows[2:]
    places = [place for place, head in enumerate(heads) if re.search(r"\d$", head)]
    number = lambda cell: float(re.sub(r"[^\d.]", "", cell))
    shown = [re.search(r"[\d,.]+$", heads[place])[0] for place in places]
    return shown, [(row[0], [number(row[place]) for place in places]) for row in rows]


def picture(heads, series, x_name, y_name):
    greatest = max(max(numbers) for _, numbers in series)
    x = lambda place: LEFT + (WIDTH - LEFT - RIGHT) * place / max(len(heads) - 1, 1)
    y = lambda number: HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * number / greatest
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
    ]

    def text(x, y, words, more=""):
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>')

    middle = 'text-anchor="middle"'
    out.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for part in range(5):
        number = greatest * part / 4
        out.append(f'<path d="M{LEFT} {y(number):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        text(LEFT - 6, y(number) + 4, f"{number:.3g}", 'text-anchor="end"')
    for place, head in enumerate(heads):
        text(x(place), HEIGHT - BOTTOM + 16, head, middle)
    text((WIDTH + LEFT - RIGHT) / 2, HEIGHT - 8, x_name, middle)
    text(12, HEIGHT / 2, y_name, f'{middle} transform="rotate(-90 12 {HEIGHT / 2})"')
    ends = sorted((y(numbers[-1]), index) for index, (_, numbers) in enumerate(series))
    below = 0.0
    for end, index in ends:
        name, numbers = series[index]
        colour = COLOURS[index % len(COLOURS)]
        points = " ".join(f"{x(place):.1f},{y(number):.1f}" for place, number in enumerate(numbers))
        style = f'fill="none" stroke="{colour}" stroke-width="2"'
        out.append(f'<polyline points="{points}" {style}/>')
        # Names keep a distance from each other.
        below = max(end + 4, below + 14)
        text(WIDTH - RIGHT + 8, below, name, f'fill="{colour}"')
    return "\n".join(out + ["</svg>"])


if __name__ == "__main__":
    x_name, y_name = sys.argv[1:3]
    print(picture(*read(sys.stdin), x_name, y_name))
