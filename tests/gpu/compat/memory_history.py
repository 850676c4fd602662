"""PyTorch's own recording of allocations, with Python stacks, and its snapshot."""

import common

torch = common.need_torch()
torch.cuda.memory._record_memory_history(max_entries=10000, stacks="python")
model = common.perceptron(torch)
losses = common.steps(common.training(torch, model, (64, 512)), 5)
snapshot = torch.cuda.memory._snapshot()
blocks = {block["address"] for segment in snapshot["segments"] for block in segment["blocks"]}
assert all(parameter.data_ptr() in blocks for parameter in model.parameters())
entries = [entry for entry in snapshot["device_traces"][0] if entry["action"] == "alloc"]
assert any("memory_history.py" in frame["filename"] for entry in entries for frame in entry["frames"])
torch.cuda.memory._record_memory_history(enabled=None)
common.done(losses, len(entries))
