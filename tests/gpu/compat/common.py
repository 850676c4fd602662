"""What the programs of this folder share: a result as one line, one word where something is missing, steps with their time.

Every program is the same each time it runs: fixed seeds, deterministic kernels."""

import hashlib
import importlib
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def say(line):
    """In one piece, also where several processes write."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def absent(word):
    say(f"absent {word}")
    sys.exit(77)


def need(name):
    """The module; without it the program ends."""
    try:
        return importlib.import_module(name)
    except Exception as failure:
        print(f"{type(failure).__name__}: {failure}", file=sys.stderr)
        return absent(name.partition(".")[0])


def need_torch(deterministic=True):
    torch = need("torch")
    if not torch.cuda.is_available():
        absent("torch-with-cuda")
    torch.manual_seed(1234)
    torch.use_deterministic_algorithms(deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    return torch


def bytes_of(value):
    if isinstance(value, (list, tuple)):
        return b"".join(map(bytes_of, value))
    if isinstance(value, float):
        return value.hex().encode()
    if hasattr(value, "detach"):
        torch = sys.modules["torch"]
        return value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    if hasattr(value, "tobytes"):
        return value.tobytes()
    return repr(value).encode()


def done(*values):
    """The result: whatever was computed, as a digest."""
    digest = hashlib.sha256(b"|".join(map(bytes_of, values))).hexdigest()
    say(f"ok {os.path.basename(sys.argv[0])} {digest[:24]}")


def steps(step, count):
    """What step(0), step(1), .. return; each must have waited for its result. Prints the least time of one."""
    results, seconds = [], []
    for number in range(count):
        start = time.perf_counter()
        results.append(step(number))
        seconds.append(time.perf_counter() - start)
    say(f"ms {min(seconds) * 1e3:.4f}")
    return results


def perceptron(torch, width=512, layers=4, bias=True):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width, bias=bias), torch.nn.GELU()]
    return torch.nn.Sequential(*parts, torch.nn.Linear(width, width, bias=bias)).cuda()


def training(torch, model, batch, forward=None):
    """A function that trains one step on random data and returns the loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    forward = forward or model

    def step(_):
        x = torch.randn(*batch, device="cuda")
        loss = (forward(x) - x.flip(-1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step
