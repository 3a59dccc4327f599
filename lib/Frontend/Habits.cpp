#include "Frontend/Habits.h"

#include "Frontend/Builtins.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace recur::frontend {

using llvm::StringRef;

static constexpr llvm::StringLiteral conditionHelp =
    "a statement has no conditions; where(c, a, b) chooses between values, as in S = where(x > 0, S + x, S)";

std::string getHelpForDelay(StringRef value) {
  return "what " + value.str() + " was a token before is delay(" + value.str() + ", 1)";
}

/// The arguments of a call that go on in `rest`, up to its closing parenthesis.
static llvm::SmallVector<StringRef> splitArguments(StringRef rest) {
  llvm::SmallVector<StringRef> arguments;
  rest = rest.ltrim();
  if (!rest.consume_front(","))
    return arguments;
  size_t begin = 0;
  unsigned open = 0;
  for (size_t at = 0; at < rest.size() && rest[at] != '\n'; ++at) {
    bool isClosing = rest[at] == ')' || rest[at] == ']';
    if (open == 0 && (isClosing || rest[at] == ',')) {
      arguments.push_back(rest.slice(begin, at).trim());
      begin = at + 1;
      if (isClosing)
        return arguments;
    }
    open += (rest[at] == '(' || rest[at] == '[') - isClosing;
  }
  return {};
}

/// What einsum of two operands with these subscripts is, without dimensions of a batch.
static std::string spellProduct(StringRef i, StringRef j, StringRef out, const std::string &a, const std::string &b) {
  if (i.size() < j.size())
    return spellProduct(j, i, out, b, a);
  if (i == j && out == i)
    return a + " * " + b;
  if (i.size() == 1 && j.size() == 1) {
    if (i == j)
      return out.empty() ? "dot(" + a + ", " + b + ")" : "";
    return out == i.str() + j.str()   ? "outer(" + a + ", " + b + ")"
           : out == j.str() + i.str() ? "outer(" + b + ", " + a + ")"
                                      : "";
  }
  if (i.size() != 2)
    return "";
  StringRef rows = i.take_front(), columns = i.drop_front();
  if (j == columns)
    return out == rows ? a + " @ " + b : out == i ? a + " @ diag(" + b + ")" : "";
  if (j == rows)
    return out == columns ? b + " @ " + a : out == i ? "diag(" + b + ") @ " + a : "";
  if (j.size() == 2 && columns == j.take_front() && out == rows.str() + j.drop_front().str())
    return a + " @ " + b;
  return "";
}

std::string getHelpForSubscripts(StringRef subscripts, StringRef rest) {
  auto [before, arrow] = subscripts.split("->");
  std::string out = arrow.trim().str();
  llvm::SmallVector<std::string> inputs;
  for (StringRef input : llvm::split(before, ','))
    inputs.push_back(input.trim().str());
  auto isWord = [](StringRef letters) { return llvm::all_of(letters, [](char c) { return llvm::isAlpha(c); }); };
  if (!subscripts.contains("->") || inputs.size() > 2 || !llvm::all_of(inputs, isWord) || !isWord(out))
    return "";
  // Batch, tokens and heads come first and are not written here.
  auto isBatched = [&](const std::string &input) {
    return input.size() > 1 && !out.empty() && input.front() == out.front() && input.front() == inputs[0].front();
  };
  while (inputs.size() == 2 && llvm::all_of(inputs, isBatched) && inputs[0] != inputs[1]) {
    for (std::string &input : inputs)
      input.erase(0, 1);
    out.erase(0, 1);
  }
  if (inputs.size() == 1)
    return out.size() == 2 && out[0] == inputs[0].back() && out[1] == inputs[0].front()
               ? "there is no transpose: x @ S is S transposed times x"
               : "";
  llvm::SmallVector<StringRef> operands = splitArguments(rest);
  bool areKnown = operands.size() == 2;
  std::string product =
      spellProduct(inputs[0], inputs[1], out, areKnown ? operands[0].str() : "a", areKnown ? operands[1].str() : "b");
  return product.empty() ? "" : "for '" + subscripts.str() + "' write " + product;
}

std::string getHelpForFunction(StringRef name) {
  static constexpr llvm::StringLiteral delays[] = {"shift", "roll", "prev", "previous", "lag", "token_shift"};
  if (llvm::is_contained(delays, name))
    return getHelpForDelay("k");
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"eye", "identity"}, "multiply it out: S @ (eye(K) - b * outer(k, k)) is S - b * outer(S @ k, k); a state "
                                  "begins with it by at start diag(ones(K))")
      .Cases({"inverse", "inv", "solve", "pinv", "lstsq", "cholesky"},
             "what (G + diag(r)) y = x gives is cg(G, x, ridge = r, iterations = n)")
      .Case("token", "the number of tokens before this one is token, without parentheses")
      .Cases({"conv1d", "causal_conv1d", "Conv1d", "convolve", "short_conv"},
             "write conv(x, w) with w: [W] or [W, K] for x: [K]; the last weight is that of the token itself")
      .Case("tan", "write sin(a) / cos(a)")
      .Case("sinh", "write 0.5 * (exp(a) - exp(-a))")
      .Case("cosh", "write 0.5 * (exp(a) + exp(-a))")
      .Cases({"atan", "atan2", "acos", "asin", "atanh", "erfinv", "gamma", "lgamma"},
             "there is none: of inputs and params compute it outside and pass the result as an input; of a state it "
             "cannot "
             "be computed")
      .Cases({"rand", "randn", "dropout", "bernoulli"}, "draw it outside, and pass the result as an input")
      .Case("range", "a loop runs over lower..upper: for j in 0..N { ... }")
      .Cases({"rms_norm", "RMSNorm"}, "write rmsnorm(a)")
      .Cases({"layer_norm", "LayerNorm"}, "write layernorm(a)")
      .Case("norm", "the length of a vector a is sqrt(dot(a, a)); l2norm(a) divides it by that")
      .Case("normalize", "write l2norm(a)")
      .Cases({"var", "variance"},
             "with m = sum(a) / K, the variance of a vector a of K elements is sum((a - m) * (a - m)) / K")
      .Cases({"std", "stddev"}, "with m = sum(a) / K, the standard deviation of a vector a of K elements is "
                                "sqrt(sum((a - m) * (a - m)) / K)")
      .Case("prod", "the product of a vector's positive elements is exp(sum(log(a)))")
      .Cases({"mean", "average"}, "the mean of a vector a of K elements is sum(a) / K")
      .Cases({"amax", "amin", "argmax", "argmin"}, "there is no maximum over the elements; max(a, b) is elementwise")
      .Case("maximum", "write max(a, b)")
      .Case("minimum", "write min(a, b)")
      .Cases({"matmul", "mm", "mv", "bmm"}, "a product is written with '@': S @ x, or x @ S for S transposed times x")
      .Cases({"einsum", "tensordot", "inner", "kron"},
             "the products are outer(a, b), dot(a, b), S @ x, and x @ S for S transposed times x")
      .Cases({"transpose", "permute", "swapaxes"}, "there is no transpose: x @ S is S transposed times x")
      .Cases({"len", "size", "shape"}, "a size is the name of its dim")
      .Cases({"zeros", "zeros_like", "empty"},
             "a state is zero before the first token; elsewhere write 0, or 0 * ones(n)")
      .Cases({"ones_like", "full", "full_like"}, "write ones(n), or a number times it")
      .Cases({"clamp", "clip"}, "write min(max(a, lowest), highest)")
      .Cases({"select", "cond", "ifelse"}, "write where(c, a, b)")
      .Cases({"cumsum", "cumprod", "cummax", "logcumsumexp", "scan"},
             "what runs over the tokens is a state: declare state c, and write c = c + a")
      .Cases({"power", "square"}, "write a * a for a square, pow(a, p) for a power")
      .Case("rsqrt", "write 1 / sqrt(a)")
      .Case("reciprocal", "write 1 / a")
      .Case("exp2", "write exp(0.6931471805599453 * a)")
      .Case("log2", "write log(a) / 0.6931471805599453")
      .Case("log10", "write log(a) / 2.302585092994046")
      .Case("expm1", "write exp(a) - 1")
      .Case("log1p", "write log(1 + a)")
      .Case("neg", "write -a")
      .Cases({"mul", "multiply"}, "write a * b")
      .Cases({"add", "sub", "div"}, "write it with its operator: a + b, a - b, a / b")
      .Case("swish", "write silu(a)")
      .Case("expit", "write sigmoid(a)")
      .Case("ceil", "write -floor(-a)")
      .Cases({"round", "rint"}, "write floor(a + 0.5)")
      .Cases({"trunc", "fix"}, "write sign(a) * floor(abs(a))")
      .Cases({"fmod", "remainder"}, "write mod(a, b), which has the sign of b")
      .Cases({"floor_divide", "floordiv"}, "write floor(a / b)")
      .Cases({"erfc"}, "write 1 - erf(a)")
      .Cases({"logical_and"}, "both hold where (a < b) * (b < c) is 1")
      .Cases({"logical_or"}, "one of two holds where max(a < b, b < c) is 1")
      .Cases({"logical_not"}, "it does not hold where 1 - (a < b) is 1")
      .Case("heaviside", "write a > 0")
      .Case("isnan", "write a != a")
      .Case("leaky_relu", "write max(a, 0.01 * a)")
      .Case("log_softmax", "write log(softmax(a))")
      .Case("logsumexp", "write log(sum(exp(a)))")
      .Cases({"cat", "concatenate", "hstack"}, "write concat(a, b)")
      .Case("vstack", "vectors become rows with stack(a, b), matrices stand one below the other with concat(A, B)")
      .Cases({"split", "chunk", "unbind", "narrow", "slice"},
             "a part of a vector, or some rows of a matrix, is x[a..b]")
      .Cases({"reshape", "view", "unsqueeze", "squeeze", "flatten"},
             "a value keeps its shape; x[a..b] takes a part of it, concat and stack put parts together")
      .Cases({"float", "int", "bool", "tensor", "array"}, "every value is a real number already: leave it out")
      .Cases({"real", "imag", "view_as_real"},
             "the parts of a complex number are re(z) and im(z), its magnitude is abs(z)")
      .Case("angle",
            "of r * cis(t) it is t; the parts of a complex number are re(z) and im(z), its magnitude is abs(z)")
      .Cases({"polar", "view_as_complex"}, "write r * cis(t), or complex(a, b) for a + ib")
      .Case("conjugate", "write conj(z)")
      .Case("print", "to see a value, make it an output: output name = ...")
      .Default("")
      .str();
}

StringRef getHelpForStatement(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Cases({"return", "yield"}, "a result is an output with a name: output o = ...")
      .Cases({"if", "elif", "else", "unless", "switch", "match", "assert", "when"}, conditionHelp)
      .Cases({"while", "loop", "foreach", "repeat"},
             "a loop is over a range known at compile time: for j in 0..N { ... }")
      .Cases({"def", "fn", "func", "function", "lambda", "class", "struct"},
             "a function stands before the recurrences, outside of their braces: fn f(a, b) = a * b")
      .Cases({"import", "from", "include", "using"}, "nothing is imported: every function is there, by its plain name")
      .Cases({"var", "val", "auto", "float", "double", "int", "tensor"},
             "a local name is declared by let alone: let x = ...")
      .Cases({"break", "continue", "pass"}, "a loop runs to its end; leave the statement out")
      .Cases({"print", "printf"}, "to see a value, make it an output: output name = ...")
      .Cases({"parameter", "parameters", "params", "weight", "weights"}, "what is the same for every token is a param")
      .Cases({"inputs", "arg", "args"}, "what each token brings is an input")
      .Cases({"states", "carry", "hidden"}, "what stays from token to token is a state")
      .Cases({"outputs", "out"}, "what each token gives is an output")
      .Cases({"start", "starts", "initial"}, "what a state is before the first token: state s: [K] at start 1")
      .Cases({"reset", "clear", "new", "init"},
             "where a flag is 1, restart flag lets all states begin as they do at the start")
      .Default("");
}

StringRef getHelpForName(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"None", "null", "nullptr"}, "every value is there: a state is zero before the first token")
      .Cases({"True", "true"}, "write 1")
      .Cases({"False", "false"}, "write 0")
      .Cases({"PI", "Pi"}, "write pi")
      .Cases({"inf", "INFINITY"}, "there is no infinity: write a number that is large enough, such as 1e30")
      .Cases({"nan", "NaN"}, "there are only numbers")
      .Cases({"eps", "epsilon"}, "declare const eps = 1e-6")
      .Cases({"t", "T", "pos", "position"},
             "the number of tokens before this one is token; how many there are is not known")
      .Cases({"i", "j", "I"}, "the imaginary unit is complex(0, 1); what the caller gives is an input or param")
      .Cases({"self", "torch", "np", "numpy", "math", "jnp", "nn"},
             "functions stand by their plain names, and values are declared: input, param or state")
      .Default("");
}

std::string getHelpForMember(StringRef value, StringRef member) {
  bool isModule =
      llvm::StringSwitch<bool>(value)
          .Cases({"torch", "F", "nn", "np", "numpy", "jnp", "jax", "lax", "math", "tl", "tf", "functional"}, true)
          .Default(false);
  if (member == "T" || member == "mT" || member == "t")
    return "values have no members; for " + (value + "." + member).str() + " @ x write x @ " + value.str();
  if (!isModule && (member == "real" || member == "imag"))
    return std::string("values have no members: write ") + (member == "real" ? "re(" : "im(") + value.str() + ")";
  const BuiltinInfo *builtin = findBuiltin(member);
  if (builtin && !isModule && !value.empty() && builtin->numPositional == 1 && builtin->keywords.empty())
    return "values have no members: write " + (member + "(" + value + ")").str();
  if (builtin)
    return (isModule ? "functions stand by their plain names: write " : "values have no members: write ") +
           builtin->signature.str();
  if (isModule)
    if (std::string help = getHelpForFunction(member); !help.empty())
      return help;
  if (member == "shape" || member == "size" || member == "ndim")
    return "values have no members: a size is the name of its dim";
  return "values have no members; every function is there, by its plain name";
}

} // namespace recur::frontend
