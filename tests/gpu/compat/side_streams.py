"""Work on several streams, tensors that cross them with record_stream, events between them."""

import common

torch = common.need_torch()
streams = [torch.cuda.Stream(priority=-(number % 2)) for number in range(3)]
x = torch.randn(512, 512, device="cuda")
kept = []
for number in range(60):
    stream = streams[number % 3]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = torch.tanh(x @ x.t() / 512)
        z = y[: 100 + number] + number
        event = stream.record_event()
    torch.cuda.current_stream().wait_event(event)
    for tensor in (y, z):
        tensor.record_stream(torch.cuda.current_stream())
    x = x * 0.9 + y * 0.1
    kept.append(z.sum())
    del y, z
torch.cuda.synchronize()
common.done(kept, x)
