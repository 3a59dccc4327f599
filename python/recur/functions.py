"""The functions of the language, on the symbols of a recurrence that is written in Python: ``recur.exp(g)``, ``recur.outer(v, k)``."""

from __future__ import annotations

from typing import Any

from .errors import TraceError, suggest
from .symbols import KNOWN, Symbol, read

#: Each with what it is; docs/language.md has the whole of it.
_FUNCTIONS = {
    "abs": "The absolute value, elementwise; of a complex number its modulus.",
    "cg": "``cg(G, x, ridge=r, iterations=n)``: conjugate-gradient steps on ``(G + diag(r)) y = x``.",
    "cis": "``cos(t) + i sin(t)``.",
    "complex": "``complex(a, b)`` is ``a + ib``.",
    "concat": "Vectors and scalars, or matrices, one after the other.",
    "conj": "The conjugate of a complex number.",
    "conv": "``conv(x, w)``: the causal convolution of ``x`` over tokens with the weights ``w``.",
    "cos": "The cosine, elementwise.",
    "delay": "``delay(x, n)``: what ``x`` was ``n`` tokens before.",
    "dgps": "``dgps(S, read=k, value=v, solve='online', ...)``: an update by its named axes.",
    "diag": "A diagonal, beside ``@``.",
    "dot": "The inner product of two vectors.",
    "elu": "``a`` above zero, ``exp(a) - 1`` below.",
    "erf": "The error function, elementwise.",
    "exp": "The exponential, elementwise.",
    "floor": "The largest whole number that is not above, elementwise.",
    "gelu": "``0.5 * a * (1 + erf(a / sqrt(2)))``.",
    "im": "The imaginary part.",
    "l2norm": "A vector divided by its length.",
    "layernorm": "``layernorm(a, eps=e)``: a vector less its mean, divided by its deviation.",
    "log": "The natural logarithm, elementwise.",
    "logaddexp": "``log(exp(a) + exp(b))``, without overflow.",
    "logsigmoid": "``-softplus(-a)``.",
    "max": "The larger of two, elementwise.",
    "min": "The smaller of two, elementwise.",
    "mod": "``a - b * floor(a / b)``, as ``a % b``.",
    "ones": "``ones(n)``: a vector of ones.",
    "outer": "``outer(a, b)``: a matrix with the rows of ``a`` and the columns of ``b``.",
    "pow": "``pow(a, p)``: ``a`` to the power of a number.",
    "re": "The real part.",
    "relu": "``max(a, 0)``.",
    "rmsnorm": "``rmsnorm(a, eps=e)``: a vector divided by the root of its mean square.",
    "sigmoid": "``1 / (1 + exp(-a))``.",
    "sign": "1 above zero, -1 below, 0 at zero.",
    "silu": "``a * sigmoid(a)``.",
    "sin": "The sine, elementwise.",
    "softmax": "``exp(a) / sum(exp(a))`` of a vector.",
    "softplus": "``log(1 + exp(a))``, without overflow.",
    "sqrt": "The square root, elementwise.",
    "stack": "A vector of scalars, or a matrix of rows.",
    "stop": "The same value; a gradient does not go through it.",
    "sum": "The sum of all elements.",
    "tanh": "The hyperbolic tangent, elementwise.",
    "where": "``where(c, a, b)``: ``a`` where ``c`` is above zero, as where a comparison holds, and ``b`` elsewhere.",
}

#: Of the tracing that goes on: what `restart` was given.
restarts: list[Symbol] | None = None


def _make(name: str, text: str) -> Any:
    def function(*operands: Any, **named: Any) -> Symbol:
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])  # stack([a, b])
        words = {word: value if isinstance(value, str) else read(value) for word, value in named.items()}
        return Symbol("call", name, [read(operand) for operand in operands], words)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = text
    return function


KNOWN.update({name: _make(name, text) for name, text in _FUNCTIONS.items()})
globals().update(KNOWN)


def token() -> Symbol:
    """How many tokens came before this one."""
    return Symbol("name", "token")


def restart(first: Any) -> None:
    """If ``first`` is 1, all states get their start values again before this token. It stands before every line that reads a state."""
    if restarts is None:
        raise TraceError("restart belongs into the function of a recurrence")
    restarts.append(read(first))


__all__ = sorted([*_FUNCTIONS, "restart", "token"])


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the language has no function '{name}'" + suggest(name, __all__))
