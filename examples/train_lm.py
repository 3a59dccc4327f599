"""Trains a small language model, of which each of four layers has a recurrence for its memory: one of the library, or one of a
.recur file of yours. It reads bytes of a text that Debian ships, the licenses, and learns to say the next one. The compiler derives the
gradients; on a GPU the data of the memories are bfloat16 beside float32 gates. The same seed gives the same curve, to the last bit.

    python examples/train_lm.py [loss.svg] [--recurrence kda] [--text FILE or FOLDER] [--compare]

On a GPU the model has 13 million parameters; on a processor it is small, and trains for a minute. A longer text bears more --steps. --compare trains nothing: it
holds the gradients of the small model against those that PyTorch finds by itself, going through the tokens one by one.

How a memory uses its inputs follows from their names, as in the library: q and k are vectors of length one; what begins with g or h is the
logarithm of a decay, at most zero; what begins with beta is between zero and one; the rest is as the projection gives it. It needs PyTorch.
"""

import argparse
import importlib.util
import math
import os
import pathlib
import sys
import time
from dataclasses import dataclass

for needed, what in (("torch", "PyTorch, which trains the model: pip install torch"), ("recur", "recur: docs/python.md says how to install it")):
    if importlib.util.find_spec(needed) is None:
        sys.exit(f"train_lm.py needs {what}")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without which products on a GPU have other bits each time

import torch
from torch import nn
from torch.nn import functional as F

import recur
import recur.torch

LAYERS, BYTES, RATE, EVERY = 4, 256, 2e-3, 25


@dataclass(frozen=True)
class Size:
    """Of a model, and of what it is trained on."""

    width: int
    heads: int
    side: int  # of keys, values and whatever else has a size of its own
    batch: int
    tokens: int
    steps: int


LARGE = Size(width=512, heads=4, side=128, batch=32, tokens=1024, steps=300)
SMALL = Size(width=64, heads=2, side=16, batch=8, tokens=128, steps=200)


def read_text(path):
    """The bytes of a file, or of all files of a folder, one behind another; a link to a file of the folder counts once."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else sorted({file.resolve() for file in path.rglob("*") if file.is_file()})
    return torch.frombuffer(bytearray(b"".join(file.read_bytes() for file in files)), dtype=torch.uint8)


class Memory(nn.Module):
    """A recurrence between two projections. `compute` takes its inputs and params by name; without it the recurrence itself does."""

    def __init__(self, recurrence, size, compute=None):
        super().__init__()
        declaration = recurrence.declaration
        dims = {name: default or size.side for name, default in declaration.dims.items()}
        if any(value.integer for value in declaration.inputs) or recurrence.layout is not None:
            raise SystemExit(f"{recurrence.name} has inputs that are integers or complex, which no projection gives")
        shape = lambda value: [dims[side] if isinstance(side, str) else side for side in value.shape or ()]
        self.inputs = {value.name: (size.heads, *shape(value)) for value in declaration.inputs}
        self.compute = compute
        self.recurrence = recur.torch.Module(recurrence, size.heads, dims)
        for param in self.recurrence.parameters():
            nn.init.normal_(param)
        count = lambda is_scalar: sum(math.prod(shape) for shape in self.inputs.values() if (len(shape) == 1) == is_scalar)
        self.vectors = nn.Linear(size.width, count(False), bias=False) if count(False) else None
        self.scalars = nn.Linear(size.width, count(True)) if count(True) else None
        self.out = nn.Linear(size.heads * math.prod(shape(declaration.outputs[0])), size.width, bias=False)

    def project(self, linear, x, is_scalar):
        """The inputs that are scalars, or those that are not, of the projection of all of them."""
        own = {name: shape for name, shape in self.inputs.items() if (len(shape) == 1) == is_scalar}
        if not own:
            return {}
        parts = linear(x).split([math.prod(shape) for shape in own.values()], -1)
        return {name: part.unflatten(-1, own[name]) for name, part in zip(own, parts)}

    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            parts = self.project(self.scalars, x.float(), True)
        parts |= self.project(self.vectors, x, False)
        given = {name: activate(name, parts[name]) for name in self.inputs}
        o = self.compute(**given, **dict(self.recurrence.named_parameters())) if self.compute else self.recurrence(**given)
        o = o[0] if isinstance(o, tuple) else o
        return self.out(F.rms_norm(o, o.shape[3:]).flatten(2).to(x.dtype))


def activate(name, x):
    """What an input of this name is made of a projection."""
    if name in ("q", "k"):
        return F.normalize(x.float(), dim=-1).to(x.dtype)
    if name[0] in "gh":  # which starts near no decay
        return -F.softplus(x.float() - 3)
    return torch.sigmoid(x) if name.startswith("beta") else x


class Model(nn.Module):
    def __init__(self, recurrence, size, compute=None):
        super().__init__()
        width = size.width
        self.embedding = nn.Embedding(BYTES, width)
        self.memories = nn.ModuleList(Memory(recurrence, size, compute) for _ in range(LAYERS))
        self.mixers = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(LAYERS))
        self.says = nn.Linear(width, BYTES)

    def forward(self, text):
        """The mean loss of each byte but the first, of those before it."""
        x = self.embedding(text[:, :-1])
        # A memory sees the byte before as well, without which no key could be that of what came before.
        for memory, mixer in zip(self.memories, self.mixers):
            x = x + memory(norm(x + F.pad(x, (0, 0, 1, 0))[:, :-1]))
            x = x + mixer(norm(x))
        return F.cross_entropy(self.says(norm(x)).float().flatten(0, 1), text[:, 1:].flatten())


def norm(x):
    return F.rms_norm(x, x.shape[-1:])


def draw(text, size, generator):
    """Places of the text at random [batch, tokens + 1]."""
    begins = torch.randint(len(text) - size.tokens - 1, (size.batch, 1), generator=generator).to(text.device)
    return text[begins + torch.arange(size.tokens + 1, device=text.device)].long()


def train(recurrence, text, size, seed=0, tell=lambda *row: None):
    """(step, loss, loss on text that it is not trained on) along the way, which `tell` is told with the tokens a second."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.device(text.device):
        model = Model(recurrence, size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=size.steps + 1, pct_start=0.1)
    known, held = text[: len(text) * 9 // 10], text[len(text) * 9 // 10 :]
    asked = draw(held, size, generator)
    is_mixed = text.device.type == "cuda"
    curve, lately, start = [], [], time.perf_counter()
    for step in range(1, size.steps + 1):
        with torch.autocast(text.device.type, torch.bfloat16, enabled=is_mixed):
            loss = model(draw(known, size, generator))
        with torch.autograd.set_multithreading_enabled(False):  # PyTorch's thread for a GPU's gradients costs more than it saves
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        optimizer.zero_grad()
        lately.append(loss.detach())
        if step % EVERY == 0 or step == size.steps:
            with torch.no_grad(), torch.autocast(text.device.type, torch.bfloat16, enabled=is_mixed):
                curve.append((step, float(torch.stack(lately).mean()), float(model(asked))))
            rows = len(lately) * size.batch * size.tokens
            tell(*curve[-1], rows / (time.perf_counter() - start))
            lately, start = [], time.perf_counter()
    return curve


def delta(q, k, v, g, beta):
    """gated_delta_net and kda once more, by PyTorch alone: a loop over tokens. A decay is of the whole state, or of each channel of keys."""
    state = v.new_zeros(v.shape[0], v.shape[2], v.shape[3], k.shape[3])
    outputs = []
    for q, k, v, g, beta in zip(*(x.unbind(1) for x in (q, k, v, g, beta))):
        state = state * torch.exp(g)[..., None, None] if g.ndim == 2 else state * torch.exp(g)[..., None, :]
        wrong = v - (state @ k[..., None])[..., 0]
        state = state + beta[..., None, None] * wrong[..., None] * k[..., None, :]
        outputs.append((state @ q[..., None])[..., 0] / q.shape[-1] ** 0.5)
    return torch.stack(outputs, 1)


def walk(recurrence):
    """Any recurrence token by token: a call for each, between which autograd takes the states' gradients from one to the other."""
    inputs = [value.name for value in recurrence.declaration.inputs]

    def compute(**given):
        states, outputs = None, []
        for token in range(given[inputs[0]].shape[1]):
            now = {name: array[:, token : token + 1] if name in inputs else array for name, array in given.items()}
            *output, states = recurrence(**now, initial=states, final=True)
            outputs.append(output[0])
        return torch.cat(outputs, 1)

    return compute


def compare(recurrence, text, size, loop, seed=0):
    """The largest difference of any gradient of the model, over that gradient's largest number."""
    found = []
    for compute in (None, loop):
        torch.manual_seed(seed)
        with torch.device(text.device):
            model = Model(recurrence, size, compute)
        model(draw(text, size, torch.Generator().manual_seed(seed))).backward()
        found.append({name: param.grad for name, param in model.named_parameters()})
    return max(float((found[1][name] - one).abs().max() / one.abs().max().clamp(min=1e-30)) for name, one in found[0].items())


def plot(curves):
    """An SVG of curves by name, of pairs of steps and losses."""
    last = max(step for curve in curves.values() for step, _ in curve)
    most = math.ceil(max(loss for curve in curves.values() for _, loss in curve))
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="640" height="300" font-family="sans-serif" font-size="12">']
    lines.append('<rect width="640" height="300" fill="white"/><path d="M50,20V260H470" fill="none" stroke="black"/>')
    for loss in range(most + 1):
        lines.append(f'<text x="44" y="{264 - 240 * loss / most:.0f}" text-anchor="end">{loss}</text>')
    lines.append(f'<text x="470" y="276" text-anchor="end">{last} steps</text><text x="50" y="12">loss of a byte</text>')
    for row, (color, (name, curve)) in enumerate(zip(("#3366cc", "#dd8800"), curves.items())):
        points = " ".join(f"{50 + 420 * step / last:.1f},{260 - 240 * loss / most:.1f}" for step, loss in curve)
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines.append(f'<text x="490" y="{40 + 20 * row}" fill="{color}">{name} {curve[-1][1]:.2f}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", help="a file for the curve, such as loss.svg")
    parser.add_argument("--recurrence", default="gated_delta_net", help="a name of the library, or a .recur file")
    parser.add_argument("--text", default="/usr/share/common-licenses", help="a file, or a folder of files")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", action="store_true", help="compare gradients with those of a loop over tokens")
    options = parser.parse_args()
    is_file = options.recurrence.endswith(".recur")
    recurrence = recur.load(options.recurrence) if is_file else getattr(recur.library, options.recurrence)
    size = LARGE if options.device.startswith("cuda") and not options.compare else SMALL
    size = Size(**{**vars(size), "steps": options.steps or size.steps})
    text = read_text(options.text)
    if len(text) < 20 * size.tokens:
        parser.error(f"{options.text} has {len(text)} bytes; there should be {20 * size.tokens} at least")
    text = text.to(options.device)
    torch.use_deterministic_algorithms(True)
    if options.compare:
        has_loop = not is_file and options.recurrence in ("gated_delta_net", "kda")
        difference = compare(recurrence, text, size, delta if has_loop else walk(recurrence), options.seed)
        print(f"{recurrence.name}: gradients differ by at most {difference:.1e} from those of {'a loop of PyTorch' if has_loop else 'calls of one token'}")
        return 0 if difference < 1e-3 else 1
    print(f"{recurrence.name} on {options.device}, {len(text)} bytes of {options.text}, {size.batch} x {size.tokens} a step", flush=True)

    def tell(step, loss, held, speed):
        print(f"step {step:5} of {size.steps}: loss {loss:.4f}, held out {held:.4f}, {speed:9.0f} tokens a second", flush=True)

    start = time.perf_counter()
    curve = train(recurrence, text, size, options.seed, tell)
    print(f"{size.steps * size.batch * size.tokens / 1e6:.1f} million bytes in {time.perf_counter() - start:.0f} s")
    if options.picture:
        with open(options.picture, "w", encoding="utf-8") as file:
            file.write(plot({"trained": [row[:2] for row in curve], "held out": [row[::2] for row in curve]}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
