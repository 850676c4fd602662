#!/usr/bin/env python3
"""What people are to see at a glance: who asked when memory ran out, and stacks without the frames that say little."""

import json

import tap


def changed(name, change):
    with open(tap.snapshot("torch", 32), encoding="utf-8") as file:
        snapshot = json.load(file)
    change(snapshot)
    with open(tap.path_of(name), "w", encoding="utf-8") as file:
        json.dump(snapshot, file)
    return name


def out_of_memory(device, size, stack):
    def change(snapshot):
        events = snapshot["events"]
        last = {"type": events["type_names"].index("oom"), "device": device, "size_bytes": size, "stack": stack,
                "address": "0"}
        for key in events:
            if not key.endswith("_names"):
                events[key].append(last.get(key, 0))

    return change


name = changed("oom.json", out_of_memory(0, 3 << 30, 2))
out = tap.report("summary", name)[1]
tap.ok("Out of memory (GPU 0): net/model.py:41 in forward asked for 3.0 GiB" in out, "who asked", out)
tap.ok("58.3 %) is cached by PyTorch" in out and "when memory runs out, little of that is of use" in out,
       "what its cache keeps from others", out)
found = json.loads(tap.report("summary", "--json", name)[1])["out_of_memory"]
tap.equal(found, {"name": "net/model.py:41 in forward", "size_bytes": 3 << 30, "device": 0}, "the same as JSON")
out = tap.report("summary", changed("host.json", out_of_memory(255, 1 << 20, 0)))[1]
tap.ok("Out of memory (pinned host memory): (no stack) asked for 1.0 MiB" in out, "host memory, no stack", out)
out = tap.report("summary", tap.snapshot("torch", 32))[1]
tap.ok("Out of memory" not in out and "of use" not in out, "nothing is said where nothing failed", out)
tap.equal(json.loads(tap.report("summary", "--json", tap.snapshot("torch", 32))[1])["out_of_memory"], None, "nor as JSON")


def add(table, **values):
    for key in table:
        if not key.endswith("_names"):
            table[key].append(values.get(key, 0))
    return len(next(table[key] for key in values)) - 1


def tensor_by(stack, *trail):
    """One tensor more, by autograd's thread, below a stack: its frames, outermost first, are those given."""

    def change(snapshot):
        strings, modules, frames, stacks, live = (snapshot[key] for key in ("strings", "modules", "frames", "stacks", "live"))
        below = stack

        def string(text):
            strings.append(text)
            return len(strings) - 1

        for values in trail:
            row = {"offset": "0", "kind": frames["kind_names"].index("python" if "file" in values else "native")}
            row.update((key, string(text)) for key, text in values.items() if key in ("file", "function"))
            if "path" in values:
                row.update(module=add(modules, path=string(values["path"]), base="0", start="0", end="1000"),
                           offset=values.get("offset", "0"))
            below = add(stacks, parent=below, frame=add(frames, **row))
        tid = snapshot["meta"]["pid"] + 7
        snapshot["threads"].append({"tid": tid, "name": "pt_autograd_0"})
        add(live, **{"class": live["class_names"].index("tensor"), "address": "7fff00000000", "size_bytes": 1 << 30,
                     "stack": below, "thread": tid, "owner": "0"})

    return change


deep = tensor_by(2, {"function": "backward", "file": "<autograd>"},
                 *({"path": path, "offset": offset} for path, offset in (
                     ("/x/libtorch_python.so", "11"), ("/x/libtorch_cpu.so", "22"), ("/x/libc10.so", "33"),
                     ("/x/libother.so", "44"), ("/x/libc10_cuda.so", "55"), ("/x/libc10_cuda.so", "66"))))
name = changed("deep.json", deep)
lines = [line.strip() for line in tap.report("top", "-g", "stack", "-n", "1", name)[1].splitlines()]
at = next(number for number, line in enumerate(lines) if line.endswith("net/model.py:41 in forward"))
tap.equal(lines[at + 1 : at + 10],
          ["(1 inside of the next one)", "libc10_cuda.so+0x55", "libother.so+0x44", "(2 inside of the next one)",
           "libtorch_python.so+0x11", "<autograd> in backward", "net/model.py:41 in forward", "train.py:60 in <module>",
           "thread pt_autograd_0"], "a stack: what was called, and the thread")
rows = json.loads(tap.report("top", "-g", "stack", "-n", "1", "--json", name)[1])["rows"]
tap.equal((len(rows[0]["stack"]), rows[0]["thread"]), (9, "pt_autograd_0"), "JSON has all frames")
row = json.loads(tap.report("top", "-g", "category", "--json", name)[1])["rows"][0]
tap.equal((row["name"], row["live_bytes"]), ("gradients", 1 << 30), "what it is for")

# What a program contains of the CUDA runtime is not the line.
STEP = {"path": "/x/train", "function": "train_step+0x12"}
for number, (wanted, *trail) in enumerate((
        ("train_step+0x12 in train", "cudaMalloc<float>+0x23"),
        ("train_step+0x12 in train", "cudaMallocAsync+0x5", "libcudart_static_1f00+0x9"),
        ("train_step+0x12 in train", "layer+0x1f", "__device_stub__Z5layerPfPKff+0xc0", "__cudaLaunchKernel_helper+0x4e"),
        ("train_step+0x12 in train", "__device_stub__Z5layerPfPKff+0xc0"),
        ("train_step+0x12 in train", "plain+0x1f", "__device_stub__plain+0xc0"),
        ("run_layer+0x1f in train", "run_layer+0x1f", "__device_stub__Z5layerPfPKff+0xc0"),
        ("cudamalloc_checked+0x9 in train", "cudamalloc_checked+0x9", "cudaMalloc<float>+0x23"))):
    name = changed("runtime%d.json" % number, tensor_by(0, STEP, *({"path": "/x/train", "function": text} for text in trail)))
    tap.equal(json.loads(tap.report("top", "-n", "1", "--json", name)[1])["rows"][0]["name"], wanted, "the line of " + " > ".join(trail))

tap.done()
