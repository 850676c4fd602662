#!/usr/bin/env python3
# slow
# timeout 240
"""Runs walk.py under every CPython from 3.9 to 3.14 that this machine has; prints TAP."""
import glob
import os
import subprocess
import sys

TOP = os.environ.get("TOP", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
PROBE = os.path.abspath(os.path.join(BUILD, "tests/stack/libstackprobe.so"))
WALK = os.path.join(TOP, "tests/stack/walk.py")
VERSIONS = [(3, minor) for minor in range(9, 15)]
SAY = "import sys; print(sys.executable, *sys.version_info[:2], sys.implementation.name)"

# The probe holds the whole shim, whose thread-local variables need room that a library loaded late does not get by itself.
os.environ["GLIBC_TUNABLES"] = "glibc.rtld.optional_static_tls=16384"

number = 0


def result(good, name, why=""):
    global number
    number += 1
    print("%s %d - %s%s" % ("ok" if good else "not ok", number, name, why), flush=True)


def interpreters():
    """One path for each (version, build): installations differ even in the same version."""
    paths = [os.path.join(folder, "python3.%d" % minor)
             for folder in os.environ["PATH"].split(os.pathsep) for _, minor in VERSIONS]
    paths += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")))
    found = {}
    for path in paths:
        if not os.access(path, os.X_OK):
            continue
        run = subprocess.run([path, "-c", SAY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        words = run.stdout.split()
        if run.returncode == 0 and len(words) == 4 and words[3] == "cpython":
            version = (int(words[1]), int(words[2]))
            if version in VERSIONS:
                found[os.path.realpath(words[0])] = version
    return sorted((version, path) for path, version in found.items())


def short_of_memory(path):
    """Fails each request for table memory in turn, in a process of its own, until there is none more to fail."""
    if path is None:
        return result(True, "short of memory", " # SKIP no CPython")
    for passes in range(100):
        run = subprocess.run([path, WALK, PROBE, str(passes)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        if run.returncode != 0 or not run.stdout.startswith("fired "):
            print("# %s" % run.stdout.replace("\n", "\n# "))
            return result(False, "short of memory after %d requests" % passes)
        if run.stdout.startswith("fired 0"):
            break
    return result(8 < passes < 99, "short of memory, at each of %d requests" % passes)


def main():
    known = interpreters()
    for version in VERSIONS:
        name = "CPython %d.%d" % version
        paths = [path for of, path in known if of == version]
        if not paths:
            result(True, name, " # SKIP not on this machine")
        for path in paths:
            run = subprocess.run([path, WALK, PROBE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            lines = run.stdout.splitlines()
            for line in lines:
                if line.startswith(("ok ", "not ok ")):
                    good = line.startswith("ok ")
                    result(good, "%s %s" % (name, line[3 if good else 7:]))
                else:
                    print("# %s: %s" % (path, line))
            result(run.returncode == 0 and lines[-1:] != [] and lines[-1].startswith("compared "),
                   "%s runs to its end (%s)" % (name, path))
    short_of_memory(known[-1][1] if known else None)
    print("1..%d" % number)


sys.exit(main())
