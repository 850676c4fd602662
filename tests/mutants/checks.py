"""The checks that a mutant is put to: small programs run directly, unit tests, test scripts.

    mix POLICY SEED [CONF]      rt_mix: every word right, and what it prints is as without the shim
    rule NAME                   a conformance rule, under the shim
    program NAME ARGUMENT..     a program of tests/preload, as without the shim
    policy POLICY NAME ARGUMENT..  the same under another policy of the simulated device
    contexts                    drv_contexts, on a small device
    alone NAME ARGUMENT..       one that judges itself by its status, with the shim
    submit CASE POLICY          rt_submit with submit:thread, as without the shim
    work CASE POLICY            drv_submit_work, the same; and each kind of work is put off that is without the mutant
    replay CASE POLICY          rt_replay or drv_replay with graph:auto, the same; and graphs make as many launches as
                                tests/preload/test_replay.sh asks for
    owed MODE [WORD] [SETTING]  drv_put_off with submit:thread, which judges itself
    faults PROGRAM SCENARIO CONF  a scenario of tests/fault, in which calls fail one after the other
    graphs ROW                  drv_graphs_end with graph:auto, which judges itself
    torch [PHASE..]             rt_torch, as without the shim
    unit NAME                   a unit test
    labelled NAME               a program of tests/labelled comes out as it says
    script FOLDER/NAME          a test script
    race NAME ARGUMENT.. [SETTING]  a program or unit test (unit NAME) under ThreadSanitizer, which reports no race
    victim NAME POLICY SEED     a model in tests/mutants, on the simulated driver alone

A check passes or not; one that hangs has not passed. When the deadline of all of them passes, those under way end
with OutOfTime."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from tree import BUILD, TOP, room_of

MIX_STEPS = "400"
QUIET = {"GPUSHIM_ALLOC_CONF": "snapshot:off"}
PUT_OFF = {"GPUSHIM_ALLOC_CONF": "snapshot:off,submit:thread,submit_deadline_us:0"}
DIRECT_S = 60
SCRIPT_S = 420
RACE_S = 120
FAULTS_S = 240


class OutOfTime(Exception):
    pass


class Verdict:
    def __init__(self, passed, why=""):
        self.passed = passed
        self.why = why
        self.said = "" # by the shim, of what it was allowed to say


def environment(extra):
    drop = ("LD_PRELOAD", "GPUSHIM_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "MAKEFLAGS")
    return {**{key: value for key, value in os.environ.items() if key not in drop}, **extra}


def judge(status, output):
    if status is None:
        return Verdict(False, "hung")
    if status != 0:
        lines = [line for line in output.splitlines() if line.strip()]
        return Verdict(False, "status %d: %s" % (status, lines[-1][:100] if lines else ""))
    return Verdict(True)


class Checks:
    deadline = float("inf") # of all checks, by time.monotonic()

    def __init__(self, build):
        self.build = build
        self.extra = {}    # environment of the mutant
        self.expected = {} # what programs print without the shim

    def execute(self, command, folder, extra, limit_s, stop=None):
        """Status (None: hung) and output. With `stop` the command is ended as soon as that text is in its output."""
        with tempfile.NamedTemporaryFile() as out:
            deadline = min(time.monotonic() + limit_s, self.deadline)
            if time.monotonic() >= deadline:
                raise OutOfTime
            child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT, start_new_session=True, env=environment(extra))
            status = None
            while status is None and time.monotonic() < deadline:
                try:
                    status = child.wait(0.2 if stop else max(deadline - time.monotonic(), 0))
                except subprocess.TimeoutExpired:
                    with open(out.name, "rb") as so_far:
                        if stop and stop in so_far.read():
                            break
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            if status is None and time.monotonic() >= self.deadline:
                raise OutOfTime
            with open(out.name, "rb") as file:
                return status, file.read().decode(errors="replace")

    def sim(self, options, program, folder, extra=None, limit_s=DIRECT_S):
        return self.execute([TOP + "/scripts/sim-run", "--build", self.build, *options, "--", *program], folder,
                            {**self.extra, **(extra or {})}, limit_s)

    def as_without(self, options, program, extra, said="snapshot written|out of memory"):
        """The program prints and returns the same with the shim as without; the latter is asked once. Lines of the shim
        that begin with what may be said are left out."""
        key = (tuple(options), tuple(program))
        folder = tempfile.mkdtemp()
        try:
            if self.expected.get(key, (None, ""))[0] is None:
                self.expected[key] = self.sim(["--no-shim", *options], program, folder)
            status, output = self.sim(options, program, folder, extra)
        finally:
            shutil.rmtree(folder)
        allowed = "(?m)^gpushim: (?:%s).*\n" % said
        shown = re.sub(allowed, "", output)
        if status is not None and (status, shown) != self.expected[key]:
            lines = [line for line in shown.splitlines() if line not in self.expected[key][1].splitlines()]
            verdict = Verdict(False, "status %d: %s" % (status, lines[0][:140] if lines else "lines are missing"))
        else:
            verdict = judge(status, shown)
        verdict.said = "".join(re.findall(allowed, output))
        return verdict

    def mix(self, policy, seed, conf=""):
        return self.as_without(["--policy", policy, "--seed", seed], [BUILD + "/tests/preload/rt_mix", seed, MIX_STEPS],
                               {"GPUSHIM_ALLOC_CONF": "snapshot:off," + conf})

    def program(self, name, *arguments):
        return self.as_without([], [BUILD + "/tests/preload/" + name, *arguments], QUIET)

    def policy(self, policy, name, *arguments):
        return self.as_without(["--policy", policy], [BUILD + "/tests/preload/" + name, *arguments], QUIET)

    def contexts(self):
        return self.as_without(["--memory", "32M"], [BUILD + "/tests/preload/drv_contexts"],
                               QUIET)

    def alone(self, name, *arguments):
        return judge(*self.sim([], [BUILD + "/tests/preload/" + name, *arguments], TOP, QUIET))

    def submit(self, case, policy):
        return self.as_without(["--policy", policy, "--devices", "2"], [BUILD + "/tests/preload/rt_submit", case], PUT_OFF)

    def work(self, case, policy):
        program = [BUILD + "/tests/preload/drv_submit_work", case]
        settings = {"GPUSHIM_ALLOC_CONF": PUT_OFF["GPUSHIM_ALLOC_CONF"] + ",log:debug"}
        verdict = self.as_without(["--policy", policy, "--devices", "2"], program, settings, said="")
        kinds = re.findall("[1-9][0-9]* (launches|copies|memsets|records|waits)", verdict.said)
        known = "work %s %s" % (case, policy)
        if "GSB_MUTANT" not in self.extra or not verdict.passed:
            return verdict
        if known not in self.expected:
            control = Checks(self.build).run(known)
            self.expected[known] = re.findall("[1-9][0-9]+ (launches|copies|memsets|records|waits)", control.said)
        missing = sorted(set(self.expected[known]) - set(kinds))
        return Verdict(False, "no %s were put off" % " and no ".join(missing)) if missing else verdict

    def replay(self, case, policy):
        with open(TOP + "/tests/preload/drv_replay.c") as file:
            program = "drv_replay" if '{"%s", ' % case in file.read() else "rt_replay"
        with open(TOP + "/tests/preload/test_replay.sh") as file:
            least = re.search(r"(?m)^\t\[%s\]='([0-9]+):" % case, file.read())
        settings = {"GPUSHIM_ALLOC_CONF": "snapshot:off,graph:auto,submit_deadline_us:0,purge_ms:0,log:debug"}
        verdict = self.as_without(["--policy", policy], [BUILD + "/tests/preload/" + program, case], settings, said="")
        shares = [100 * int(made) // max(int(all), 1) for made, all in re.findall("([0-9]+) of ([0-9]+) launches", verdict.said)]
        if verdict.passed and least and max(shares, default=0) < int(least.group(1)):
            return Verdict(False, "%d %% of the launches are made by graphs" % max(shares, default=0))
        return verdict

    def owed(self, *arguments):
        words = [word for word in arguments if ":" not in word]
        settings = ",".join([PUT_OFF["GPUSHIM_ALLOC_CONF"]] + [word for word in arguments if ":" in word])
        return judge(*self.sim(["--policy", "in-order"], [BUILD + "/tests/preload/drv_put_off", *words], TOP,
                               {"GPUSHIM_ALLOC_CONF": settings}))

    def graphs(self, row):
        return judge(*self.sim([], [BUILD + "/tests/preload/drv_graphs_end", row], TOP,
                               {"GPUSHIM_ALLOC_CONF": "snapshot:off,graph:auto,submit_deadline_us:0"}))

    def faults(self, name, scenario, settings):
        program = [BUILD + "/tests/fault/" + name]
        shim = ["env", "LD_PRELOAD=%s/libgpushim.so" % self.build]
        with tempfile.TemporaryDirectory() as folder:
            settings = {"GPUSHIM_ALLOC_CONF": "stacks:off,device_time:0,snapshot:off," + settings}
            self.sim(["--no-shim"], [*program, "plain", "plain", "short", scenario], folder, limit_s=FAULTS_S)
            status, output = self.sim(["--no-shim"], [*shim, *program, "shim", "plain", "short", scenario], folder,
                                      settings, FAULTS_S)
        if status == 0 and not re.search("(?m)^ok 1 - .*0 wrong$", output):
            return Verdict(False, next(iter(re.findall("(?m)^# (.* SIM_FAULT .*)", output)), "says nothing")[:140])
        return judge(status, output)

    def torch(self, *phases):
        program = [BUILD + "/tests/sim/torch/rt_torch", BUILD + "/sim/torch/libc10_cuda.so",
                   *(phases or ("train", "decode", "graph", "shortage", "empty"))]
        return self.as_without(["--memory", "512M"], program, QUIET)

    def rule(self, name):
        return judge(*self.sim(["--devices", "2"], [BUILD + "/tests/conformance/" + name], TOP,
                               QUIET))

    def unit(self, name):
        path = "%s/tests/%s/test_%s" % (self.build, room_of(name), name)
        return judge(*self.execute([path], TOP, self.extra, DIRECT_S))

    def race(self, name, *arguments):
        """With the shim that is built for it: see tests/sim/test_tsan.sh."""
        extra = {**self.extra, "TSAN_OPTIONS": "exitcode=66 history_size=4 halt_on_error=1"}
        if name == "unit":
            path = "%s/tsan/tests/%s/test_%s" % (self.build, room_of(arguments[0]), arguments[0])
            return judge(*self.execute([path], TOP, extra, RACE_S))
        settings = ",".join(word for word in arguments if ":" in word) or "snapshot:off"
        extra.update({"LD_LIBRARY_PATH": BUILD + "/tsan/sim", "SIM_POLICY": "random",
                      "LD_PRELOAD": self.build + "/tsan/check/libgpushim_doors.so", "GPUSHIM_ALLOC_CONF": settings})
        program = [BUILD + "/tsan/tests/preload/" + name, *(word for word in arguments if ":" not in word)]
        with tempfile.TemporaryDirectory() as folder:
            return judge(*self.execute(program, folder, extra, RACE_S))

    def victim(self, name, policy, seed):
        return judge(*self.sim(["--no-shim", "--policy", policy, "--seed", seed],
                               ["%s/tests/mutants/rt_victim_%s" % (self.build, name)], TOP))

    def labelled(self, name):
        return self.script("labelled/labelled", name)

    def script(self, name, *arguments):
        folder, test = name.split("/")
        work = tempfile.mkdtemp()
        path = "%s/tests/%s/test_%s" % (TOP, folder, test)
        path += ".sh" if os.path.exists(path + ".sh") else ".py"
        try:
            extra = {"TOP": TOP, "BUILD": self.build, "TMPDIR": work, "PYTHONDONTWRITEBYTECODE": "1"}
            status, output = self.execute([path, *arguments], TOP, {**self.extra, **extra}, SCRIPT_S, stop=b"\nnot ok ")
        finally:
            shutil.rmtree(work, ignore_errors=True)
        failed = re.findall("(?m)^not ok [0-9]+ - (.*)", output)
        if failed:
            return Verdict(False, failed[0][:140])
        if status == 0 and not re.search(r"(?m)^1\.\.[0-9]", output):
            return Verdict(False, "printed no plan")
        return judge(status, output)

    def run(self, text):
        kind, *words = text.split()
        return getattr(self, kind)(*words)


def seed_of(text):
    """The seed of a check that has one."""
    words = text.split()
    if words[0] == "mix":
        return words[2]
    return words[3] if words[0] == "victim" else "-"
