#include "Frontend/Glossary.h"

#include "llvm/ADT/STLExtras.h"

namespace recur::frontend {
namespace {

constexpr GlossaryEntry kGlossary[] = {
    {"recurrence", "recurrence name { ... }", "The program for one token of one head."},
    {"fn", "fn name(a, b) = EXPR", "A function of the file's own; it stands before the recurrences that call it."},
    {"dim", "dim K, N = 2", "Sizes, fixed at compile time; a number after '=' is the default."},
    {"const", "const x = 1.5", "A number, fixed at compile time; it may use dims and earlier consts."},
    {"shared", "shared input q: [K]", "One value for each token and group of heads."},
    {"input", "input a: SHAPE", "A value that each token of each head brings."},
    {"int", "int input position",
     "Before input: its numbers are integers, of 32 bits in memory, and have no gradient."},
    {"param", "param mu: SHAPE", "A value for each head, the same for every token."},
    {"state", "state S: SHAPE at start EXPR",
     "Kept from token to token; at first EXPR, or zero where it is left out, unless the caller gives an initial "
     "state."},
    {"let", "let r = EXPR", "A name for a value within the token."},
    {"output", "output o: SHAPE = EXPR", "A value that each token of each head gives."},
    {"restart", "restart EXPR", "Where EXPR is 1, all states are as at the start again before this token."},
    {"for", "for j in A..B { ... }", "The statements inside, for j = A to B - 1, unrolled at compile time."},
    {"in", "for j in A..B { ... }", "Stands before the bounds of a loop."},
    {"scalar", "input g: scalar", "The shape of a single number; it may be left out."},
    {"token", "token", "The number of tokens before this one; a state, so that a caller may go on from a count."},
    {"exp", "exp(a)", "Elementwise: the exponential."},
    {"log", "log(a)", "Elementwise: the natural logarithm."},
    {"sqrt", "sqrt(a)", "Elementwise: the square root."},
    {"abs", "abs(a)", "Elementwise: the magnitude."},
    {"sigmoid", "sigmoid(a)", "Elementwise: 1 / (1 + exp(-a))."},
    {"silu", "silu(a)", "Elementwise: a * sigmoid(a)."},
    {"relu", "relu(a)", "Elementwise: max(a, 0)."},
    {"elu", "elu(a)", "Elementwise: a above zero, exp(a) - 1 below."},
    {"stop", "stop(a)", "The value itself; a gradient does not go through it."},
    {"sin", "sin(a)", "Elementwise: the sine."},
    {"cos", "cos(a)", "Elementwise: the cosine."},
    {"tanh", "tanh(a)", "Elementwise: the hyperbolic tangent."},
    {"softplus", "softplus(a)", "Elementwise: log(1 + exp(a)), without overflow."},
    {"logsigmoid", "logsigmoid(a)", "Elementwise: -softplus(-a)."},
    {"max", "max(a, b)", "Elementwise: the larger; one side may be a scalar."},
    {"min", "min(a, b)", "Elementwise: the smaller; one side may be a scalar."},
    {"logaddexp", "logaddexp(a, b)", "Elementwise: log(exp(a) + exp(b)), without overflow."},
    {"where", "where(c, a, b)", "Elementwise: a where c is above zero, as where a comparison holds, and b elsewhere."},
    {"mod", "mod(a, b)", "Elementwise: a - b * floor(a / b), which has the sign of b."},
    {"floor", "floor(a)", "Elementwise: the largest whole number that is not above a; its gradient is zero."},
    {"erf", "erf(a)", "Elementwise: the error function."},
    {"gelu", "gelu(a)", "Elementwise: 0.5 * a * (1 + erf(a / sqrt(2)))."},
    {"sign", "sign(a)", "Elementwise: 1 above zero, -1 below, 0 at zero; its gradient is zero."},
    {"pi", "pi", "The number pi, unless something else is declared by this name."},
    {"pow", "pow(a, p)", "Elementwise: a to the power p, a compile-time number."},
    {"sum", "sum(a)", "The sum of all elements."},
    {"softmax", "softmax(a)", "exp(a) / sum(exp(a)) of a vector, without overflow."},
    {"l2norm", "l2norm(a)", "a / sqrt(dot(a, a) + 1e-6) of a vector."},
    {"rmsnorm", "rmsnorm(a, eps = 1e-6)", "a / sqrt(dot(a, a) / n + eps) of a vector of n."},
    {"layernorm", "layernorm(a, eps = 1e-6)", "rmsnorm(a - sum(a) / n, eps = eps) of a vector of n."},
    {"concat", "concat(a, b, ...)", "Vectors and scalars, or the rows of matrices and vectors, one after the other."},
    {"stack", "stack(a, b, ...)", "A vector of these scalars, or a matrix whose rows are these vectors."},
    {"delay", "delay(a, n)", "What a was n tokens before; zero where there was no such token."},
    {"conv", "conv(a, w)",
     "The causal convolution with w: [W], or [W, K]; the last weight is that of the token itself."},
    {"outer", "outer(a, b)", "The matrix with the rows of a and the columns of b: a times b transposed."},
    {"dot", "dot(a, b)", "The inner product of two vectors of one size."},
    {"diag", "diag(a)", "A diagonal, beside '@': S @ diag(a) scales the columns of S, diag(a) @ S its rows."},
    {"ones", "ones(n)", "A vector of n ones."},
    {"cg", "cg(G, x, ridge = r, iterations = n, gradient = solution | steps)",
     "n steps of conjugate gradients on (G + diag(r)) y = x."},
    {"complex", "complex(a, b)",
     "The complex number a + ib, elementwise; before a declaration, that its numbers are complex."},
    {"cis", "cis(t)", "Elementwise: the complex number cos(t) + i sin(t), which turns by the angle t."},
    {"conj", "conj(z)", "Elementwise: the complex conjugate."},
    {"re", "re(z)", "Elementwise: the real part of a complex number."},
    {"im", "im(z)", "Elementwise: the imaginary part of a complex number."},
    {"dgps", "dgps(S, read = k, value = v, solve = online | offline, decay = 1, gain = 1, write = read, atk = 1)",
     "The update of the taxonomy by its axes; online replaces what S holds for the key, offline adds to it."},
};

} // namespace

llvm::ArrayRef<GlossaryEntry> getGlossary() { return kGlossary; }

const GlossaryEntry *findInGlossary(llvm::StringRef word) {
  const auto *found = llvm::find_if(kGlossary, [&](const GlossaryEntry &entry) { return entry.word == word; });
  return found == std::end(kGlossary) ? nullptr : found;
}

} // namespace recur::frontend
