"""Layers of Qwen3-Next and Kimi Linear as `transformers` has them, with random weights: as they are, with their two calls from
recur.fla, and fused by recur.transformers; what they give for a prompt and for tokens after it, and how long both take on the
processor. Needs torch and transformers. Where others use the machine too, what one thread takes of a processor says more than a clock:

    RECUR_THREADS=1 OMP_NUM_THREADS=1 python bench/python/transformers_layers.py --processor-time

The projections are PyTorch's matrix products in every way, so that no layer can be faster than they are: that is the limit in the
table.
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
parser.add_argument("--rounds", type=int, default=5, help="of the three ways by turns, of whose times the median is taken")
parser.add_argument("--layers", default="qwen3_next,kimi_linear", help="which of these two")
parser.add_argument("--threads", type=int, help="of PyTorch, which kernels run on too")
chosen = parser.parse_args()
TOKENS, DECODED, ROUNDS, HIDDEN = chosen.tokens, 64, chosen.rounds, chosen.hidden
if chosen.threads:
    torch.set_num_threads(chosen.threads)  # which kernels run on too
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


def find_projections(library, layer):
    """Pairs of a projection and how many channels it reads, in the order of a call."""
    if library is qwen:
        linears = [layer.in_proj_qkvz, layer.in_proj_ba, layer.out_proj]
    else:
        gate = layer.forget_gate
        linears = [layer.q_proj, layer.k_proj, layer.v_proj, gate.f_a_proj, gate.f_b_proj, layer.g_a_proj, layer.g_b_proj, layer.b_proj, layer.o_proj]
    return [(linear, torch.randn(chosen.sequences, TOKENS, linear.in_features)) for linear in linears]


def run(call, prompt, rest):
    """Outputs; seconds of the prompt and of a token after it."""
    outputs, times = [], []
    with torch.no_grad():
        for hidden in (prompt, *rest.split(1, 1)):
            started = read_clock()
            outputs.append(call(hidden))
            times.append(read_clock() - started)
    return outputs, times[0], statistics.median(times[1:])


def measure(name, library, make):
    torch.manual_seed(0)
    config, layer = make()
    layer.eval()
    own = {call: getattr(library, call) for call in CALLS[library]}
    projections = find_projections(library, layer)
    prompt, rest = torch.randn(chosen.sequences, TOKENS, HIDDEN), torch.randn(chosen.sequences, DECODED, HIDDEN)

    def project(hidden):
        return [linear(x[:, : hidden.shape[1]]) for linear, x in projections]

    def choose(way):
        recur.transformers.unfuse(layer)
        for call, function in (CALLS[library] if way == "calls" else own).items():
            setattr(library, call, function)
        if way == "fused":
            recur.transformers.fuse(layer)

    def run_layer(prompt, rest):
        cache = DynamicCache(config=config)
        return run(lambda hidden: layer(hidden, cache), prompt, rest)

    ways = ("as it is", "calls", "fused")
    for way in ways[1:]:
        choose(way)
        run_layer(prompt[:, :70], rest[:, :2])  # compiles
    rounds, outputs = {way: [] for way in (*ways, "projections")}, {}
    for _ in range(ROUNDS):
        for way in ways:
            choose(way)
            outputs[way], *times = run_layer(prompt, rest)
            rounds[way].append(times)
        rounds["projections"].append(run(project, prompt, rest)[1:])
    whole = {way: torch.cat(parts, 1) for way, parts in outputs.items()}
    for way in ways[1:]:
        difference = (whole[way] - whole["as it is"]).square().mean().sqrt() / whole["as it is"].square().mean().sqrt()
        print(f"{name}, {way}: relative difference of outputs {difference:.1e}")
    medians = {way: [statistics.median(column) for column in zip(*times)] for way, times in rounds.items()}
    print(f"{name + ', ms':28}{'as it is':>12}{'calls':>12}{'ratio':>8}{'fused':>12}{'ratio':>8}{'projections':>13}{'limit':>8}")
    for row, what in enumerate(("prompt", "token")):
        before, calls, fused, least = (medians[way][row] for way in (*ways, "projections"))
        print(f"{what:28}{1e3 * before:12.2f}{1e3 * calls:12.2f}{before / calls:8.1f}{1e3 * fused:12.2f}{before / fused:8.1f}{1e3 * least:13.2f}{before / least:8.1f}")


def main():
    print(f"{chosen.sequences} x {TOKENS} tokens, then {DECODED}, {HIDDEN} channels; {torch.get_num_threads()} threads")
    if "qwen3_next" in chosen.layers:
        measure("Qwen3-Next's layer", qwen, make_qwen)
    if "kimi_linear" in chosen.layers:
        measure("Kimi Linear's layer", kimi, make_kimi)


if __name__ == "__main__":
    main()
