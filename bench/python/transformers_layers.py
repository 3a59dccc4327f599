"""Layers of Qwen3-Next and Kimi Linear as `transformers` has them, with random weights: as they are, with their two calls from
recur.fla, and fused by recur.transformers; what they give for a prompt and for tokens after it, and how long both take on the
processor. Needs torch and transformers. Where others use the machine too, what one thread takes of a processor says more than a clock:

    RECUR_THREADS=1 OMP_NUM_THREADS=1 python bench/python/transformers_layers.py --processor-time

The projections are the library's own in every way, so that no layer can be faster than they are: that is the limit in the table.
"""

import argparse
import statistics
import time

import torch
from transformers import DynamicCache
from transformers.models.kimi_linear import modeling_kimi_linear as kimi
from transformers.models.kimi_linear.configuration_kimi_linear import KimiLinearConfig
from transformers.models.qwen3_next import modeling_qwen3_next as qwen
from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig

import recur.transformers
from recur import fla

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--processor-time", action="store_true")
parser.add_argument("--hidden", type=int, default=512, help="the model's own has half as many channels as its values, as 512 are here")
parser.add_argument("--sequences", type=int, default=1, help="at the same time")
parser.add_argument("--tokens", type=int, default=4096, help="of the prompt")
chosen = parser.parse_args()
TOKENS, DECODED, ROUNDS, HIDDEN = chosen.tokens, 64, 5, chosen.hidden
read_clock = time.process_time if chosen.processor_time else time.perf_counter


def make_qwen():
    """One layer of heads of the model's size, of which there are fewer, and narrower."""
    config = Qwen3NextConfig(
        hidden_size=HIDDEN, num_hidden_layers=1, layer_types=["linear_attention"], linear_num_key_heads=4, linear_num_value_heads=8,
        linear_key_head_dim=128, linear_value_head_dim=128, linear_conv_kernel_dim=4, hidden_act="silu",
    )  # fmt: skip
    return config, qwen.Qwen3NextGatedDeltaNet(config, 0)


def make_kimi():
    config = KimiLinearConfig(
        hidden_size=HIDDEN, num_hidden_layers=1, layer_types=["linear_attention"], linear_num_heads=8, linear_head_dim=128,
        linear_conv_kernel_dim=4, hidden_act="silu", num_attention_heads=8, num_key_value_heads=8,
    )  # fmt: skip
    layer = kimi.KimiLinearDeltaAttention(config, 0)
    torch.nn.init.uniform_(layer.forget_gate.A_log, 0, 1)
    torch.nn.init.uniform_(layer.forget_gate.dt_bias, -1, 1)
    return config, layer


CALLS = {
    qwen: {"torch_chunk_gated_delta_rule": fla.chunk_gated_delta_rule, "torch_recurrent_gated_delta_rule": fla.fused_recurrent_gated_delta_rule},
    kimi: {"chunk_kimi_delta_attention": fla.chunk_kda, "recurrent_kimi_delta_attention": fla.fused_recurrent_kda},
}  # fmt: skip


class Timed:
    """How long the layer is in its projections, which nobody here makes faster."""

    def __init__(self, layer):
        self.inside = 0.0
        for name, module in layer.named_modules():
            if isinstance(module, torch.nn.Linear):
                module.forward = self.wrap(module.forward)

    def wrap(self, call):
        def wrapped(*given):
            started = read_clock()
            result = call(*given)
            self.inside += read_clock() - started
            return result

        return wrapped


def run(config, layer, timed, prompt, rest):
    """Outputs; seconds of the prompt and of a token after it, and without the projections."""
    cache, outputs, times = DynamicCache(config=config), [], []
    with torch.no_grad():
        for hidden in (prompt, *rest.split(1, 1)):
            timed.inside, started = 0.0, read_clock()
            outputs.append(layer(hidden, cache_params=cache))
            whole = read_clock() - started
            times.append((whole, whole - timed.inside))
    prefill, *decode = times
    return torch.cat(outputs, 1), prefill, [statistics.median(column) for column in zip(*decode)]


def measure(name, library, make):
    torch.manual_seed(0)
    config, layer = make()
    layer.eval()
    timed = Timed(layer)
    own = {call: getattr(library, call) for call in CALLS[library]}
    prompt, rest = torch.randn(chosen.sequences, TOKENS, HIDDEN), torch.randn(chosen.sequences, DECODED, HIDDEN)

    def choose(way):
        recur.transformers.unfuse(layer)
        for call, function in (CALLS[library] if way == "calls" else own).items():
            setattr(library, call, function)
        if way == "fused":
            recur.transformers.fuse(layer)

    ways = ("as it is", "calls", "fused")
    for way in ways[1:]:
        choose(way)
        run(config, layer, timed, prompt[:, :70], rest[:, :2])  # compiles
    rounds, outputs = {way: [] for way in ways}, {}
    for _ in range(ROUNDS):
        for way in ways:
            choose(way)
            outputs[way], prefill, decode = run(config, layer, timed, prompt, rest)
            rounds[way].append((*prefill, *decode))
    for way in ways[1:]:
        difference = (outputs[way] - outputs["as it is"]).square().mean().sqrt() / outputs["as it is"].square().mean().sqrt()
        print(f"{name}, {way}: relative difference of outputs {difference:.1e}")
    medians = {way: [statistics.median(column) for column in zip(*rounds[way])] for way in ways}
    print(f"{name + ', ms':40}{'as it is':>12}{'calls':>12}{'ratio':>8}{'fused':>12}{'ratio':>8}{'limit':>8}")
    for row, what in enumerate(("prompt", "prompt, but for projections", "token", "token, but for projections")):
        before, calls, fused = (medians[way][row] for way in ways)
        limit = "" if row % 2 else f"{before / (fused - medians['fused'][row + 1]):8.1f}"
        print(f"{what:40}{1e3 * before:12.2f}{1e3 * calls:12.2f}{before / calls:8.1f}{1e3 * fused:12.2f}{before / fused:8.1f}{limit}")


def main():
    print(f"{chosen.sequences} x {TOKENS} tokens, then {DECODED}, {HIDDEN} channels; {torch.get_num_threads()} threads")
    measure("Qwen3-Next's layer", qwen, make_qwen)
    measure("Kimi Linear's layer", kimi, make_kimi)


if __name__ == "__main__":
    main()
