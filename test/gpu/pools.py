"""Compares calls whose states are rows of pools with calls whose states are their own, bit for bit, on a machine with an NVIDIA GPU.

Needs Python with numpy, and shared objects that `recurc build --emit=so --target=sm_90a` made, each given as NAME=FILE. Rows lie
anywhere in the pool and some sequences have none; what is not a sequence's row must stay as it was, and indices beyond the pool must
touch nothing, which compute-sanitizer sees too. A graph goes by the indices that are there when it is replayed.

States after tokens that are tried, after those that are replayed, and after multiples of a number of tokens are compared with those of
calls that end there.
"""

import ctypes
import sys

import numpy as np

from check import Argument, Call
from packed import AUTO, CHUNK, OUTPUT, PARAM, SCAN, SEGMENT, STATE, STEP, Data, Graph, check_libraries, same

BAD_SIZE, BAD_INDEX, NO_PLAN = 2, 12, 8
MOST_TRIED = 16


class Pools:
    """The states of many requests, and a call on some of them."""

    def __init__(self, library, T, N, H, rows, seed):
        self.library, self.device, self.sizes, self.rows = library, library.device, (T, N, H), rows
        self.random = np.random.default_rng(seed)
        self.data = Data(library, T * N, N, H, seed)  # inputs of N sequences of T tokens
        self.states = [i for i, (info, final) in enumerate(library.arrays) if info.kind == STATE and not final]
        self.first = [self.draw(i) for i in self.states]

    def draw(self, array):
        """Bytes of a pool, in a state's own type."""
        info, _ = self.library.arrays[array]
        drawn = self.random.uniform(-0.15, 0.15, self.rows * self.data.strides[array] // (4 if info.dtype == 0 else 2)).astype(np.float32)
        if info.dtype == 2:
            return drawn.astype(np.float16).view(np.uint8)
        return drawn.view(np.uint8) if info.dtype == 0 else (drawn.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)

    def call(self, pointers, plan, indices=None, finals=None, stream=None, check=0, offsets=None, tokens=None, **more):
        """Gives the status and the workspace, which must stay until the work is done. Of fewer tokens each sequence has its first
        ones; `more` are fields of the call."""
        T, N, H = self.sizes
        arguments = (Argument * len(pointers))(*(Argument(pointer, self.batch_stride(i), 0, 0) for i, pointer in enumerate(pointers)))
        call = Call(B=N, T=T if tokens is None else tokens, H=H, Hq=H, arguments=arguments, argument_count=len(pointers), device=1, plan=plan,
                    stream=stream, **more)
        if offsets is not None:
            call.B, call.T, call.device_offsets, call.sequence_count = 1, T * N, offsets, N
        if indices is not None:
            call.state_indices, call.final_indices, call.pool_rows, call.check_indices = indices, finals, self.rows, check
        handle, recurrence = self.library.handle, self.library.recurrence
        size = handle.recur_workspace_size(recurrence, ctypes.byref(call))
        if size < 0:
            return handle.recur_forward(recurrence, ctypes.byref(call)), 0  # which says why
        call.workspace, call.workspace_bytes = self.device.allocate(size), size
        return handle.recur_forward(recurrence, ctypes.byref(call)), call.workspace

    def batch_stride(self, array):
        """From one sequence to the next, in elements, of what has tokens."""
        T, _, H = self.sizes
        info, final = self.library.arrays[array]
        own = int(np.prod(info.shape[: info.rank])) if info.rank else 1
        return 0 if info.kind in (STATE, PARAM) or final else T * H * own

    def run(self, *arguments, **named):
        status, workspace = self.call(*arguments, **named)
        self.device.check(self.device.cuda.cuCtxSynchronize())
        if workspace:
            self.device.free([workspace])
        return status

    def outputs(self, pointers):
        return [
            self.device.download(pointers[i], self.data.bytes[i], np.uint8)
            for i, (info, _) in enumerate(self.library.arrays) if info.kind == OUTPUT
        ]  # fmt: skip

    def starts(self):
        """What sequences begin with that have no row: what is there after no tokens."""
        pointers, N = self.data.results(), self.sizes[1]
        ends = [i for i, (_, final) in enumerate(self.library.arrays) if final]
        none = self.device.upload(np.zeros(N + 1, np.int64))
        status = self.run([None if i in self.states else pointer for i, pointer in enumerate(pointers)], AUTO, offsets=none)
        assert not status, self.library.handle.recur_message().decode()
        found = [self.device.download(pointers[i], self.data.bytes[i], np.uint8).reshape(N, -1) for i in ends]
        self.device.free([none])
        self.data.free(pointers)
        return found

    def own(self, states, plan, offsets=None, tokens=None, pools=None, skip=0):
        """Outputs and final states of a call whose states are those of these rows, in place, from some token of each sequence on; None where
        there is no such plan."""
        pointers = self.data.results()
        for i, (info, _) in enumerate(self.library.arrays):
            if info.kind not in (PARAM, STATE, OUTPUT):
                pointers[i] += skip * self.data.strides[i]
        made, ends = list(pointers), [i for i, (_, final) in enumerate(self.library.arrays) if final]
        for place, end, pool, start in zip(self.states, ends, pools or self.first, self.starts()):
            gathered = pool.reshape(self.rows, -1)[np.maximum(states, 0)]
            gathered[states < 0] = start[states < 0]
            made[place] = made[end] = self.device.upload(gathered.reshape(-1))
        status = self.run(made, plan, offsets=offsets, tokens=tokens)
        assert status in (0, NO_PLAN), self.library.handle.recur_message().decode()
        found = None
        if not status:
            found = self.outputs(made), [
                self.device.download(made[place], self.data.bytes[place], np.uint8).reshape(self.sizes[1], -1) for place in self.states
            ]
        self.device.free([made[place] for place in self.states])
        self.data.free(pointers)
        return found

    def along(self, paths, states, pools):
        """Outputs of the last token of a path of each sequence's tokens, and final states, by calls on nothing but the path's."""
        T, N, _ = self.sizes
        inputs = [i for i, (info, final) in enumerate(self.library.arrays) if info.kind not in (PARAM, STATE, OUTPUT) and not final]
        given = [self.device.download(self.data.given[i], self.data.bytes[i], np.uint8).reshape(N, T, -1) for i in inputs]
        for i, whole in zip(inputs, given):
            gathered = whole.copy()
            for sequence, path in enumerate(paths):
                gathered[sequence, : len(path)] = whole[sequence, path]
            self.device.write(self.data.given[i], gathered)
        outputs, ends = None, None
        for length in sorted({len(path) for path in paths}):
            found, final = self.own(states, STEP, tokens=length, pools=pools)
            last = [some.reshape(N, T, -1)[:, max(length, 1) - 1].copy() for some in found]
            if outputs is None:
                outputs, ends = last, final
            are = np.array([len(path) == length for path in paths])
            for whole, some in zip(outputs + ends, last + final):
                whole[are] = some[are]
        for i, whole in zip(inputs, given):
            self.device.write(self.data.given[i], whole)
        return outputs, ends

    def pooled(self):
        """Pointers of a call on fresh pools."""
        pointers = self.data.results()
        ends = [i for i, (_, final) in enumerate(self.library.arrays) if final]
        self.device.free([pointers[i] for i in ends])
        for place, end, pool in zip(self.states, ends, self.first):
            if pointers[place] != self.data.given[place]:
                self.device.free([pointers[place]])
            pointers[place] = pointers[end] = self.device.upload(pool)
        return pointers

    def free(self, pointers):
        self.device.free([pointers[place] for place in self.states])
        self.device.free([pointers[i] for i, (info, _) in enumerate(self.library.arrays) if info.kind == OUTPUT])

    def pools(self, pointers):
        return [self.device.download(pointers[place], pool.nbytes, np.uint8) for place, pool in zip(self.states, self.first)]

    def expected(self, states, written, ends, pools=None):
        """Pools afterwards."""
        found = []
        for pool, end in zip(pools or self.first, ends):
            pool = pool.reshape(self.rows, -1).copy()
            for sequence, row in enumerate(written):
                if 0 <= row < self.rows:
                    pool[row] = end[sequence]
            found.append(pool.reshape(-1))
        return found

    def close(self):
        self.data.close()


def check_tried(library, T, N, H, seed):
    """Yields what is wrong with states after tokens that are tried."""
    pools = Pools(library, T, N, H, (T + 1) * N + 5, seed)
    device, random = library.device, pools.random
    if not pools.states:
        return
    for plan in (AUTO, STEP):
        order = random.permutation(pools.rows).astype(np.int32)
        states, tried = order[:N].copy(), order[N : N + N * T].reshape(N, T).copy()
        states[random.random(N) < 0.2] = -1
        tried[random.random((N, T)) < 0.2] = -3
        begin, rows = device.upload(states), device.upload(tried)
        pointers = pools.pooled()
        more = {"token_indices": rows, "token_columns": T}
        status = pools.run(pointers, plan, indices=begin, **more)
        if status:
            if status != NO_PLAN:
                yield f"plan {plan}, tried: {library.handle.recur_message().decode()}"
            pools.free(pointers)
            device.free([begin, rows])
            break
        wanted = pools.first
        for token in range(T):
            outputs, ends = pools.own(states, STEP, tokens=token + 1)
            wanted = pools.expected(states, tried[:, token], ends, wanted)
        if not same(pools.outputs(pointers), outputs):
            yield f"plan {plan}, tried: outputs differ from those of a call of these tokens"
        if not same(pools.pools(pointers), wanted):
            yield f"plan {plan}, tried: pools differ"
        # The next call begins with what was accepted; a graph is replayed with other counts, and with some that are none.
        counts = random.integers(1, T + 1, N).astype(np.int32)
        accepted = device.upload(counts)
        graph = Graph(device, lambda stream: pools.call(pointers, plan, indices=rows, accepted=accepted, state_columns=T, stream=stream, **more))
        for round in range(3):
            if round == 1:
                device.write(accepted, counts := random.integers(1, T + 1, N).astype(np.int32))
            if round == 2:
                device.write(accepted, counts := random.integers(-2, T + 4, N).astype(np.int32))
            before = wanted
            isThere = (counts >= 1) & (counts <= T)
            begins = np.where(isThere, tried[np.arange(N), np.clip(counts - 1, 0, T - 1)], -1).astype(np.int32)
            graph.run()
            for token in range(T):
                outputs, ends = pools.own(begins, STEP, tokens=token + 1, pools=before)
                wanted = pools.expected(begins, tried[:, token], ends, wanted)
            if not same(pools.outputs(pointers), outputs) or not same(pools.pools(pointers), wanted):
                yield f"plan {plan}, accepted, round {round}: outputs or pools differ"
        wild = tried.copy()
        wild.reshape(-1)[::2] = pools.rows + random.integers(0, 1 << 30, len(wild.reshape(-1)[::2]))
        device.write(rows, wild)
        pools.free(pointers)
        pointers = pools.pooled()
        pools.run(pointers, plan, indices=begin, **more)
        wanted = pools.first
        for token in range(T):
            wanted = pools.expected(states, np.where(wild < pools.rows, wild, -1)[:, token], pools.own(states, STEP, tokens=token + 1)[1], wanted)
        if not same(pools.pools(pointers), wanted):
            yield f"plan {plan}, tried: rows beyond the pool are written somewhere"
        if pools.run(pointers, plan, indices=begin, check=1, **more) != BAD_INDEX:
            yield f"plan {plan}, tried: rows beyond the pool are not refused where the call has them checked"
        pools.free(pointers)
        device.free([begin, rows, accepted])
    pools.close()


def check_replayed(library, T, N, H, seed):
    """Yields what is wrong with tokens that are gone over again, and those that are tried behind them."""
    pools, replayed = Pools(library, T, N, H, 2 * N + 5, seed), T // 2
    device, random = library.device, pools.random
    if not pools.states:
        return
    outputs = [i for i, (info, _) in enumerate(library.arrays) if info.kind == OUTPUT]
    areWide = all(library.arrays[i][0].dtype == 0 for i in pools.states)  # else states are rounded in between
    even = device.upload(np.arange(N + 1, dtype=np.int64) * T)
    for plan in (AUTO, STEP):
        for kind in ("rows", "others", "packed"):
            order = random.permutation(pools.rows).astype(np.int32)
            states, finals = order[:N].copy(), order[N : 2 * N].copy()
            states[random.random(N) < 0.2] = -1
            finals[random.random(N) < 0.2] = -4
            written = finals if kind == "others" else states
            counts = random.integers(0, replayed + 1, N).astype(np.int32)
            begin, accepted, ends = device.upload(states), device.upload(counts), device.upload(finals) if kind == "others" else None
            more = {"accepted": accepted, "replayed": replayed, "offsets": even if kind == "packed" else None}
            pointers = pools.pooled()
            status = pools.run(pointers, plan, indices=begin, finals=ends, check=1, **more)
            pools.free(pointers)
            if status:
                if status != NO_PLAN:
                    yield f"plan {plan}, replayed, {kind}: {library.handle.recur_message().decode()}"
                device.free([begin, accepted] + ([ends] if ends else []))
                break
            pointers = pools.pooled()
            graph = Graph(device, lambda stream: pools.call(pointers, plan, indices=begin, finals=ends, stream=stream, **more))
            wanted, before = pools.first, pools.first
            for round in range(3):
                if round:
                    low, high = (0, replayed) if round == 1 else (-2, replayed + 3)  # of which the nearest counts
                    device.write(accepted, counts := random.integers(low, high + 1, N).astype(np.int32))
                taken = np.clip(counts, 0, replayed)
                graph.run()
                tried = [np.full(pools.data.bytes[i], 0xFF, np.uint8).reshape(N, -1) for i in outputs]
                for count in np.unique(taken):
                    own = pools.own(states, STEP, tokens=int(count), pools=before)[1]
                    wanted = pools.expected(states, np.where(taken == count, written, -1), own, wanted)
                    rows = [np.concatenate([end, np.zeros((pools.rows - N, end.shape[1]), np.uint8)]).reshape(-1) for end in own]
                    found = pools.own(np.arange(N, dtype=np.int32), STEP, tokens=T - replayed, pools=rows, skip=replayed)[0]
                    for whole, some in zip(tried, found):
                        some = some.reshape(N, T, -1)
                        whole[taken == count] = np.roll(some, replayed if kind == "packed" else 0, axis=1).reshape(N, -1)[taken == count]
                if areWide and not same(pools.outputs(pointers), [whole.reshape(-1) for whole in tried]):
                    yield f"plan {plan}, replayed, {kind}, round {round}: outputs differ"
                if not same(pools.pools(pointers), wanted):
                    yield f"plan {plan}, replayed, {kind}, round {round}: pools differ"
                before = wanted
            if pools.run(pointers, plan, indices=begin, finals=ends, check=1, **more) != BAD_INDEX and (taken != counts).any():
                yield f"plan {plan}, replayed, {kind}: counts beyond are not refused where the call has them checked"
            pools.free(pointers)
            device.free([begin, accepted] + ([ends] if ends else []))
    device.free([even])
    pools.close()


def draw_tree(random, tokens):
    """The parents of tokens, each behind the one before it or behind any earlier one."""
    return [token - 1 if random.random() < 0.5 else int(random.integers(-1, token)) for token in range(tokens)]


def find_path(parents, token):
    return find_path(parents, parents[token]) + [token] if token >= 0 else []


def check_trees(library, T, N, H, seed):
    """Yields what is wrong with tokens that are tried as trees, and with those of a tree that are gone over again."""
    pools, device = Pools(library, T, N, H, (T + 1) * N + 5, seed), library.device
    random = pools.random
    if not pools.states:
        return
    outputs = [i for i, (info, _) in enumerate(library.arrays) if info.kind == OUTPUT]
    areWide = all(library.arrays[i][0].dtype == 0 for i in pools.states)  # else states are rounded in between
    even = device.upload(np.arange(N + 1, dtype=np.int64) * T)
    for replayed, kind in ((0, "rows"), (0, "none kept"), (0, "packed"), (T // 2, "rows"), (T // 2, "packed")):
        tried = T - replayed
        if T - T // 2 > MOST_TRIED or tried > MOST_TRIED or replayed == T:
            continue
        order = random.permutation(pools.rows).astype(np.int32)
        states, written = order[:N].copy(), order[N : N + N * T].reshape(N, T).copy()
        states[random.random(N) < 0.2] = -1
        written[random.random((N, T)) < 0.2] = -3
        if kind == "rows" and T > 2:
            written[0, 1] = states[0]  # which a later token may begin with as it was
        stride = T + 2
        parents = np.full((N, stride), 1 << 20, np.int32)
        counts = random.integers(0, replayed + 1, N).astype(np.int32)
        begin, rows, place, accepted = device.upload(states), device.upload(written), device.upload(parents), device.upload(counts)
        none = device.upload(np.full(N, -1, np.int32))
        more = {"parents": place, "parent_columns": T, "parent_stride": stride, "offsets": even if kind == "packed" else None}
        if replayed:
            more |= {"accepted": accepted, "replayed": replayed}
        elif kind == "none kept":
            more["finals"] = none
        else:
            more |= {"token_indices": rows, "token_columns": T}
        pointers, graph, before = pools.pooled(), None, pools.first
        what = f"trees, {replayed} replayed, {kind}"
        for round in range(3):
            trees = [draw_tree(random, replayed) + draw_tree(random, tried) for _ in range(N)]
            counts = random.integers(0, replayed + 1, N).astype(np.int32)
            parents[:, :T] = trees
            if round == 2:  # what is no earlier token is the one before, and below -1 there is nothing
                wild = random.random((N, T)) < 0.3
                parents[:, :T][wild] = random.integers(-1 << 30, 1 << 30, int(wild.sum()))
                own = np.array([*range(replayed), *range(tried)])
                trees = np.clip(parents[:, :T], -1, own - 1).tolist()
            device.write(place, parents)
            device.write(accepted, counts)
            if round == 0:
                status = pools.run(pointers, STEP, indices=begin, check=1, **more)
                if status:
                    if status != NO_PLAN:
                        yield f"{what}: {library.handle.recur_message().decode()}"
                    break
                pools.free(pointers)
                pointers = pools.pooled()
                graph = Graph(device, lambda stream: pools.call(pointers, STEP, indices=begin, stream=stream, **more))
            graph.run()
            taken = [find_path(tree[:replayed], int(count) - 1) for tree, count in zip(trees, counts)]
            wanted = before
            if replayed:
                ends = pools.along(taken, states, before)[1]
                wanted = pools.expected(states, states, ends, wanted)
            expected = [np.full(pools.data.bytes[i], 0xFF, np.uint8).reshape(N, T, -1) for i in outputs]
            for token in range(tried):
                paths = [own + [replayed + t for t in find_path(tree[replayed:], token)] for own, tree in zip(taken, trees)]
                found, ends = pools.along(paths, states, before)
                for whole, one in zip(expected, found):
                    whole[:, token + (replayed if kind == "packed" else 0)] = one
                if "token_indices" in more:
                    wanted = pools.expected(states, written[:, token], ends, wanted)
            if areWide or not replayed:
                if not same(pools.outputs(pointers), [whole.reshape(-1) for whole in expected]):
                    yield f"{what}, round {round}: outputs differ"
            if not same(pools.pools(pointers), wanted):
                yield f"{what}, round {round}: pools differ"
            before = pools.pools(pointers)
            if round == 2 and (parents[:, :T] != np.array(trees)).any():
                if pools.run(pointers, STEP, indices=begin, check=1, **more) != BAD_INDEX:
                    yield f"{what}: parents that are none are not refused where the call has them checked"
        pools.free(pointers)
        device.free([begin, rows, place, accepted, none])
    device.free([even])
    pools.close()


def check_intervals(library, T, N, H, seed):
    """Yields what is wrong with states after multiples of a number of tokens."""
    columns, chunk = 3, library.count_chunk()
    pools = Pools(library, T, N, H, (columns + 1) * N + 3, seed)
    device, random = library.device, pools.random
    if not pools.states:
        return
    even = device.upload(np.arange(N + 1, dtype=np.int64) * T)
    for plan in (STEP, CHUNK, SEGMENT, SCAN, 5):
        for kind in ("whole", "going on", "packed"):
            order = random.permutation(pools.rows).astype(np.int32)
            states, kept = order[:N].copy(), order[N : N + columns * N].reshape(N, columns).copy()
            states[random.random(N) < 0.3] = -1
            kept[random.random((N, columns)) < 0.2] = -2
            begin, rows = device.upload(states), device.upload(kept)
            positions, place, offsets = np.zeros(N, np.int32), None, even if kind == "packed" else None
            interval = chunk * max(1, -(-T // (columns * chunk)))
            more = {"interval": interval, "interval_indices": rows, "interval_columns": columns}
            if kind == "going on":
                positions = (random.integers(0, 9, N) * chunk).astype(np.int32)
                more["positions"] = place = device.upload(positions)
            pointers = pools.pooled()
            status = pools.run(pointers, plan, indices=begin, offsets=offsets, **more)
            if status:
                if status != NO_PLAN:
                    yield f"plan {plan}, intervals: {library.handle.recur_message().decode()}"
                pools.free(pointers)
                device.free([begin, rows] + ([place] if place else []))
                break

            uncut = CHUNK if plan == SEGMENT else plan  # for sequences are not cut then

            def expect(kept, pools=pools, states=states, positions=positions):
                outputs, ends = pools.own(states, uncut, offsets)
                wanted = pools.expected(states, states, ends)
                for tokens in sorted({int(n) for p in positions for n in np.arange(interval - p % interval, T + 1, interval)}):
                    isHere = (positions + tokens) % interval == 0
                    column = (positions + tokens) // interval - positions // interval - 1
                    written = np.where(isHere & (column < columns), kept[np.arange(N), np.minimum(column, columns - 1)], -1)
                    wanted = pools.expected(states, written, pools.own(states, uncut, tokens=tokens)[1], wanted)
                return outputs, wanted

            what = f"plan {plan}, {kind}, every {interval} tokens"
            outputs, wanted = expect(kept)
            if not same(pools.outputs(pointers), outputs):
                yield f"{what}: outputs differ"
            if not same(pools.pools(pointers), wanted):
                yield f"{what}: pools differ"
            again = pools.pooled()
            graph = Graph(device, lambda stream: pools.call(again, plan, indices=begin, offsets=offsets, stream=stream, **more))
            wild = np.roll(kept, 1, axis=0)
            wild[::3] = pools.rows + random.integers(0, 1 << 30, wild[::3].shape)
            device.write(rows, wild)
            graph.run()
            if not same(pools.pools(again), expect(np.where(wild < pools.rows, wild, -1))[1]):
                yield f"{what}: a graph that is replayed with other rows, some beyond the pool, gives other pools"
            if T >= 2 * interval and pools.run(again, plan, indices=begin, offsets=offsets, check=1, **more) != BAD_INDEX:
                yield f"{what}: rows beyond the pool are not refused where the call has them checked"
            pools.free(again)
            pools.free(pointers)
            device.free([begin, rows] + ([place] if place else []))
    device.free([even])
    pools.close()


def check_sizes(library, T, N, H, seed):
    """Yields what is wrong."""
    if T <= MOST_TRIED:
        yield from check_tried(library, T, N, H, seed)
    if 1 < T <= 2 * MOST_TRIED:
        yield from check_replayed(library, T, N, H, seed)
        yield from check_trees(library, T, N, H, seed)
    yield from check_intervals(library, T, N, H, seed)
    rows = 2 * N + 3
    pools = Pools(library, T, N, H, rows, seed)
    device, random = library.device, pools.random
    even = np.arange(N + 1, dtype=np.int64) * T
    place_of_offsets = device.upload(even)
    for plan in (AUTO, STEP, CHUNK, SEGMENT, SCAN):
        for kind in ("rows", "some without", "others", "packed"):
            order = random.permutation(rows).astype(np.int32)
            states, finals = order[:N].copy(), order[N : 2 * N].copy()
            if kind != "rows":
                states[random.permutation(N)[: max(1, N // 3)]] = -1
            if kind == "others":
                finals[random.permutation(N)[: max(1, N // 4)]] = -7
            offsets = place_of_offsets if kind == "packed" else None
            own = pools.own(states, plan, offsets)
            if own is None:
                break
            written = finals if kind == "others" else states
            indices, ends = device.upload(states), device.upload(finals) if kind == "others" else None
            pointers = pools.pooled()
            what = f"plan {plan}, {kind}"
            if pools.run(pointers, plan, indices=indices, finals=ends, offsets=offsets):
                yield f"{what}: {library.handle.recur_message().decode()}"
                break
            if not same(pools.outputs(pointers), own[0]):
                yield f"{what}: outputs differ"
            if not same(pools.pools(pointers), pools.expected(states, written, own[1])):
                yield f"{what}: pools differ"
            # A graph, replayed with other rows.
            again = pools.pooled()
            graph = Graph(device, lambda stream: pools.call(again, plan, indices=indices, finals=ends, stream=stream, offsets=offsets))
            turned = np.roll(states, 1)
            device.write(indices, turned)
            graph.run()
            others = pools.own(turned, plan, offsets)
            if not same(pools.outputs(again), others[0]):
                yield f"{what}: a graph that is replayed with other rows gives other outputs"
            if not same(pools.pools(again), pools.expected(turned, finals if kind == "others" else turned, others[1])):
                yield f"{what}: and other pools"
            # Beyond the pool there is nothing.
            wild = turned.copy()
            wild[:: 2] = rows + random.integers(0, 1 << 30, len(wild[::2]))
            device.write(indices, wild)
            pools.free(again)
            again = pools.pooled()
            pools.run(again, plan, indices=indices, offsets=offsets)
            beyond = pools.own(np.where(wild < rows, wild, -1).astype(np.int32), plan, offsets)
            if not same(pools.pools(again), pools.expected(wild, wild, beyond[1])):
                yield f"{what}: rows beyond the pool are written somewhere"
            if pools.run(again, plan, indices=indices, check=1, offsets=offsets) != BAD_INDEX:
                yield f"{what}: rows beyond the pool are not refused where the call has them checked"
            pools.free(again)
            pools.free(pointers)
            device.free([indices] + ([ends] if ends else []))
    device.free([place_of_offsets])
    pools.close()


if __name__ == "__main__":
    sys.exit(check_libraries(__doc__, check_sizes, "1,40,4;4,9,3;16,5,2;70,5,2;300,2,2;1024,3,2"))
