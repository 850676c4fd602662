#!/usr/bin/env python3
"""The file that gpushim-report html writes: its name, that nothing is overwritten, that it asks no network for anything, and that
its data are those of the snapshot, by a second reader of its container. tests/page looks at it in a browser."""

import base64
import json
import os
import re
import struct
import zlib

import tap

NEVER = 0


def read(path):
    """Header and columns, as report/html_pack.h describes them."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    data = zlib.decompress(base64.b64decode(re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', page).group(1), validate=True))
    start = 4 + struct.unpack("<I", data[:4])[0]
    header = json.loads(data[4:start])
    columns = {}
    for name, (offset, count) in header["columns"].items():
        at, column = start + offset, []
        for _ in range(count):
            value = shift = 0
            while True:
                value |= (data[at] & 127) << shift
                shift += 7
                at += 1
                if data[at - 1] < 128:
                    break
            column.append(value)
        columns[name] = column
    return page, header, columns


def peak(columns, sort):
    """The most that was alive of one sort, from births and lives."""
    change, born = {}, 0
    for i, delta in enumerate(columns["item_born"]):
        born += delta
        if columns["origin_sort"][columns["item_origin"][i]] != sort:
            continue
        change[born] = change.get(born, 0) + columns["item_size"][i]
        if columns["item_life"][i] != NEVER:
            died = born + columns["item_life"][i] - 1
            change[died] = change.get(died, 0) - columns["item_size"][i]
    most = now = 0
    for event in sorted(change):
        now += change[event]
        most = max(most, now)
    return most


snapshot = tap.snapshot("torch", 400)
page_path = snapshot[: -len(".json")] + ".html"
tap.equal(tap.report("html", snapshot), (0, page_path + "\n", ""), "its name is that of the snapshot, and is printed")
before = os.stat(page_path).st_ino
status, out, err = tap.report("html", snapshot)
tap.ok(status == 2 and out == "" and err.count("\n") == 1 and "-f" in err, "what is there is not overwritten", err)
tap.equal(os.stat(page_path).st_ino, before, "and stays as it was")
status, out, _ = tap.report("html", "-f", "--json", snapshot)
tap.equal((status, json.loads(out)), (0, {"page": page_path}), "-f overwrites it; JSON")
tap.equal(tap.report("html", "-o", "other.html", snapshot), (0, "", ""), "-o: another name")
with open(snapshot, "rb") as file:
    status, out, _ = tap.report("html", "-", stdin=file.read())
tap.ok(status == 0 and out.startswith("<!doctype html>") and out.endswith("</html>\n"), "from standard input to standard output")
status, _, err = tap.report("html", "-f", "-o", "other.html", snapshot, snapshot)
tap.ok(status == 2 and "one page a file" in err, "one page a file", err)
tap.equal(tap.report("html", "nowhere.json")[0], 2, "no such file")

page, header, columns = read(page_path)
outside = re.sub(r"<!-- uPlot.*?-->|/\*! https://github.com/leeoniya/uPlot [^*]*\*/", "", page, flags=re.S)
outside = outside.replace("http://www.w3.org", "")
tap.equal(re.findall(r"https?://[^\s\"']*", outside), [], "no address is in it")
tap.ok("default-src 'none'" in page and page.index("Content-Security-Policy") < page.index("<style"), "it forbids itself any network")
tap.ok("Copyright (c) 2022 Leon Sorokin" in page, "the licence of uPlot is in it")

rows = json.loads(tap.report("top", "--json", "--what", "tensor", "-n", "0", "--by", "peak", snapshot)[1])["rows"]
tensor = header["sorts"].index("tensor")
tap.equal(peak(columns, tensor), sum(row["peak_bytes"] for row in rows), "its peak is that of top")
places = {header["texts"][columns["frame_place"][frame]] for frame in columns["stack_line"]}
tap.ok({row["name"] for row in rows} <= places, "and so are its lines", places)
tap.equal(len(columns["event_time"]), 400, "all events")
with open(snapshot, encoding="utf-8") as file:
    segments = json.load(file)["segments"]
tap.equal(sorted(zip(columns["extent_address"], columns["extent_size"])),
          sorted((int(address, 16), size) for address, size in zip(segments["address"], segments["size_bytes"])), "segments")

tap.done()
