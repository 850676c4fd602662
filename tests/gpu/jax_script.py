"""JAX: a compiled step with its gradient, run by XLA through its own table of driver functions; the result is checked
against NumPy. Autotuning is off, so that two runs launch the same kernels."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")
os.environ.setdefault("JAX_PLATFORMS", "cuda")

import jax
import jax.numpy as jnp
import numpy


@jax.jit
def step(w, x):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return w - 0.1 * gradient, loss


def reference(w, x, steps):
    for _ in range(steps):
        y = numpy.tanh(x @ w)
        w = w - 0.1 * (x.T @ (2 * y * (1 - y * y) / y.size))
    return w


def main():
    rng = numpy.random.default_rng(0)
    w = rng.standard_normal((64, 32))
    x = rng.standard_normal((128, 64))
    ours = jnp.asarray(w, dtype=jnp.float32)
    for _ in range(20):
        ours, loss = step(ours, jnp.asarray(x, dtype=jnp.float32))
    assert numpy.allclose(numpy.asarray(ours), reference(w, x, 20), atol=1e-2), "result differs from NumPy's"
    print(f"ok 20 steps, loss {float(loss):.6f}, jax {jax.__version__}")


if __name__ == "__main__":
    main()
