"""The mutants made by hand, read from hand.mutants; see there for the format."""
import os


class Mutant:
    def __init__(self, name):
        self.name = name
        self.models = self.file = ""
        self.checks = []
        self.before = self.after = ""

    @property
    def is_victim(self):
        return self.file.startswith("tests/mutants/")

    def mutated(self, root):
        """The text of the file with the change made."""
        with open(os.path.join(root, self.file)) as file:
            text = file.read()
        before = self.before.rstrip("\n")
        if before == "" or text.count(before) != 1:
            raise ValueError("%s: the snippet occurs %d times in %s" % (self.name, text.count(before), self.file))
        return text.replace(before, self.after.rstrip("\n"))


def read():
    path = os.path.join(os.path.dirname(__file__), "hand.mutants")
    mutants, part = [], None
    with open(path) as file:
        for number, line in enumerate(file, 1):
            word, _, rest = line.rstrip("\n").partition(" ")
            if line.startswith("|"):
                setattr(mutants[-1], part, getattr(mutants[-1], part) + line[1:])
            elif word == "mutant":
                mutants.append(Mutant(rest))
            elif word in ("models", "file"):
                setattr(mutants[-1], word, rest)
            elif word == "checks":
                mutants[-1].checks = [check.strip() for check in rest.split(";")]
            elif word in ("before", "after"):
                part = word
            elif word and not word.startswith("#"):
                raise ValueError("%s:%d: what is %s?" % (path, number, word))
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            raise ValueError("two mutants %s" % name)
    return mutants
