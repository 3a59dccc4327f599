// The classes and axes of every recurrence in examples/, as the literature's table of systems has them.
#include "../Examples.h"
#include "Understand.h"
#include "llvm/ADT/StringExtras.h"

using namespace recur;
using namespace recur::analysis;
using recur::test::Understood;

namespace {

struct ExpectedState {
  std::string name, stateClass;
  // Of a delta state:
  std::string decay = "", preconditioner = "none";
  bool online = false;
  size_t steps = 1, interactions = 1;
  /// Where the erasing reads of the steps stand, and where the first readout does.
  std::string reads = "", readout = "after";
};
struct ExpectedRecurrence {
  std::string name;
  std::vector<ExpectedState> states;
};

ExpectedState offline(std::string name, std::string decay, std::string preconditioner = "none", size_t steps = 1) {
  return {name, "delta", decay, preconditioner, false, steps, steps};
}
ExpectedState online(std::string name, std::string decay, std::string preconditioner = "none",
                     std::string reads = "post") {
  return {name, "delta", decay, preconditioner, true, 1, 2, reads};
}
ExpectedState other(std::string name, std::string stateClass) { return {name, stateClass}; }
/// A state that has its form with others.
ExpectedState coupled(std::string name, bool online) { return {name, "delta", "matrix", "none", online}; }

/// A part of a complex state.
ExpectedState turned(std::string name) { return {name, "delta", "complex"}; }

/// Its state, and the states of what it delays by up to `earlier` tokens.
std::vector<ExpectedState> layer(ExpectedState state, llvm::StringRef delayed, size_t earlier) {
  std::vector<ExpectedState> states = {state};
  for (char name : delayed)
    for (size_t back = 1; back <= earlier; ++back)
      states.push_back(other(name + ("_back" + std::to_string(back)), "diagonal"));
  return states;
}

const std::vector<ExpectedRecurrence> &table() {
  static const std::vector<ExpectedRecurrence> rows = {
      {"abc", {offline("Sk", "none"), offline("Sv", "none")}},
      {"atk_offline", {other("A", "diagonal"), offline("S", "scalar", "key")}},
      {"atq_online", {other("A", "diagonal"), online("S", "scalar", "key and query")}},
      {"comba", {online("S", "scalar", "none", "pre")}},
      {"delta_net", {online("S", "none")}},
      {"delta_product", {{"S", "delta", "none", "none", true, 2, 6, "post step 1"}}},
      {"dfw", {offline("S", "rows and columns")}},
      {"dplr", {{"S", "delta", "columns", "none", true, 2, 4, "pre"}}},
      {"efla", {online("S", "none")}},
      {"gated_delta_net", {online("S", "scalar")}},
      {"gated_delta_net_layer", {online("S", "scalar")}},
      {"gated_delta_product", {{"S", "delta", "scalar", "none", true, 2, 6, "post step 1"}}},
      {"gated_rfa", {offline("S", "scalar"), other("z", "diagonal")}},
      {"gla", {offline("S", "columns")}},
      {"gsa", {offline("Sk", "columns"), offline("Sv", "columns")}},
      {"hgrn2", {offline("S", "columns")}},
      {"kalman", {other("P", "moebius"), other("x", "diagonal")}},
      {"kda", {online("S", "columns")}},
      {"linear_attention", {offline("S", "none")}},
      {"linear_attention_normalized", {offline("S", "none"), other("z", "diagonal")}},
      {"longhorn", {online("S", "none")}},
      {"longhorn_channels", {{"S", "delta", "none", "none", true, 1, 2, "post", "between"}}},
      {"mamba1", {other("S", "elementwise")}},
      {"mamba2", {offline("S", "scalar")}},
      {"mamba2_ssd", {offline("S", "scalar")}},
      {"mamba3", {turned("S"), turned("S_im")}},
      {"mamba_sum", {offline("S", "scalar", "none", 2)}},
      {"mesa_layer", {other("P", "inverse"), offline("C", "none", "query")}},
      {"mesa_net", {offline("G", "scalar"), offline("S", "scalar", "query")}},
      {"mlstm", {other("m", "tropical"), other("n", "diagonal"), offline("C", "scalar")}},
      {"nlms", {online("S", "none")}},
      {"p_longhorn", {other("A", "diagonal"), online("S", "none", "key")}},
      {"p_mamba2", {other("A", "diagonal"), offline("S", "scalar", "query")}},
      {"pdn", {other("A", "diagonal"), online("S", "none", "key")}},
      {"pgdn", {other("A", "diagonal"), online("S", "scalar", "key")}},
      {"pgdn_sherman_morrison", {other("A", "diagonal"), online("S", "scalar", "key")}},
      {"pgla", {other("A", "diagonal"), offline("S", "columns", "query")}},
      {"pkda", {other("A", "diagonal"), online("S", "columns", "key")}},
      {"pla", {other("A", "diagonal"), offline("S", "none", "query")}},
      {"kimi_delta_attention_layer", layer({"S", "delta", "columns", "key", true, 1, 1, "post"}, "qkv", 3)},
      {"mamba2_layer",
       {{"S", "delta", "scalar", "key and query", false, 1, 1},
        other("value_back1", "diagonal"),
        other("value_back2", "diagonal"),
        other("value_back3", "diagonal")}},
      {"qwen3_next_layer", layer({"S", "delta", "scalar", "key", true, 1, 1, "post"}, "qkv", 3)},
      {"retnet", {offline("S", "scalar")}},
      {"rotary_retention", {{"S", "delta", "scalar", "key and query", false, 1, 1}, other("token", "diagonal")}},
      {"rwkv4", {other("top", "tropical"), other("sum_v", "diagonal"), other("sum_1", "diagonal")}},
      {"rwkv4_logaddexp", {other("weight", "tropical"), other("mean", "diagonal")}},
      {"rwkv6", {{"S", "delta", "columns", "none", false, 1, 1, "", "before"}}},
      {"rwkv7", {{"S", "delta", "columns", "none", true, 2, 4, "pre"}}},
      {"rwkv7_layer", layer({"S", "delta", "columns", "key", true, 2, 2, "pre"}, "rkvwa", 1)},
      {"s4", {other("S", "elementwise")}},
      {"cosformer", {offline("S", "none", "key and query"), other("z", "diagonal"), other("token", "diagonal")}},
      {"delta_net_negative", {online("S", "none")}},
      {"gated_oja", {{"S", "delta", "rows", "none", true, 1, 1, "post"}}},
      {"gateloop", {other("angle", "diagonal"), offline("S", "columns", "key and query")}},
      {"hedgehog", {offline("S", "none"), other("z", "diagonal")}},
      {"hgrn", {other("h", "diagonal")}},
      {"lru", {other("re", "diagonal"), other("im", "diagonal")}},
      {"mamba3_siso",
       {other("angle", "diagonal"), offline("S", "scalar", "key and query", 2), other("x_back1", "diagonal"),
        other("key_back1", "diagonal")}},
      {"min_gru", {other("h", "diagonal")}},
      {"path_linear", {{"S", "delta", "none", "none", true, 2, 4, "post"}}},
      {"performer", {offline("S", "none"), other("z", "diagonal")}},
      {"qrnn", layer(other("c", "diagonal"), "x", 1)},
      {"rg_lru", layer(other("h", "diagonal"), "x", 3)},
      {"rls", {other("P", "inverse"), online("W", "none", "key")}},
      {"rwkv5", {{"S", "delta", "columns", "none", false, 1, 1, "", "before"}}},
      {"slstm", {other("c", "general"), other("n", "general"), other("m", "general"), other("h", "general")}},
      {"sru", {other("c", "diagonal")}},
      {"titans", {coupled("S", true), coupled("Z", true)}},
  };
  return rows;
}

class Table : public testing::TestWithParam<ExpectedRecurrence> {};

std::string kindOf(Point point) {
  return point.writes ? "step " + std::to_string(point.writes) : point.decayed ? "post" : "pre";
}

TEST_P(Table, Row) {
  std::string text = test::readExample(RECUR_SOURCE_DIR "/examples/" + GetParam().name + ".recur");
  ASSERT_FALSE(text.empty()) << GetParam().name;
  Understood understood(text);
  ASSERT_EQ(understood.facts->getStates().size(), GetParam().states.size());
  for (const ExpectedState &expected : GetParam().states) {
    SCOPED_TRACE(expected.name);
    ASSERT_EQ(understood.classOf(expected.name), expected.stateClass);
    if (expected.stateClass != "delta")
      continue;
    if (std::optional<unsigned> shared = understood.state(expected.name).complex) {
      EXPECT_EQ(expected.decay, "complex");
      EXPECT_TRUE(understood.facts->getComplexForms()[*shared].isMatrix);
      continue;
    }
    if (std::optional<unsigned> shared = understood.state(expected.name).coupled) {
      EXPECT_EQ(expected.decay, "matrix");
      const CoupledForm &form = understood.facts->getCoupledForms()[*shared];
      EXPECT_EQ(form.isOnline(), expected.online);
      EXPECT_EQ(form.writes.size(), expected.steps);
      continue;
    }
    const DeltaForm &form = understood.delta(expected.name);
    EXPECT_EQ(decayAxis(form).str(), expected.decay);
    EXPECT_EQ(form.isOnline(), expected.online);
    EXPECT_EQ(form.steps.size(), expected.steps);
    EXPECT_EQ(understood.interactions(expected.name), expected.interactions);
    Preconditioner preconditioner = preconditionerOf(form);
    EXPECT_EQ(preconditioner.onWrite, expected.preconditioner.find("key") != std::string::npos);
    EXPECT_EQ(preconditioner.onQuery, expected.preconditioner.find("query") != std::string::npos);
    std::vector<std::string> reads;
    for (const MicroStep &step : form.steps)
      for (const Read &read : step.reads)
        reads.push_back(kindOf(read.point));
    EXPECT_EQ(llvm::join(reads, " "), expected.reads);
    if (form.readouts.empty())
      continue;
    Point point = form.readouts[0].form.reads[0].point;
    EXPECT_EQ(point == Point({true, unsigned(form.steps.size())}) ? "after"
              : point == Point()                                  ? "before"
                                                                  : "between",
              expected.readout);
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Table, testing::ValuesIn(table()), [](const auto &row) { return row.param.name; });

TEST(TableIsComplete, EveryExampleHasARow) {
  std::set<std::string> names;
  for (const ExpectedRecurrence &row : table())
    names.insert(row.name);
  for (const std::string &name : test::nameExamples())
    EXPECT_TRUE(names.count(name)) << name;
}

} // namespace
