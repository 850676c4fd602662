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


def is_timed(row):
    return "control" in row["more"] or any(said_of(row["more"], True).values())


def merge_cells(results):
    """About the verdicts (None: there are none), about the times of each program, program -> what its rows said. Of verdicts those
    of one commit count, the last one; of a program's times those of the last run that has any."""
    rows = [(result["about"], row) for result in results for row in result["rows"] if row.get("more")]
    verdicts = next((about for about, row in reversed(rows) if not is_timed(row)), None)
    times, programs = {}, {}
    for about, row in rows:
        more, timed = row["more"], is_timed(row)
        known = programs.setdefault(more["program"], {"cells": {}, "plain": None, "control": None})
        if not timed and about["commit"] != verdicts["commit"]:
            continue
        if timed:
            known["cells"] = said_of(known, False)
        for setting, said in said_of(more, timed).items():
            known["cells"].setdefault(setting, {}).update(said)
        if timed:
            known["control"] = more.get("control")
            times[more["program"]] = about
        else:
            known["plain"] = more.get("plain")
    return verdicts, times, programs


def about_text(about, commits):
    return f"{about['machine'].partition(', ')[2]}; driver {about['driver']}; Python {about['python']}; commit {', '.join(commits)}"


def lines_about(verdicts, times):
    """What machine and commit the verdicts are of, and the times, if of others."""
    lines, commits = [], {}
    if verdicts:
        lines.append(about_text(verdicts, [verdicts["commit"]]) + ".")
    for about in times.values():
        of_machine = commits.setdefault(about_text(about, [""]), (about, []))[1]
        if about["commit"] not in of_machine:
            of_machine.append(about["commit"])
    for about, of_machine in commits.values():
        if about_text(about, of_machine) + "." not in lines:
            lines.append(("Times: " if verdicts else "") + about_text(about, of_machine) + ".")
    return lines


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
        *lines_about(verdicts, times),
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
