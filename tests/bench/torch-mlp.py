"""The peer of bench-mlp: the same net in PyTorch. For each number of steps that it reads, it takes them and prints the
seconds per step. First it prints the BLAS that it has loaded."""

import sys
import time

import torch

WARM_UP = 5


def build():
    """The net, and its optimizer."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
                              torch.nn.Linear(512, 10))
    return net, torch.optim.AdamW(net.parameters(), 1e-3)


def blas():
    with open("/proc/self/maps", encoding="utf-8") as file:
        text = file.read()
    return next((name for name in ("openblas", "mkl", "blis", "atlas") if name in text), "reference")


def main():
    batch_size = int(sys.argv[1])
    torch.set_num_threads(int(sys.argv[2]))
    net, optimizer = build()
    images = torch.rand(batch_size, 784) * 2 - 1
    labels = torch.arange(batch_size) * 7 % 10

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()

    print(blas(), flush=True)
    for line in sys.stdin:
        for _ in range(WARM_UP):
            step()
        started = time.perf_counter()
        for _ in range(int(line)):
            step()
        print(f"{(time.perf_counter() - started) / int(line):.9f}", flush=True)


main()
