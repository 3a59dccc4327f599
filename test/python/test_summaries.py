"""What parts of a sequence make of states, without processes: against the call on the whole sequence."""

import numpy
import pytest
from conftest import error_of
from test_golden import GOLDEN, NAMES, call as read_call, read_dims

import recur
from recur import _native, summaries

#: Those whose states have no summaries yet: states that feed one another, inverses, and ratios (Moebius maps).
WITHOUT = {"kalman", "longhorn_channels", "lru", "mamba3", "mesa_layer", "rls", "slstm", "titans"}
SHARED_OUT = [name for name in NAMES if name not in WITHOUT]

#: Of each class of states: decays of many kinds, several states, states that need others, extrema, convolutions.
DERIVED = [
    "comba", "delta_product", "dplr", "gated_delta_net", "gsa", "hgrn", "kda", "mamba1", "mamba2_layer", "mamba3_siso",
    "mlstm", "pgdn", "qwen3_next_layer", "rwkv4", "rwkv6", "rwkv7", "s4", "gated_oja", "rwkv4_logaddexp",
]  # fmt: skip


class Parts:
    """A call on each part of a sequence by itself, from states that summaries give."""

    def __init__(self, name, backward=False):
        base, given, initial = read_call(name)
        dims = tuple(sorted(read_dims(name).items()))
        self.recurrence = base.with_options(dims=read_dims(name), quick=True).with_all_states(dims, "float32")
        self.kernel = self.recurrence.obtain_for(dict(dims), "float32", backward=backward).kernel
        self.shapes = summaries.list_shapes(self.recurrence, self.kernel)
        declaration = self.recurrence.declaration
        self.given = [numpy.ascontiguousarray(given[value.name]) for value in (*declaration.inputs, *declaration.params)]
        self.inputs = len(declaration.inputs)
        self.B, self.T = self.given[0].shape[:2]
        self.H = self.call(0, 1).heads[0]
        self.states = [shape for _, kind, _, _, shape in self.kernel.arrays if kind == "state"]
        self.outputs = [shape for _, kind, _, _, shape in self.kernel.arrays if kind == "output"]
        zeros = [numpy.zeros((self.B, self.H, *shape), "f") for shape in self.states]
        initial = initial or {}
        self.initials = [initial.get(value.name, zero) for value, zero in zip(declaration.states, zeros)]
        for value, place in zip(declaration.states, range(len(zeros))):
            if value.has_start and value.name not in initial:  # as it starts: what no tokens make of it
                self.initials[place] = self.run(0, 0, [None] * len(zeros))[1][place]

    def call(self, begin, end, initials=None):
        given = [x[:, begin:end] if i < self.inputs else x for i, x in enumerate(self.given)]
        return _native.Call(self.recurrence.signature, given, initials, None, False, None)

    def run(self, begin, end, initials=None):
        outputs = [numpy.empty((self.B, end - begin, self.H, *shape), "f") for shape in self.outputs]
        finals = [numpy.empty((self.B, self.H, *shape), "f") for shape in self.states]
        self.call(begin, end, initials).run(self.kernel, outputs, finals)
        return outputs, finals

    def make(self, i, has_maps=True):
        shape = self.shapes[i]
        maps = numpy.full((self.B, self.H, shape.map_size if has_maps else 0), numpy.nan, "f")
        return maps, numpy.full((self.B, self.H, shape.offset_size), numpy.nan, "f")

    def states_behind(self, cuts, initials):
        """The states at each cut, by summaries of the parts alone."""
        known = [initials]
        for begin, end in zip(cuts, cuts[1:]):
            after = list(known[-1])
            for i, shape in enumerate(self.shapes):
                maps, offsets = self.make(i)
                given = [known[-1][place] if place in shape.needs else None for place in range(len(self.states))]
                call = self.call(begin, end, given)
                call.summarise(self.kernel, i, maps, offsets)
                after[shape.state] = numpy.empty_like(known[-1][shape.state])
                call.apply_summary(self.kernel, i, False, (maps, offsets), known[-1][shape.state], after[shape.state])
            known.append(after)
        return known


def near(got, wanted, bound=2e-5):
    """Of numbers that are far below the others of a call, whose sizes are about one, nothing but rounding is left."""
    assert got.shape == wanted.shape
    if numpy.abs(wanted).max(initial=0) > 1e-6:
        assert error_of(got, wanted) < bound
    else:
        assert numpy.abs(got).max(initial=0) <= 2e-6


@pytest.mark.parametrize("name", SHARED_OUT)
def test_states_between_parts_are_those_of_the_whole_sequence(name):
    parts = Parts(name)
    cuts = [0, 0, 1, 33, 34, parts.T - 1, parts.T]
    for cut, states in zip(cuts, parts.states_behind(cuts, parts.initials)):
        _, wanted = parts.run(0, cut, parts.initials)
        for got, whole in zip(states, wanted):
            near(got, whole)


@pytest.mark.parametrize("name", SHARED_OUT)
def test_two_summaries_make_one(name):
    parts = Parts(name)
    _, before = parts.run(0, 20, parts.initials)
    _, middle = parts.run(20, 43, before)
    _, behind = parts.run(43, parts.T, middle)
    for i, shape in enumerate(parts.shapes):
        pairs = []
        for begin, end, states in ((20, 43, before), (43, parts.T, middle)):
            pairs.append(parts.make(i))
            parts.call(begin, end, states).summarise(parts.kernel, i, *pairs[-1])
        call, both = parts.call(0, 0), parts.make(i)
        call.combine_summaries(parts.kernel, i, False, *pairs, both)
        got = numpy.empty_like(before[shape.state])
        call.apply_summary(parts.kernel, i, False, both, before[shape.state], got)
        near(got, behind[shape.state])
        call.combine_summaries(parts.kernel, i, False, *pairs, pairs[0])  # in the place of the first
        numpy.testing.assert_array_equal(pairs[0][0], both[0])
        numpy.testing.assert_array_equal(pairs[0][1], both[1])


@pytest.mark.parametrize("name", DERIVED)
def test_cotangents_between_parts_are_those_of_the_whole_sequence(name):
    parts = Parts(name, backward=True)
    random = numpy.random.default_rng(2)
    outputs = [random.standard_normal((parts.B, parts.T, parts.H, *shape)).astype("f") for shape in parts.outputs]
    finals = [random.standard_normal((parts.B, parts.H, *shape)).astype("f") for shape in parts.states]
    initials = parts.initials

    def derive(begin, end, states, after):
        """The cotangents of the states before the tokens."""
        before = [numpy.empty_like(state) for state in finals]
        call = parts.call(begin, end, states)
        nothing = [None] * len(parts.given)
        call.run_backward(parts.kernel, [numpy.ascontiguousarray(x[:, begin:end]) for x in outputs], after, nothing, before)
        return before

    cuts = [0, 30, 31, 55, parts.T]
    known = [parts.run(0, cut, initials)[1] for cut in cuts]
    after = finals
    summed = {}
    for begin, end, states in reversed(list(zip(cuts, cuts[1:], known))):
        wanted = derive(begin, end, states, after)
        found = [None] * len(finals)
        for level in summaries.list_backward_levels(parts.shapes):
            for i in level:
                shape = parts.shapes[i]
                forward, back = parts.make(i), parts.make(i, shape.has_backward_map)
                call = parts.call(begin, end, states)
                call.summarise(parts.kernel, i, *forward)
                later = [x if place in {other.state for other in parts.shapes[i + 1 :]} else None for place, x in enumerate(after)]
                ends = [numpy.ascontiguousarray(x[:, begin:end]) for x in outputs]
                call.summarise_backward(parts.kernel, i, ends, later, back[0] if shape.has_backward_map else None, back[1])
                maps = back[0] if shape.has_backward_map else forward[0]
                got = numpy.empty_like(finals[shape.state])
                call.apply_summary(parts.kernel, i, True, (maps, back[1]), after[shape.state], got)
                near(got, wanted[shape.state], 5e-5)
                found[shape.state] = got
                summed.setdefault(i, []).append((maps, back[1], after[shape.state]))
        after = wanted
    # One summary of all parts, for states that no later one sends cotangents to.
    whole = derive(0, parts.T, initials, finals)
    for i, shape in enumerate(parts.shapes):
        if any(shape.state in other.needs for other in parts.shapes):
            continue
        (maps, offsets, last), *earlier = summed[i]
        both = (maps, offsets)
        for maps, offsets, _ in earlier:
            result = parts.make(i, True)
            result[0][:] = 0
            forward = parts.make(i)
            forward[0][:] = 0
            parts.call(0, 0).combine_summaries(parts.kernel, i, True, (maps, offsets), both, result)
            if not shape.has_backward_map:  # the maps of states are combined forward
                result[1].flags.writeable = True
                forward[1][:] = 0
                parts.call(0, 0).combine_summaries(parts.kernel, i, False, (maps, 0 * offsets), (both[0], 0 * offsets), forward)
                result = (forward[0], result[1])
            both = result
        got = numpy.empty_like(finals[shape.state])
        parts.call(0, 0).apply_summary(parts.kernel, i, True, both, last, got)
        near(got, whole[shape.state], 1e-4)


def test_64_parts():
    parts = Parts("gated_delta_net")
    cuts = [*range(64), parts.T]
    near(parts.states_behind(cuts, parts.initials)[-1][0], parts.run(0, parts.T, parts.initials)[1][0])


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_others_have_none(name):
    with pytest.raises(recur.ArgumentError, match="cannot be shared out: (state '|its states need each other's values)"):
        Parts(name)


def test_what_has_no_summaries_says_so(tmp_path):
    recurrence = recur.library.rls.with_options(quick=True)
    sizes = {"K": 4, "V": 3}
    with pytest.raises(recur.ArgumentError, match="cannot be shared out: state 'P' is an inverse, .*; give whole sequences, and leave out group="):
        summaries.list_shapes(recurrence, recurrence.obtain_for(sizes, "float32").kernel)
    recur.save(recurrence, str(tmp_path / "rls.so"), **sizes)  # which cannot be explained
    saved = recur.load(str(tmp_path / "rls.so"))
    with pytest.raises(recur.ArgumentError, match="cannot be shared out: what its tokens make of a state is no map"):
        summaries.list_shapes(saved, saved.obtain_for(sizes, "float32").kernel)


def test_levels_follow_needs():
    shape = summaries.Shape
    shapes = [shape(2, 1, 1, (), False), shape(0, 1, 1, (2,), False), shape(1, 1, 1, (), False), shape(3, 1, 1, (0, 1), False)]
    assert summaries.list_levels(shapes) == [[0, 2], [1], [3]]
    assert summaries.list_backward_levels(shapes) == [[3], [1, 2], [0]]


def test_arrays_that_do_not_fit_are_refused():
    parts = Parts("gla")
    maps, offsets = parts.make(0)
    with pytest.raises(recur.ArgumentError, match="a dense array of"):
        parts.call(0, 9).summarise(parts.kernel, 0, maps[..., 1:], offsets)
    with pytest.raises(recur.ArgumentError, match="there is no summary of the number 7"):
        parts.call(0, 9).summarise(parts.kernel, 7, maps, offsets)
