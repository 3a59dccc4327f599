#include "Frontend/Builtins.h"

#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cmath>

namespace recur::frontend {
namespace {

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double logaddexp(double a, double b) { return std::max(a, b) + softplus(-std::abs(a - b)); }

double mod(double a, double b) { return a - b * std::floor(a / b); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }

constexpr llvm::StringRef kNormKeywords[] = {"eps"};
constexpr llvm::StringRef kCgKeywords[] = {"ridge", "iterations", "gradient"};
constexpr llvm::StringRef kDgpsKeywords[] = {"read", "value", "solve", "decay", "gain", "write", "atk"};

const BuiltinInfo kBuiltins[] = {
    {Builtin::Exp, "exp", 1, "exp(a)", {}, [](double x) { return std::exp(x); }},
    {Builtin::Log, "log", 1, "log(a)", {}, [](double x) { return std::log(x); }},
    {Builtin::Sqrt, "sqrt", 1, "sqrt(a)", {}, [](double x) { return std::sqrt(x); }},
    {Builtin::Abs, "abs", 1, "abs(a)", {}, [](double x) { return std::abs(x); }},
    {Builtin::Sigmoid, "sigmoid", 1, "sigmoid(a)", {}, sigmoid},
    {Builtin::Silu, "silu", 1, "silu(a)", {}, [](double x) { return x * sigmoid(x); }},
    {Builtin::Relu, "relu", 1, "relu(a)", {}, [](double x) { return std::max(x, 0.0); }},
    {Builtin::Elu, "elu", 1, "elu(a)", {}, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {Builtin::Stop, "stop", 1, "stop(a)", {}, [](double x) { return x; }},
    {Builtin::Sin, "sin", 1, "sin(a)", {}, [](double x) { return std::sin(x); }},
    {Builtin::Cos, "cos", 1, "cos(a)", {}, [](double x) { return std::cos(x); }},
    {Builtin::Tanh, "tanh", 1, "tanh(a)", {}, [](double x) { return std::tanh(x); }},
    {Builtin::Softplus, "softplus", 1, "softplus(a)", {}, softplus},
    {Builtin::LogSigmoid, "logsigmoid", 1, "logsigmoid(a)", {}, [](double x) { return -softplus(-x); }},
    {Builtin::Max, "max", 2, "max(a, b)", {}, nullptr, [](double a, double b) { return std::max(a, b); }},
    {Builtin::Min, "min", 2, "min(a, b)", {}, nullptr, [](double a, double b) { return std::min(a, b); }},
    {Builtin::LogAddExp, "logaddexp", 2, "logaddexp(a, b)", {}, nullptr, logaddexp},
    {Builtin::Where, "where", 3, "where(c, a, b)", {}, nullptr, nullptr, false, true},
    {Builtin::Mod, "mod", 2, "mod(a, b)", {}, nullptr, mod, false, true},
    {Builtin::Floor, "floor", 1, "floor(a)", {}, [](double x) { return std::floor(x); }, nullptr, false, true},
    {Builtin::Erf, "erf", 1, "erf(a)", {}, [](double x) { return std::erf(x); }, nullptr, false, true},
    {Builtin::Gelu, "gelu", 1, "gelu(a)", {}, gelu, nullptr, false, true},
    {Builtin::Sign,
     "sign",
     1,
     "sign(a)",
     {},
     [](double x) { return double(x > 0) - double(x < 0); },
     nullptr,
     false,
     true},
    {Builtin::Pow, "pow", 2, "pow(a, p)", {}, nullptr, [](double a, double p) { return std::pow(a, p); }},
    {Builtin::Sum, "sum", 1, "sum(a)"},
    {Builtin::Softmax, "softmax", 1, "softmax(a)"},
    {Builtin::L2Norm, "l2norm", 1, "l2norm(a)"},
    {Builtin::RMSNorm, "rmsnorm", 1, "rmsnorm(a, eps = 1e-6)", kNormKeywords},
    {Builtin::LayerNorm, "layernorm", 1, "layernorm(a, eps = 1e-6)", kNormKeywords},
    {Builtin::Concat, "concat", 1, "concat(a, b, ...)", {}, nullptr, nullptr, true},
    {Builtin::Stack, "stack", 1, "stack(a, b, ...)", {}, nullptr, nullptr, true},
    {Builtin::Delay, "delay", 2, "delay(a, n)"},
    {Builtin::Conv, "conv", 2, "conv(a, w)"},
    {Builtin::Outer, "outer", 2, "outer(a, b)"},
    {Builtin::Dot, "dot", 2, "dot(a, b)"},
    {Builtin::Diag, "diag", 1, "diag(a)"},
    {Builtin::Ones, "ones", 1, "ones(n)"},
    {Builtin::Cg, "cg", 2, "cg(G, x, ridge = r, iterations = n, gradient = solution | steps)", kCgKeywords},
    {Builtin::Dgps, "dgps", 1,
     "dgps(S, read = k, value = v, solve = online | offline, decay = 1, gain = 1, write = read, atk = 1)",
     kDgpsKeywords},
    {Builtin::Complex, "complex", 2, "complex(a, b)", {}, nullptr, nullptr, false, true},
    {Builtin::Cis, "cis", 1, "cis(t)", {}, nullptr, nullptr, false, true},
    {Builtin::Conj, "conj", 1, "conj(z)", {}, nullptr, nullptr, false, true},
    {Builtin::Re, "re", 1, "re(z)", {}, nullptr, nullptr, false, true},
    {Builtin::Im, "im", 1, "im(z)", {}, nullptr, nullptr, false, true},
};

} // namespace

llvm::ArrayRef<BuiltinInfo> getBuiltins() { return kBuiltins; }

const BuiltinInfo *findBuiltin(llvm::StringRef name) {
  static const llvm::StringMap<const BuiltinInfo *> byName = [] {
    llvm::StringMap<const BuiltinInfo *> map;
    for (const BuiltinInfo &info : kBuiltins)
      map[info.name] = &info;
    return map;
  }();
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : found->second;
}

bool takesWord(llvm::StringRef function, llvm::StringRef keyword) {
  return (function == "dgps" && keyword == "solve") || (function == "cg" && keyword == "gradient");
}

} // namespace recur::frontend
