"""One line of the table: a mutant and what became of it."""
import re

EQUIVALENT = "equivalent"
UNFINISHED = "UNFINISHED"


class Row:
    def __init__(self, name, caught, seed="-", seconds=0.0, why=""):
        self.name, self.caught, self.seed, self.seconds, self.why = name, caught, seed, seconds, why

    def show(self):
        row = (self.name, self.caught or "NOT CAUGHT", self.seed, self.seconds, self.why)
        print("%-44s %-34s %4s %6.1f s  %s\n" % row, end="", flush=True) # whole, whoever else prints


def caught_by(path, names):
    """By mutant, the check that caught it as a table shown earlier says."""
    with open(path) as file:
        lines = file.read().splitlines()
    found = {}
    for name in names:
        start = "%-44s " % name
        for line in lines:
            match = re.match(r"(\S+(?: \S+)*) +\S+ +[0-9.]+ s  ", line[len(start):]) if line.startswith(start) else None
            if match and match.group(1) not in ("NOT CAUGHT", UNFINISHED, EQUIVALENT):
                found[name] = match.group(1)
    return found


def settled(path, names):
    """Those of the names that a table shown earlier has, but for unfinished ones."""
    with open(path) as file:
        lines = file.read().splitlines()
    starts = {"%-44s " % name: name for name in names}
    return {name for start, name in starts.items() for line in lines
            if line.startswith(start) and not line[len(start):].startswith(UNFINISHED)}
