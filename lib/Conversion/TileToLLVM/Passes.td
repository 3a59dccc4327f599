#ifndef RECUR_CONVERSION_TILE_TO_LLVM_PASSES_TD
#define RECUR_CONVERSION_TILE_TO_LLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTileToLLVMPass : Pass<"convert-tile-to-llvm", "::mlir::ModuleOp"> {
  let summary = "tile kernels to functions of vector code";
  let description = [{
    Each `tile.kernel` becomes an `llvm.func` of the arrays, the number of tokens and the scratch memory: register tiles of
    products, straight vector code of elementwise bodies and their functions, and `scf` loops over 64-bit integers around
    them. Maps side by side over the same rows and columns are one pass where they take elements from each other, and maps
    behind a product take its sums from registers. What is left for MLIR's own conversions is `scf`, `arith`, `vector` and `math` without functions that would call
    a library. Tiles must have been placed (`tile.alloc at`).

    Before:
    ```mlir
    tile.kernel @twice required 1 workspace 64 {
    ^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %t = tile.alloc at 0 : !tile.tile<1x16xf32, local, [16, 1]>
      tile.load %x[%zero] rows %one into %t : !tile.tile<?x16xf32, global> into !tile.tile<1x16xf32, local, [16, 1]>
      tile.store %t rows %one to %y[%zero] : !tile.tile<1x16xf32, local, [16, 1]> to !tile.tile<?x16xf32, global>
    }
    ```
    After:
    ```mlir
    llvm.func @twice(%arrays: !llvm.ptr, %tokens: i64, %workspace: !llvm.ptr)
    ```
  }];
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 numbers in a vector register">,
                 Option<"registers", "registers", "int64_t", "32", "vector registers">,
                 Option<"hasBF16", "has-bf16", "bool", "false", "the processor rounds to bf16">,
                 Option<"hasPairs", "has-pairs", "bool", "false", "the processor multiplies pairs of bf16">,
                 Option<"hasAMX", "has-amx", "bool", "false", "and does so by AMX, in whole tiles">,
                 Option<"productRows", "product-rows", "int64_t", "8",
                        "rows of a register tile of products where there are 32 registers: 8, or 6, of 4 vectors">,
                 Option<"fetchesEvenly", "fetches-evenly", "bool", "false",
                        "products ask for rows ahead line by line, not in bursts">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // RECUR_CONVERSION_TILE_TO_LLVM_PASSES_TD
