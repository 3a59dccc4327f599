"""Arithmetic of lists, for the layers of golden.py: vectors are lists of numbers, matrices lists of rows."""

import math


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def silu(x):
    return x * sigmoid(x)


def each(f, *lists):
    return [f(*values) for values in zip(*lists)]


def dot(a, b):
    return math.fsum(each(lambda x, y: x * y, a, b))


def read(S, x):
    return [dot(row, x) for row in S]


def l2norm(a):
    return [x / math.sqrt(dot(a, a) + 1e-6) for x in a]


def rmsnorm(a):
    return [x / math.sqrt(dot(a, a) / len(a) + 1e-6) for x in a]


def solved(A, rows):
    """X with X A = rows, for a symmetric positive definite A: elimination without pivots."""
    n = len(A)
    A, B = [row[:] for row in A], [[row[i] for row in rows] for i in range(n)]
    for i in range(n):
        for j in range(n):
            if i != j:
                factor = A[j][i] / A[i][i]
                A[j] = [a - factor * b for a, b in zip(A[j], A[i])]
                B[j] = [a - factor * b for a, b in zip(B[j], B[i])]
    return [[B[i][r] / A[i][i] for i in range(n)] for r in range(len(rows))]


def zeros(rows, columns):
    return [[0.0] * columns for _ in range(rows)]


def convolved(sequence, t, weights):
    """weights[-1] belongs to token t, weights[0] to the oldest one; before the first token there is nothing."""
    total = [0.0] * len(sequence[t])
    for back in range(len(weights)):
        if t >= back:
            total = each(lambda s, w, x: s + w * x, total, weights[len(weights) - 1 - back], sequence[t - back])
    return total


def delta_rule(S, key, value, gain):
    for row, v in zip(S, value):
        missing = gain * (v - dot(row, key))
        for j, k in enumerate(key):
            row[j] += missing * k
