#!/usr/bin/env python3
"""What memory is for: the built-in rules on stacks as PyTorch makes them, rules of a user's file, and files that are none."""

import json
import os

import tap

PYTHON = "/usr/lib/python3/dist-packages"

# Frames innermost first: (file, function), native ones by module; the category that the stack is to get.
CASES = [
    ([("train.py", "main"), ], "other"),
    ([(PYTHON + "/torch/nn/modules/module.py", "Module.cuda.<locals>.<lambda>"),
      (PYTHON + "/torch/nn/modules/module.py", "Module._apply"), ("train.py", "main")], "parameters"),
    ([(PYTHON + "/torch/nn/modules/linear.py", "Linear.__init__"), ("net.py", "Block.__init__"), ("train.py", "main")],
     "parameters"),
    ([(PYTHON + "/torch/nn/modules/linear.py", "Linear.forward"), (PYTHON + "/torch/nn/modules/module.py", "_call_impl"),
      ("train.py", "main")], "activations"),
    ([("net.py", "forward"), ("train.py", "main")], "activations"),
    ([(PYTHON + "/torch/nn/functional.py", "cross_entropy"), ("train.py", "main")], "activations"),
    ([(PYTHON + "/torch/optim/adamw.py", "AdamW._init_group"), (PYTHON + "/torch/optim/optimizer.py", "step"),
      ("train.py", "main")], "optimizer"),
    ([("ops.py", "Scale.backward"), ], "gradients"),
    ([("<autograd>", "backward"), (PYTHON + "/torch/nn/functional.py", "linear"), ("net.py", "forward"),
      ("train.py", "main")], "gradients"),
    ([(PYTHON + "/torch/nn/modules/linear.py", "forward"), (PYTHON + "/torch/utils/checkpoint.py", "recompute"),
      ("ops.py", "backward")], "activations"),
    ([(PYTHON + "/torch/distributed/distributed_c10d.py", "all_gather"), ("net.py", "forward")], "communication"),
    ([(PYTHON + "/transformers/cache_utils.py", "DynamicCache.update"), ("net.py", "forward")], "kv-cache"),
    ([], "other"),
]


def make(name, categories=""):
    """A snapshot in which case number i holds 2**i MiB, alive; the last one on a thread of autograd."""
    with open(tap.snapshot("torch", 32), encoding="utf-8") as file:
        snapshot = json.load(file)
    strings, frames, stacks = [""], [(0, 0)], [(0, 0)]
    rows = []

    def string(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    for case, _ in CASES:
        parent = 0
        for file, function in reversed(case):
            frames.append((string(file), string(function)))
            stacks.append((parent, len(frames) - 1))
            parent = len(stacks) - 1
        rows.append(parent)
    rows.append(0)
    kinds = snapshot["frames"]["kind_names"]
    snapshot["strings"] = strings
    snapshot["modules"] = {key: values[:1] for key, values in snapshot["modules"].items()}
    snapshot["frames"] = {
        "kind_names": kinds,
        "kind": [kinds.index("none")] + [kinds.index("python")] * (len(frames) - 1),
        "function": [function for _, function in frames],
        "file": [file for file, _ in frames],
        "line": [1] * len(frames),
        "module": [0] * len(frames),
        "offset": ["0"] * len(frames),
    }
    snapshot["stacks"] = {"parent": [p for p, _ in stacks], "frame": [f for _, f in stacks]}
    live = snapshot["live"]
    count, tensor = len(rows), live["class_names"].index("tensor")
    for key in live:
        if not key.endswith("_names"):
            live[key] = [0] * count
    live.update({
        "class": [tensor] * count,
        "address": ["%x" % (0x7f0000000000 + i * 0x100000000) for i in range(count)],
        "size_bytes": [1 << (20 + i) for i in range(count)],
        "stack": rows,
        "thread": [1] * (count - 1) + [2],
        "owner": ["0"] * count,
    })
    for table in ("events", "blocks", "segments"):
        for key in snapshot[table]:
            if not key.endswith("_names"):
                snapshot[table][key] = []
    snapshot["threads"] = [{"tid": 1, "name": "python"}, {"tid": 2, "name": "pt_autograd_0"}]
    snapshot["meta"]["settings"]["categories"] = categories
    with open(tap.path_of(name), "w", encoding="utf-8") as file:
        json.dump(snapshot, file)
    return name


def categories(name, *arguments):
    status, out, err = tap.report("top", "-g", "category", "-n", "0", "--json", *arguments, name)
    return status, {row["name"]: row["live_bytes"] >> 20 for row in json.loads(out)["rows"]} if out else {}, err


def wanted(changes=()):
    sums = {}
    for i, (_, category) in enumerate([*CASES, ([], "gradients")]):
        category = dict(changes).get(i, category)
        sums[category] = sums.get(category, 0) + (1 << i)
    return sums


def rules(text):
    path = tap.path_of("rules.txt")
    with open(path, "w") as file:
        file.write(text)
    return path


name = make("purpose.json")
tap.equal(categories(name), (0, wanted(), ""), "the built-in rules")
status, out, err = tap.report("summary", name)
tap.ok(status == 0 and "WHAT IT IS FOR" in out and "parameters" in out, "summary shows them", out)
tap.equal({key: row["live_bytes"] >> 20 for key, row in json.loads(tap.report("summary", "--json", name)[1])["categories"].items()},
          wanted(), "summary --json")

own = rules("# mine\n\nlabels python train.py main  # a comment\nthings thread pt_*\n")
changes = {0: "labels", len(CASES): "things"}
tap.equal(categories(name, "--categories", own), (0, wanted(changes), ""), "a user's rules come first; inner frames first")
adam = {i: "adam" for i, case in enumerate(CASES) if case[0] and case[0][0][0].endswith("/adamw.py")}
tap.equal((len(adam) > 0, categories(name, "--categories", rules("adam python adamw.py\n"))), (True, (0, wanted(adam), "")),
          "a file without a slash is the last part of a path")
own = rules("# mine\n\nlabels python train.py main  # a comment\nthings thread pt_*\n")
tap.equal(categories(make("set.json", own)), (0, wanted(changes), ""), "the file that the settings name")
status, found, err = categories(make("gone.json", "/no/such/rules"))
tap.ok((status, found) == (0, wanted()) and err.count("\n") == 1 and "/no/such/rules" in err,
       "a file that only the settings name and that is not here: said, and the built-in rules serve", err)

for text, what in [("labels\n", "a rule is"), ("\nlabels java x\n", ":2:"), ("labels python\n", "wants a pattern"),
                   ("x" * 2000 + "\n", "too long")]:
    status, out, err = tap.report("top", "--categories", rules(text), name)
    tap.ok(status == 2 and not out and err.count("\n") == 1 and what in err, "no rule: %s" % what, err)
status, out, err = tap.report("summary", "--categories", os.path.join(tap.TOP, "tests"), name)
tap.ok(status == 2 and err.count("\n") == 1, "a folder", err)
tap.done()
