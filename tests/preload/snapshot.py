"""Reads what a run left: used by the tests of this folder.

    snapshot.py calls FILE..                 driver functions and their calls, sorted, as SIM_CALLS prints them
    snapshot.py count FILE NAME              calls of one function
    snapshot.py live FILE CLASS              count and bytes of a live class, in its rows and in its totals
    snapshot.py blocks FILE                  count and bytes of live blocks
    snapshot.py tensors FILE                 address and bytes of each tensor, sorted; block: of each live block
    snapshot.py gauge FILE NAME              now and peak of a figure of device 0
    snapshot.py get FILE KEY..               meta and the like, by path
"""
import json
import sys


def calls(snapshot):
    return ["%s %d" % (f["name"], f["calls"]) for f in snapshot["functions"] if f["layer"] == "driver"]


def count(snapshot, name):
    return [sum(f["calls"] for f in snapshot["functions"] if f["name"] == name)]


def live(snapshot, kind):
    table = snapshot["live"]
    number = table["class_names"].index(kind)
    sizes = [size for size, which in zip(table["size_bytes"], table["class"]) if which == number]
    totals = [t for t in snapshot["live_totals"] if t["class"] == kind]
    return ["%d %d, %d %d of %d" % (len(sizes), sum(sizes), sum(t["count"] for t in totals),
                                    sum(t["bytes"] for t in totals), sum(t["total_count"] for t in totals))]


def blocks(snapshot):
    table = snapshot["blocks"]
    number = table["state_names"].index("live")
    sizes = [size for size, state in zip(table["size_bytes"], table["state"]) if state == number]
    return ["%d %d" % (len(sizes), sum(sizes))]


def rows(table, state, name):
    number = table[state + "_names"].index(name)
    return sorted("%s %d" % (address, size) for address, size, which
                  in zip(table["address"], table["size_bytes"], table[state]) if which == number)


def tensors(snapshot):
    return rows(snapshot["live"], "class", "tensor")


def block(snapshot):
    return rows(snapshot["blocks"], "state", "live")


def gauge(snapshot, name):
    figure = snapshot["devices"][0]["gauges"][name]
    return ["%d %d" % (figure["now"], figure["peak"])]


def get(snapshot, *path):
    for key in path:
        snapshot = snapshot[int(key)] if isinstance(snapshot, list) else snapshot[key]
    return [json.dumps(snapshot) if isinstance(snapshot, (dict, list)) else str(snapshot)]


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        lines = globals()[sys.argv[1]](json.load(file), *sys.argv[3:])
    print("\n".join(sorted(lines)))
