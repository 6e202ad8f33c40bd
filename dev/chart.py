# SPDX-License-Identifier: MIT
"""chart: time and peak memory of each allocator, drawn as docs/chart.svg (dev/benchmarks)."""
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 60, 30, 30, 70
TIME, MEMORY = (0.55, 1.05), (1.0, 1.6)


def x(time):
    return LEFT + (time - TIME[0]) / (TIME[1] - TIME[0]) * (WIDTH - LEFT - RIGHT)


def y(memory):
    return HEIGHT - BOTTOM - (memory - MEMORY[0]) / (MEMORY[1] - MEMORY[0]) * (
        HEIGHT - TOP - BOTTOM)


def line(x1, y1, x2, y2, color, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
            f'stroke-width="{width}"/>')


def text_at(at_x, at_y, words, size=13, anchor="middle", more=""):
    return (f'<text x="{at_x:.1f}" y="{at_y:.1f}" font-size="{size}" text-anchor="{anchor}"{more}>'
            f"{words}</text>")


def drawn(found, machine, tasks):
    """found: (name, time, memory) of each allocator; figures are (middle, least, most)."""
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" fill="#222">',
            "<!-- Written by dev/benchmarks from bench/BASELINE.md; not edited. "
            "SPDX-License-Identifier: MIT -->",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for tenth in range(6, 11):
        made += [line(x(tenth / 10), TOP, x(tenth / 10), HEIGHT - BOTTOM, "#ddd"),
                 text_at(x(tenth / 10), HEIGHT - BOTTOM + 18, f"{tenth / 10:.1f}")]
    for tenth in range(10, 17):
        made += [line(LEFT, y(tenth / 10), WIDTH - RIGHT, y(tenth / 10), "#ddd"),
                 text_at(LEFT - 8, y(tenth / 10) + 4, f"{tenth / 10:.1f}", anchor="end")]
    made += [text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 38,
                     "time, ratio to glibc (left is faster)"),
             text_at(16, (TOP + HEIGHT - BOTTOM) / 2, "peak memory, ratio to glibc (down is less)",
                     more=f' transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2:.1f})"'),
             text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10,
                     f"geometric means over {tasks} tasks, 95 % intervals; {machine}", 11)]
    for name, time, memory in found:
        color = "#c0392b" if name == "tarn" else "#34495e"
        weight = ' font-weight="bold"' if name == "tarn" else ""
        made += [line(x(time[1]), y(memory[0]), x(time[2]), y(memory[0]), color, 2),
                 line(x(time[0]), y(memory[1]), x(time[0]), y(memory[2]), color, 2),
                 f'<circle cx="{x(time[0]):.1f}" cy="{y(memory[0]):.1f}" r="5" fill="{color}"/>',
                 text_at(x(time[0]), y(memory[0]) - 10, name,
                         more=f' fill="{color}"{weight}')]
    return "\n".join([*made, "</svg>", ""])
