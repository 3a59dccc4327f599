"""Layers of `transformers` that are fused, against what they give as they are."""

import copy
import importlib
import io

import pytest
from conftest import error_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
library = pytest.importorskip("transformers", reason="transformers is not installed")

import recur.transformers  # noqa: E402  (where PyTorch is)

HIDDEN = 24

_DELTA = {
    "hidden_size": HIDDEN, "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "hidden_act": "silu", "rms_norm_eps": 1e-4,
}  # fmt: skip
_KIMI = {
    "hidden_size": HIDDEN, "num_hidden_layers": 1, "layer_types": ["linear_attention"], "linear_num_heads": 3, "linear_head_dim": 16,
    "linear_conv_kernel_dim": 4, "hidden_act": "silu", "num_attention_heads": 3, "num_key_value_heads": 3,
}  # fmt: skip
_MAMBA = {
    "hidden_size": HIDDEN, "num_hidden_layers": 1, "mamba_n_heads": 6, "mamba_d_head": 8, "mamba_expand": 2,
    "mamba_d_state": 16, "mamba_n_groups": 2, "mamba_d_conv": 4, "mamba_chunk_size": 16, "hidden_act": "silu", "num_attention_heads": 2,
    "num_key_value_heads": 2,
}  # fmt: skip
_NEMOTRON = {
    "hidden_size": HIDDEN, "num_hidden_layers": 1, "layer_types": ["mamba"], "mamba_num_heads": 6, "mamba_head_dim": 8, "ssm_state_size": 16,
    "n_groups": 2, "conv_kernel": 4, "chunk_size": 16, "mamba_hidden_act": "silu", "num_attention_heads": 2, "num_key_value_heads": 2,
}  # fmt: skip

#: A module of that library, its configuration and its layer, and the configuration's options.
FAMILIES = {
    "Qwen3-Next": ("qwen3_next", "Qwen3NextConfig", "Qwen3NextGatedDeltaNet", _DELTA),
    "Qwen3.5": ("qwen3_5", "Qwen3_5TextConfig", "Qwen3_5GatedDeltaNet", _DELTA),
    "Qwen3.5-MoE": ("qwen3_5_moe", "Qwen3_5MoeTextConfig", "Qwen3_5MoeGatedDeltaNet", _DELTA),
    "OLMo Hybrid": ("olmo_hybrid", "OlmoHybridConfig", "OlmoHybridGatedDeltaNet", {**_DELTA, "linear_value_head_dim": 32, "linear_allow_neg_eigval": True}),
    "Kimi Linear": ("kimi_linear", "KimiLinearConfig", "KimiLinearDeltaAttention", _KIMI),
    "GLM-5-Next": ("glm5_next", "Glm5NextTextConfig", "Glm5NextTextLinearAttention", {**_KIMI, "linear_lower_bound": -5.0}),
    "GLM-5-Next without a bound": ("glm5_next", "Glm5NextTextConfig", "Glm5NextTextLinearAttention", {**_KIMI, "linear_lower_bound": None}),
    "Bailing Hybrid": ("bailing_hybrid", "BailingHybridConfig", "BailingHybridDeltaAttention", {**_KIMI, "kda_safe_gate": True, "kda_lower_bound": -4.0}),
    "Nemotron-H": ("nemotron_h", "NemotronHConfig", "NemotronHMamba2Mixer", {**_NEMOTRON, "time_step_min": 0.05}),
    "Bamba": ("bamba", "BambaConfig", "BambaMixer", {**_MAMBA, "time_step_limit": (0.01, 1.5)}),
    "Falcon-H1": ("falcon_h1", "FalconH1Config", "FalconH1Mixer", {**_MAMBA, "mamba_rms_norm": True, "mamba_d_ssm": 48}),
    "Falcon-H1 without a norm": ("falcon_h1", "FalconH1Config", "FalconH1Mixer", {**_MAMBA, "mamba_rms_norm": False, "mamba_d_ssm": 48}),
    "Granite-4": ("granitemoehybrid", "GraniteMoeHybridConfig", "GraniteMoeHybridMambaLayer", _MAMBA),
}


def make(family, **options):
    """A configuration, and its layer on random weights; the test is skipped where this transformers has none."""
    name, config, layer, own = FAMILIES[family]
    try:
        configurations = importlib.import_module(f"transformers.models.{name}.configuration_{name}")
        models = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        config, layer = getattr(configurations, config), getattr(models, layer)
    except (ImportError, AttributeError):
        pytest.skip(f"transformers {library.__version__} has no {family}")
    config = config(**{**own, **options})
    layer = layer(config, 0)
    if "falcon" in name:
        layer.register_buffer("mup_vector", torch.rand(1, 1, layer.in_proj.weight.shape[0]) + 0.5, persistent=False)
    with torch.no_grad():
        for parameter in ("A_log", "dt_bias", "D"):
            for one in (layer, getattr(layer, "forget_gate", layer)):
                if hasattr(one, parameter):
                    getattr(one, parameter).uniform_(-1, 1)
        for norm in ("norm", "o_norm"):
            if hasattr(getattr(layer, norm, None), "weight"):
                getattr(layer, norm).weight.uniform_(0.5, 1.5)
    return config, layer


def make_qwen():
    return make("Qwen3-Next")


def make_kimi():
    return make("Kimi Linear")


@pytest.fixture(params=FAMILIES)
def made(request):
    """A configuration, the layer as it is, and a fused one with the same parameters."""
    torch.manual_seed(0)
    config, layer = make(request.param)
    fused = copy.deepcopy(layer)
    assert recur.transformers.fuse(fused) == 1
    return config, layer, fused


def walk(config, layer, parts, between=lambda cache: None, **options):
    cache, outputs = library.DynamicCache(config=config), []
    for part in parts:
        outputs.append(layer(part, cache, **options))
        between(cache)
    return torch.cat(outputs, 1), cache


def agree(fused, own, limit=2e-6):
    assert fused.shape == own.shape and error_of(fused.detach().float(), own.detach().float()) < limit


@pytest.mark.parametrize("cut", [(70, 1, 1, 1), (1, 1, 1, 5, 1), (3, 66, 1, 2)], ids=str)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_prompts_and_tokens(made, cut, mode):
    """A prompt, tokens, and another prompt, with the library's cache, whose states stay what they are."""
    config, layer, fused = made
    parts = torch.randn(2, sum(cut), HIDDEN).split(cut, 1)
    with mode():
        (own, own_cache), (output, cache) = walk(config, layer, parts), walk(config, fused, parts)
        agree(output, own)
        agree(cache.layers[0].conv_states[0], own_cache.layers[0].conv_states[0])
        agree(cache.layers[0].recurrent_states[0], own_cache.layers[0].recurrent_states[0])
        recur.transformers.unfuse(fused)  # and the library goes on from there
        agree(fused(parts[0], cache), layer(parts[0], own_cache))


@pytest.mark.parametrize("sequences", [1, 2])
def test_a_prompt_by_blocks(made, sequences, monkeypatch):
    """A long prompt, and one that goes on from the cache, some tokens at a time: 65 to 100 here."""
    monkeypatch.setattr(recur.transformers, "_BLOCK", 1)
    config, layer, fused = made
    parts = torch.randn(sequences, 200 + 131 + 1, HIDDEN).split((200, 131, 1), 1)
    with torch.no_grad():
        (own, own_cache), (output, cache) = walk(config, layer, parts), walk(config, fused, parts)
        agree(output, own)
        for name in ("conv_states", "recurrent_states"):
            agree(getattr(cache.layers[0], name)[0], getattr(own_cache.layers[0], name)[0])
        agree(fused(parts[0]), layer(parts[0]))


def test_projections_that_are_more_than_a_matrix(made, monkeypatch):
    """Of an adapted model, say, or one with hooks: they are called, of every block."""
    monkeypatch.setattr(recur.transformers, "_BLOCK", 1)
    _, layer, fused = made
    hidden = torch.randn(1, 150, HIDDEN)
    for one in (layer, fused):
        linear = next(getattr(one, name) for name in ("in_proj_qkvz", "in_proj_qkv", "in_proj", "q_proj") if hasattr(one, name))
        linear.register_forward_hook(lambda module, given, result: 2 * result)
        back = one.out_proj if hasattr(one, "out_proj") else one.o_proj
        back.bias = torch.nn.Parameter(torch.ones(HIDDEN))
    with torch.no_grad():
        agree(fused(hidden), layer(hidden))


class Hidden:
    """A cache that keeps its entries to itself."""

    def __init__(self, cache):
        self._cache = cache

    def __getattr__(self, name):
        if name == "layers":
            raise AttributeError(name)
        return getattr(self._cache, name)


def test_another_kind_of_cache_goes_the_librarys_way(made):
    config, layer, fused = made
    if not hasattr(library.DynamicCache, "get_conv_state"):
        pytest.skip("layers of this transformers read the entries of a cache too")
    hidden = torch.randn(1, 7, HIDDEN)
    with torch.no_grad():
        own, output = (one(hidden, Hidden(library.DynamicCache(config=config))) for one in (layer, fused))
    assert torch.equal(own, output)


def test_two_caches_by_turns_and_beams_in_another_order(made):
    config, layer, fused = made
    parts = torch.randn(2, 12, HIDDEN).split((8, 1, 1, 1, 1), 1)

    def turn(cache):
        cache.layers[0].reorder_cache(torch.tensor([1, 0]))

    with torch.no_grad():
        agree(walk(config, fused, parts, turn)[0], walk(config, layer, parts, turn)[0])
        caches = [library.DynamicCache(config=config) for _ in range(2)]
        outputs = [[fused(part + i, cache) for i, cache in enumerate(caches)] for part in parts]
        for i, ones in enumerate(zip(*outputs)):
            agree(torch.cat(ones, 1), walk(config, layer, [part + i for part in parts])[0])


def test_parameters_that_change(made):
    config, layer, fused = made
    parts = torch.randn(1, 6, HIDDEN).split((4, 1, 1), 1)
    with torch.no_grad():
        walk(config, fused, parts)
        for one in (layer, fused):
            one.conv1d.weight.mul_(1.5)
            one.A_log.add_(0.25) if hasattr(one, "A_log") else one.o_norm.weight.add_(0.25)
        agree(walk(config, fused, parts)[0], walk(config, layer, parts)[0])


def test_padding(made):
    config, layer, fused = made
    mask = torch.ones(2, 9)
    mask[0, :3] = 0
    with torch.no_grad():
        hidden = torch.randn(2, 9, HIDDEN)
        agree(fused(hidden, attention_mask=mask), layer(hidden, attention_mask=mask))


def test_gradients(made):
    _, layer, fused = made
    hidden = torch.randn(2, 70, HIDDEN)
    for one in (layer, fused):
        (one(hidden) ** 2).sum().backward()
    for (name, own), parameter in zip(layer.named_parameters(), fused.parameters()):
        assert error_of(parameter.grad, own.grad) < 2e-5, name


def test_16_bits(made):
    config, layer, fused = made
    parts = torch.randn(1, 12, HIDDEN).bfloat16().split((10, 1, 1), 1)
    with torch.no_grad():
        own = walk(config, layer, [part.float() for part in parts])[0]
        output = walk(config, fused.bfloat16(), parts)[0]
        assert output.dtype == torch.bfloat16 and error_of(output.float(), own) < 3e-2


def test_what_is_not_fused_goes_the_librarys_way():
    torch.manual_seed(0)
    config, layer = make("Qwen3-Next", hidden_act="gelu")
    fused = copy.deepcopy(layer)
    assert recur.transformers.fuse(fused) == 1 and recur.transformers.fuse(fused) == 1
    parts = torch.randn(1, 5, HIDDEN).split((4, 1), 1)
    with torch.no_grad():
        assert torch.equal(walk(config, fused, parts)[0], walk(config, layer, parts)[0])
    assert recur.transformers.unfuse(fused) == 1 and recur.transformers.unfuse(fused) == 0
    assert recur.transformers.fuse(torch.nn.Linear(2, 2)) == 0


def test_nothing_of_an_ordinary_call_goes_the_librarys_way(made):
    """Prompts, tokens and gradients: else the tests here would compare that library with itself."""
    config, layer, fused = made

    def refuse(*given, **options):
        raise AssertionError("the library's own function is called")

    object.__setattr__(fused, "_recur_unfused", refuse)
    object.__setattr__(fused, "forward", recur.transformers._Fused(fused))
    parts = torch.randn(1, 9, HIDDEN).split((7, 1, 1), 1)
    with torch.no_grad():
        walk(config, fused, parts)
    fused(parts[0]).sum().backward()


@pytest.mark.parametrize("name", ["cache", "cache_params"])
def test_either_name_of_the_cache(made, name):
    """Models of different versions of that library give their layers the cache by different names."""
    config, layer, fused = made
    cache, parts = library.DynamicCache(config=config), torch.randn(1, 9, HIDDEN).split((7, 1, 1), 1)
    with torch.no_grad():
        output = torch.cat([fused(part, **{name: cache}) for part in parts], 1)
        agree(output, walk(config, layer, parts)[0])


@pytest.mark.parametrize("how", ["a copy", "a file"])
def test_a_copy_of_a_fused_layer_computes_with_its_own_parameters(made, how):
    config, layer, fused = made
    hidden = torch.randn(1, 9, HIDDEN)
    with torch.no_grad():
        before = fused(hidden)
        if how == "a copy":
            other = copy.deepcopy(fused)
        else:
            file = io.BytesIO()
            torch.save(fused, file)
            file.seek(0)
            other = torch.load(file, weights_only=False)
        assert torch.equal(other(hidden), before)
        for parameter in other.parameters():
            parameter.mul_(1.25)
        layer.load_state_dict(other.state_dict())
        agree(walk(config, other, hidden.split((7, 1, 1), 1))[0], walk(config, layer, hidden.split((7, 1, 1), 1))[0])
        assert torch.equal(fused(hidden), before)
        assert recur.transformers.unfuse(other) == 1
        agree(other(hidden), layer(hidden))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
def test_a_fused_layer_is_one_graph(made, mode):
    _, layer, fused = made
    hidden = torch.randn(2, 9, HIDDEN)
    torch._dynamo.reset()
    compiled = torch.compile(fused, fullgraph=True, backend="aot_eager")
    with mode():
        agree(compiled(hidden), layer(hidden))


def test_tokens_after_a_prompt_that_are_compiled(made):
    config, layer, fused = made
    torch._dynamo.reset()
    parts = torch.randn(2, 9, HIDDEN).split((6, 1, 1, 1), 1)
    with torch.no_grad():
        agree(walk(config, torch.compile(fused, backend="aot_eager"), parts)[0], walk(config, layer, parts)[0])


MODELS = {
    "Qwen3-Next": ("Qwen3NextForCausalLM", {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8}),
    "OLMo Hybrid": ("OlmoHybridForCausalLM", {"pad_token_id": 0}),
    "Bamba": ("BambaForCausalLM", {"num_hidden_layers": 2, "attn_layer_indices": [1]}),
    "Falcon-H1": ("FalconH1ForCausalLM", {}),
}


@pytest.mark.parametrize("family", MODELS)
def test_a_model_generates_what_it_does_unfused(family):
    config, _ = make(family, vocab_size=50, num_attention_heads=2, num_key_value_heads=2, intermediate_size=32, **MODELS[family][1])
    module = importlib.import_module(f"transformers.models.{FAMILIES[family][0]}.modeling_{FAMILIES[family][0]}")
    torch.manual_seed(0)
    model = getattr(module, MODELS[family][0])(config).eval()
    prompt, options = torch.randint(0, 50, (2, 9)), {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    own = model.generate(prompt, **options)
    assert recur.transformers.fuse(model) >= 1
    assert torch.equal(model.generate(prompt, **options), own)
