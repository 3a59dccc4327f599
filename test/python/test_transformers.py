"""Layers of `transformers` that are fused, against what they give as they are."""

import copy
import io

import pytest
from conftest import error_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
library = pytest.importorskip("transformers", reason="transformers is not installed")
qwen = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next", reason="this transformers has no Qwen3-Next")
kimi = pytest.importorskip("transformers.models.kimi_linear.modeling_kimi_linear", reason="this transformers has no Kimi Linear")

import recur.transformers  # noqa: E402  (where PyTorch is)

HIDDEN = 24


def make_qwen(value=16):
    config = qwen.Qwen3NextConfig(
        hidden_size=HIDDEN, num_hidden_layers=1, layer_types=["linear_attention"], linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=16, linear_value_head_dim=value, linear_conv_kernel_dim=4, hidden_act="silu", rms_norm_eps=1e-4,
    )  # fmt: skip
    return config, qwen.Qwen3NextGatedDeltaNet(config, 0)


def make_kimi():
    config = kimi.KimiLinearConfig(
        hidden_size=HIDDEN, num_hidden_layers=1, layer_types=["linear_attention"], linear_num_heads=3, linear_head_dim=16,
        linear_conv_kernel_dim=4, hidden_act="silu", num_attention_heads=3, num_key_value_heads=3,
    )  # fmt: skip
    layer = kimi.KimiLinearDeltaAttention(config, 0)
    torch.nn.init.uniform_(layer.forget_gate.A_log, 0, 1)
    torch.nn.init.uniform_(layer.forget_gate.dt_bias, -1, 1)
    return config, layer


@pytest.fixture(params=[make_qwen, make_kimi], ids=["Qwen3-Next", "Kimi Linear"])
def made(request):
    """A configuration, the layer as it is, and a fused one with the same parameters."""
    torch.manual_seed(0)
    config, layer = request.param()
    fused = copy.deepcopy(layer)
    assert recur.transformers.fuse(fused) == 1
    return config, layer, fused


def walk(config, layer, parts, between=lambda cache: None, **options):
    cache, outputs = library.DynamicCache(config=config), []
    for part in parts:
        outputs.append(layer(part, cache_params=cache, **options))
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
        agree(fused(parts[0], cache_params=cache), layer(parts[0], cache_params=own_cache))


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
        linear = one.in_proj_qkvz if hasattr(one, "in_proj_qkvz") else one.q_proj
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
        own, output = (one(hidden, cache_params=Hidden(library.DynamicCache(config=config))) for one in (layer, fused))
    assert torch.equal(own, output)


def test_two_caches_by_turns_and_beams_in_another_order(made):
    config, layer, fused = made
    parts = torch.randn(2, 12, HIDDEN).split((8, 1, 1, 1, 1), 1)

    def turn(cache):
        cache.layers[0].reorder_cache(torch.tensor([1, 0]))

    with torch.no_grad():
        agree(walk(config, fused, parts, turn)[0], walk(config, layer, parts, turn)[0])
        caches = [library.DynamicCache(config=config) for _ in range(2)]
        outputs = [[fused(part + i, cache_params=cache) for i, cache in enumerate(caches)] for part in parts]
        for i, ones in enumerate(zip(*outputs)):
            agree(torch.cat(ones, 1), walk(config, layer, [part + i for part in parts])[0])


def test_parameters_that_change(made):
    config, layer, fused = made
    parts = torch.randn(1, 6, HIDDEN).split((4, 1, 1), 1)
    with torch.no_grad():
        walk(config, fused, parts)
        for one in (layer, fused):
            one.conv1d.weight.mul_(1.5)
            (one.norm if hasattr(one, "norm") else one.o_norm).weight.add_(0.25)
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
    config, layer = make_qwen(value=8)
    fused = copy.deepcopy(layer)
    assert recur.transformers.fuse(fused) == 1 and recur.transformers.fuse(fused) == 1
    parts = torch.randn(1, 5, HIDDEN).split((4, 1), 1)
    with torch.no_grad():
        assert torch.equal(walk(config, fused, parts)[0], walk(config, layer, parts)[0])
    assert recur.transformers.unfuse(fused) == 1 and recur.transformers.unfuse(fused) == 0
    assert recur.transformers.fuse(torch.nn.Linear(2, 2)) == 0


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
