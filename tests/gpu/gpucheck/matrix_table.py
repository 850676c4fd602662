"""The matrix as a table in Markdown, from what several runs of gpu-check wrote with --json, and its place in a file: between
two marks, of which the first one names the command."""

from gpucheck.matrix import REFUSED, SAME, SETTINGS
from gpucheck.matrix_programs import PROGRAMS

BEGIN = "<!-- matrix: this table is printed by `scripts/gpu-check --matrix-table FILE..` -->"
END = "<!-- end of matrix -->"


def merge_cells(results):
    """Of the commit of the last result: about, program -> what its rows said, later ones over earlier ones."""
    commit = results[-1]["about"]["commit"]
    programs = {}
    for result in results:
        if result["about"]["commit"] != commit:
            continue
        for outcome in result["rows"]:
            more = outcome.get("more")
            if not more:
                continue
            known = programs.setdefault(more["program"], {"cells": {}, "plain": None})
            known["plain"] = more.get("plain")
            for setting, cell in more["cells"].items():
                known["cells"].setdefault(setting, {}).update(cell)
    return results[-1]["about"], programs


def cell_text(known, setting):
    cell = known["cells"].get(setting, {})
    if known["plain"]:
        return "absent" if known["plain"].startswith("absent") else "no control"
    if "verdict" not in cell:
        words = ["not run"]
    elif cell["verdict"] in (SAME, REFUSED):
        words = [cell["verdict"]]
    else:
        words = [f"**{cell['verdict']}**"]
    if "time" in cell:
        words += [f"{cell['time']:.2f}x time", f"{cell['memory']:.2f}x memory"]
    if cell.get("findings"):
        words.append(f"{cell['findings']} finding{'s' if cell['findings'] > 1 else ''}")
    return ", ".join(words)


def markdown(results):
    about, programs = merge_cells(results)
    lines = [
        f"{about['machine'].partition(', ')[2]}; driver {about['driver']}; Python {about['python']}; commit {about['commit']}.",
        "",
        "| program | " + " | ".join(f"`{name}`" if ":" in name else name for name in SETTINGS) + " |",
        "| --- |" + " --- |" * len(SETTINGS),
    ]
    for program in PROGRAMS.values():
        known = programs.get(program.name, {"cells": {}, "plain": None})
        why = known["plain"] or ""
        title = program.title + (f" ({why.partition(': ')[2]})" if why.startswith("absent: ") else "")
        lines.append(f"| {title} | " + " | ".join(cell_text(known, setting) for setting in SETTINGS) + " |")
    return "\n".join(lines) + "\n"


def put_into(path, table):
    """Puts the table between the marks of a file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{path} has not one pair of marks: {BEGIN} and {END}")
    before, _, rest = text.partition(BEGIN)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{table}{END}{rest.partition(END)[2]}")
