"""Where things are on this machine, and how a program is run on it: with or without the shim, in a folder of its own,
with a time limit, its last lines kept for the case that it fails."""

import contextlib
import ctypes
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.join(ROOT, "build")
SHIM = os.path.join(BUILD, "libgpushim.so")
TAIL_LINES = 15


class Failed(Exception):
    """A row's verdict; the text may have several lines, the first one goes into the table."""


class Skipped(Exception):
    pass


def built(*parts):
    return os.path.join(BUILD, *parts)


def script(name):
    return [sys.executable, os.path.join(ROOT, "tests", "gpu", name)]


def folders_of_libraries():
    """Folders that may hold libcudart, libcublas and libcupti: Python's nvidia packages, then the toolkit."""
    packages = {sysconfig.get_paths()["purelib"], *site.getsitepackages(), *sys.path}
    folders = []
    for package in sorted(filter(None, packages)):
        folders += sorted(glob.glob(os.path.join(package, "nvidia", "*", "lib")))
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders += [os.path.join(toolkit, "lib64"), os.path.join(toolkit, "extras", "CUPTI", "lib64")]
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def libraries_found():
    """LD_LIBRARY_PATH for programs that need those libraries; what is there already keeps its place behind them."""
    return {"LD_LIBRARY_PATH": ":".join(folders_of_libraries() + [os.environ.get("LD_LIBRARY_PATH", "")]).strip(":")}


def find_library(name):
    for folder in folders_of_libraries():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise Failed(f"{name} is in none of: {' '.join(folders_of_libraries())}")


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def commit_built():
    """What the library was made of (scripts/tree-name), as make wrote down beside what it was the library of."""
    try:
        with open(built("gpu", "made-of"), encoding="utf-8") as file:
            digest, _, name = file.read().strip().partition(" ")
        with open(SHIM, "rb") as file:
            return name if hashlib.sha256(file.read()).hexdigest() == digest else "unknown"
    except OSError:
        return "unknown"


def describe():
    """Machine, driver and the commit that was built, as texts."""
    query = output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    name, _, driver = (query.splitlines() or ["unknown, unknown"])[0].partition(", ")
    return {
        "machine": f"{os.uname().nodename}, {name}, {os.cpu_count()} cores",
        "driver": driver,
        "python": sys.version.split()[0],
        "commit": commit_built(),
    }


def device_count():
    return len(output_of(["nvidia-smi", "--list-gpus"]).splitlines())


class Workplace:
    """The temporary folder of one gpu-check; each program runs in a subfolder, where its snapshots land."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="gpushim-gpu-check.")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def place(self, shim, conf, environment):
        """A folder for a program, and its variables."""
        folder = tempfile.mkdtemp(dir=self.folder)
        variables = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")
        for name in ("LD_PRELOAD", "GPUSHIM_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
            variables.pop(name, None)
        variables.update(environment or {})
        if shim:
            variables["LD_PRELOAD"] = SHIM
            if conf:
                variables["GPUSHIM_ALLOC_CONF"] = conf
        return folder, variables

    def start(self, command, shim=True, conf="", environment=None):
        """Starts a program that runs by turns."""
        return Turns(command, *self.place(shim, conf, environment))

    def run(self, command, shim=True, conf="", environment=None, limit_s=240, good=(0,), sampler=None):
        """Runs one program to its end. Raises Failed if its status is not among `good` or it takes too long; with good=None
        whoever asked judges. A sampler says how much of the device it held."""
        folder, variables = self.place(shim, conf, environment)
        return Run(command, folder, variables, limit_s, good, sampler)


def exit_snapshots_in(folder):
    """Files of the exit trigger: gpushim.<pid>[.rank<N>].json"""
    return [
        os.path.join(folder, name)
        for name in sorted(os.listdir(folder))
        if re.fullmatch(r"gpushim\.\d+(\.rank\d+)?\.json", name)
    ]


class Turns:
    """A program of tests/gpu/turns.py, waiting for its turn."""

    def __init__(self, command, folder, variables):
        self.name = " ".join(os.path.basename(word) for word in command if word != sys.executable)
        self.folder = folder
        self.output = open(os.path.join(folder, "output"), "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            command, cwd=folder, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.output
        )

    def answer(self, limit_s):
        """Its next line."""
        alarm = threading.Timer(limit_s, self.process.kill)
        alarm.start()
        line = self.process.stdout.readline()
        alarm.cancel()
        if not line:
            self.process.wait()
            self.output.seek(0)
            raise Failed(f"{self.name} ended with status {self.process.returncode}\n{self.output.read()[-2000:]}")
        return line

    def ready(self):
        while (line := self.answer(120).strip()) != "ready":
            if line.startswith("absent "):
                raise Skipped(f"absent: {line.split()[1]}")

    def keep_on(self, cores):
        """All its threads, and those that they start, run on these cores only."""
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.sched_setaffinity(int(thread), cores)

    def steps(self, count):
        """Seconds of each step."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self.answer(60))

    def finish(self, limit_s=60):
        """Lets it come to its end; the lines that it still prints."""
        self.process.stdin.close()
        alarm = threading.Timer(limit_s, self.process.kill)
        alarm.start()
        lines = self.process.stdout.read().splitlines()
        status = self.process.wait()
        alarm.cancel()
        if status != 0:
            self.output.seek(0)
            raise Failed(f"{self.name} ended with status {status}\n{self.output.read()[-2000:]}")
        return lines

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.output.close()


class Sampler:
    """Memory in use on the first device that programs see, by NVML: another process's view of it. Of several in
    CUDA_VISIBLE_DEVICES the first counts; the driver and NVML number them alike with CUDA_DEVICE_ORDER=PCI_BUS_ID."""

    def __init__(self):
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        if not first.isdigit():
            raise OSError(f"CUDA_VISIBLE_DEVICES={first}: of devices only numbers are known here")
        if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(int(first), ctypes.byref(self.device)):
            raise OSError("NVML does not start")

    def used_bytes(self):
        memory = (ctypes.c_ulonglong * 3)()  # total, free, used
        if self.nvml.nvmlDeviceGetMemoryInfo(self.device, memory):
            raise OSError("NVML does not say what is in use")
        return memory[2]

    def watch(self, process, limit_s=float("inf")):
        """The most in use, until the process ends, above what is in use now."""
        end = time.monotonic() + limit_s
        base = most = self.used_bytes()
        while process.poll() is None and time.monotonic() < end:
            most = max(most, self.used_bytes())
            time.sleep(0.0005)
        return most - base


def processes_of(first):
    """Number -> command of a process that leads a session, those of its session and those that descend from it; those
    that only wait to be buried are left out."""
    found, parents = {}, {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
                name, _, fields = file.read().partition("(")[2].rpartition(") ")
        except OSError:
            continue
        state, parent, _, session = fields.split()[:4]
        if state not in "ZX":
            parents[int(number)] = int(parent)
            found[int(number)] = (name, int(session) == first)

    def belongs(number):
        return number in found and (number == first or found[number][1] or belongs(parents[number]))

    return {number: name for number, (name, _) in found.items() if belongs(number)}


def kill_all(numbers):
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


class Run:
    """One program that ended: its status (None: it took too long), its output, its folder, its snapshots, and the
    commands of the processes that it left behind."""

    PATIENCE_S = 2  # until a process that is still there counts as left behind

    def __init__(self, command, folder, variables, limit_s, good, sampler=None):
        self.command, self.folder, self.limit_s = command, folder, limit_s
        start = time.monotonic()
        with open(os.path.join(folder, "output"), "w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                command, cwd=folder, env=variables, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            self.peak_bytes = sampler.watch(process, limit_s) if sampler else None
            try:
                self.status = process.wait(0 if sampler else limit_s)
            except subprocess.TimeoutExpired:
                self.status = None
                kill_all(processes_of(process.pid))
                process.wait()
            self.seconds = time.monotonic() - start
            self.left = self.bury(process.pid)
            output.seek(0)
            self.output = output.read()
        if good is not None and self.status not in good:
            self.fail()

    def bury(self, session):
        end = time.monotonic() + self.PATIENCE_S
        while processes_of(session) and time.monotonic() < end:
            time.sleep(0.05)
        left = processes_of(session)
        kill_all(left)
        return sorted(left.values())

    def problem(self):
        """How it ended, with its last lines."""
        if self.status is None:
            what = f"took more than {self.limit_s:.0f} s"
        elif self.status < 0:
            what = f"was killed by {signal.Signals(-self.status).name}"
        else:
            what = f"ended with status {self.status}"
        tail = "\n".join("    " + line for line in self.output.splitlines()[-TAIL_LINES:])
        name = " ".join(os.path.basename(word) for word in self.command if word != sys.executable)
        return f"{name} {what}\n{tail}"

    def fail(self):
        raise Failed(self.problem())

    def lines(self, prefix):
        return [line for line in self.output.splitlines() if line.startswith(prefix)]

    def exit_snapshots(self):
        return exit_snapshots_in(self.folder)
