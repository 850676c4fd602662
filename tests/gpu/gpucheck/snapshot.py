"""Reads a snapshot (report/schema.md) as far as the GPU rows need it. Tests only: people use gpushim-report."""

import json


class Snapshot:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.data = json.load(file)
        if self.data["schema"] != 1:
            raise ValueError(f"{path}: schema {self.data['schema']}")

    def table(self, name):
        """The rows of a table as dictionaries, names instead of their numbers, addresses as integers."""
        columns = self.data[name]
        keys = [key for key in columns if not key.endswith("_names")]
        for key in keys:
            names = columns.get(key + "_names")
            if names is not None:
                columns = {**columns, key: [names[number] for number in columns[key]]}
        rows = [dict(zip(keys, values)) for values in zip(*[columns[key] for key in keys])]
        for row in rows:
            if "address" in row:
                row["address"] = int(row["address"], 16)
        return rows

    def driver_calls(self):
        """Exported symbol -> calls, of the driver layer."""
        return {row["name"]: row["calls"] for row in self.data["functions"] if row["layer"] == "driver"}

    def runtime_calls(self):
        return {row["name"]: row["calls"] for row in self.data["functions"] if row["layer"] == "runtime"}

    def live(self, kind):
        """Address -> bytes of what is alive in one class of `live`."""
        return {row["address"]: row["size_bytes"] for row in self.table("live") if row["class"] == kind}

    def live_ever(self, kind):
        """How many of the class there ever were, over all devices."""
        return sum(row["total_count"] for row in self.data["live_totals"] if row["class"] == kind)

    def live_blocks(self, origin):
        """Address -> bytes as asked for, of the blocks that we serve and the program holds."""
        return {
            row["address"]: row["size_bytes"]
            for row in self.table("blocks")
            if row["state"] == "live" and row["origin"] == origin
        }

    def counter(self, name):
        """A counter of the allocator, summed over devices."""
        return sum((device["counters"] or {}).get(name, 0) for device in self.data["devices"])
