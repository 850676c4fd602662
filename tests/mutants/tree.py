"""A copy of the sources and of the objects made from them, in which a mutant can be built without touching the tree
that it was copied from. Only what a mutation changes is compiled again, and sync() brings everything back.

The folder build/ in it has the mutated shim as libgpushim.so (with assertions and fault points) and the unit tests
linked to it; one process uses it at a time. The simulated driver, the test programs and the report tool are those of
the real build folder, found by relative links, so that all of it can be carried elsewhere. A tree that is built, there
or here, is taken as it is."""
import fcntl
import os
import shutil
import subprocess

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(TOP, "build")
SOURCES = ["Makefile", "shim", "allocator", "graph", "report", "tests/unit", "tests/model", "tests/lib", "tests/fault",
           "tests/mutants", "tests/stack"]
OWN_TESTS = ["unit", "model", "mutants", "stack"]
CUDA_HOME = os.environ.get("CUDA_HOME", "/usr/local/cuda")


def room_of(unit):
    return "model" if os.path.exists("%s/tests/model/test_%s.c" % (TOP, unit)) else "unit"


def target_of(check):
    """(kind, program) of a check that needs one linked; (None, None) of others."""
    kind, *words = check.split()
    if kind == "unit":
        return kind, "%s/test_%s" % (room_of(words[0]), words[0])
    return (kind, "mutants/rt_victim_" + words[0]) if kind == "victim" else (None, None)


class BuildError(ValueError):
    pass


def files_of(path):
    if os.path.isfile(path):
        yield ""
        return
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), path)


def same(path, other):
    try:
        a, b = os.stat(path), os.stat(other)
    except FileNotFoundError:
        return False
    return a.st_size == b.st_size and a.st_mtime_ns == b.st_mtime_ns


class Tree:
    def __init__(self, name, built=False):
        self.root = os.path.join(BUILD, "mutants", name)
        self.build = os.path.join(self.root, "build")
        self.built = built
        self.races = set() # what is built for checks of this kind
        if built and not os.path.exists(os.path.join(self.build, "check/libgpushim.so")):
            raise ValueError("nothing is built in %s; leave --built out" % self.root)
        os.makedirs(os.path.join(self.build, "tests"), exist_ok=True)
        self.lock = open(os.path.join(self.root, ".lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        for path in SOURCES + ["build/tests/" + name for name in OWN_TESTS]:
            if os.path.islink(os.path.join(self.root, path)): # of an earlier one of these lists
                os.unlink(os.path.join(self.root, path))
        self.link(os.path.join(TOP, "scripts"), os.path.join(self.root, "scripts"))
        for name in os.listdir(os.path.join(TOP, "tests")):
            if "tests/" + name not in SOURCES:
                self.link(os.path.join(TOP, "tests", name), os.path.join(self.root, "tests", name))
        for name in os.listdir(BUILD):
            if name not in ("check", "obj", "tests", "mutants", "libgpushim.so", "asan", "ubsan", "tsan"):
                self.link(os.path.join(BUILD, name), os.path.join(self.build, name))
        for name in os.listdir(os.path.join(BUILD, "tests")):
            if name not in OWN_TESTS:
                self.link(os.path.join(BUILD, "tests", name), os.path.join(self.build, "tests", name))
        self.link(os.path.join(self.build, "check/libgpushim.so"), os.path.join(self.build, "libgpushim.so"))

    @staticmethod
    def link(target, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        target = os.path.relpath(target, os.path.dirname(path))
        if os.path.islink(path) and os.readlink(path) == target:
            return
        if os.path.islink(path):
            os.unlink(path)
        os.symlink(target, path)

    def sync(self, leave=()):
        """As the real tree is, sources and objects, but for the paths to leave alone."""
        for source in SOURCES + ["build/check"]:
            start = os.path.join(TOP, source)
            for name in files_of(start):
                here = os.path.join(start, name) if name else start
                there = os.path.join(self.root, source, name) if name else os.path.join(self.root, source)
                path = os.path.relpath(there, self.root)
                if path not in leave and not same(here, there):
                    os.makedirs(os.path.dirname(there), exist_ok=True)
                    shutil.copy2(here, there)
        for source in SOURCES:
            there = os.path.join(self.root, source)
            for name in list(files_of(there)):
                path = os.path.normpath(os.path.join(source, name))
                if path not in leave and not os.path.exists(os.path.join(TOP, path)):
                    os.unlink(os.path.join(self.root, path))
        for name in OWN_TESTS:
            shutil.rmtree(os.path.join(self.build, "tests", name), ignore_errors=True)

    def write(self, path, text):
        """A mutated file."""
        with open(os.path.join(self.root, path), "w") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.root, path)) as file:
            return file.read()

    def run(self, command, folder=None):
        ours = ("BUILD", "MAKEFLAGS", "MAKELEVEL", "O")
        words = {name: value for name, value in os.environ.items() if name not in ours}
        done = subprocess.run(command, cwd=folder or self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=words)
        if done.returncode != 0:
            raise BuildError("\n".join(done.stdout.splitlines()[-12:]))

    def make(self, *targets):
        self.run(["make", "-s", "-j2", *targets])

    def make_shim(self):
        self.make("build/check/libgpushim.so")

    def prepare(self, check):
        """Links what the check runs, if it is linked to what may be mutated, and has not been since the last sync."""
        if check.startswith("race "):
            self.make_race(check.split()[1:])
            return
        if check.startswith("script stack/"):
            self.make_stack()
            return
        kind, name = target_of(check)
        if name is None or os.path.exists(os.path.join(self.build, "tests", name)):
            return
        if self.built:
            raise ValueError("%s is not built in %s" % (name, self.root))
        if kind == "unit":
            self.make("build/tests/" + name)
        else:
            self.make_victim(os.path.basename(name))

    def make_stack(self):
        """What tests/stack runs is linked to shim/stack itself."""
        folder = os.path.join(self.root, "tests/stack")
        names = [name[:-2] for name in sorted(os.listdir(folder)) if name.endswith(".c")]
        targets = ["libstackprobe.so"] + [name for name in names if name.startswith("prog_")]
        targets += [name + ".so" for name in names if name.startswith("lib_")]
        if not all(os.path.exists(os.path.join(self.build, "tests/stack", target)) for target in targets):
            if self.built:
                raise ValueError("tests/stack is not built in %s" % self.root)
            self.make(*("build/tests/stack/" + target for target in targets))

    def make_race(self, words):
        """For ThreadSanitizer: the shim and unit tests of this tree, the programs and the simulator of the real one."""
        if tuple(words) in self.races:
            return
        self.races.add(tuple(words))
        if words[0] == "unit":
            self.make("BUILD=tsan", "build/tsan/tests/%s/test_%s" % (room_of(words[1]), words[1]))
            return
        self.make("BUILD=tsan", "build/tsan/check/libgpushim_doors.so")
        self.run(["make", "-s", "-j2", "BUILD=tsan", "build/tsan/sim/libcuda.so.1", "build/tsan/sim/libcudart.so.13",
                  "build/tsan/tests/preload/" + words[0]], TOP)

    def make_victim(self, name):
        """Not by make, which would build the simulator of this tree first."""
        os.makedirs(os.path.join(self.build, "tests/mutants"), exist_ok=True)
        self.run(["gcc", "-I.", "-isystem", CUDA_HOME + "/include", "-D_GNU_SOURCE", "-std=c17", "-g", "-O1",
                  "-fno-strict-aliasing", "-o", "build/tests/mutants/" + name, "tests/mutants/%s.c" % name,
                  "-Wl,--allow-shlib-undefined", BUILD + "/sim/libcudart.so.13", "-rdynamic", "-ldl", "-lpthread"])
