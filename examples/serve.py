"""A server in one file: requests come and go while a small hybrid model decodes all of them together.

The model has two layers with a memory of fixed size, the gated delta rule, and one of attention between them; its weights are random, so
that what it says means nothing. What is shown is how a server goes about it. Each memory has one pool of states, with a row for each
request. Every step is one call on packed sequences: new requests bring their whole prompt, the others one token each. All requests begin with the
same words, whose states are computed once: a new request reads their row, and writes its own. Where others wait, a request that has
had its turn gives its row back, and comes in again later with all that it has so far.

With --tries the words that come next are guessed: those that came the first time after the same word. The model goes over a word and the
guesses behind it at once, and takes those that it would have said itself. Of these words a memory keeps what it was given. The next step goes over the
words that were taken once more, stores the state behind them, and goes on to its own words: each state is read once and written once.

    python examples/serve.py [--requests N] [--rows N] [--tries N]

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
        for begin, end, read, write, before in batch.sequences():
            if read != write and read >= 0:
                self.kept[write, :before] = self.kept[read, :before]
            self.kept[write, before : before + end - begin] = numpy.stack([k[begin:end], v[begin:end]], 1)
            for token in range(begin, end):
                keys, values = self.kept[write, : before + token - begin + 1].swapaxes(0, 1)
                weight = numpy.exp(numpy.einsum("thk,hk->th", keys, q[token]) / SIZE**0.5)
                o[token] = numpy.einsum("th,thv->hv", weight / weight.sum(0), values)
        return x + o.reshape(len(x), -1) @ self.back


@dataclasses.dataclass
class Batch:
    """The sequences of a call: their tokens lie one behind another."""

    offsets: numpy.ndarray
    reads: numpy.ndarray  # the row that a sequence begins with, less than 0: with nothing
    writes: numpy.ndarray
    before: list[int]  # how many tokens the row that it reads has seen
    accepted: numpy.ndarray | None = None  # where words are tried: how many of those of the step before were taken

    def sequences(self):
        return zip(self.offsets[:-1], self.offsets[1:], self.reads, self.writes, self.before)


class Model:
    def __init__(self, rows, tries=0, seed=0):
        random = numpy.random.default_rng(seed)
        self.words = random.standard_normal((WORDS, WIDTH)).astype(numpy.float32)
        self.layers = [layer(random, rows, tries) for layer in (Memory, Attention, Memory)]

    def __call__(self, pieces, accepted=None):
        """The word behind each token of each sequence. A piece has its tokens, the rows that it reads and writes, and what it has seen before."""
        if not pieces:
            return []
        tokens, reads, writes, before = zip(*pieces)
        offsets = numpy.concatenate([[0], numpy.cumsum([len(own) for own in tokens])])
        counts = None if accepted is None else numpy.array(accepted, numpy.int32)
        batch = Batch(offsets, numpy.array(reads, numpy.int32), numpy.array(writes, numpy.int32), list(before), counts)
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
    accepted: int = 0  # of the tokens that the last step tried, the first of which was said before

    def say(self, words, guessed):
        """Takes the words of a step as far as what was guessed is what the model says. Gives how many these are."""
        taken = 1
        while taken <= len(guessed) and guessed[taken - 1] == words[taken - 1]:
            taken += 1
        self.answer += words[:taken]
        return taken


def guess(said, most):
    """What came the first time after the word that was said last."""
    begin = said.index(said[-1]) + 1
    return said[begin : begin + most] if begin < len(said) else []


class Server:
    """Row 0 of the pools has the words that all requests begin with."""

    def __init__(self, rows, prefix, quantum=8, tries=0, seed=0):
        self.model, self.prefix, self.quantum, self.tries = Model(rows, tries, seed), list(prefix), quantum, tries
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
                prompts.append((request, [], (said, 0, request.row, seen)))
            else:
                guessed = guess(said, min(self.tries, request.wanted - len(request.answer) - 1))
                tries.append((request, guessed, (said[-1:] + guessed, request.row, request.row, seen + len(said) - 1)))
        words = [own[-1:] for own in self.model([piece for *_, piece in prompts])]
        words += self.model([piece for *_, piece in tries], [request.accepted for request, *_ in tries] if self.tries else None)
        for (request, guessed, _), own in zip(prompts + tries, words):
            taken = request.say(own, guessed)
            self.words += taken
            self.guesses += len(guessed)
            self.taken += taken - 1
            request.accepted = taken if request.turn else 0  # a prompt's state is stored at once
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
    options = parser.parse_args()
    if options.requests < 1 or options.rows < 2:
        parser.error("there is a request at least, and a row for it beside the one of the words that all begin with: --requests 1 --rows 2")
    if options.tries < 0:
        parser.error("as many words are guessed, or none: --tries 3")
    prefix, requests = list(range(20)), draw_requests(options.requests)
    server = Server(options.rows, prefix, tries=options.tries)
    server.serve([requests[i : i + 2] for i in range(0, len(requests), 2)])
    same = sum(request.answer == answer_alone(request, prefix) for request in requests)
    print(f"{server.words} words in {server.steps} steps, {server.words / server.steps:.1f} a step; {server.evictions} times a request gave its row back")
    if server.tries:
        print(f"{server.taken} of {server.guesses} guesses were taken")
    print(f"{same} of {len(requests)} requests have the answer that they have alone")
    return 0 if same == len(requests) else 1


if __name__ == "__main__":
    raise SystemExit(main())
