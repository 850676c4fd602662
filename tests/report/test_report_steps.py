#!/usr/bin/env python3
"""What gpushim-report launch makes of steps and of the names of matrix kernels: verdicts and precision."""

import copy
import json

import tap

with open(tap.snapshot("torch", 32), encoding="utf-8") as file:
    DATA = json.load(file)


def launch(data):
    path = tap.path_of("edited.json")
    with open(path, "w") as file:
        json.dump(data, file)
    status, out, err = tap.report("launch", "--json", path)
    tap.ok(status == 0 and not err, "it can be read", err)
    return json.loads(out), tap.report("launch", path)[1]


# --- precision -------------------------------------------------------------------------------------------------------

NAMES = {
    "fp32": ["ampere_sgemm_128x64_nn", "_ZN7cutlass6KernelI51cutlass_80_simt_sgemm_128x64_8x5_nn_align1EEvNT_6ParamsE",
             "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3", "maxwell_scudnn_128x64_relu_interior_nn_v1",
             "volta_sgemm_32x128_tn", "fmha_cutlassF_f32_aligned_64x64_rf_sm80"],
    "tf32": ["sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x64_stage3_warpsize2x2x1_tensor16x8x8",
             "_ZN7cutlass6KernelI57cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4EEvNT_6ParamsE",
             "cutlass_tensorop_s1688tf32gemm_64x64", "nvjet_sss_128x128_64x4_1x2_h_bz_TNN",
             "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw"],
    "half": ["nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTN", "nvjet_hsh_64x8_64x16_4x1_v_bz_splitK_TNT",
             "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "ampere_fp16_s16816gemm_fp16_64x64_nn",
             "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "turing_fp16_s1688gemm_fp16_128x128",
             "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
             "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traits", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80",
             "cutlass_80_wmma_tensorop_h16816gemm_32x32", "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32"],
    "fp8": ["nvjet_qqtst_128x128_128x6_2x1_v_bz_TNN", "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n",
            "sm89_xmma_gemm_e4m3e5m2_f16f32"],
    "int8": ["turing_int8_i8816gemm_int8_128x128"],
    "fp64": ["ampere_dgemm_128x64_nn", "cutlass_80_tensorop_d884gemm_64x64"],
    "unknown": ["triton_mm", "triton_tem_fused_mm_3", "matmul_kernel_make_tensor_desciptor"],
}
NONE = ["vectorized_elementwise_kernel", "triton_poi_fused_add_0", "reduce_kernel", "multi_tensor_apply_kernel",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "softmax_warp_forward", "indexSelectLargeIndex"]


def kernels(names, samples):
    """A snapshot with these kernels: 10 calls each, of 1, 2, 3.. microseconds."""
    data = copy.deepcopy(DATA)
    base = len(data["strings"])
    data["strings"] += names
    count = len(names)
    data["kernels"] = {"kind_names": ["kernel"], "kind": [0] * count, "name": list(range(base, base + count)),
                       "stack": [3] * count, "calls": [10] * count, "host_ns": [30000] * count,
                       "long_calls": [0] * count, "long_ns": [0] * count, "samples": [samples] * count,
                       "sampled_ns": [samples * 1000 * (i + 1) for i in range(count)]}
    return data


for precision, names in NAMES.items():
    for name in names:
        got = launch(kernels([name], 1))[0]["precision"]
        tap.equal([row["precision"] for row in got], [precision], "%s is %s" % (name, precision))
tap.equal(launch(kernels(NONE, 1))[0]["precision"], [], "what is no matrix kernel is none")

rows, text = launch(kernels(["ampere_sgemm_128x64_nn", "nvjet_tst_128x256_64x4", "vectorized"], 4))
tap.equal([(row["precision"], row["calls"], row["device_ns"], row["timed"]) for row in rows["precision"]],
          [("fp32", 10, 10000, True), ("half", 10, 20000, True)], "shares of time on the device")
tap.ok("33.3 %" in text and "set_float32_matmul_precision" in text, "and the setting that would change it", text)
rows, text = launch(kernels(["ampere_sgemm_128x64_nn", "nvjet_tst_128x256_64x4"], 0))
tap.ok("their launches" in text and "50.0 %" in text, "without samples it is launches that are counted, and said so", text)
tap.ok("fewer and larger kernels" in launch(kernels(["small"], 1))[1], "kernels shorter than their launch are counted")
tap.ok("fewer and larger kernels" not in launch(kernels(["a", "b", "c", "large"], 0))[1], "not without samples")

# --- verdicts --------------------------------------------------------------------------------------------------------

MS = 1000000


def step(known=True, **figures):
    """A snapshot whose steps all have these figures; the rest is 0."""
    data = kernels(["a kernel"], 1 if known else 0)
    count = len(data["steps"]["loop"])
    for key in data["steps"]:
        if key not in ("loop", "number", "time_ns"):
            data["steps"][key] = [figures.get(key, 0)] * count
    data["loops"]["median_ns"][0] = figures["wall_ns"]
    return data


def verdict(data):
    return launch(data)[0]["steps"][0]["verdict"]


for name, wanted, data in (
    ("busy device", "compute-bound", step(wall_ns=10 * MS, launches=100, device_ns=9 * MS, wait_ns=8 * MS)),
    ("full queue", "compute-bound", step(False, wall_ns=10 * MS, launches=100, launch_ns=6 * MS, queue_ns=5 * MS)),
    ("many small launches", "launch-bound", step(wall_ns=10 * MS, launches=1000, launch_ns=4 * MS, device_ns=2 * MS)),
    ("many small launches, not timed", "launch-bound", step(False, wall_ns=10 * MS, launches=1000, launch_ns=4 * MS)),
    ("waits while the device idles", "sync-bound", step(wall_ns=10 * MS, launches=100, device_ns=5 * MS, wait_ns=5 * MS)),
    ("waits after which nothing is queued", "sync-bound",
     step(False, wall_ns=10 * MS, launches=100, wait_ns=5 * MS, idle_ns=2 * MS)),
    ("waits, not timed", "unclear", step(False, wall_ns=10 * MS, launches=100, wait_ns=5 * MS)),
    ("a host that reads files", "unclear", step(wall_ns=100 * MS, launches=10, device_ns=5 * MS)),
):
    tap.equal(verdict(data), wanted, "%s: %s" % (name, wanted))

copies = step(wall_ns=10 * MS, launches=10, device_ns=2 * MS, waits=1, wait_ns=7 * MS, to_device_bytes=64 << 20)
waits = copies["waits"]
for key in waits:
    if not key.endswith("_names"):
        waits[key] = waits[key][:1]
waits["class"][0] = waits["class_names"].index("copy")
waits["size_bytes"][0] = waits["calls"][0] << 24
tap.equal(verdict(copies), "copy-bound", "copies that the host waits for: copy-bound")

text = launch(step(wall_ns=10 * MS, launches=1000, launch_ns=4 * MS, device_ns=2 * MS))[1]
tap.ok("3.00 ms instead of 10.00 ms (an estimate)" in text, "what a graph might bring is an estimate", text)
text = launch(step(wall_ns=1 * MS, launches=100, launch_ns=300000, device_ns=5 * MS))[1]
tap.ok("a clock on the host shows 1.00 ms for a step of 5.00 ms" in text, "a clock on the host would mislead", text)
text = launch(step(wall_ns=10 * MS, launches=100, memory_calls=1, memory_ns=9 * MS))[1]
tap.ok("the host waits for the device 0.0 %, is in calls for memory 90.0 %," in " ".join(text.split()) and "launch-bound" not in text, "time in calls for memory is named apart", text)

# --- what sync says of calls for memory ------------------------------------------------------------------------------


def memory_calls(backend, each_ns, step_ns):
    """sync of a snapshot whose one wait is for memory from the driver, once in each of 100 steps."""
    data = copy.deepcopy(copies)
    waits, loops = data["waits"], data["loops"]
    waits["class"][0] = waits["class_names"].index("alloc")
    for key, value in dict(calls=100, apart=100, host_ns=100 * each_ns, longest_ns=each_ns, size_bytes=0, first_launch=0,
                           last_launch=1 << 40, drained=0, idle_ns=0).items():
        waits[key][0] = value
    loops["steps"][0], loops["wall_ns"][0], loops["median_ns"][0] = 100, 100 * step_ns, step_ns // 3
    data["meta"]["settings"]["backend"] = backend
    with open(tap.path_of("memory.json"), "w") as file:
        json.dump(data, file)
    return tap.report("sync", "-n", "0", "memory.json")[1]


text = memory_calls("vmm", 2 * MS, 5 * MS)
tap.ok("about 1 in a step, 2.00 ms of the 5.00 ms that it takes on average" in text, "what it is to a step: means of both", text)
tap.ok("instead: here the cache has to grow" in text and "backend:vmm" not in text, "no cache is advised where there is one", text)
tap.ok("of that, 200.00 ms were in calls for memory" in text, "calls for memory are named apart", text)
text = memory_calls("cudamalloc", 6 * MS, 5 * MS)
tap.ok("about 1 in a step\n" in text and "(backend:vmm)" in text, "nothing is more than a step; without a cache it is advised", text)
# --- how often a line was come by ------------------------------------------------------------------------------------


def times(ways, functions):
    """What sync says of one line: reached by so many stacks, 10 times by each, where it calls so many functions."""
    data = copy.deepcopy(copies)
    waits, stacks = data["waits"], data["stacks"]
    stack = waits["stack"][0]
    rows = {key: [] for key in waits if not key.endswith("_names")}
    for way in range(ways):
        for function in range(functions):
            for key in rows:
                rows[key].append(waits[key][0])
            rows["stack"][-1], rows["calls"][-1], rows["function"][-1] = stack, 10, len(data["strings"]) + function
        stacks["parent"].append(stack)
        stacks["frame"].append(stacks["frame"][stack])
        stack = len(stacks["parent"]) - 1
    data["strings"] += ["cuWait%d" % function for function in range(functions)]
    waits.update(rows)
    with open(tap.path_of("ways.json"), "w") as file:
        json.dump(data, file)
    return json.loads(tap.report("sync", "--json", "ways.json")[1])["findings"][0]["calls"]


tap.equal(times(1, 1), 10, "a line is come by as often as it calls its function")
tap.equal(times(1, 3), 10, "one that calls three functions each time, no more often")
tap.equal(times(3, 2), 30, "one that is reached by three ways, by all of them")
tap.equal(times(2, 40), 20, "of any number of functions")

data = kernels(["with_a_name"], 0)
data["kernels"]["name"][0] = 0
tap.ok(" (no name)\n" in launch(data)[1], "a kernel for whose name there was no room")
tap.done()
