// Bodies of maps, scans and reductions: scalar code, turned once into a list of instructions that each run over many
// neighbours along the last dimension of a loop nest.
#pragma once
#include "Interpreter/ChunkArithmetic.h"
#include "Interpreter/TileHoles.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace recur::interpreter {

class TileBody {
public:
  static llvm::Expected<TileBody> compile(mlir::Block &block);

  /// Room for all values of the code, `lanes` of each. The first ones are the body's arguments.
  struct Values {
    Values(const TileBody &body, int64_t lanes) : lanes(lanes), numbers(body.slots * lanes) {}
    double *get(int64_t slot) { return numbers.data() + slot * lanes; }
    int64_t lanes;
    std::vector<double> numbers;
  };

  /// Computes every value of the code. `at` is the place in the nest, of the first lane; lanes differ in the dimension
  /// `along`.
  void run(const Arithmetic &arithmetic, Values &values, llvm::ArrayRef<int64_t> at, int64_t along) const;

  /// Where what is yielded is found.
  int64_t getYielded(unsigned index) const { return yielded[index]; }

private:
  /// Numbers of all types are doubles: 32-bit integers are exact in them, and true is 1.
  using Function = double (*)(double, double, double);
  struct Instruction {
    Function function = nullptr; // null: a constant, or an index
    int64_t operands[3] = {};    // unused ones are the first
    int64_t result = 0;
    double number = 0;
    int64_t dim = -1; // of an index
    bool rounds = false;
    bool chooses = false; // a select: what is not chosen does not matter
  };
  std::vector<Instruction> instructions;
  llvm::SmallVector<int64_t, 2> yielded;
  int64_t slots = 0;
};

} // namespace recur::interpreter
