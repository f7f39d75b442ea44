"""The mean of two sets of weights.

    python scripts/judge/mean.py A.pt B.pt OUT.pt
"""

import sys

import torch


def main():
    first, second, out = sys.argv[1:]
    first, second = torch.load(first), torch.load(second)
    torch.save({name: (first[name] + second[name]) / 2 for name in first}, out)


if __name__ == "__main__":
    main()
