"""A matrix product in FP8 through cuBLASLt, against the same one in fp32."""

import common

torch = common.need_torch()
if torch.cuda.get_device_capability() < (8, 9):
    common.absent("fp8")
a = torch.randn(256, 512, device="cuda").to(torch.float8_e4m3fn)
b = torch.randn(384, 512, device="cuda").to(torch.float8_e4m3fn)
scale_a, scale_b = torch.tensor(0.5, device="cuda"), torch.tensor(2.0, device="cuda")
results = []
for _ in range(20):
    results.append(torch._scaled_mm(a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16))
right = (a.float() * 0.5) @ (b.float() * 2.0).t()
torch.testing.assert_close(results[-1].float(), right, rtol=2e-2, atol=0.5)
common.done(results)
