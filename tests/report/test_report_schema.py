#!/usr/bin/env python3
"""schema.h, schema.json, schema.md and what the writer writes say the same."""

import collections
import copy
import json
import os
import re
import subprocess
import sys

import tap
from json_schema import check

with open(os.path.join(tap.TOP, "report/schema.json")) as file:
    SCHEMA = json.load(file)
with open(os.path.join(tap.TOP, "report/schema.h")) as file:
    HEADER = file.read()
with open(os.path.join(tap.TOP, "report/schema.md")) as file:
    GUIDE = file.read()


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


# The writer's files fit the schema.
for scene, events, first in (("blocks", 0, 0), ("blocks", 501, 77), ("torch", 32, 0), ("big", 20, 0), ("error", 5, 0)):
    data = load(tap.snapshot(scene, events, first))
    wrong = check(data, SCHEMA, SCHEMA)
    tap.ok(wrong is None, "a snapshot of %s with %d events fits schema.json" % (scene, events), wrong)
    tap.equal(list(data)[0], "schema", "its first key is schema")
    for name in ("segments", "blocks", "live", "events", "launches", "waits", "kernels", "steps", "loops", "crossings", "stacks", "frames", "modules"):
        lengths = {len(column) for key, column in data[name].items() if not key.endswith("_names")}
        if len(lengths) != 1:
            tap.ok(False, "columns of %s have one length" % name, lengths)

# The checker can say no.
DAMAGES = {
    "a wrong version": lambda data: data.update(schema=2),
    "a missing section": lambda data: data.pop("events"),
    "an unknown section": lambda data: data.update(extra=1),
    "a number for an address": lambda data: data["blocks"]["address"].__setitem__(0, 5),
    "a negative size": lambda data: data["blocks"]["size_bytes"].__setitem__(0, -5),
    "a true for a count": lambda data: data["meta"].update(pid=True),
    "an unknown reason": lambda data: data["meta"].update(reason="boredom"),
    "a fraction": lambda data: data["devices"][0].update(total_bytes=0.5),
}
good = load(tap.snapshot("torch", 32))
for name, damage in DAMAGES.items():
    bad = copy.deepcopy(good)
    damage(bad)
    tap.ok(check(bad, SCHEMA, SCHEMA) is not None, "schema.json refuses " + name)

# The three descriptions list the same keys.
rows = collections.defaultdict(list)
for section, key in re.findall(r"\bX\((\w+), (\w+), [A-Z_]+, \"", HEADER):
    rows[section].append(key)
tap.ok(len(rows) == 22 and sum(map(len, rows.values())) > 60, "schema.h has the rows this test expects", dict(rows))
for section, keys in rows.items():
    described = SCHEMA["properties"][section]
    described = described.get("items", described)
    listed = [key for key in described["properties"] if not key.endswith("_names")]
    tap.equal(listed, keys, "schema.json lists the keys of %s" % section)
    part = re.search(r"^### `%s`\n(.*?)(?=^##)" % section, GUIDE, re.S | re.M)
    tap.equal(re.findall(r"^\| `(\w+)` \|", part.group(1) if part else "", re.M), keys,
              "schema.md lists the keys of %s" % section)
written = [name for name in good if name not in ("schema", "strings")]
tap.equal(re.findall(r"^### `(\w+)`", GUIDE, re.M), written, "schema.md has the sections in the order of the file")
for name in list(good["devices"][0]["gauges"]) + list(good["devices"][0]["counters"]) + good["events"]["type_names"]:
    if "`%s`" % name not in GUIDE:
        tap.ok(False, "schema.md explains %s" % name)

# A file of the first version of this schema, without what came later.
OLD = os.path.join(tap.TOP, "tests/report/first-version.json")
old = load(OLD)
tap.equal(check(old, SCHEMA, SCHEMA), None, "schema.json takes the first version")
later = re.search(r"GS_SNAP_LATER_SECTIONS (.*)", HEADER).group(1)
tap.equal(sorted(name for name in good if name not in old), sorted(re.findall(r"\w+", later)), "which lacks what came later")
for command in ("summary", "top", "leaks"):
    status, output, said = tap.report(command, OLD)
    tap.ok(status == 0 and "train.py" in output if command != "leaks" else status in (0, 1) and not said,
           "gpushim-report %s reads it" % command, (status, output, said))

# The reader in the guide reads.
program = re.search(r"```python\n(.*?)```", GUIDE, re.S).group(1)
run = subprocess.run([sys.executable, "-c", program, tap.snapshot("torch", 32)], capture_output=True, text=True)
tap.equal((run.returncode, run.stdout, run.stderr),
          (0, "67108864 /opt/example/libexample.so+0x1235\n37748736 /home/user/job/train.py:17\n", ""),
          "the reader in schema.md reads a snapshot")
tap.done()
