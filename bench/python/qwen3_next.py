"""A layer of Qwen3-Next as `transformers` has it, with random weights, before and after its two calls come from recur.fla: what it
gives for a prompt and for tokens after it, and how long both take on the processor. Needs torch and transformers. Where others use the
machine too, what one thread takes of a processor says more than a clock:

    RECUR_THREADS=1 OMP_NUM_THREADS=1 python bench/python/qwen3_next.py --processor-time
"""

import statistics
import sys
import time

import torch
from transformers import DynamicCache
from transformers.models.qwen3_next import modeling_qwen3_next as library
from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig

from recur import fla

TOKENS, DECODED, ROUNDS = 4096, 64, 5
read_clock = time.process_time if "--processor-time" in sys.argv else time.perf_counter


def make_layer():
    """One layer of heads of the model's size, of which there are fewer, and half as narrow."""
    config = Qwen3NextConfig(
        hidden_size=512, num_hidden_layers=1, layer_types=["linear_attention"], linear_num_key_heads=4, linear_num_value_heads=8,
        linear_key_head_dim=128, linear_value_head_dim=128, linear_conv_kernel_dim=4, hidden_act="silu",
    )  # fmt: skip
    torch.manual_seed(0)
    return config, library.Qwen3NextGatedDeltaNet(config, 0).eval()


BEFORE = {name: getattr(library, name) for name in ("torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule")}
AFTER = {
    "torch_chunk_gated_delta_rule": fla.chunk_gated_delta_rule,
    "torch_recurrent_gated_delta_rule": fla.fused_recurrent_gated_delta_rule,
}


def run(config, layer, calls, prompt, rest):
    """Outputs; seconds of the prompt and of a token after it, of which `inside` were in the calls."""
    inside = 0.0

    def timed(call):
        def wrapped(*given, **options):
            nonlocal inside
            started = read_clock()
            result = call(*given, **options)
            inside += read_clock() - started
            return result

        return wrapped

    for name, call in calls.items():
        setattr(library, name, timed(call))
    cache, outputs, times = DynamicCache(config=config), [], []
    with torch.no_grad():
        for hidden in (prompt, *rest.split(1, 1)):
            inside, started = 0.0, read_clock()
            outputs.append(layer(hidden, cache_params=cache))
            times.append((read_clock() - started, inside))
    prefill, *decode = times
    return torch.cat(outputs, 1), prefill, [statistics.median(column) for column in zip(*decode)]


def main():
    config, layer = make_layer()
    prompt, rest = torch.randn(1, TOKENS, 512), torch.randn(1, DECODED, 512)
    run(config, layer, AFTER, prompt[:, :70], rest[:, :2])  # compiles
    rounds = {"before": [], "after": []}
    for _ in range(ROUNDS):
        outputs = []
        for name, calls in (("before", BEFORE), ("after", AFTER)):
            output, prefill, decode = run(config, layer, calls, prompt, rest)
            outputs.append(output)
            rounds[name].append((*prefill, *decode))
    difference = (outputs[1] - outputs[0]).square().mean().sqrt() / outputs[0].square().mean().sqrt()
    before, after = ([statistics.median(column) for column in zip(*rounds[name])] for name in ("before", "after"))
    print(f"relative difference of outputs {difference:.1e}, {TOKENS} tokens, then {DECODED}; {torch.get_num_threads()} threads")
    print(f"{'':28}{'before':>12}{'after':>12}{'ratio':>8}")
    for row, what in enumerate(("prompt, layer", "prompt, the call alone", "token, layer", "token, the call alone")):
        print(f"{what:28}{1e3 * before[row]:9.2f} ms{1e3 * after[row]:9.2f} ms{before[row] / after[row]:8.1f}")


if __name__ == "__main__":
    main()
