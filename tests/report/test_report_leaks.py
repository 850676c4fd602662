#!/usr/bin/env python3
"""gpushim-report leaks, on histories that a program may leave behind: a leak among allocations that come and go, memory
kept from the start, memory of a step that is not over, a program that has only begun, a history that is cut."""

import json

import tap

SPARE = 512


def make(name, program, dropped=0):
    """A snapshot of a program that calls alloc(stack, size) and free(handle); stacks are rows of the torch scene."""
    with open(tap.snapshot("torch", 32), encoding="utf-8") as file:
        snapshot = json.load(file)
    events, live = snapshot["events"], snapshot["live"]
    alloc_type, free_type = (events["type_names"].index(name) for name in ("tensor_alloc", "tensor_free"))
    rows, alive = [], {}

    def alloc(stack, size):
        address = 0x7F0000000000 + len(rows) * 0x100000
        rows.append((alloc_type, address, size, stack))
        alive[address] = (size, stack, len(rows))
        return address

    def free(address):
        size, stack, _ = alive.pop(address)
        rows.append((free_type, address, size, stack))

    program(alloc, free)
    rows = rows[dropped:]
    for key in list(events):
        if not key.endswith("_names"):
            events[key] = [0] * len(rows)
    events["type"], _, events["size_bytes"], events["stack"] = (list(column) for column in zip(*rows))
    events["address"] = ["%x" % row[1] for row in rows]
    events["time_delta_ns"] = [1000000 * (dropped + 1)] + [1000000] * (len(rows) - 1)
    for key in list(live):
        if not key.endswith("_names"):
            live[key] = [0] * len(alive)
    live["class"] = [live["class_names"].index("tensor")] * len(alive)
    live["address"] = ["%x" % address for address in alive]
    live["size_bytes"], live["stack"], born = (list(column) for column in zip(*alive.values()))
    live["time_ns"] = [1000000 * number for number in born]
    live["owner"] = ["0"] * len(alive)
    snapshot["recording"].update(events_added=dropped + len(rows), events_dropped=dropped)
    snapshot["meta"]["elapsed_ns"] = 1000000 * (dropped + len(rows))
    with open(tap.path_of(name), "w", encoding="utf-8") as file:
        json.dump(snapshot, file)
    return name


def loop(steps, leak_every=0, parameters=6, activations=6):
    """Line 41 makes and frees, line 17 keeps one of each so many steps."""

    def program(alloc, free):
        for _ in range(parameters):
            alloc(2, 1 << 20)
        for step in range(steps):
            held = [alloc(2, 4096) for _ in range(activations)]
            if leak_every and step % leak_every == 0:
                alloc(4, SPARE)
            if step < steps - 1:
                for address in held:
                    free(address)

    return program


def leaks(name):
    status, out, err = tap.report("leaks", "--json", name)
    return status, json.loads(out)


LINE = "train.py:17 in load"

status, found = leaks(make("leak.json", loop(100, 1)))
tap.equal((status, [row["name"] for row in found["rows"]]), (1, [LINE]), "a leak is named, and nothing else")
tap.equal({key: found["rows"][0][key] for key in ("grew_bytes", "grew_count", "allocations", "live_bytes", "live_count")},
          {"grew_bytes": 100 * SPARE, "grew_count": 100, "allocations": 100, "live_bytes": 100 * SPARE, "live_count": 100},
          "its figures")
text = tap.report("leaks", "leak.json")
tap.ok(text[0] == 1 and "1 place keeps growing:" in text[1] and "50.0 KiB" in text[1] and LINE in text[1], "for people",
       text[1])
status, found = leaks(make("seldom.json", loop(100, 9)))
tap.equal((status, [row["name"] for row in found["rows"]]), (1, [LINE]), "a leak in every ninth step is named")
status, found = leaks(make("cut.json", loop(200, 1), dropped=1200))
tap.equal((status, found["rows"][0]["name"], found["rows"][0]["live_count"], len(found["rows"])), (1, LINE, 200, 1),
          "a leak in a history that does not reach back to the start; what is alive counts from the start")

for name, program in (("clean.json", loop(100)), ("few.json", loop(100, 20)), ("parameters.json", loop(100, 0, 60))):
    status, found = leaks(make(name, program))
    tap.equal((status, found["rows"], found["settled"]), (0, [], True), name + ": no leak")
tap.ok("No leak found" in tap.report("leaks", "clean.json")[1], "and it says so")

status, found = leaks(make("start.json", loop(1, 0, 100, 40)))
tap.equal((status, found["rows"], found["settled"]), (0, [], False), "a program that has only begun")
tap.ok("Too early to tell" in tap.report("leaks", "start.json")[1], "and it says so")
status, out, _ = tap.report("leaks", tap.snapshot("torch", 0))
tap.ok(status == 0 and "no history" in out, "no history, no verdict", out)

tap.done()
