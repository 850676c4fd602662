"""JAX: a training step compiled by XLA, whose buffers are donated from step to step. Nothing is tuned by time, so that two
runs launch the same kernels."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")
os.environ.setdefault("JAX_PLATFORMS", "cuda")

import functools

import common

jax = common.need("jax")
import jax.numpy as jnp
import numpy

try:
    jax.devices("cuda")
except RuntimeError:
    common.absent("jax-with-cuda")


def loss_of(weights, x):
    y = x
    for w in weights:
        y = jnp.tanh(y @ w)
    return jnp.mean((y - x) ** 2)


@functools.partial(jax.jit, donate_argnums=0)
def train(weights, x):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x)
    return [w - 0.1 * g for w, g in zip(weights, gradients)], loss


rng = numpy.random.default_rng(0)
weights = [jnp.asarray(rng.standard_normal((1024, 1024)) / 32, dtype=jnp.float32) for _ in range(4)]
x = jnp.asarray(rng.standard_normal((512, 1024)), dtype=jnp.float32)


def step(_):
    global weights
    weights, loss = train(weights, x)
    return float(loss)


losses = common.steps(step, 60)
assert losses[-1] < losses[0]
common.done(losses, [numpy.asarray(w) for w in weights])
