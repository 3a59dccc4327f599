// Sizes found in shapes, and the comparison of results.
#include "Data/Data.h"
#include "RunDGPS.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class SizesTest : public DGPSTest {
protected:
  SizesTest() : DGPSTest("Runs.mlir") {}

  struct Shape {
    Role role;
    std::string name;
    std::vector<int64_t> shape;
  };
  std::string infer(const std::vector<Shape> &shapes) {
    std::vector<Given> given;
    for (const Shape &shape : shapes)
      given.push_back({shape.role, shape.name, shape.name + ".npy", shape.shape});
    llvm::Expected<Sizes> found = inferSizes(find("shared_heads"), given);
    if (!found)
      return llvm::toString(found.takeError());
    return printShape({found->batch, found->tokens, found->heads, found->groups});
  }
};

TEST_F(SizesTest, AreFoundInShapes) {
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 3, 8}}, {Role::Input, "v", {2, 70, 6, 6}}}), "[2, 70, 6, 3]");
  EXPECT_EQ(infer({{Role::Input, "v", {2, 0, 6, 6}}}), "[2, 0, 6, 6]");
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 3, 8}}}), "[2, 70, 3, 3]");
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 3, 8}}, {Role::Param, "p", {6}}}), "[2, 70, 6, 3]");
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 3, 8}}, {Role::Initial, "S", {2, 9, 6, 8}}}), "[2, 70, 9, 3]");
}

TEST_F(SizesTest, ThatDisagreeNameBoth) {
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 3, 8}}, {Role::Input, "v", {2, 71, 6, 6}}}),
            "v.npy: T is 71 here, but 70 in q.npy");
  EXPECT_EQ(infer({{Role::Input, "v", {1, 70, 6, 6}}, {Role::Param, "p", {7}}}), "p.npy: H is 7 here, but 6 in v.npy");
  EXPECT_EQ(infer({{Role::Input, "v", {1, 70, 6, 6}}, {Role::Initial, "S", {2, 6, 6, 8}}}),
            "S.npy: B is 2 here, but 1 in v.npy");
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 4, 8}}, {Role::Input, "v", {2, 70, 6, 6}}}),
            "q.npy: Hq is 4 here, which does not divide H, 6 in v.npy");
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 0, 8}}, {Role::Input, "v", {2, 70, 6, 6}}}),
            "q.npy: Hq is 0 here, which does not divide H, 6 in v.npy");
}

TEST_F(SizesTest, ShapesAreCheckedAgainstTheRecurrence) {
  EXPECT_EQ(infer({{Role::Input, "q", {2, 70, 8}}}), "q.npy: its shape is [2, 70, 8], and [B, T, Hq, 8] is expected");
  EXPECT_EQ(infer({{Role::Input, "v", {2, 70, 3, 8}}}),
            "v.npy: its shape is [2, 70, 3, 8], and [B, T, H, 6] is expected");
  EXPECT_EQ(infer({{Role::Initial, "S", {2, 3, 8, 6}}}),
            "S.npy: its shape is [2, 3, 8, 6], and [B, H, 6, 8] is expected");
  EXPECT_EQ(infer({{Role::Initial, "Z", {2, 3, 8, 6}}}), "Z.npy: the recurrence has no state 'Z'");
  EXPECT_EQ(infer({{Role::Param, "v", {2}}}), "v.npy: the recurrence has no param 'v'");
  EXPECT_EQ(infer({{Role::Param, "p", {3}}}),
            "no input is given, and the number of tokens is read from one; give at least one");
}

double rms(std::vector<double> got, std::vector<double> want) {
  std::vector<int64_t> shape = {int64_t(want.size())};
  return relativeRms(Array{{int64_t(got.size())}, got}, Array{shape, want});
}

TEST(RelativeRms, IsRelative) {
  EXPECT_NEAR(rms({3, 4.5}, {3, 4}), 0.1, 1e-15);
  EXPECT_NEAR(rms({3e200, 4.5e200}, {3e200, 4e200}), 0.1, 1e-15);
  EXPECT_NEAR(rms({3e-200, 4.5e-200}, {3e-200, 4e-200}), 0.1, 1e-15);
  EXPECT_EQ(rms({1, 2}, {1, 2}), 0);
  EXPECT_EQ(rms({}, {}), 0);
}

TEST(RelativeRms, IsAbsoluteBesideZeros) {
  EXPECT_EQ(rms({0, 0}, {0, 0}), 0);
  EXPECT_DOUBLE_EQ(rms({0.3, 0.4}, {0, 0}), 0.5);
}

TEST(RelativeRms, WantsTheSameInfinities) {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(rms({infinity, nan, 1}, {infinity, nan, 1}), 0);
  EXPECT_EQ(rms({infinity}, {-infinity}), infinity);
  EXPECT_EQ(rms({nan, 1}, {1, 1}), infinity);
  EXPECT_EQ(rms({1, 1}, {1, infinity}), infinity);
  EXPECT_EQ(rms({1, 1}, {1}), infinity);
}

TEST(RelativeRms, OfNamedArraysIsTheLargest) {
  Array one{{1}, {1}}, more{{1}, {1.5}};
  EXPECT_DOUBLE_EQ(relativeRms({{"a", one}, {"b", more}}, {{"a", one}, {"b", one}}), 0.5);
  EXPECT_EQ(relativeRms({{"a", one}}, {{"b", one}}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(relativeRms({{"a", one}}, {{"a", one}, {"b", one}}), std::numeric_limits<double>::infinity());
}

} // namespace
