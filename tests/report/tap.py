"""TAP for the tests of the report, and how they get snapshots: from the writer itself, about a process that never was."""

import os
import subprocess
import sys
import tempfile

TOP = os.environ.get("TOP") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
REPORT = os.path.join(BUILD, "gpushim-report")
WRITER = os.path.join(BUILD, "tests/unit/test_snap_file")
FOLDER = tempfile.TemporaryDirectory()

_count = 0
_failed = 0


def ok(good, name, why=""):
    global _count, _failed
    _count += 1
    print("%sok %d - %s" % ("" if good else "not ", _count, name))
    if not good:
        _failed += 1
        for line in str(why).splitlines():
            print("# " + line)
    return good


def equal(got, wanted, name):
    return ok(got == wanted, name, "got:    %r\nwanted: %r" % (got, wanted))


def done():
    print("1..%d" % _count)
    sys.exit(_failed > 0)


def path_of(name):
    return os.path.join(FOLDER.name, name)


def snapshot(scene, events, first=0):
    """Writes a snapshot and returns its path."""
    path = path_of("%s-%d-%d.json" % (scene, events, first))
    if not os.path.exists(path):
        subprocess.run([WRITER, "--write", path, scene, str(events), str(first)], check=True)
    return path


def real(name, *command, conf="", options=()):
    """Runs a program of tests/ on the simulated GPU, preloaded; the path of the snapshot that it leaves at its end."""
    path = path_of(name)
    folder = tempfile.mkdtemp(dir=FOLDER.name)
    program = [os.path.join(BUILD, command[0]), *command[1:]]
    environment = dict(os.environ, GPUSHIM_ALLOC_CONF="snapshot_dir:" + folder + ("," + conf if conf else ""))
    run = subprocess.run([os.path.join(TOP, "scripts/sim-run"), "--build", BUILD, *options, *program], env=environment,
                         cwd=folder, capture_output=True)
    files = sorted((file for file in os.listdir(folder) if file.endswith(".json")), key=len)
    assert run.returncode == 0 and files, run.stderr.decode()
    os.rename(os.path.join(folder, files[0]), path)
    return name


def torch_real(name, *phases, **more):
    """A program with the stand-in for PyTorch's allocator."""
    return real(name, "tests/sim/torch/rt_torch", os.path.join(BUILD, "sim/torch/libc10_cuda.so"), *phases, **more)


def report(*arguments, stdin=None, **environment):
    """Runs gpushim-report in FOLDER with a fixed width; status, stdout, stderr as text."""
    variables = {"PATH": os.environ["PATH"], "COLUMNS": "100", **environment}
    run = subprocess.run([REPORT, *arguments], cwd=FOLDER.name, env=variables, capture_output=True, input=stdin)
    return run.returncode, run.stdout.decode("utf-8", "replace"), run.stderr.decode("utf-8", "replace")
