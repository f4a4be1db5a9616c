"""Trains a small network on the GPU from data in host memory; prints losses by epoch and a sum over the weights.

run.py compares it with and without Terrace.

python3 train.py ROWS EPOCHS
"""

import sys

import torch

rows, epochs = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
data = torch.rand(rows, 1024)
wanted = data[:, :16].sin() + data[:, 16:32]
model = torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()
steps = torch.optim.Adam(model.parameters(), 1e-3)
pairs = torch.utils.data.TensorDataset(data, wanted)
loader = torch.utils.data.DataLoader(pairs, batch_size=4096, pin_memory=True)
for epoch in range(epochs):
    lost = 0.0
    with torch.cuda.nvtx.range("epoch"):
        for given, answer in loader:
            with torch.cuda.nvtx.range("step"):
                steps.zero_grad()
                found = model(given.cuda(non_blocking=True))
                loss = ((found - answer.cuda(non_blocking=True)) ** 2).mean()
                loss.backward()
                steps.step()
                lost += loss.item()
    print(epoch, f"{lost:.6f}")
print("weights", f"{sum(float(p.detach().double().abs().sum()) for p in model.parameters()):.6f}")
