// .npy files: what is read and written, and the message for each way a file can be wrong.
#include "Data/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include <cmath>
#include <fstream>

using namespace recur;

using ::testing::ElementsAre;

namespace {

std::string header(const std::string &dictionary, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  size_t lengthBytes = version == 1 ? 2 : 4;
  for (size_t i = 0; i < lengthBytes; ++i)
    bytes += char(dictionary.size() >> (8 * i) & 0xff);
  return bytes + dictionary;
}

std::string describe(const std::string &descr, const std::string &shape, const std::string &order = "False") {
  return header("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n");
}

std::string errorOf(const std::string &bytes) {
  llvm::Expected<Array> array = npy::parse(bytes);
  return array ? "no error" : llvm::toString(array.takeError());
}

Array roundTrip(const Array &array, DataType type) {
  llvm::Expected<Array> back = npy::parse(npy::print(array, type));
  if (!back) {
    ADD_FAILURE() << llvm::toString(back.takeError());
    return {};
  }
  return *back;
}

TEST(Npy, ReadsWhatItWrites) {
  Array array{{2, 3}, {0, 1, -2.5, 0.5, 1024, -0.0}};
  for (DataType type : {DataType::F64, DataType::F32, DataType::F16, DataType::BF16}) {
    Array back = roundTrip(array, type);
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.values, array.values) << getName(type).str();
    EXPECT_TRUE(std::signbit(back.values[5]));
  }
}

TEST(Npy, WritesEveryRank) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {3}, {0}, {2, 0, 3}, {1, 2, 1, 2}}) {
    Array array{shape, std::vector<double>(*countElements(shape), 1.5)};
    Array back = roundTrip(array, DataType::F64);
    EXPECT_EQ(back.shape, shape);
    EXPECT_EQ(back.values, array.values);
  }
}

TEST(Npy, WritesTheBytesThatNumpyWrites) {
  std::string bytes = npy::print({{1, 2}, {1, -2}}, DataType::F32);
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
  std::string padded = dictionary + std::string(128 - 10 - dictionary.size() - 1, ' ') + '\n';
  EXPECT_EQ(bytes, header(padded) + std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
  EXPECT_NE(npy::print({{3}, {1, 2, 3}}, DataType::F64).find("'shape': (3,), }"), std::string::npos);
  EXPECT_NE(npy::print({{}, {1}}, DataType::F64).find("'shape': (), }"), std::string::npos);
}

TEST(Npy, RoundsToNearestEven) {
  double tie = 1 + std::ldexp(1, -11), nextTie = 1 + 3 * std::ldexp(1, -11);
  EXPECT_THAT(roundTrip({{3}, {tie, nextTie, 65520}}, DataType::F16).values,
              ElementsAre(1, 1 + std::ldexp(1, -9), std::numeric_limits<double>::infinity()));
  // Rounding to float32 first would make this a tie, and then 1.
  double aboveTie = 1 + std::ldexp(1, -8) + std::ldexp(1, -40);
  EXPECT_THAT(roundTrip({{2}, {aboveTie, 1e39}}, DataType::BF16).values,
              ElementsAre(1 + std::ldexp(1, -7), std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(std::isnan(roundTrip({{1}, {std::nan("")}}, DataType::BF16).values[0]));
  EXPECT_TRUE(std::isnan(roundTrip({{1}, {std::nan("")}}, DataType::F16).values[0]));
  EXPECT_EQ(roundTrip({{1}, {std::ldexp(1, -24)}}, DataType::F16).values[0], std::ldexp(1, -24));
}

TEST(Npy, ReadsEveryVersionAndBothSpellingsOfBfloat16) {
  std::string dictionary = "{'shape': (1L,), 'fortran_order': False, 'descr': \"|V2\"}";
  for (char version : {1, 2, 3}) {
    llvm::Expected<Array> array = npy::parse(header(dictionary, version) + std::string("\x80\x3f", 2));
    ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
    EXPECT_THAT(array->values, ElementsAre(1));
  }
}

TEST(Npy, RefusesOtherFiles) {
  EXPECT_EQ(errorOf(""), "not a .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(errorOf("PK\3\4"), "not a .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(errorOf(header("{}", 4)), "it has version 4 of the .npy format, and only 1, 2 and 3 are known");
}

TEST(Npy, RefusesOtherTypes) {
  const char *known = " is not one of '<f8', '<f4', '<f2', '<V2' (bfloat16) and '<i4'";
  EXPECT_EQ(errorOf(describe("<i8", "(0,)")), std::string("dtype '<i8'") + known);
  EXPECT_EQ(errorOf(describe("<u2", "(0,)")), std::string("dtype '<u2'") + known);
  EXPECT_EQ(errorOf(describe("|O", "(0,)")), std::string("dtype '|O'") + known);
  EXPECT_EQ(errorOf(describe("<c16", "(0,)")), std::string("dtype '<c16'") + known);
  EXPECT_EQ(errorOf(describe(">f8", "(0,)")),
            "its numbers are big-endian (dtype '>f8'); save it as little-endian, a.astype('<f8')");
  EXPECT_EQ(errorOf(header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,)}")),
            "it holds records; save each field as an array of its own");
}

TEST(Npy, RefusesFortranOrder) {
  EXPECT_EQ(errorOf(describe("<f8", "(2, 3)", "True") + std::string(48, '\0')),
            "it is in Fortran order; save it in C order, np.ascontiguousarray(a)");
}

TEST(Npy, RefusesTheWrongLength) {
  std::string start = describe("<f4", "(2, 3)");
  std::string size = std::to_string(start.size() + 24);
  EXPECT_EQ(errorOf(start + std::string(23, '\0')), "the file is truncated: shape [2, 3] of f32 needs " + size +
                                                        " bytes, and it has " + std::to_string(start.size() + 23));
  EXPECT_EQ(errorOf(start + std::string(25, '\0')), "1 bytes follow its last element: shape [2, 3] of f32 needs " +
                                                        size + " bytes, and it has " +
                                                        std::to_string(start.size() + 25));
  EXPECT_EQ(errorOf(start.substr(0, 30)), "the file is truncated: it ends inside its .npy header");
  EXPECT_EQ(errorOf(start.substr(0, 8)), "the file is truncated: it ends inside its .npy header");
  EXPECT_EQ(errorOf(header("", 2).substr(0, 10)), "the file is truncated: it ends inside its .npy header");
}

TEST(Npy, RefusesShapesBeyondMemory) {
  EXPECT_EQ(errorOf(describe("<f8", "(4294967296, 4294967296)")),
            "its shape [4294967296, 4294967296] has more elements than memory can hold");
  EXPECT_EQ(errorOf(describe("<f8", "(9223372036854775807,)")),
            "its shape [9223372036854775807] has more elements than memory can hold");
  EXPECT_EQ(errorOf(describe("<f8", "(18446744073709551616,)")),
            "its .npy header is malformed: the value of 'shape' cannot be read");
  // A zero makes it empty, whatever else is there.
  EXPECT_EQ(errorOf(describe("<f8", "(4294967296, 4294967296, 0)")), "no error");
}

TEST(Npy, RefusesNonsenseHeaders) {
  auto malformed = [](const std::string &what) { return "its .npy header is malformed: " + what; };
  EXPECT_EQ(errorOf(header("nonsense")), malformed("it does not start with '{'"));
  EXPECT_EQ(errorOf(header("{}")), malformed("'descr' is missing"));
  EXPECT_EQ(errorOf(header("{descr: '<f8'}")), malformed("a quoted key and ':' are expected"));
  EXPECT_EQ(errorOf(header("{'descr': '<f8")), malformed("the value of 'descr' cannot be read"));
  EXPECT_EQ(errorOf(header("{'descr': '<f8', 'descr': '<f8'}")), malformed("'descr' is given twice"));
  EXPECT_EQ(errorOf(header("{'descr': '<f8' 'shape': ()}")), malformed("',' or '}' is expected"));
  EXPECT_EQ(errorOf(header("{'colour\n': 1}")), malformed("unknown key 'colour\\0A'"));
  EXPECT_EQ(errorOf(describe("<f8", "(-1,)")), malformed("the value of 'shape' cannot be read"));
  EXPECT_EQ(errorOf(describe("<f8", "(2.5,)")), malformed("the value of 'shape' cannot be read"));
  EXPECT_EQ(errorOf(describe("<f8", "[2]")), malformed("the value of 'shape' cannot be read"));
  EXPECT_EQ(errorOf(describe("<f8", "(1,)", "Maybe")), malformed("the value of 'fortran_order' cannot be read"));
  EXPECT_EQ(errorOf(describe("<f8", "(0,)") + "tail"), "4 bytes follow its last element: shape [0] of f64 needs " +
                                                           std::to_string(describe("<f8", "(0,)").size()) +
                                                           " bytes, and it has " +
                                                           std::to_string(describe("<f8", "(0,)").size() + 4));
  EXPECT_EQ(errorOf(header("{'descr': '<f8', 'fortran_order': False, 'shape': ()} tail")),
            malformed("text follows the '}'"));
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)),
            malformed("a length of 4294967295 bytes cannot be right"));
}

TEST(Npy, FilesAreNamedInErrors) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("recur", "npy", path));
  std::ofstream(path.c_str(), std::ios::binary) << "junk";
  EXPECT_EQ(llvm::toString(npy::read(path).takeError()),
            path.str().str() + ": not a .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(llvm::toString(npy::readHeader(path).takeError()),
            path.str().str() + ": not a .npy file: it does not begin with \\x93NUMPY");
  ASSERT_FALSE(llvm::sys::fs::remove(path));
  EXPECT_EQ(llvm::toString(npy::read(path).takeError()), path.str().str() + ": No such file or directory");
  EXPECT_EQ(llvm::toString(npy::readHeader(path).takeError()), path.str().str() + ": No such file or directory");
}

TEST(Npy, HeadersAreReadWithoutTheElements) {
  llvm::Expected<npy::Header> header = npy::readHeader(RECUR_SOURCE_DIR "/test/golden/mesa_net/input.q.npy");
  ASSERT_TRUE(bool(header)) << llvm::toString(header.takeError());
  EXPECT_THAT(header->shape, ElementsAre(1, 70, 2, 8));
  EXPECT_EQ(header->type, DataType::F64);
}

} // namespace
