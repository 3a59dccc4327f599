#include "Data/Npy.h"
#include "Support/Errors.h"
#include "fmt/format.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace recur;

namespace {

constexpr StringLiteral magic("\x93NUMPY");
// Headers grow with the rank only; NumPy itself refuses longer ones.
constexpr uint64_t maxHeaderLength = 10000;
constexpr size_t maxRank = 32;

StringRef getDescr(DataType type) {
  switch (type) {
  case DataType::F64:
    return "<f8";
  case DataType::F32:
    return "<f4";
  case DataType::F16:
    return "<f2";
  case DataType::BF16:
    return "<V2";
  case DataType::I32:
    return "<i4";
  }
  llvm_unreachable("a type of data");
}

Expected<DataType> parseDescr(StringRef descr) {
  if (descr == "<f8")
    return DataType::F64;
  if (descr == "<f4")
    return DataType::F32;
  if (descr == "<f2")
    return DataType::F16;
  if (descr == "<V2" || descr == "|V2")
    return DataType::BF16;
  if (descr == "<i4")
    return DataType::I32;
  if (descr.starts_with(">"))
    return makeError(
        fmt::format("its numbers are big-endian (dtype '{}'); save it as little-endian, a.astype('<f8')", descr.str()));
  return makeError(
      fmt::format("dtype '{}' is not one of '<f8', '<f4', '<f2', '<V2' (bfloat16) and '<i4'", descr.str()));
}

/// Reads the Python dictionary literal that a header is.
class HeaderReader {
public:
  explicit HeaderReader(StringRef text) : rest(text) {}

  Error read(std::string &descr, bool &fortranOrder, std::vector<int64_t> &shape) {
    bool haveDescr = false, haveOrder = false, haveShape = false;
    if (!take("{"))
      return malformed("it does not start with '{'");
    while (!take("}")) {
      std::string key;
      if (!takeString(key) || !take(":"))
        return malformed("a quoted key and ':' are expected");
      bool *have = nullptr;
      bool good = false;
      if (key == "descr") {
        if (rest.ltrim().starts_with("["))
          return makeError("it holds records; save each field as an array of its own");
        have = &haveDescr;
        good = takeString(descr);
      } else if (key == "fortran_order") {
        have = &haveOrder;
        good = takeBool(fortranOrder);
      } else if (key == "shape") {
        have = &haveShape;
        good = takeShape(shape);
      } else {
        return malformed(fmt::format("unknown key '{}'", printable(key)));
      }
      if (!good)
        return malformed(fmt::format("the value of '{}' cannot be read", key));
      if (*have)
        return malformed(fmt::format("'{}' is given twice", key));
      *have = true;
      if (!take(",") && !rest.ltrim().starts_with("}"))
        return malformed("',' or '}' is expected");
    }
    if (!rest.trim(" \n").empty())
      return malformed("text follows the '}'");
    for (auto [have, key] : {std::pair(haveDescr, "descr"), {haveOrder, "fortran_order"}, {haveShape, "shape"}})
      if (!have)
        return malformed(fmt::format("'{}' is missing", key));
    return Error::success();
  }

private:
  static Error malformed(const std::string &what) {
    return makeError(fmt::format("its .npy header is malformed: {}", what));
  }

  static std::string printable(StringRef text) {
    std::string result;
    raw_string_ostream stream(result);
    printEscapedString(text.take_front(32), stream);
    return result;
  }

  bool take(StringRef token) {
    rest = rest.ltrim(" ");
    return rest.consume_front(token);
  }

  bool takeString(std::string &value) {
    rest = rest.ltrim(" ");
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == StringRef::npos)
      return false;
    value = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }

  bool takeBool(bool &value) {
    value = take("True");
    return value || take("False");
  }

  bool takeShape(std::vector<int64_t> &shape) {
    if (!take("("))
      return false;
    while (!take(")")) {
      rest = rest.ltrim(" ");
      uint64_t size;
      if (shape.size() == maxRank || rest.consumeInteger(10, size) || size > uint64_t(INT64_MAX))
        return false;
      take("L"); // Python 2 wrote long integers so
      shape.push_back(size);
      if (!take(",") && !rest.ltrim(" ").starts_with(")"))
        return false;
    }
    return true;
  }

  StringRef rest;
};

double readElement(const char *from, DataType type) {
  using namespace support::endian;
  int64_t size = getByteSize(type);
  return fromBits(size == 8 ? read64le(from) : size == 4 ? read32le(from) : read16le(from), type);
}

void writeElement(char *to, double value, DataType type) {
  using namespace support::endian;
  uint64_t bits = toBits(value, type);
  switch (getByteSize(type)) {
  case 8:
    return write64le(to, bits);
  case 4:
    return write32le(to, uint32_t(bits));
  default:
    return write16le(to, uint16_t(bits));
  }
}

Error inFile(StringRef path, Error error) {
  return makeError(fmt::format("{}: {}", path.str(), toString(std::move(error))));
}

Error cannotRead(StringRef path, std::error_code code) {
  return makeError(fmt::format("{}: {}", path.str(), code.message()));
}

} // namespace

Expected<npy::Header> npy::parseHeader(StringRef bytes, uint64_t fileSize) {
  if (!bytes.starts_with(magic))
    return makeError("not a .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < 10)
    return makeError("the file is truncated: it ends inside its .npy header");
  uint8_t version = bytes[6];
  if (version < 1 || version > 3)
    return makeError(fmt::format("it has version {} of the .npy format, and only 1, 2 and 3 are known", version));
  uint64_t lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + lengthBytes)
    return makeError("the file is truncated: it ends inside its .npy header");
  uint64_t length =
      version == 1 ? support::endian::read16le(bytes.data() + 8) : support::endian::read32le(bytes.data() + 8);
  uint64_t start = 8 + lengthBytes;
  if (length > maxHeaderLength)
    return makeError(fmt::format("its .npy header is malformed: a length of {} bytes cannot be right", length));
  if (start + length > bytes.size())
    return makeError("the file is truncated: it ends inside its .npy header");

  std::string descr;
  bool fortranOrder = false;
  Header header;
  header.dataOffset = start + length;
  if (Error error = HeaderReader(bytes.substr(start, length)).read(descr, fortranOrder, header.shape))
    return std::move(error);
  Expected<DataType> type = parseDescr(descr);
  if (!type)
    return type.takeError();
  header.type = *type;
  if (fortranOrder)
    return makeError("it is in Fortran order; save it in C order, np.ascontiguousarray(a)");

  std::optional<int64_t> count = countElements(header.shape);
  if (!count || *count > std::numeric_limits<int64_t>::max() / 8)
    return makeError(fmt::format("its shape {} has more elements than memory can hold", printShape(header.shape)));
  uint64_t expected = header.dataOffset + uint64_t(*count) * getByteSize(header.type);
  if (fileSize < expected)
    return makeError(fmt::format("the file is truncated: shape {} of {} needs {} bytes, and it has {}",
                                 printShape(header.shape), getName(header.type).str(), expected, fileSize));
  if (fileSize > expected)
    return makeError(fmt::format("{} bytes follow its last element: shape {} of {} needs {} bytes, and it has {}",
                                 fileSize - expected, printShape(header.shape), getName(header.type).str(), expected,
                                 fileSize));
  return header;
}

Expected<Array> npy::parse(StringRef bytes) {
  Expected<Header> header = parseHeader(bytes, bytes.size());
  if (!header)
    return header.takeError();
  Array array;
  array.shape = header->shape;
  array.values.resize(*countElements(array.shape));
  const char *from = bytes.data() + header->dataOffset;
  for (double &value : array.values) {
    value = readElement(from, header->type);
    from += getByteSize(header->type);
  }
  return array;
}

Expected<npy::Header> npy::readHeader(StringRef path) {
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return cannotRead(path, code);
  if (status.type() != sys::fs::file_type::regular_file)
    return makeError(fmt::format("{}: it is not a regular file", path.str()));
  uint64_t size = status.getSize();
  ErrorOr<std::unique_ptr<MemoryBuffer>> start =
      MemoryBuffer::getFileSlice(path, std::min<uint64_t>(size, maxHeaderLength + 12), 0);
  if (!start)
    return cannotRead(path, start.getError());
  Expected<Header> header = parseHeader((*start)->getBuffer(), size);
  if (!header)
    return inFile(path, header.takeError());
  return header;
}

Expected<Array> npy::read(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return cannotRead(path, file.getError());
  Expected<Array> array = parse((*file)->getBuffer());
  if (!array)
    return inFile(path, array.takeError());
  return array;
}

std::string npy::print(const Array &array, DataType type) {
  std::string shape;
  for (int64_t size : array.shape)
    shape += std::to_string(size) + ", ";
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (array.shape.size() == 1)
    shape.pop_back(); // a tuple of one keeps its comma
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", getDescr(type).str(), shape);
  // The elements start at a multiple of 64 bytes, which lets readers map the file.
  size_t dataOffset = alignTo(10 + dictionary.size() + 1, 64);
  dictionary.resize(dataOffset - 10 - 1, ' ');
  dictionary += '\n';

  std::string bytes = magic.str() + '\x01' + '\x00';
  bytes.resize(10);
  support::endian::write16le(bytes.data() + 8, dictionary.size());
  bytes += dictionary;
  bytes.resize(dataOffset + array.values.size() * getByteSize(type));
  char *to = bytes.data() + dataOffset;
  for (double value : array.values) {
    writeElement(to, value, type);
    to += getByteSize(type);
  }
  return bytes;
}
