"""The matrix as a table in Markdown, from what several runs of gpu-check wrote with --json, and its place in a file: between
two marks, of which the first one names the command."""

from gpucheck.matrix import REFUSED, SAME, SETTINGS
from gpucheck.matrix_programs import PROGRAMS

BEGIN = "<!-- matrix: this table is printed by `scripts/gpu-check --matrix-table FILE..` -->"
END = "<!-- end of matrix -->"


TIMES = ("time", "memory")


def said_of(more, timed):
    """Setting -> what a row has of times and memory, or of all else."""
    return {
        setting: {name: value for name, value in cell.items() if (name in TIMES) == timed} for setting, cell in more["cells"].items()
    }


def newest(results, timed):
    """The last result that has such rows; None: there is none."""
    has = lambda row: row.get("more") and ("control" in row["more"] or any(said_of(row["more"], True).values())) == timed
    return next((result["about"] for result in reversed(results) if any(map(has, result["rows"]))), None)


def merge_cells(results):
    """About the verdicts, about the times (None: there are none), program -> what its rows said, later ones over earlier ones. Of
    verdicts those of the commit of the last ones count, of times likewise."""
    abouts = [newest(results, timed) for timed in (False, True)]
    programs = {}
    for result in results:
        for more in filter(None, (row.get("more") for row in result["rows"])):
            known = programs.setdefault(more["program"], {"cells": {}, "plain": None, "control": None})
            for timed, about in enumerate(abouts):
                if not about or result["about"]["commit"] != about["commit"]:
                    continue
                for setting, said in said_of(more, timed).items():
                    known["cells"].setdefault(setting, {}).update(said)
                if timed:
                    known["control"] = more.get("control", known["control"])
                elif "control" not in more:
                    known["plain"] = more.get("plain")
    return *abouts, programs


def about_text(about):
    return f"{about['machine'].partition(', ')[2]}; driver {about['driver']}; Python {about['python']}; commit {about['commit']}"


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


def title_of(program, known):
    why, control = known["plain"] or "", known["control"]
    return (
        program.title
        + (f" ({why.partition(': ')[2]})" if why.startswith("absent: ") else "")
        + (f" (A/A {control['time']:.2f}x, {control['memory']:.2f}x)" if control else "")
    )


def markdown(results):
    verdicts, times, programs = merge_cells(results)
    lines = [
        *[about_text(about) + "." for about in [verdicts or times]],
        *[f"Times: {about_text(about)}." for about in [times] if about and verdicts and about != verdicts],
        "",
        "| program | " + " | ".join(f"`{name}`" if ":" in name else name for name in SETTINGS) + " |",
        "| --- |" + " --- |" * len(SETTINGS),
    ]
    for program in PROGRAMS.values():
        known = programs.get(program.name, {"cells": {}, "plain": None, "control": None})
        lines.append(f"| {title_of(program, known)} | " + " | ".join(cell_text(known, setting) for setting in SETTINGS) + " |")
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
