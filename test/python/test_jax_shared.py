"""Sequences that are shared out over devices: outputs, final states and all gradients are those of one device."""

import functools
import os

import numpy
import pytest
from test_golden import NAMES, call as read_call, read_dims
from test_summaries import WITHOUT

import recur

jax = pytest.importorskip("jax")
jnp = jax.numpy
if recur._native.jax_summary is None:
    pytest.skip("recur was built without JAX", allow_module_level=True)
jax.config.update("jax_platforms", "cpu")
if len(jax.devices()) < 4:
    pytest.skip("JAX was started with fewer than four devices", allow_module_level=True)
if not hasattr(jax, "shard_map"):
    pytest.skip("this JAX has no jax.shard_map", allow_module_level=True)

P = jax.sharding.PartitionSpec
#: In the ordinary run; RECUR_TEST_ALL=1 takes all of them, of which each compiles a gradient.
SOME = ["comba", "gated_delta_net", "gsa", "kda", "mamba2_layer", "mlstm", "pgdn"]
TRIED = [name for name in NAMES if name not in WITHOUT] if os.environ.get("RECUR_TEST_ALL") == "1" else SOME


def make_mesh(*sizes):
    devices = numpy.array(jax.devices()[: int(numpy.prod(sizes))]).reshape(sizes)
    return jax.sharding.Mesh(devices, ("tokens", "others")[: len(sizes)])


@functools.cache
def prepare(name, tokens):
    """A recurrence with inputs and params as JAX's arrays, in order, and its initial states."""
    base, given, initial = read_call(name)
    recurrence = base.with_options(dims=read_dims(name), quick=True)
    declaration = recurrence.declaration
    repeats = -(-max(tokens, 1) // 70)
    arrays = [jnp.asarray(numpy.concatenate([given[value.name]] * repeats, axis=1)[:, :tokens]) for value in declaration.inputs]
    params = [jnp.asarray(given[value.name]) for value in declaration.params]
    return recurrence, arrays, params, {n: jnp.asarray(a) for n, a in (initial or {}).items()}


def weigh(results):
    """A loss that takes every number otherwise."""
    leaves = jax.tree.leaves(results)
    return sum((x * jnp.cos(jnp.arange(x.size, dtype=jnp.float32)).reshape(x.shape)).sum() for x in leaves)


def hold(got, wanted, bound):
    got, wanted = jax.tree.leaves(got), jax.tree.leaves(wanted)
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        assert one.shape == other.shape and one.dtype == other.dtype
        one, other = numpy.asarray(one, numpy.float64), numpy.asarray(other, numpy.float64)
        assert numpy.linalg.norm(one - other) <= bound * max(numpy.linalg.norm(other), 1e-3)


def share(recurrence, mesh, arrays, params, initial, axis="tokens", tokens=P(None, "tokens"), checked=True, **options):
    """The call with its tokens shared out, as a function of all arrays."""

    def one(arrays, params, initial):
        return recurrence(*arrays, *params, initial=initial or None, final=True, group=axis, **options)

    outputs = len(recurrence.declaration.outputs)
    specs = ([tokens] * len(arrays), [P()] * len(params), {n: P() for n in initial})
    return jax.shard_map(one, mesh=mesh, in_specs=specs, out_specs=(*[tokens] * outputs, P()), check_vma=checked)


def compare(function, whole, *arrays, bound=2e-5):
    """Results, and gradients by everything."""
    hold(jax.jit(function)(*arrays), whole(*arrays), bound)
    gradients = jax.jit(jax.grad(lambda *given: weigh(function(*given)), argnums=(0, 1, 2)))(*arrays)
    hold(gradients, jax.grad(lambda *given: weigh(whole(*given)), argnums=(0, 1, 2))(*arrays), 5 * bound)


@pytest.mark.parametrize("name", TRIED)
def test_parts_are_the_whole(name):
    recurrence, *given = prepare(name, 68)
    whole = lambda arrays, params, initial: recurrence(*arrays, *params, initial=initial or None, final=True)
    compare(share(recurrence, make_mesh(4), *given), whole, *given)


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(("devices", "tokens"), [(1, 7), (2, 2), (3, 201), (4, 0), (4, 4096)])
def test_any_number_of_devices_and_tokens(devices, tokens, checked):
    recurrence, arrays, params, _ = prepare("pgdn", tokens)
    whole = lambda arrays, params, initial: recurrence(*arrays, *params, initial=initial or None, final=True)
    *_, states = recurrence(*(x[:, :1] for x in arrays), *params, final=True)
    initial = {n: 0.1 + jnp.abs(x) for n, x in states.items()}
    compare(share(recurrence, make_mesh(devices), arrays, params, initial, checked=checked), whole, arrays, params, initial)


@pytest.mark.parametrize("name", ["gated_delta_net", "pgdn", "mamba2_layer"])
def test_packed_sequences_whose_ends_fall_anywhere(name):
    recurrence, arrays, params, _ = prepare(name, 68)
    whole = jax.jit(
        lambda arrays, params, initial, offsets: recurrence(*arrays, *params, initial=initial or None, final=True, offsets=offsets)
    )
    _, states = whole(arrays, params, {}, jnp.array([0, 68]))
    names = [value.name for value in recurrence.declaration.states]
    states = states if isinstance(states, dict) else {names[0]: states}
    mesh = make_mesh(4)

    @jax.jit
    def shared(arrays, params, initial, offsets):
        one = lambda a, p, i, at: recurrence(*a, *p, initial=i or None, final=True, offsets=at, group="tokens")
        tokens = P(None, "tokens")
        specs = ([tokens] * len(arrays), [P()] * len(params), {n: P() for n in initial}, P())
        return jax.shard_map(one, mesh=mesh, in_specs=specs, out_specs=(tokens, P()))(arrays, params, initial, offsets)

    for ends in ([0, 0, 68, 68, 68], [0, 10, 10, 50, 68], [0, 17, 34, 34, 68], [0, 3, 66, 67, 68], [0, 17, 18, 60, 68]):
        offsets = jnp.array(ends)
        initial = {n: jnp.concatenate([0.1 * i + 0.3 * jnp.abs(x) for i in range(4)]) for n, x in states.items()}
        compare(
            lambda a, p, i, at=offsets: shared(a, p, i, at), lambda a, p, i, at=offsets: whole(a, p, i, at), arrays, params, initial
        )
        hold(shared(arrays, params, {}, offsets), whole(arrays, params, {}, offsets), 2e-5)


def test_beside_another_axis_and_over_two():
    recurrence, *given = prepare("gated_delta_net", 68)
    given[0] = [jnp.concatenate([x, -x]) for x in given[0]]
    whole = lambda arrays, params, initial: recurrence(*arrays, *params, final=True)
    mesh = make_mesh(2, 2)
    one = lambda arrays: recurrence(*arrays, final=True, group="tokens")
    specs = [P("others", "tokens")] * len(given[0])
    beside = jax.shard_map(one, mesh=mesh, in_specs=(specs,), out_specs=(P("others", "tokens"), P("others")))
    compare(lambda arrays, params, initial: beside(arrays), whole, given[0], [], {})
    axes = ("tokens", "others")
    compare(share(recurrence, mesh, given[0], [], {}, axis=axes, tokens=P(None, axes)), whole, given[0], [], {})


def test_calls_beside_replicated_params():
    """A call without group= under shard_map, whose params are the same on all devices."""
    recurrence, arrays, params, _ = prepare("mamba2_layer", 68)
    arrays = [jnp.concatenate([x, 0.5 * x]) for x in arrays]
    one = lambda arrays, params: recurrence(*arrays, *params)
    specs = ([P("tokens")] * len(arrays), [P()] * len(params))
    mapped = jax.shard_map(one, mesh=make_mesh(2), in_specs=specs, out_specs=P("tokens"))
    compare(lambda a, p, _: mapped(a, p), lambda a, p, _: one(a, p), arrays, params, {})


@pytest.mark.parametrize("checked", [True, False])
def test_states_that_start_as_params_say(checked):
    recurrence = recur.define(
        """recurrence memory {
          dim K, V  input q: [K], k: [K], v: [V]  param W: [V, K]
          state S: [V, K] at start W
          S = 0.9 * S + outer(v, k)
          output o: [V] = S @ q
        }""",
        quick=True,
    )
    random = numpy.random.default_rng(7)
    arrays = [jnp.asarray(random.standard_normal((2, 12, 3, size)), jnp.float32) for size in (4, 4, 5)]
    params = [jnp.asarray(random.standard_normal((3, 5, 4)), jnp.float32)]
    whole = lambda arrays, params, initial: recurrence(*arrays, *params, final=True)
    compare(share(recurrence, make_mesh(4), arrays, params, {}, checked=checked), whole, arrays, params, {})


def test_types_and_vmap():
    recurrence, arrays, _, _ = prepare("gated_delta_net", 68)
    mesh = make_mesh(4)
    tokens = P(None, "tokens")
    mixed = [x.astype(jnp.bfloat16) if i < 3 else x for i, x in enumerate(arrays)]
    shared = jax.shard_map(lambda *a: recurrence(*a, group="tokens"), mesh=mesh, in_specs=(tokens,) * 5, out_specs=tokens)
    got = shared(*mixed)
    assert got.dtype == jnp.bfloat16
    hold(got, recurrence(*mixed), 4e-3)
    start = {"S": recurrence(*arrays, final=True)[1].astype(jnp.bfloat16)}
    _, last = share(recurrence, mesh, mixed, [], start)(mixed, [], start)
    assert last.dtype == jnp.bfloat16
    hold(last, recurrence(*mixed, initial=start, final=True)[1], 8e-3)
    several = [jnp.stack([x, 0.5 * x]) for x in arrays]
    mapped = jax.shard_map(
        jax.vmap(lambda *a: recurrence(*a, group="tokens")), mesh=mesh, in_specs=(P(None, None, "tokens"),) * 5,
        out_specs=P(None, None, "tokens"),
    )  # fmt: skip
    hold(mapped(*several), jnp.stack([recurrence(*(x[i] for x in several)) for i in range(2)]), 2e-5)


def test_some_gradients_and_the_same_bits_each_time():
    recurrence, arrays, _, _ = prepare("gated_delta_net", 68)
    q, k, v, g, beta = arrays
    shared = share(recurrence, make_mesh(4), arrays, [], {})
    of_v = jax.jit(jax.grad(lambda v: weigh(shared([q, k, v, g, beta], [], {})[0])))
    wanted = jax.grad(lambda v: weigh(recurrence(q, k, v, g, beta)))(v)
    hold(of_v(v), wanted, 1e-4)
    assert numpy.array_equal(of_v(v), of_v(v))


def test_misuse_is_refused():
    recurrence, arrays, _, _ = prepare("gated_delta_net", 68)
    with pytest.raises(recur.ArgumentError, match="there is no axis 'nowhere' here"):
        recurrence(*arrays, group="nowhere")
    with pytest.raises(recur.ArgumentError, match="the name of an axis of jax.shard_map"):
        recurrence(*arrays, group=True)
    mesh = make_mesh(4)
    refused = [
        ({"states_transposed": True}, "states are as declared"),
        ({"out": arrays[2]}, "cannot be written to"),
        ({"layout": "zigzag"}, "tokens lie in the order of the axis"),
    ]
    for options, words in refused:
        with pytest.raises(recur.ArgumentError, match=words):
            share(recurrence, mesh, arrays, [], {}, **options)(arrays, [], {})
    without, *given = prepare("rls", 68)
    with pytest.raises(recur.ArgumentError, match="cannot be shared out"):
        share(without, mesh, *given)(*given)
