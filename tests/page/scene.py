#!/usr/bin/env python3
"""Writes a snapshot of a program that never was: scene.py SCENE FILE [EVENTS].

train    PyTorch-like steps: parameters, optimizer, activations that grow and go, gradients, workspaces; waits and launches
big      the same with many events (default 1,000,000)
hostile  names that try to break out of the page: markup, text that runs from right to left, emoji, 10,000 characters
empty    history:0, stacks:off, watch:off, and nothing alive
late     the newest part of a long history; memory ran out"""

import json
import random
import sys

MIB = 1 << 20
BASE = 0x7F1000000000
TYPES = ["alloc", "free", "tensor_alloc", "tensor_free", "host_alloc", "host_free", "driver_alloc", "driver_free", "segment_map",
         "segment_unmap", "free_done", "trim", "capture_begin", "capture_end", "pool_made", "pool_ended", "oom"]
STEP = ("launches", "launch_ns", "device_ns", "queue_ns", "waits", "wait_ns", "memory_calls", "memory_ns", "loads", "load_ns",
        "to_device_bytes", "to_host_bytes")


class Scene:
    def __init__(self):
        self.strings, self.string_of = [""], {"": 0}
        self.frames = {"kind_names": ["none", "python", "native"], "kind": [0], "function": [0], "file": [0], "line": [0],
                       "module": [0], "offset": ["0"]}
        self.stacks = {"parent": [0], "frame": [0]}
        self.events = {"type_names": TYPES}
        for key in ("type", "time_delta_ns", "device", "address", "size_bytes", "stream", "stack", "thread"):
            self.events[key] = []
        self.blocks = {"segment": [], "address": [], "size_bytes": [], "reserved_bytes": [], "state_names": ["live", "pending", "idle"],
                       "state": [], "origin_names": ["legacy", "async"], "origin": [], "stream": [], "pool": [], "owner": [], "stack": [],
                       "thread": [], "time_ns": [], "serial": []}
        self.waits = {"function": [], "class_names": ["sync", "copy_async", "launch"], "class": [], "stack": [],
                      "way_names": ["none", "to_device", "to_host"], "way": [], "memory_names": ["none", "pageable", "pinned"],
                      "memory": [], "calls": [], "apart": [], "first_launch": [], "last_launch": [], "host_ns": [], "longest_ns": [],
                      "size_bytes": []}
        self.kernels = {"kind_names": ["kernel", "graph", "copy", "set"], "kind": [], "name": [], "stack": [], "calls": [],
                        "host_ns": [], "long_calls": [], "long_ns": []}
        self.steps = {key: [] for key in ("loop", "number", "time_ns", "wall_ns") + STEP}
        self.loops = {"kind_names": ["found", "marked", "inner"], "kind": []}
        self.loops.update({key: [] for key in ("name", "stack", "thread", "steps", "wall_ns", "median_ns", "p99_ns", "longest_ns") + STEP})
        self.now = self.said = 0
        self.end = BASE
        self.holes = {}
        self.alive = {}
        self.command = ["python", "train.py"]
        self.settings = {}
        self.dropped = 0

    def string(self, text):
        if text not in self.string_of:
            self.string_of[text] = len(self.strings)
            self.strings.append(text)
        return self.string_of[text]

    def stack(self, *frames):
        """Frames from the outermost on: (file, line, function)."""
        stack = 0
        for file, line, function in frames:
            row = {"kind": 1, "function": self.string(function), "file": self.string(file), "line": line, "module": 0, "offset": "0"}
            for key, value in row.items():
                self.frames[key].append(value)
            self.stacks["parent"].append(stack)
            self.stacks["frame"].append(len(self.frames["kind"]) - 1)
            stack = len(self.stacks["parent"]) - 1
        return stack

    def event(self, name, address, size, stack, thread=4711):
        row = {"type": TYPES.index(name), "time_delta_ns": self.now - self.said, "device": 0, "address": "%x" % address,
               "size_bytes": size, "stream": 0, "stack": stack, "thread": thread}
        self.said = self.now
        for key, value in row.items():
            self.events[key].append(value)

    def alloc(self, size, stack, thread=4711):
        rounded = (size + 511) // 512 * 512
        if self.holes.get(rounded):
            address = self.holes[rounded].pop()
        else:
            address = self.end
            self.end += rounded
            room = (self.end - BASE + 32 * MIB - 1) // (32 * MIB) * 32 * MIB
            held = getattr(self, "held", 0)
            if room > held:
                self.event("segment_map", BASE + held, room - held, stack, thread)
                self.held = room
        self.event("alloc", address, size, stack, thread)
        self.alive[address] = (size, rounded, stack, thread, self.now)
        return address

    def free(self, address, stack=0, late_ns=0):
        size, rounded = self.alive.pop(address)[:2]
        self.event("free", address, size, stack)
        self.now += late_ns
        self.event("free_done", address, rounded, 0)
        self.holes.setdefault(rounded, []).append(address)

    def write(self, path):
        for serial, (address, (size, rounded, stack, thread, time_ns)) in enumerate(sorted(self.alive.items())):
            row = {"segment": 0, "address": "%x" % address, "size_bytes": size, "reserved_bytes": rounded, "state": 0, "origin": 0,
                   "stream": 0, "pool": "0", "owner": "c0", "stack": stack, "thread": thread, "time_ns": time_ns, "serial": serial + 1}
            for key, value in row.items():
                self.blocks[key].append(value)
        held = getattr(self, "held", 0)
        gauge = {"now": held, "peak": held}
        gauges = {key: gauge for key in ("allocated_bytes", "allocated_legacy_bytes", "allocated_async_bytes", "rounded_bytes",
                                         "pending_bytes", "idle_bytes", "reserved_bytes", "live_count")}
        counters = {key: 1 for key in ("allocs", "frees", "hits", "cross_stream", "grows", "trims", "stitches", "fences",
                                       "out_of_memory")}
        settings = {"backend": "vmm", "history": 100000, "stacks": "python+native", "watch": True, "launches": 16384, "categories": ""}
        snapshot = {
            "schema": 1,
            "meta": {"reason": "exit", "version": "0.1.0", "pid": 4711, "ppid": 1, "rank": 3, "hostname": "node7",
                     "executable": "/usr/bin/python3.12", "command": self.command, "folder": "/home/user/job",
                     "start_wall_ns": "1796000000000000000", "dump_wall_ns": str(1796000000000000000 + self.now),
                     "monotonic_base_ns": "5000000000", "elapsed_ns": self.now, "conf": "", "settings": {**settings, **self.settings}},
            "recording": {"python": "3.12", "native": "libunwind", "stack_captures": 1, "native_walks": 0, "stacks_cut": 0,
                          "live_dropped": 0, "events_added": len(self.events["type"]) + self.dropped, "events_dropped": self.dropped},
            "devices": [{"ordinal": 0, "uuid": "GPU-0", "name": "Example H200", "total_bytes": 141 << 30, "gauges": gauges,
                         "counters": counters}],
            "live_totals": [], "functions": [], "threads": [{"tid": 4711, "name": "python"}, {"tid": 4712, "name": "pt_autograd_0"}],
            "errors": [],
            "segments": {"device": [0] if held else [], "kind_names": ["expandable"], "kind": [0] if held else [],
                         "address": ["%x" % BASE] if held else [], "size_bytes": [held] if held else []},
            "blocks": self.blocks,
            "live": {"class_names": ["tensor"], "class": [], "device": [], "address": [], "size_bytes": [], "stack": [], "thread": [],
                     "time_ns": [], "owner": []},
            "events": self.events,
            "launches": {"kind_names": ["kernel"], "kind": [], "state_names": ["open"], "state": [], "name": [], "stream": [],
                         "stack": [], "thread": [], "time_ns": []},
            "waits": self.waits, "kernels": self.kernels, "steps": self.steps, "loops": self.loops, "stacks": self.stacks, "frames": self.frames,
            "modules": {"path": [0], "build_id": [0], "base": ["0"], "start": ["0"], "end": ["0"]},
            "strings": self.strings,
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(snapshot, file, ensure_ascii=False, separators=(",", ":"))


def add(table, **row):
    for key, value in row.items():
        table[key].append(value)


def train(scene, steps, layers=24, small=0, seed=1):
    chance = random.Random(seed)
    torch = "/usr/lib/python3/dist-packages/torch/"
    main = ("/home/user/job/train.py", 12, "<module>")
    step_of = ("/home/user/job/train.py", 88, "train_step")
    init = scene.stack(main, ("/home/user/job/net/model.py", 31, "__init__"), (torch + "nn/modules/linear.py", 106, "__init__"))
    adam = scene.stack(main, step_of, (torch + "optim/adamw.py", 243, "_init_group"))
    loss = scene.stack(main, step_of, ("/home/user/job/train.py", 95, "loss"))
    item = scene.stack(main, step_of, ("/home/user/job/train.py", 97, "log_loss"))
    workspace = scene.stack(main, step_of, (torch + "distributed/fsdp/_runtime_utils.py", 301, "_pre_forward"))
    forward = [scene.stack(main, step_of, ("/home/user/job/net/model.py", 40 + i % 4, "forward"),
                           ("/home/user/job/net/block.py", 20 + 7 * (i % 3), "forward")) for i in range(layers)]
    backward = [scene.stack(main, step_of, (torch + "autograd/graph.py", 825, "backward"), ("<autograd>", 0, "backward"),
                            ("/home/user/job/net/block.py", 20 + 7 * (i % 3), "scale")) for i in range(layers)]
    small_stack = scene.stack(main, step_of, ("/home/user/job/net/block.py", 61, "forward"))
    for _ in range(layers):
        scene.now += 2_000_000
        scene.alloc(48 * MIB, init)
        scene.alloc(16 * MIB + 512 * chance.randrange(40), init)
    scene.now += 300_000_000
    kept, walls = [], []
    for step in range(steps):
        began = scene.now
        width = chance.choice([3, 4, 4, 5, 6])
        shards = scene.alloc(96 * MIB, workspace)
        held = []
        for layer in range(layers):
            scene.now += 400_000 + chance.randrange(300_000)
            held.append(scene.alloc(width * 6 * MIB, forward[layer]))
            held.append(scene.alloc(width * 2 * MIB, forward[layer]))
            for _ in range(small):
                scene.now += chance.randrange(4000)
                scene.free(scene.alloc(512 * chance.randrange(1, 400), small_stack))
        scene.now += 300_000
        top = scene.alloc(180 * MIB, loss)
        scene.now += 900_000
        scene.free(top, loss, 20_000)
        gradients = []
        for layer in reversed(range(layers)):
            scene.now += 700_000 + chance.randrange(300_000)
            gradients.append(scene.alloc(48 * MIB, backward[layer], 4712))
            scene.free(held.pop(), backward[layer], 150_000)
            scene.free(held.pop(), backward[layer])
        scene.now += 400_000
        if step == 0:
            for _ in range(layers):
                scene.alloc(96 * MIB, adam)
        for gradient in gradients:
            scene.free(gradient, adam)
        scene.free(shards, workspace)
        scene.now += 25_000_000 if step == 11 else 1_500_000
        wall = scene.now - began
        figures = dict.fromkeys(STEP, 0)
        figures.update(launches=layers * 5, launch_ns=wall // 5, device_ns=wall * 4 // 5, queue_ns=wall // 20, waits=1, wait_ns=wall // 4 + (step == 11) * 23_000_000)
        add(scene.steps, loop=0, number=step + 1, time_ns=began, wall_ns=wall, **figures)
        walls.append(wall)
        if step % 6 == 5:
            kept.append(scene.alloc(4 * MIB, item))
    walls.sort()
    add(scene.loops, kind=0, name=scene.string("layer_norm_grad_input"), stack=item, thread=4711, steps=steps, wall_ns=sum(walls),
        median_ns=walls[steps // 2], p99_ns=walls[-1], longest_ns=walls[-1], **dict.fromkeys(STEP, 0))
    function = scene.string("cuStreamSynchronize")
    copy = scene.string("cuMemcpyDtoHAsync_v2")
    add(scene.waits, function=copy, stack=item, way=2, memory=1, calls=steps, apart=steps, first_launch=0, last_launch=900,
        host_ns=steps * 40_000, longest_ns=90_000, size_bytes=steps * 4, **{"class": 1})
    add(scene.waits, function=function, stack=item, way=0, memory=0, calls=steps, apart=steps, first_launch=0, last_launch=900,
        host_ns=scene.now // 5, longest_ns=31_000_000, size_bytes=0, **{"class": 0})
    down = scene.string("cuMemcpyHtoDAsync_v2")
    add(scene.waits, function=down, stack=loss, way=1, memory=1, calls=steps, apart=steps, first_launch=0, last_launch=900,
        host_ns=scene.now // 30, longest_ns=4_000_000, size_bytes=steps * 8 * MIB, **{"class": 1})
    for i, name in enumerate(["ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", "fused_adam_kernel", "softmax_warp_forward",
                              "layer_norm_grad_input", "vectorized_elementwise_kernel"]):
        add(scene.kernels, kind=0, name=scene.string(name), stack=forward[i], calls=steps * layers * (5 - i), host_ns=steps * layers *
            (5 - i) * 3200, long_calls=steps if i == 0 else 0, long_ns=steps * 20000 if i == 0 else 0)


def hostile(scene):
    names = ["</script><script>window.broken = 1</script>", "<img src=x onerror='window.broken = 2'>", "\u202eevil\u202c \u05d0\u05d1\u05d2",
             "\U0001f680 rocket", "n" * 10000, "a\nb\tc\u0000d", "&lt;b&gt; --><!-- ${x} `y`", "__proto__", "constructor"]
    scene.command = ["python", names[0], names[2]]
    for i, name in enumerate(names):
        scene.now += 1_000_000
        scene.alloc((len(names) - i) * 8 * MIB, scene.stack(("/x/main.py", 1, "<module>"), ("/x/" + name + ".py", i + 1, name)))
    add(scene.kernels, kind=0, name=scene.string(names[1]), stack=1, calls=3, host_ns=9000, long_calls=0, long_ns=0)
    add(scene.waits, function=scene.string(names[0]), stack=2, way=0, memory=0, calls=9, apart=9, first_launch=0, last_launch=90,
        host_ns=5_000_000, longest_ns=1_000_000, size_bytes=0, **{"class": 0})
    scene.now += 1_000_000


def late(scene):
    train(scene, 6)
    scene.now += 1000
    scene.event("oom", 0, 8 << 30, scene.stack(("/home/user/job/train.py", 120, "evaluate")))
    cut = len(scene.events["type"]) // 2
    time_ns = sum(scene.events["time_delta_ns"][: cut + 1])
    for key in scene.events:
        if key != "type_names":
            del scene.events[key][:cut]
    scene.events["time_delta_ns"][0] = time_ns
    scene.dropped = cut


def main():
    scene, name, path = Scene(), sys.argv[1], sys.argv[2]
    if name == "train":
        train(scene, 18)
    elif name == "big":
        steps = 40
        train(scene, steps, small=max(1, (int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000) // (steps * 24 * 3)))
    elif name == "hostile":
        hostile(scene)
    elif name == "empty":
        scene.settings = {"history": 0, "stacks": "off", "watch": False}
        scene.now = 5_000_000
    elif name == "late":
        late(scene)
    else:
        sys.exit(__doc__)
    scene.write(path)


if __name__ == "__main__":
    main()
