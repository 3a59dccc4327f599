// The compiler's C API: what comes of a text and options, from several threads, and of everything misused.
#include "recur/Compiler.h"
#include "recur/Runtime.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <thread>
#include <unistd.h>

using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

struct Release {
  void operator()(recur_compilation *compilation) const { recur_compilation_free(compilation); }
};
using Compilation = std::unique_ptr<recur_compilation, Release>;

recur_compile_options usual() {
  recur_compile_options options = {};
  options.version = RECUR_COMPILER_VERSION;
  return options;
}

Compilation compile(const std::string &text, const recur_compile_options &options) {
  return Compilation(recur_compile(text.data(), int64_t(text.size()), &options));
}

std::vector<recur_diagnostic> diagnosticsOf(const Compilation &compilation) {
  int64_t count = -1;
  const recur_diagnostic *first = recur_compilation_diagnostics(compilation.get(), &count);
  return {first, first + count};
}

std::string messageOf(const Compilation &compilation) {
  std::string all;
  for (const recur_diagnostic &diagnostic : diagnosticsOf(compilation))
    all += std::string(all.empty() ? "" : "\n") + diagnostic.message;
  return all;
}

/// `y` is the sum of `factor * x` so far.
std::string sum(const std::string &name, int factor) {
  return "recurrence " + name + " {\n  dim K\n  input x: [K]\n  state S: [K]\n  S = S + " + std::to_string(factor) +
         " * x\n  output y: [K] = S\n}\n";
}

/// A shared object that is loaded, of a file that is gone already.
class Loaded {
public:
  explicit Loaded(const Compilation &compilation) {
    int64_t bytes = 0;
    const char *object = recur_compilation_artifact(compilation.get(), "so", &bytes);
    char path[] = "/tmp/recur-compiler-test-XXXXXX";
    int file = mkstemp(path);
    close(file);
    std::ofstream(path, std::ios::binary).write(object, bytes);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      ADD_FAILURE() << dlerror();
    unlink(path);
  }
  ~Loaded() { dlclose(handle); }
  template <typename T> T *find(const std::string &name) const {
    auto *found = reinterpret_cast<T *>(dlsym(handle, name.c_str()));
    EXPECT_NE(found, nullptr) << name;
    return found;
  }

private:
  void *handle;
};

/// What the recurrence makes of ones, by the runtime that lies in the same object.
std::vector<float> runOnOnes(const Loaded &loaded, const std::string &name, int64_t tokens, int64_t size) {
  std::vector<float> x(size_t(tokens * size), 1.0f), y(x.size(), NAN);
  recur_argument arguments[4] = {};
  arguments[0].data = x.data();
  arguments[2].data = y.data();
  recur_call call = {};
  call.B = call.H = 1;
  call.T = tokens;
  call.arguments = arguments;
  call.argument_count = 4;
  auto *recurrence = loaded.find<const recur_recurrence>(name + "_recurrence");
  int64_t bytes = loaded.find<decltype(recur_workspace_size)>("recur_workspace_size")(recurrence, &call);
  EXPECT_GE(bytes, 0);
  void *workspace = std::aligned_alloc(64, size_t(bytes + 63) / 64 * 64 + 64);
  call.workspace = workspace;
  call.workspace_bytes = bytes;
  EXPECT_EQ(loaded.find<decltype(recur_forward)>("recur_forward")(recurrence, &call), RECUR_OK)
      << loaded.find<decltype(recur_message)>("recur_message")();
  std::free(workspace);
  return y;
}

TEST(Compiler, GivesWhatIsAskedForAndNothingElse) {
  recur_dim dims[] = {{"K", 5}};
  recur_compile_options options = usual();
  options.dims = dims;
  options.dim_count = 1;
  options.emit = "header,manifest,lib,obj,asm,llvm";
  options.prefix = "my_";
  Compilation compilation = compile(sum("total", 2), options);
  ASSERT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
  EXPECT_TRUE(diagnosticsOf(compilation).empty());
  auto get = [&](const char *name) {
    int64_t bytes = -1;
    const char *text = recur_compilation_artifact(compilation.get(), name, &bytes);
    EXPECT_EQ(text[bytes], 0);
    return std::string(text, size_t(bytes));
  };
  EXPECT_THAT(get("header"), HasSubstr("my_total_forward"));
  EXPECT_THAT(get("manifest"), HasSubstr("\"total\""));
  EXPECT_THAT(get("lib"), StartsWith("!<arch>\n"));
  EXPECT_THAT(get("obj"), StartsWith("\177ELF"));
  EXPECT_THAT(get("asm"), HasSubstr("my_total_chunk:"));
  EXPECT_THAT(get("llvm"), HasSubstr("@my_total_recurrence"));
  EXPECT_EQ(recur_compilation_artifact(compilation.get(), "so", nullptr), nullptr);
  EXPECT_EQ(recur_compilation_artifact(compilation.get(), "mlir", nullptr), nullptr);
}

TEST(Compiler, QuickIsOtherCode) {
  recur_dim dims[] = {{"K", 20}};
  recur_compile_options options = usual();
  options.dims = dims;
  options.dim_count = 1;
  options.emit = "asm";
  auto count = [&](int32_t quick) {
    options.quick = quick;
    Compilation compilation = compile(sum("total", 2), options);
    EXPECT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
    std::string text = recur_compilation_artifact(compilation.get(), "asm", nullptr);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(count(0), count(0));
  EXPECT_NE(count(0), count(1));
}

TEST(Compiler, ASharedObjectNeedsNothingElse) {
  recur_dim dims[] = {{"K", 20}};
  recur_compile_options options = usual();
  options.dims = dims;
  options.dim_count = 1;
  options.emit = "so";
  Compilation compilation = compile(sum("a", 1) + sum("b", 3), options);
  ASSERT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
  Loaded loaded(compilation);
  for (auto [name, factor] : {std::pair("a", 1), {"b", 3}})
    for (int64_t tokens : {1, 70}) {
      std::vector<float> y = runOnOnes(loaded, name, tokens, 20);
      EXPECT_EQ(y.back(), float(factor * tokens)) << name;
      EXPECT_EQ(y.front(), float(factor)) << name;
    }
}

TEST(Compiler, CompilesFromSeveralThreads) {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([thread, &right] {
      for (int round = 0; round < 2; ++round) {
        int factor = 1 + thread * 2 + round;
        recur_dim dims[] = {{"K", 4 + thread}};
        recur_compile_options options = usual();
        options.dims = dims;
        options.dim_count = 1;
        options.emit = "so,header";
        Compilation compilation = compile(sum("s" + std::to_string(thread), factor), options);
        Compilation wrong = compile("recurrence r {\n  input x: [K]\n}\n", options);
        if (recur_compilation_status(compilation.get()) != RECUR_COMPILED ||
            recur_compilation_status(wrong.get()) != RECUR_REFUSED)
          continue;
        Loaded loaded(compilation);
        right += runOnOnes(loaded, "s" + std::to_string(thread), 9, 4 + thread).back() == float(9 * factor);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 8);
}

TEST(Compiler, ErrorsAreData) {
  recur_compile_options options = usual();
  options.source_name = "my.recur";
  std::string text = "recurrence r {\n  dim K = 4\n  input x: [K], x: [K]\n  output y: [K] = x\n}\n";
  Compilation compilation = compile(text, options);
  EXPECT_EQ(recur_compilation_status(compilation.get()), RECUR_REFUSED);
  std::vector<recur_diagnostic> all = diagnosticsOf(compilation);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].severity, RECUR_ERROR);
  EXPECT_STREQ(all[0].file, "my.recur");
  ASSERT_NE(all[0].code, nullptr);
  EXPECT_EQ(all[0].code[0], 'R');
  EXPECT_EQ(all[0].place.line, 3);
  EXPECT_EQ(all[0].place.column, 17);
  EXPECT_EQ(all[0].place.end_line, 3);
  EXPECT_EQ(all[0].place.end_column, 18);
  EXPECT_THAT(all[0].message, HasSubstr("'x'"));
  ASSERT_GE(all[0].remark_count, 1); // the other declaration
  EXPECT_EQ(all[0].remarks[0].severity, RECUR_NOTE);
  EXPECT_EQ(all[0].remarks[0].place.line, 3);
  EXPECT_EQ(all[0].remarks[0].place.column, 9);
}

TEST(Compiler, ChecksWithoutArtifacts) {
  recur_dim dims[] = {{"K", 5}};
  recur_compile_options options = usual();
  options.dims = dims;
  options.dim_count = 1;
  Compilation compilation = compile(sum("a", 1), options);
  EXPECT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
}

TEST(Compiler, SaysWhichPlansAreMissing) {
  recur_dim dims[] = {{"K", 5}};
  recur_compile_options options = usual();
  options.dims = dims;
  options.dim_count = 1;
  options.target = "x86-64";
  options.emit = "header";
  Compilation compilation = compile(sum("a", 1), options);
  EXPECT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED);
  ASSERT_EQ(diagnosticsOf(compilation).size(), 1u);
  EXPECT_EQ(diagnosticsOf(compilation)[0].severity, RECUR_NOTE);
  EXPECT_EQ(diagnosticsOf(compilation)[0].file, nullptr);
  EXPECT_EQ(messageOf(compilation),
            "'a' gets the plan 'step' alone: 'x86-64' has no AVX2 and FMA, which kernels that take a chunk of tokens "
            "at a time need");
}

TEST(Compiler, RefusesEveryOptionMisused) {
  static const recur_dim noName[] = {{nullptr, 4}}, badSize[] = {{"K", 0}}, unknown[] = {{"K", 4}, {"Q", 4}};
  static const recur_dim twice[] = {{"K", 4}, {"K", 5}};
  static const recur_constant noConstant[] = {{nullptr, 1}}, twiceConstant[] = {{"c", 1}, {"c", 1}};
  struct Misuse {
    const char *what;
    void (*spoil)(recur_compile_options &);
    const char *message;
  } misuses[] = {
      {"version", [](auto &o) { o.version = 0; },
       "the options are of version 0, and this compiler is of version 9; set `version` to RECUR_COMPILER_VERSION"},
      {"chunk", [](auto &o) { o.chunk = 17; }, "--chunk: unknown value '17'; did you mean '16'?"},
      {"recurrence", [](auto &o) { o.recurrence = "b"; }, "--recurrence: the file has no recurrence 'b'"},
      {"dims", [](auto &o) { o.dims = nullptr; }, "--dim: there are 1 dims, and none to read"},
      {"dim_count", [](auto &o) { o.dim_count = -1; }, "--dim: there are -1 dims, and none to read"},
      {"dim without name", [](auto &o) { o.dims = noName; }, "--dim: '=4' is not of the form NAME=SIZE, such as K=128"},
      {"dim of no size", [](auto &o) { o.dims = badSize; }, "K"},
      {"unknown dim", [](auto &o) { o.dims = unknown, o.dim_count = 2; },
       "--dim names 'Q', but no dim of that name is declared"},
      {"dim twice", [](auto &o) { o.dims = twice, o.dim_count = 2; }, "--dim: dim 'K' is given as 4 and as 5"},
      {"constants", [](auto &o) { o.constant_count = 1; }, "-D: there are 1 consts, and none to read"},
      {"gradients of nothing", [](auto &o) { o.gradients = "x"; },
       "--backward: gradients are named, and `backward` is 0"},
      {"unknown gradient", [](auto &o) { o.backward = 1, o.gradients = "x,y", o.emit = "obj"; },
       "--backward: 'a' has no input, param or state 'y'; it has x, S"},
      {"const without name", [](auto &o) { o.constants = noConstant, o.constant_count = 1; },
       "-D: a const has no name"},
      {"const twice", [](auto &o) { o.constants = twiceConstant, o.constant_count = 2; },
       "-D: const 'c' is given twice"},
      {"target", [](auto &o) { o.target = "x86-64-v9"; }, "--target: "},
      {"no target", [](auto &o) { o.target = ""; }, "--target: "},
      {"no GPU", [](auto &o) { o.emit = "ptx"; },
       "--emit: 'ptx' is made for GPUs, and --target names none; add one, such as sm_90a"},
      {"target twice", [](auto &o) { o.target = "host,host"; }, "--target: 'host' is given twice"},
      {"dtype", [](auto &o) { o.dtype = "f64"; }, "--dtype: "},
      {"plan", [](auto &o) { o.plan = "stop"; }, "--plan: "},
      {"plan that is not there", [](auto &o) { o.plan = "token-loop"; },
       "--plan: 'a' has no kernel of plan 'token-loop': "},
      {"prefix", [](auto &o) { o.prefix = "7"; },
       "--prefix: '7' cannot start a name in C; use letters, digits and '_'"},
      {"emit", [](auto &o) { o.emit = "object"; }, "--emit: "},
  };
  for (const Misuse &misuse : misuses) {
    recur_dim dims[] = {{"K", 4}};
    recur_compile_options options = usual();
    options.dims = dims;
    options.dim_count = 1;
    options.emit = "manifest";
    misuse.spoil(options);
    Compilation compilation = compile(sum("a", 1), options);
    EXPECT_EQ(recur_compilation_status(compilation.get()), RECUR_REFUSED) << misuse.what;
    EXPECT_THAT(messageOf(compilation), HasSubstr(misuse.message)) << misuse.what;
    EXPECT_EQ(recur_compilation_artifact(compilation.get(), "manifest", nullptr), nullptr) << misuse.what;
  }
  recur_compile_options options = usual();
  for (auto [text, bytes, given] : {std::tuple((const char *)nullptr, int64_t(0), &options),
                                    {"", -1, &options},
                                    {"", 0, (recur_compile_options *)nullptr}}) {
    Compilation compilation(recur_compile(text, bytes, given));
    EXPECT_EQ(recur_compilation_status(compilation.get()), RECUR_REFUSED);
    EXPECT_THAT(messageOf(compilation), HasSubstr("are null"));
  }
  recur_compilation_free(nullptr);
}

TEST(Compiler, MakesGradientsWhereTheyAreAskedFor) {
  recur_dim dims[] = {{"K", 4}};
  recur_compile_options options = usual();
  options.dims = dims;
  options.dim_count = 1;
  options.emit = "so";
  for (int32_t backward : {0, 1}) {
    options.gradients = backward ? "x" : nullptr;
    options.backward = backward;
    Compilation compilation = compile(sum("a", 1), options);
    ASSERT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
    Loaded loaded(compilation);
    EXPECT_EQ(loaded.find<recur_recurrence>("a_recurrence")->gradient != nullptr, backward != 0);
    if (backward) // that of the state is left out
      EXPECT_EQ(loaded.find<recur_recurrence>("a_recurrence")->gradient->without_count, 1);
  }
}

TEST(Compiler, DescribesWithoutSizes) {
  std::string text = "recurrence a {\n  dim K, N = 2\n  const c = 3\n  shared input x: [N, K]\n  input g: scalar\n"
                     "  param w: [4]\n  state S: [K]\n  S = g * S + w[0] * x[0]\n  output y = S\n}\n";
  recur_compile_options options = usual();
  Compilation compilation(recur_describe(text.data(), int64_t(text.size()), &options));
  ASSERT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
  EXPECT_STREQ(
      recur_compilation_artifact(compilation.get(), "json", nullptr),
      R"([{"consts":[{"name":"c","value":3}],)"
      R"("dims":[{"has_default":false,"name":"K","size":null},{"has_default":true,"name":"N","size":2}],)"
      R"("has_implicit_states":false,"inputs":[{"name":"x","shape":["N","K"],"shared":true},{"name":"g","shape":[],"shared":false}],)"
      R"("name":"a","outputs":[{"name":"y","shape":null,"shared":false}],)"
      R"("params":[{"name":"w","shape":[4],"shared":false}],)"
      R"("states":[{"name":"S","shape":["K"],"shared":false}]}])");
  options.recurrence = "b";
  Compilation refused(recur_describe(text.data(), int64_t(text.size()), &options));
  EXPECT_EQ(recur_compilation_status(refused.get()), RECUR_REFUSED);
  EXPECT_EQ(messageOf(refused), "--recurrence: the file has no recurrence 'b'; did you mean 'a'?");
  EXPECT_STREQ(recur_compilation_text(refused.get()),
               "error: --recurrence: the file has no recurrence 'b'; did you mean 'a'?\n");
}

TEST(Compiler, ExplainsWithAndWithoutATarget) {
  std::string text = sum("a", 2);
  recur_compile_options options = usual();
  Compilation compilation(recur_explain(text.data(), int64_t(text.size()), &options));
  ASSERT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
  std::string report = recur_compilation_artifact(compilation.get(), "text", nullptr);
  EXPECT_THAT(report, HasSubstr("K = 64"));
  EXPECT_THAT(recur_compilation_artifact(compilation.get(), "json", nullptr), StartsWith("[{"));
  options.target = "x86-64-v3";
  Compilation planned(recur_explain(text.data(), int64_t(text.size()), &options));
  std::string longer = recur_compilation_artifact(planned.get(), "text", nullptr);
  // A target chooses the chunk, which the report says.
  EXPECT_THAT(longer, StartsWith(report.substr(0, report.find("chunkwise form"))));
  EXPECT_GT(longer.size(), report.size());
  EXPECT_THAT(recur_compilation_artifact(planned.get(), "json", nullptr), HasSubstr("\"kernels\":"));
  options.backward = 1;
  Compilation derived(recur_explain(text.data(), int64_t(text.size()), &options));
  EXPECT_THAT(recur_compilation_artifact(derived.get(), "text", nullptr), HasSubstr("gradient"));
  EXPECT_THAT(recur_compilation_artifact(derived.get(), "json", nullptr), HasSubstr("\"gradient\":"));
}

TEST(Compiler, ChecksEveryStage) {
  std::string text = sum("a", 2);
  recur_compile_options options = usual();
  options.target = "x86-64";
  Compilation compilation(recur_check(text.data(), int64_t(text.size()), &options));
  ASSERT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
  EXPECT_EQ(messageOf(compilation), "checked with K = 8");
  EXPECT_THAT(recur_compilation_artifact(compilation.get(), "text", nullptr),
              StartsWith("a: K = 8, B = 2, H = 4, Hq = 4, T = 0, 1, 5, 64, 65, 200, seed 0\n"));
  EXPECT_THAT(recur_compilation_artifact(compilation.get(), "json", nullptr), HasSubstr("\"pass\":true"));
  // What grows beyond all numbers is no fault of the compiler, and no result either.
  text = "recurrence b {\n  input x\n  state s\n  s = 3 * s * s + 2 * s + x\n  output o = s\n}\n";
  Compilation grows(recur_check(text.data(), int64_t(text.size()), &options));
  EXPECT_EQ(recur_compilation_status(grows.get()), RECUR_REFUSED);
  EXPECT_THAT(messageOf(grows), HasSubstr("'b' leaves the numbers of float64 itself, token by token"));
}

TEST(Compiler, ChecksWhatIsAskedFor) {
  std::string text = sum("a", 2);
  recur_compile_options options = usual();
  const int64_t tokens[] = {3, 70};
  options.tokens = tokens;
  options.token_count = 2;
  options.seed = 7;
  options.hard = 1;
  auto check = [&] { return Compilation(recur_check(text.data(), int64_t(text.size()), &options)); };
  EXPECT_THAT(recur_compilation_artifact(check().get(), "text", nullptr), HasSubstr("T = 3, 70, seed 7"));
  options.backward = 1;
  EXPECT_EQ(messageOf(check()), "--backward: it takes no --hard; gradients are checked on tame and on hard data");
  options.hard = 0;
  EXPECT_THAT(recur_compilation_artifact(check().get(), "text", nullptr), HasSubstr("gradient"));
  const int64_t wrong[] = {3, -1};
  options.tokens = wrong;
  EXPECT_EQ(messageOf(check()), "--tokens: '-1' is not a number of tokens, from 0 to 1000000");
  options.tokens = nullptr;
  EXPECT_EQ(messageOf(check()), "--tokens: there are 2 lengths, and none to read");
}

/// `y` is the sum so far: references are known.
TEST(Compiler, GivesReferences) {
  std::string text = "recurrence a {\n  input x\n  state S\n  S = S + x\n  output y = S\n}\n";
  recur_compile_options options = usual();
  const int64_t lengths[] = {3, 0, 2};
  options.tokens = lengths;
  options.token_count = 3;
  options.heads = options.batch = 1;
  options.backward = 1;
  options.starts_anew = 1;
  Compilation compilation(recur_reference(text.data(), int64_t(text.size()), &options));
  ASSERT_EQ(recur_compilation_status(compilation.get()), RECUR_COMPILED) << messageOf(compilation);
  EXPECT_THAT(recur_compilation_artifact(compilation.get(), "json", nullptr),
              HasSubstr("\"name\":\"x\",\"role\":\"input\",\"shape\":[1,5,1]"));
  int64_t bytes;
  const char *values = recur_compilation_artifact(compilation.get(), "values", &bytes);
  // x, y, the final states, their cotangents, and the gradient of x
  ASSERT_EQ(bytes, int64_t(sizeof(double)) * (5 + 5 + 3 + 5 + 3 + 5));
  std::vector<double> v(size_t(bytes) / sizeof(double));
  std::memcpy(v.data(), values, size_t(bytes));
  const double *x = &v[0], *y = &v[5], *final = &v[10], *dy = &v[13], *dfinal = &v[18], *dx = &v[21];
  EXPECT_DOUBLE_EQ(y[2], x[0] + x[1] + x[2]);
  EXPECT_DOUBLE_EQ(y[4], x[3] + x[4]);
  EXPECT_EQ(final[0], y[2]);
  EXPECT_EQ(final[1], 0);
  EXPECT_EQ(final[2], y[4]);
  EXPECT_NEAR(dx[0], dy[0] + dy[1] + dy[2] + dfinal[0], 1e-12);
  EXPECT_NEAR(dx[4], dy[4] + dfinal[2], 1e-12);
  options.forgets_final = 1;
  Compilation forgetful(recur_reference(text.data(), int64_t(text.size()), &options));
  std::memcpy(v.data(), recur_compilation_artifact(forgetful.get(), "values", nullptr), size_t(bytes));
  EXPECT_EQ(dfinal[0], 0);
  EXPECT_NEAR(dx[0], dy[0] + dy[1] + dy[2], 1e-12);
  options.heads = -1;
  Compilation wrong(recur_reference(text.data(), int64_t(text.size()), &options));
  EXPECT_EQ(recur_compilation_status(wrong.get()), RECUR_REFUSED);
}

TEST(Compiler, ShowsTheLineOfAMistake) {
  std::string text = "recurrence a {\n  input x: scalar\n  output y = z\n}\n";
  recur_compile_options options = usual();
  options.source_name = "a.recur";
  for (auto *function : {recur_compile, recur_explain}) {
    Compilation compilation(function(text.data(), int64_t(text.size()), &options));
    EXPECT_EQ(recur_compilation_status(compilation.get()), RECUR_REFUSED);
    EXPECT_STREQ(recur_compilation_text(compilation.get()),
                 "a.recur:3:14: error: 'z' is not declared [R0201]\n    output y = z\n               ^\n"
                 "help: declare it: as an input or param if the caller gives it, as a state if tokens keep it, with "
                 "let or const otherwise\n");
  }
}

TEST(Compiler, NamesItsTargets) {
  EXPECT_STREQ(recur_compiler_target(0), "host");
  EXPECT_EQ(recur_compiler_target(-1), nullptr);
  int32_t count = 0;
  while (recur_compiler_target(count))
    ++count;
  EXPECT_EQ(recur_compiler_target(count + 1), nullptr);
  EXPECT_GE(count, 4);
  EXPECT_NE(recur_compiler_version()[0], 0);
}

} // namespace
