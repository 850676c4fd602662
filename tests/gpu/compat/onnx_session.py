"""ONNX Runtime on the GPU: a small network made here, for batches of several sizes."""

import common

onnx = common.need("onnx")
runtime = common.need("onnxruntime")
import numpy
from onnx import TensorProto, helper

if "CUDAExecutionProvider" not in runtime.get_available_providers():
    common.absent("cuda-provider")
rng = numpy.random.default_rng(0)
weights = [rng.standard_normal((256, 256)).astype(numpy.float32) / 16 for _ in range(3)]
nodes, name = [], "x"
for number in range(3):
    nodes.append(helper.make_node("MatMul", [name, f"w{number}"], [f"m{number}"]))
    nodes.append(helper.make_node("Tanh", [f"m{number}"], [f"y{number}"]))
    name = f"y{number}"
graph = helper.make_graph(
    nodes,
    "perceptron",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 256])],
    [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 256])],
    [helper.make_tensor(f"w{i}", TensorProto.FLOAT, w.shape, w.tobytes(), raw=True) for i, w in enumerate(weights)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
session = runtime.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
if "CUDAExecutionProvider" not in session.get_providers():
    common.absent("cuda-provider")
results = []
for rows in (1, 16, 100, 16, 1000):
    x = rng.standard_normal((rows, 256)).astype(numpy.float32)
    results.append(session.run(None, {"x": x})[0])
    right = x
    for w in weights:
        right = numpy.tanh(right @ w)
    assert numpy.allclose(results[-1], right, atol=2e-2)
common.done(results)
