"""One line of the table: a mutant and what became of it."""


class Row:
    def __init__(self, name, caught, seed="-", seconds=0.0, why=""):
        self.name, self.caught, self.seed, self.seconds, self.why = name, caught, seed, seconds, why

    def show(self):
        print("%-44s %-34s %4s %6.1f s  %s" % (self.name, self.caught or "NOT CAUGHT", self.seed, self.seconds,
                                               self.why), flush=True)
