"""Every name of recur.fla, called as models call it, beside the library's own kernel:

    python bench/python/fla.py                       # the names that layers use most, on a GPU where there is one
    python bench/python/fla.py --all --shapes A,B,C  # all
    python bench/python/fla.py --device cpu          # on the processor, in a small size

Models have 16-bit data and float32 gates; they have keys brought to length one by the kernel, gates found in it, packed sequences and
final states. The library's kernel (recur.library) is called with all arrays of 16 bits, and without any of this. A time is the median of
replays of a CUDA graph, each behind a write of 256 MiB, so that nothing lies in the GPU's cache. The host's time is the median of calls
without a graph. Kernels are compiled at the start, several at a time. Needs PyTorch.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from replays import time_replays

import recur
from recur import fla

#: Sequences, tokens, heads of queries and keys, heads of values; channels of keys and values.
SHAPES = {
    "A": (2, 4096, 16, 16, 128, 128),
    "B": (1, 8192, 8, 8, 128, 128),
    "C": (1, 8192, 16, 32, 128, 128),
    "small": (1, 100, 2, 4, 16, 16),
}
REPLAYS, CALLS = 30, 300
SLOTS = 64  # of gated slot attention
BF16 = torch.bfloat16


class Data:
    """Arrays of one shape: unit keys, gates that decay slowly, as those of trained layers do."""

    def __init__(self, shape: tuple[int, ...], device: str) -> None:
        B, T, Hq, H, K, V = shape
        random = torch.Generator(device=device).manual_seed(0)

        def normal(*sides: int) -> torch.Tensor:
            return torch.randn(*sides, device=device, generator=random)

        def unit(*sides: int) -> torch.Tensor:
            return torch.nn.functional.normalize(normal(*sides), dim=-1).to(BF16)

        self.q, self.k, self.v = unit(B, T, Hq, K), unit(B, T, Hq, K), normal(B, T, H, V).to(BF16)
        self.wide_q, self.wide_k = (array.repeat_interleave(H // Hq, 2) for array in (self.q, self.k))
        self.g = torch.nn.functional.logsigmoid(normal(B, T, H) + 3)
        self.gk = torch.nn.functional.logsigmoid(normal(B, T, H, K) + 3)
        self.beta = torch.sigmoid(normal(B, T, H))
        self.raw_g, self.raw_gk, self.raw_beta = normal(B, T, H).to(BF16), normal(B, T, H, K).to(BF16), normal(B, T, H).to(BF16)
        self.A_log, self.dt_bias = -3 + 0.1 * normal(H), 0.1 * normal(H)
        self.dt_bias_k, self.D = 0.1 * normal(H * K), normal(H)
        self.lamb = torch.nn.functional.softplus(normal(H, K)) + 0.25
        self.erase, self.write = torch.sigmoid(self.raw_gk), torch.sigmoid(self.v)
        self.shared_g, self.shared_beta = self.g[:, :, :Hq].contiguous(), self.beta[:, :, :Hq].contiguous()
        self.log_mu = self.g - 1
        self.erased, self.written = (-self.wide_k).contiguous(), (self.wide_k * self.beta[..., None]).to(BF16)
        self.k2, self.beta2 = unit(B, 2 * T, H, K), torch.sigmoid(normal(B, 2 * T, H))
        self.v2 = normal(B, 2 * T, H, V).to(BF16)
        self.all_narrow = narrow(q=self.q, k=self.k, v=self.v, g=self.g, beta=self.beta)
        names = ("q", "k", "v", "g", "gk", "beta")
        self.first = {name: getattr(self, name)[:, :1].contiguous() for name in names}
        self.state = torch.zeros(B, H, K, V, device=device)
        # The tokens of all sequences, packed as four of other lengths, whose offsets are where the arrays are.
        self.packed = {name: getattr(self, name).flatten(0, 1)[None] for name in names}
        tokens = B * T
        self.cu_seqlens = torch.tensor([0, tokens // 7, tokens // 2, tokens - 3, tokens], dtype=torch.int32, device=device)
        self.slots = normal(B, T, H, SLOTS)
        self.slot_gates, self.slot_writes = torch.nn.functional.logsigmoid(self.slots), torch.sigmoid(-self.slots).to(BF16)

    def by_token(self, array: torch.Tensor) -> torch.Tensor:
        """Two steps a token, as the library's recurrence has them."""
        B, T, H = array.shape[:3]
        return array.to(BF16).reshape(B, T // 2, 2, H, *array.shape[3:]).transpose(2, 3).contiguous()


@dataclasses.dataclass(frozen=True)
class Case:
    """A call as models make it, and what of the library it is held against."""

    name: str
    way: str
    call: Callable[[Data], Any]
    library: str
    given: Callable[[Data], dict[str, torch.Tensor]]
    is_usual: bool = False


def narrow(**arrays: torch.Tensor) -> dict[str, torch.Tensor]:
    """All of 16 bits."""
    return {name: array.to(BF16) for name, array in arrays.items()}


def gdn(x: Data) -> dict[str, torch.Tensor]:
    return narrow(q=x.q, k=x.k, v=x.v, g=x.g, beta=x.beta)


def kda(x: Data) -> dict[str, torch.Tensor]:
    return narrow(q=x.wide_q, k=x.wide_k, v=x.v, g=x.gk, beta=x.beta)


def gla(x: Data) -> dict[str, torch.Tensor]:
    return narrow(q=x.wide_q, k=x.wide_k, v=x.v, g=x.gk)


def mamba(x: Data) -> dict[str, torch.Tensor]:
    return narrow(q=x.q, k=x.k, v=x.v, g=x.g)


def token(call: Callable[..., Any]) -> Callable[[Data], Any]:
    """A call of one token, with a state before it and one after it."""
    return lambda x: call(**x.first, initial_state=x.state, output_final_state=True)


def first(given: Callable[[Data], dict[str, torch.Tensor]]) -> Callable[[Data], dict[str, torch.Tensor]]:
    """The library's kernel of one token."""
    return lambda x: {name: array[:, :1].contiguous() for name, array in given(x).items()}


DELTA, KDA, MAMBA = fla.chunk_gated_delta_rule, fla.chunk_kda, fla.mamba_chunk_scan_combined
CASES = [
    Case("chunk_gated_delta_rule", "all bf16", lambda x: DELTA(**x.all_narrow), "gated_delta_net", gdn, True),
    Case("chunk_gated_delta_rule", "float32 gates", lambda x: DELTA(x.q, x.k, x.v, x.g, x.beta), "gated_delta_net", gdn, True),
    Case(
        "chunk_gated_delta_rule", "norms, state",
        lambda x: DELTA(x.q, x.k, x.v, x.g, x.beta, use_qk_l2norm_in_kernel=True, output_final_state=True), "gated_delta_net", gdn, True,
    ),
    Case(
        "chunk_gated_delta_rule", "norms, packed",
        lambda x: DELTA(*(x.packed[n] for n in ("q", "k", "v", "g", "beta")), use_qk_l2norm_in_kernel=True, cu_seqlens=x.cu_seqlens),
        "gated_delta_net", gdn, True,
    ),
    Case(
        "fused_recurrent_gated_delta_rule", "a token",
        token(lambda gk, **given: fla.fused_recurrent_gated_delta_rule(**given, use_qk_l2norm_in_kernel=True)),
        "gated_delta_net", first(gdn),
    ),
    Case("chunk_kda", "float32 gates", lambda x: KDA(x.q, x.k, x.v, x.gk, x.beta), "kda", kda, True),
    Case(
        "chunk_kda", "gates and norms inside",
        lambda x: KDA(
            x.q, x.k, x.v, x.raw_gk, x.raw_beta, A_log=x.A_log, dt_bias=x.dt_bias_k, use_qk_l2norm_in_kernel=True,
            use_gate_in_kernel=True, use_beta_sigmoid_in_kernel=True, output_final_state=True),
        "kda", kda, True,
    ),
    Case(
        "chunk_kda", "bounded gates, packed",
        lambda x: KDA(
            *(x.packed[n] for n in ("q", "k", "v", "gk", "beta")), A_log=x.A_log, dt_bias=x.dt_bias_k, use_qk_l2norm_in_kernel=True,
            use_gate_in_kernel=True, safe_gate=True, lower_bound=-5.0, cu_seqlens=x.cu_seqlens),
        "kda", kda,
    ),
    Case(
        "fused_recurrent_kda", "a token",
        token(lambda g, gk, **given: fla.fused_recurrent_kda(g=gk, **given)),
        "kda", first(kda),
    ),
    Case("chunk_gla", "float32 gates", lambda x: fla.chunk_gla(x.q, x.k, x.v, x.gk), "gla", gla, True),
    Case(
        "fused_recurrent_gla", "a token",
        token(lambda g, beta, **given: fla.fused_recurrent_gla(**given)),
        "gla", first(gla),
    ),
    Case("chunk_simple_gla", "float32 gates", lambda x: fla.chunk_simple_gla(x.q, x.k, x.v, x.g), "mamba2", mamba, True),
    Case("chunk_simple_gla", "a decay per head", lambda x: fla.chunk_simple_gla(x.q, x.k, x.v, g_gamma=-x.A_log.exp()), "mamba2", mamba),
    Case(
        "mamba_chunk_scan_combined", "float32 params",
        lambda x: MAMBA(x.v, x.raw_g, -x.A_log.exp(), x.k, x.q, 64, D=x.D, dt_bias=x.dt_bias, dt_softplus=True), "mamba2_ssd",
        lambda x: narrow(B=x.k, C=x.q, x=x.v, dt=x.raw_g, A=-x.A_log.exp(), D=x.D, dt_bias=x.dt_bias), True,
    ),
    Case(
        "chunk_delta_rule", "float32 strengths", lambda x: fla.chunk_delta_rule(x.q, x.k, x.v, x.beta, use_qk_l2norm_in_kernel=True),
        "delta_net", lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, beta=x.beta),
    ),
    Case(
        "chunk_linear_attn", "as it is", lambda x: fla.chunk_linear_attn(x.q, x.k, x.v, normalize=False), "linear_attention",
        lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v),
    ),
    Case(
        "chunk_rwkv7", "float32 decays",
        lambda x: fla.chunk_rwkv7(r=x.wide_q, k=x.wide_k, v=x.v, a=x.erased, b=x.written, w=x.gk, output_final_state=False), "rwkv7",
        lambda x: narrow(r=x.wide_q, w=x.gk, k=x.wide_k, v=x.v, kappa=x.wide_k, a=x.beta[..., None].expand_as(x.wide_k)),
    ),
    Case(
        "fused_recurrent_rwkv7", "float32 decays",
        lambda x: fla.fused_recurrent_rwkv7(x.wide_q, x.gk, x.wide_k, x.v, x.erased, x.written, output_final_state=False), "rwkv7",
        lambda x: narrow(r=x.wide_q, w=x.gk, k=x.wide_k, v=x.v, kappa=x.wide_k, a=x.beta[..., None].expand_as(x.wide_k)),
    ),
    Case(
        "chunk_gdn2", "float32 gates", lambda x: fla.chunk_gdn2(x.wide_q, x.wide_k, x.v, x.gk, x.erase, x.write), "kda", kda,
    ),
    Case(
        "chunk_gated_delta_product", "float32 gates", lambda x: fla.chunk_gated_delta_product(x.wide_q, x.k2, x.v2, x.g, x.beta2, 2),
        "gated_delta_product",
        lambda x: narrow(q=x.wide_q, k=x.by_token(x.k2), v=x.by_token(x.v2), beta=x.by_token(x.beta2), g=x.g),
    ),
    Case(
        "chunk_comba", "float32 gates", lambda x: fla.chunk_comba(x.q, x.k, x.v, x.wide_k, x.g, x.beta), "comba",
        lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, g=x.g, beta=x.beta, beta_erase=x.beta, d=torch.zeros_like(x.D)),
    ),
    Case(
        "fused_recurrent_comba", "float32 gates", lambda x: fla.fused_recurrent_comba(x.q, x.k, x.wide_k, x.v, x.g, x.beta), "comba",
        lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, g=x.g, beta=x.beta, beta_erase=x.beta, d=torch.zeros_like(x.D)),
    ),
    Case(
        "chunk_precond_gated_delta_rule", "float32 gates",
        lambda x: fla.chunk_precond_gated_delta_rule(x.q, x.k, x.v, x.shared_g, x.g, x.shared_beta, x.beta, output_final_state=True), "pgdn",
        lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, g=x.g, beta=x.beta, g_p=x.g, beta_p=x.beta, mu=x.D),
    ),
    Case(
        "chunk_precond_kda", "float32 gates",
        lambda x: fla.chunk_precond_kda(x.q, x.k, x.v, x.gk, x.shared_g, x.shared_beta, x.beta), "pkda",
        lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, g=x.gk, beta=x.beta, g_p=x.g, beta_p=x.beta, mu=x.D),
    ),
    Case(
        "chunk_momentum_delta_rule", "float32 gates",
        lambda x: fla.chunk_momentum_delta_rule(x.wide_q, x.wide_k, x.v, x.g, x.log_mu, beta=x.beta), "titans",
        lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, alpha=x.g + 3, eta=x.g + 2, theta=x.g),
    ),
    Case(
        "chunk_diag_kdn", "float32 gates",
        lambda x: fla.chunk_diag_kdn(x.wide_q, x.wide_k, x.v, x.gk, x.wide_k.abs(), 0.1 + x.beta), "kda", kda,
    ),
    Case(
        "chunk_gsa", "float32 gates", lambda x: fla.chunk_gsa(x.wide_q, x.wide_k, x.v, x.slot_writes, x.slot_gates), "gsa",
        lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, f=x.slots),
    ),
    Case("chunk_lightnet", "as it is", lambda x: fla.chunk_lightnet(x.q, x.k, x.v), "gla", gla),
    Case(
        "chunk_mesa_net", "float32 gates", lambda x: fla.chunk_mesa_net(x.wide_q, x.wide_k, x.v, x.g, x.beta, x.lamb, max_CG_iteration=8),
        "mesa_net", lambda x: narrow(q=x.wide_q, k=x.wide_k, v=x.v, g=x.g, beta=x.beta, ridge=x.lamb),
    ),
]  # fmt: skip


def prepare(case: Case, x: Data) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Both calls, as functions without arguments."""
    recurrence = getattr(recur.library, case.library)
    if case.library == "mesa_net":
        recurrence = recurrence.with_options(consts={"iterations": 8})
    given = {name: array.contiguous() for name, array in case.given(x).items()}
    return lambda: case.call(x), lambda: recurrence(**given)


def time_host(call: Callable[[], Any], count: int = CALLS) -> float:
    """Microseconds until a call returns, which does not wait for a GPU."""
    times = []
    for number in range(count):
        if number % 16 == 0 and torch.cuda.is_available():
            torch.cuda.synchronize()  # or the queue is full at some time, and a call waits for room in it
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def time_processor(call: Callable[[], Any]) -> float:
    call()
    return time_host(call, REPLAYS) / 1e3


def compile_all(cases: list[Case], x: Data) -> dict[Case, str]:
    """Makes each call once, several at a time. Gives the reasons of those that cannot be made."""

    def make(case: Case) -> str:
        try:
            with torch.inference_mode():
                for call in prepare(case, x):
                    call()
        except Exception as error:  # a row of the table says it
            return f"{type(error).__name__}: {error}".split("\n")[0]
        return ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = dict(zip(cases, pool.map(make, cases)))
    return {case: reason for case, reason in reasons.items() if reason}


def measure(case: Case, x: Data, is_gpu: bool) -> str:
    """The rest of a row."""
    call, own = prepare(case, x)
    if not is_gpu:
        ours, library = time_processor(call), time_processor(own)
        return f"{ours:9.3f}{library:9.3f}{ours / library:8.2f}"
    ours, library = (statistics.median(time_replays(work, REPLAYS)) for work in (call, own))
    hosts = time_host(call), time_host(own)
    return f"{ours:9.4f}{library:9.4f}{ours / library:8.2f}{hosts[0]:10.1f}{hosts[1]:9.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every name, not only those that layers use most")
    parser.add_argument("--names", default="", help="only those with one of these words in them, after commas")
    parser.add_argument("--shapes", help=f"of {', '.join(SHAPES)}; on a GPU A, elsewhere small")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    chosen = parser.parse_args()
    words = [word for word in chosen.names.split(",") if word]
    cases = [case for case in CASES if (any(word in case.name for word in words) if words else chosen.all or case.is_usual)]
    is_gpu, failed = chosen.device == "cuda", 0
    names = (chosen.shapes or ("A" if is_gpu else "small")).split(",")
    print(f"{torch.cuda.get_device_name() if is_gpu else 'processor'}, PyTorch {torch.__version__}; data in bf16, medians of {REPLAYS}")
    reasons: dict[Case, str] | None = None
    for name in names:
        B, T, Hq, H, K, V = SHAPES[name]
        x = Data(SHAPES[name], chosen.device)
        reasons = compile_all(cases, x) if reasons is None or name == "small" else reasons
        print(f"\n{name}: {B} x {T} tokens, {Hq} heads of keys, {H} of values, K = {K}, V = {V}")
        print(f"{'call':34}{'way':24}{'ms':>9}{'library':>9}{'ratio':>8}" + (f"{'host, us':>10}{'library':>9}" if is_gpu else ""))
        for case in cases:
            row = f"{case.name:34}{case.way:24}"
            try:
                if case in reasons:
                    raise recur.Error(reasons[case])
                with torch.inference_mode():
                    print(row + measure(case, x, is_gpu), flush=True)
            except Exception as error:  # the other rows are still wanted
                failed += 1
                print(f"{row} {error}".split("\n")[0], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
