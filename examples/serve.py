"""A server in one file: requests come and go while a small hybrid model decodes all of them together.

The model has two layers with a memory of fixed size, the gated delta rule, and one of attention between them; its weights are random, so
that what it says means nothing. What is shown is how a server goes about it. Each memory has one pool of states, with a row for each
request. Every step is one call on packed sequences: new requests bring their whole prompt, the others one token each. All requests begin with the
same words, whose states are computed once: a new request reads their row, and writes its own. Where others wait, a request that has
had its turn gives its row back, and comes in again later with all that it has so far.

With --tries the words that come next are guessed: those that came the first time after the same word. The model goes over a word and the
guesses behind it at once, and takes those that it would have said itself. Of these words a memory keeps what it was given. The next step goes over the
words that were taken once more, stores the state behind them, and goes on to its own words: each state is read once and written once.

With --trees more than one continuation is guessed: what came each of the first times after the same word. The guesses are a tree, in which continuations
share the words with which they begin, and whichever of them the model would have said is taken.

    python examples/serve.py [--requests N] [--rows N] [--tries N] [--trees N]

Prints what the steps did, and holds every answer against that of the request decoded alone. It needs NumPy alone.
"""

import argparse
import collections
import dataclasses

import numpy

import recur

WORDS, WIDTH, HEADS, SIZE, MOST = 96, 64, 4, 16, 256  # the vocabulary, a token's numbers, heads and their size, tokens of a request
GDN = recur.library.gated_delta_net


def norm(x):
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def unit(x):
    return x / numpy.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


class Memory:
    """The gated delta rule, with the states of all requests in a pool."""

    def __init__(self, random, rows, tries):
        self.given = random.standard_normal((WIDTH, HEADS * (3 * SIZE + 2))).astype(numpy.float32) / WIDTH**0.5
        self.back = random.standard_normal((HEADS * SIZE, WIDTH)).astype(numpy.float32) / WIDTH**0.5
        self.pool = numpy.zeros((rows, HEADS, SIZE, SIZE), numpy.float32)
        self.tried = numpy.zeros((rows, 1 + tries, HEADS * (3 * SIZE + 2)), numpy.float32)  # of a row: what the last step was given

    def replay(self, given, batch):
        """Before the tokens of each sequence those of the step before. Gives the offsets of all, and which are the step's own."""
        parts, isOwn, again = [], [], self.tried.shape[1]
        for begin, end, _, row, _ in batch.sequences():
            parts += [self.tried[row].copy(), given[begin:end]]
            isOwn += [False] * again + [True] * (end - begin)
            self.tried[row, : end - begin] = given[begin:end]
        return numpy.concatenate(parts), batch.offsets + again * numpy.arange(len(batch.offsets)), numpy.array(isOwn)

    def __call__(self, x, batch):
        given, offsets, isOwn = norm(x) @ self.given, batch.offsets, numpy.ones(len(x), bool)
        how = {"state_indices": batch.reads, "final_indices": batch.writes}
        if batch.accepted is not None:
            given, offsets, isOwn = self.replay(given, batch)
            how |= {"accepted": batch.accepted, "replayed": self.tried.shape[1]}
            how |= {"parents": join_trees(batch.trees, self.tried.shape[1])} if batch.trees else {}
        parts = given.reshape(1, len(given), HEADS, -1)
        q, k, v = (parts[..., i * SIZE : (i + 1) * SIZE].copy() for i in range(3))
        g, beta = -numpy.log1p(numpy.exp(parts[..., -2])) / 4, sigmoid(parts[..., -1])
        o = GDN(unit(q), unit(k), v, g, beta, offsets=offsets, pool=self.pool, **how)
        return x + o[0, isOwn].reshape(len(x), -1) @ self.back


class Attention:
    """What softmax attention keeps of each request grows with it: keys and values of all its tokens, in its row."""

    def __init__(self, random, rows, tries):
        self.given = random.standard_normal((WIDTH, 3 * WIDTH)).astype(numpy.float32) / WIDTH**0.5
        self.back = random.standard_normal((WIDTH, WIDTH)).astype(numpy.float32) / WIDTH**0.5
        self.kept = numpy.zeros((rows, MOST, 2, HEADS, SIZE), numpy.float32)

    def __call__(self, x, batch):
        q, k, v = ((norm(x) @ self.given).reshape(len(x), 3, HEADS, SIZE)[:, i] for i in range(3))
        o = numpy.empty_like(q)
        for i, (begin, end, read, write, before) in enumerate(batch.sequences()):
            if read != write and read >= 0:
                self.kept[write, :before] = self.kept[read, :before]
            last, tree = batch.trees[i] if batch.trees else ([], [])
            path = find_path(last, batch.accepted[i] - 1) if last else []
            self.kept[write, before - len(path) : before] = self.kept[write, [before - len(path) + j for j in path]]  # of what was tried
            self.kept[write, before : before + end - begin] = numpy.stack([k[begin:end], v[begin:end]], 1)
            for token in range(begin, end):
                own = find_path(tree, token - begin) if tree else range(token - begin + 1)
                keys, values = self.kept[write, [*range(before), *(before + j for j in own)]].swapaxes(0, 1)
                weight = numpy.exp(numpy.einsum("thk,hk->th", keys, q[token]) / SIZE**0.5)
                o[token] = numpy.einsum("th,thv->hv", weight / weight.sum(0), values)
        return x + o.reshape(len(x), -1) @ self.back


def find_path(parents, token):
    """The tokens from the beginning of a tree to this one."""
    return [*find_path(parents, parents[token]), token] if token >= 0 else []


def join_trees(trees, replayed):
    """Which token each one follows: of each sequence the tree of the step before, which has room for so many tokens, and the step's own."""
    joined = numpy.full((len(trees), replayed + max(len(own) for _, own in trees)), -1, numpy.int32)
    for row, (last, own) in zip(joined, trees):
        row[: len(last)] = last
        row[replayed : replayed + len(own)] = own
    return joined


@dataclasses.dataclass
class Batch:
    """The sequences of a call: their tokens lie one behind another."""

    offsets: numpy.ndarray
    reads: numpy.ndarray  # the row that a sequence begins with, less than 0: with nothing
    writes: numpy.ndarray
    before: list[int]  # how many tokens the row that it reads has seen
    accepted: numpy.ndarray | None = None  # where words are tried: how many of those of the step before were taken
    trees: list[tuple[list[int], list[int]]] | None = None  # where they are trees: which word each one follows, in the step before and in this one

    def sequences(self):
        return zip(self.offsets[:-1], self.offsets[1:], self.reads, self.writes, self.before)


class Model:
    def __init__(self, rows, tries=0, seed=0):
        random = numpy.random.default_rng(seed)
        self.words = random.standard_normal((WORDS, WIDTH)).astype(numpy.float32)
        self.layers = [layer(random, rows, tries) for layer in (Memory, Attention, Memory)]

    def __call__(self, pieces, accepted=None, trees=None):
        """The word behind each token of each sequence. A piece has its tokens, the rows that it reads and writes, and what it has seen before."""
        if not pieces:
            return []
        tokens, reads, writes, before = zip(*pieces)
        offsets = numpy.concatenate([[0], numpy.cumsum([len(own) for own in tokens])])
        counts = None if accepted is None else numpy.array(accepted, numpy.int32)
        batch = Batch(offsets, numpy.array(reads, numpy.int32), numpy.array(writes, numpy.int32), list(before), counts, trees)
        x = self.words[numpy.concatenate(tokens)]
        for layer in self.layers:
            x = layer(x, batch)
        words = (norm(x) @ self.words.T).argmax(-1)
        return [words[first:end].tolist() for first, end in zip(offsets[:-1], offsets[1:])]


@dataclasses.dataclass
class Request:
    prompt: list[int]
    wanted: int  # how many words
    answer: list[int] = dataclasses.field(default_factory=list)
    row: int = -1
    turn: int = 0  # steps since it came in
    tree: list[int] = dataclasses.field(default_factory=list)  # of the tokens that the last step tried: which one each of them follows
    accepted: int = 0  # of these tokens, the first of which was said before; of a tree it stands for the path to the last of so many

    def say(self, words, guessed):
        """Takes the words of a step as far as what was guessed is what the model says. Gives how many these are."""
        tokens, self.tree = guessed
        last, taken = 0, 1
        while following := [i for i, (token, parent) in enumerate(zip(tokens, self.tree)) if parent == last and token == words[last]]:
            self.answer.append(words[last])
            last, taken = following[0], taken + 1
        self.answer.append(words[last])
        self.accepted = last + 1
        return taken


def guess(said, most, trees):
    """The word that was said last, and behind it what came the first times after it, so many words of so many continuations. Gives the words, and which one
    each of them follows."""
    words, parents, known = said[-1:], [-1], {}
    begins = [i + 1 for i, word in enumerate(said[:-1]) if word == said[-1]][:trees]
    ends = dict.fromkeys(begins, 0)  # of each continuation, in the tree
    for place in range(most):
        for begin in begins:
            follows = (ends[begin], said[begin + place]) if begin + place < len(said) and ends[begin] is not None else None
            if follows and follows not in known and len(words) <= most:
                known[follows] = len(words)
                words.append(follows[1])
                parents.append(follows[0])
            ends[begin] = known.get(follows)
    return words, parents


class Server:
    """Row 0 of the pools has the words that all requests begin with."""

    def __init__(self, rows, prefix, quantum=8, tries=0, trees=1, seed=0):
        self.model, self.prefix, self.quantum = Model(rows, tries, seed), list(prefix), quantum
        self.tries, self.trees = tries, trees
        self.free, self.running, self.waiting = list(range(1, rows)), [], collections.deque()
        self.steps = self.words = self.evictions = self.guesses = self.taken = 0
        self.model([(self.prefix, -1, 0, 0)])

    def admit(self):
        """Gives rows to those who wait, of which those have to make room that had their turn."""
        for request in [r for r in self.running if r.turn >= self.quantum][: max(0, len(self.waiting) - len(self.free))]:
            self.running.remove(request)
            self.release(request)
            self.waiting.append(request)
            self.evictions += 1
        while self.free and self.waiting:
            request = self.waiting.popleft()
            request.row, request.turn = self.free.pop(), 0
            self.running.append(request)

    def release(self, request):
        self.free.append(request.row)
        request.row = -1

    def step(self):
        """A word more for each request that has a row, and with luck some that were guessed."""
        self.admit()
        prompts, tries, seen = [], [], len(self.prefix)
        for request in self.running:
            said = request.prompt + request.answer
            if request.turn == 0:
                prompts.append((request, (said[-1:], [-1]), (said, 0, request.row, seen)))
            else:
                guessed = guess(said, min(self.tries, request.wanted - len(request.answer) - 1), self.trees)
                tries.append((request, guessed, (guessed[0], request.row, request.row, seen + len(said) - 1)))
        words = [own[-1:] for own in self.model([piece for *_, piece in prompts])]
        accepted = [request.accepted for request, *_ in tries] if self.tries else None
        trees = [(request.tree, parents) for request, (_, parents), _ in tries] if self.tries and self.trees > 1 else None
        words += self.model([piece for *_, piece in tries], accepted, trees)
        for (request, guessed, _), own in zip(prompts + tries, words):
            taken = request.say(own, guessed)
            self.words += taken
            self.guesses += len(guessed[0]) - 1
            self.taken += taken - 1
            if request.turn == 0:
                request.tree, request.accepted = [], 0  # a prompt's state is stored at once
            request.turn += 1
        for request in [r for r in self.running if len(r.answer) == r.wanted]:
            self.running.remove(request)
            self.release(request)
        self.steps += 1

    def serve(self, arrivals):
        """Answers requests, of which some come in at each step."""
        arrivals = collections.deque(arrivals)
        while arrivals or self.waiting or self.running:
            self.waiting.extend(arrivals.popleft() if arrivals else [])
            if self.waiting or self.running:
                self.step()


def draw_requests(count, seed=1):
    random = numpy.random.default_rng(seed)
    return [Request(random.integers(0, WORDS, random.integers(1, 30)).tolist(), int(random.integers(4, 40))) for _ in range(count)]


def answer_alone(request, prefix, seed=0):
    """The same request on a server that has no other."""
    own = Request(request.prompt, request.wanted)
    Server(2, prefix, seed=seed).serve([[own]])  # which guesses nothing
    return own.answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=24, help="how many there are")
    parser.add_argument("--rows", type=int, default=9, help="of the pools, one of which has the words that all begin with")
    parser.add_argument("--tries", type=int, default=0, help="words that are guessed at once")
    parser.add_argument("--trees", type=int, default=1, help="continuations that these words are of")
    options = parser.parse_args()
    if options.requests < 1 or options.rows < 2:
        parser.error("there is a request at least, and a row for it beside the one of the words that all begin with: --requests 1 --rows 2")
    if options.tries < 0:
        parser.error("as many words are guessed, or none: --tries 3")
    if options.trees < 1 or (options.trees > 1 and not options.trees <= options.tries <= 15):
        parser.error("each continuation has a word at least, and all together have 15 at most: --tries 7 --trees 3")
    prefix, requests = list(range(20)), draw_requests(options.requests)
    server = Server(options.rows, prefix, tries=options.tries, trees=options.trees)
    server.serve([requests[i : i + 2] for i in range(0, len(requests), 2)])
    same = sum(request.answer == answer_alone(request, prefix) for request in requests)
    print(f"{server.words} words in {server.steps} steps, {server.words / server.steps:.1f} a step; {server.evictions} times a request gave its row back")
    if server.tries:
        print(f"{server.taken} of {server.guesses} guesses were taken")
    print(f"{same} of {len(requests)} requests have the answer that they have alone")
    return 0 if same == len(requests) else 1


if __name__ == "__main__":
    raise SystemExit(main())
