"""Compares the stacks that shim/stack sees with those that the interpreter reports, in every kind of frame.

Usage: walk.py LIBSTACKPROBE [PASSES]. Runs under any CPython from 3.9 on; prints "ok NAME" or "not ok NAME: why" for
each scenario. With PASSES only one scenario: the request for table memory after so many fails; says "fired N".
test_stack_python.py runs it under each interpreter it finds.
"""
import asyncio
import ctypes
import functools
import gc
import os
import random
import sys
import threading

PROBE = ctypes.CDLL(sys.argv[1])
CAPTURE = PROBE.probe_capture
CAPTURE.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]
CAPTURE.restype = ctypes.c_long
PROBE.probe_capture_in_thread.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
PROBE.probe_capture_in_thread.restype = ctypes.c_long
SIZE = 1 << 19
PYTHON, NATIVE, EACH = 1, 2, 4
LOCAL = threading.local()


def buffer():
    if not hasattr(LOCAL, "buffer"):
        LOCAL.buffer = ctypes.create_string_buffer(SIZE)
    return LOCAL.buffer


def frames(frame):
    """What the interpreter says, outermost first."""
    found = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        found.append((name, code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return found[::-1]


def parsed(size, text):
    assert size >= 0, "the text did not fit"
    python, native = [], []
    for line in text[:size].decode("utf-8").split("\n")[:-1]:
        if line.startswith("P "):
            assert not native, "a Python frame inside of a native one"
            function, rest = line[2:].split("|", 1)
            file, number = rest.rsplit("|", 1)
            python.append((function, file, int(number)))
        else:
            module, offset = line[2:].rsplit("|", 1)
            native.append((module, int(offset, 16)))
    return python, native


compared = 0


def compare(size, want, where=None):
    global compared
    got, _ = parsed(size, buffer().raw[: max(size, 0)])
    want = want[-1024:]
    if got != want:
        for at, pair in enumerate(zip(got + [None] * len(want), want + [None] * len(got))):
            if pair[0] != pair[1]:
                raise AssertionError("%s level %d: seen %r, is %r" % (where or "", at, pair[0], pair[1]))
    compared += 1


def here(depth_site=0):
    """Capture and compare: one Python frame of its own on top of the caller's."""
    size, want = CAPTURE(buffer(), SIZE, depth_site), frames(sys._getframe())
    compare(size, want)


# --- scenarios -------------------------------------------------------------------------------------------------------
def plain():
    here()
    here()
    size, want = CAPTURE(buffer(), SIZE, 0), frames(sys._getframe())
    compare(size, want)


def recursion(depth=60):
    if depth == 0:
        return here()
    if depth % 2:
        return recursion(depth - 1)
    result = recursion(
        depth - 1
    )
    return result


def lambdas():
    list(map(lambda x: here() or x, range(3)))
    (lambda: (lambda: here())())()
    sorted([3, 1, 2], key=lambda x: here() or x)
    functools.reduce(lambda a, b: here() or b, [1, 2, 3])
    functools.partial(lambda a: here(), 1)()


def generators():
    def inner(n):
        for i in range(n):
            here()
            yield i

    def outer(n):
        here()
        yield from inner(n)
        yield from (here() or i for i in range(2))

    list(outer(3))
    g = inner(2)
    next(g)
    here()
    next(g)
    g.close()

    def closing():
        try:
            yield 1
        finally:
            here()

    g = closing()
    next(g)
    g.close()


def comprehensions():
    [here() for _ in range(2)]
    {i: here() for i in range(2)}
    {here() for _ in range(2)}
    [[here() for _ in range(i)] for i in range(3)]


class Base:
    def method(self):
        here()

    @classmethod
    def of_class(cls):
        here()

    @staticmethod
    def static():
        here()

    @property
    def value(self):
        here()
        return 1

    def __enter__(self):
        here()
        return self

    def __exit__(self, *exc):
        here()

    def __lt__(self, other):
        here()
        return False

    def __getattr__(self, name):
        here()
        return name

    class Inner:
        def method(self):
            def local():
                here()

            local()


class Derived(Base):
    def method(self):
        super().method()
        here()


def classes():
    d = Derived()
    d.method()
    d.of_class()
    d.static()
    d.value
    d.unknown
    d < d
    with d:
        here()
    Base.Inner().method()

    class InBody:
        here()

    type("Made", (), {"__init__": lambda self: here()})()


def decorated():
    def wrap(f):
        @functools.wraps(f)
        def inside(*a, **k):
            return f(*a, **k)

        return inside

    @wrap
    @wrap
    def f(x):
        here()

    f(1)


def exceptions():
    try:
        raise ValueError
    except ValueError:
        here()
    finally:
        here()

    def raising():
        try:
            {}["x"]
        except KeyError:
            here()
            raise

    try:
        raising()
    except KeyError as error:
        assert error
        here()


def lines():
    def two(a, b):
        here()

    two(
        here(),
        [
            here(),
            (
                here()
            ),
        ],
    )
    x = (here() or 1) + \
        (here() or 2)
    assert (
        x
        and not here()
    )
    for _ in [
        here(),
        1,
    ]: here(); here()
    # Far apart, forwards and backwards; and more than one entry of a line table holds.
    source = "def far(here):\n    return [here(),\n" + "\n" * 700 + "      here(),\n" + "\n" * 130 + "      here()]\n"
    source += "".join("    \n" for _ in range(300)) + "def wide(here):\n    x = 0\n"
    source += "".join("    x += 1\n" for _ in range(400)) + "    here()\n" + "    x += 1\n" * 400 + "    here()\n"
    space = {}
    exec(compile(source, "far.py", "exec"), space)
    space["far"](here)
    space["wide"](here)


def async_frames():
    async def leaf():
        here()
        await asyncio.sleep(0)
        here()

    async def agen():
        for i in range(2):
            here()
            yield i

    async def main():
        await leaf()
        await asyncio.gather(leaf(), leaf())
        async for _ in agen():
            here()

    asyncio.run(main())


def names():
    for text in ("caf\u00e9", "\u6f22\u5b57", "\U00020000\u3042", "x" * 300, "\u00e9" * 200):
        for file in ("<string>", "/tmp/d\u00e9j\u00e0/\u6587.py", "/tmp/\U0001f600/a b|c.py"):
            space = {"here": here}
            exec(compile("def %s():\n\n    here()\n%s()" % (text, text), file, "exec"), space)


def deep():
    """Twice as deep as is recorded."""
    def down(n):
        if n == 0:
            return here()
        return down(n - 1)

    def other(n):
        if n == 0:
            return here()
        return down(n - 1) if n < 500 else other(n - 1)

    sys.setrecursionlimit(10000)
    down(2000)
    down(2000)
    down(5)
    other(2000)


def reused():
    """Code objects whose memory is freed and taken again, with other names and lines."""
    seen = set()
    for i in range(400):
        space = {"here": here}
        source = "\n" * (i % 37) + "def function_%05d():\n    here()\nfunction_%05d()" % (i, i)
        code = compile(source, "<string>", "exec")
        seen.add(id(code))
        exec(code, space)
        del space, code
        if i % 50 == 0:
            gc.collect()
    assert len(seen) < 400, "no code object was reused: the test shows nothing"
    for i in range(200):
        exec(compile("\n" * (i % 23) + "here()", "<string>", "exec"), {"here": here})
    for i in range(200):
        space = {"here": here}
        exec(compile("def f():\n" + "\n" * (i % 19) + "    here()\nf()", "<string>", "exec"), space)
        del space


def walking():
    """A stack that grows and shrinks at random, so that all of, some of, and none of the last one is kept."""
    choose = random.Random(4711)

    def a(n):
        return step(n)

    def b(n):
        here()
        return step(n)

    def c(n):
        for f in choose.sample((a, b), 1):
            f(n)
        here()

    def step(n):
        if n == 0:
            return here()
        choose.choice((a, b, c))(n - choose.randint(1, n))
        if choose.random() < 0.5:
            here()

    for _ in range(300):
        step(choose.randint(0, 25))


def traced():
    sys.settrace(lambda *a: None)
    try:
        here()
    finally:
        sys.settrace(None)
    sys.setprofile(lambda *a: None)
    try:
        here()
    finally:
        sys.setprofile(None)


def callbacks():
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda user: here())
    PROBE.probe_call(callback, None)

    class Late:
        def __del__(self):
            here()

    Late()
    gc.collect()


def threads():
    problems = []
    start = threading.Barrier(6)

    def work(seed):
        try:
            choose = random.Random(seed)
            start.wait()
            for _ in range(60):
                recursion(choose.randint(0, 30))
                lambdas()
        except BaseException as error:
            problems.append(error)

    def many():
        workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    many()
    for _ in range(40):
        worker = threading.Thread(target=here)
        worker.start()
        worker.join()
    if problems:
        raise problems[0]


def foreign_thread():
    """A thread that the interpreter does not know has no Python frames."""
    size = PROBE.probe_capture_in_thread(buffer(), SIZE)
    python, native = parsed(size, buffer().raw[:size])
    assert python == [], python
    assert native == [] or "libc" in native[0][0], native


def forked():
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            plain()
            recursion()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def native():
    """Native frames lie inside of the innermost Python frame, and are walked once for each call site."""
    PROBE.probe_init(PYTHON | NATIVE)

    def counters():
        text = ctypes.create_string_buffer(200)
        PROBE.probe_counters(text, 200)
        return [int(n) for n in text.value.decode().split("|")[0].split()]

    def twice():
        for call_site in (1, 1, 2, 2, 2):
            size, want = CAPTURE(buffer(), SIZE, call_site), frames(sys._getframe())
            compare(size, want)
        return parsed(size, buffer().raw[:size])[1]

    before = counters()
    found = twice()
    after = counters()
    assert after[1] - before[1] == 2, "%d walks" % (after[1] - before[1])
    assert found, "no native frames"
    assert any("_ctypes" in module for module, _ in found), found
    assert not any("libpython" in module for module, _ in found), found
    assert not any("stackprobe" in module for module, _ in found), found
    assert os.path.realpath(sys.executable) not in [module for module, _ in found], found
    plain()

    # Through another library and back into the interpreter: only what is inside of the innermost Python frame.
    inner = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda user: inner.append(twice()))
    PROBE.probe_call(callback, None)
    assert inner[0] == found, (inner, found)

    foreign_thread()
    size = PROBE.probe_capture_in_thread(buffer(), SIZE)
    assert parsed(size, buffer().raw[:size])[1], "no native frames in a foreign thread"

    PROBE.probe_init(PYTHON | NATIVE | EACH)
    before = counters()
    assert twice() == found
    assert counters()[1] - before[1] == 5

    PROBE.probe_init(NATIVE)
    size = CAPTURE(buffer(), SIZE, 0)
    python, found = parsed(size, buffer().raw[:size])
    assert python == [] and len(found) > 5, (python, found)


def described():
    text = ctypes.create_string_buffer(200)
    PROBE.probe_counters(text, 200)
    python = text.value.decode().split("|")[1]
    how = "table" if sys.version_info < (3, 13) else "offsets"
    assert python == "%d.%d (%s)" % (sys.version_info[0], sys.version_info[1], how), python


def short_of_memory(passes):
    """What is seen is cut at the inner end; a name may be missing; all else is right, and the next capture is whole."""
    def down(n):
        if n == 0:
            size, want = CAPTURE(buffer(), SIZE, 0), frames(sys._getframe())
            got, _ = parsed(size, buffer().raw[:size])
            for one, other in zip(got, want):
                assert one[2] == other[2] and one[0] in (other[0], "") and one[1] in (other[1], ""), (one, other)
            return len(got), len(want)
        return down(n - 1)

    PROBE.probe_init(PYTHON | NATIVE)
    PROBE.probe_fault(passes)
    first = down(10)
    assert first[0] <= first[1], first
    for i in range(20):
        second = down(10)
        assert second[0] == second[1], second
    print("fired %d" % PROBE.probe_fault_fired())


SCENARIOS = [plain, described, recursion, lambdas, generators, comprehensions, classes, decorated, exceptions, lines,
             async_frames, names, deep, reused, walking, traced, callbacks, threads, foreign_thread, forked, native]

if __name__ == "__main__":
    if len(sys.argv) > 2:
        short_of_memory(int(sys.argv[2]))
        sys.exit(0)
    PROBE.probe_init(PYTHON)
    for scenario in SCENARIOS:
        try:
            scenario()
            print("ok %s" % scenario.__name__, flush=True)
        except Exception as error:
            print("not ok %s: %s: %s" % (scenario.__name__, type(error).__name__, str(error)[:300]), flush=True)
    print("compared %d" % compared, flush=True)
