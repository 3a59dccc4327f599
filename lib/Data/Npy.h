// NumPy's .npy files, as far as Recur needs them: C order, little-endian floats.
//
// | dtype    | descr in the file |                                                                     |
// |----------|-------------------|---------------------------------------------------------------------|
// | float64  | `<f8`             |                                                                     |
// | float32  | `<f4`             |                                                                     |
// | float16  | `<f2`             |                                                                     |
// | bfloat16 | `<V2` (or `|V2`)  | two raw bytes, which is how numpy saves ml_dtypes.bfloat16 arrays   |
//
// NumPy has no bfloat16 of its own; after np.load, `.view(ml_dtypes.bfloat16)` gives the numbers back. Everything is
// converted to and from float64, exactly on reading and to nearest even on writing.
#pragma once
#include "Data/Array.h"
#include "Target/DataType.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace recur::npy {

struct Header {
  DataType type;
  std::vector<int64_t> shape;
  size_t dataOffset; // of the first element, in bytes from the start of the file
};

/// Reads the header, and checks that the file's length is what the header says, without reading the elements.
llvm::Expected<Header> readHeader(llvm::StringRef path);
llvm::Expected<Array> read(llvm::StringRef path);

/// The same on bytes in memory. Messages do not name a file.
llvm::Expected<Header> parseHeader(llvm::StringRef bytes, uint64_t fileSize);
llvm::Expected<Array> parse(llvm::StringRef bytes);

/// The bytes of a file that holds the array. Numbers out of the type's range become infinities.
std::string print(const Array &array, DataType type);

} // namespace recur::npy
