#ifndef RECUR_CONVERSION_CHUNK_TO_TILE_PASSES_TD
#define RECUR_CONVERSION_CHUNK_TO_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertChunkToTilePass : Pass<"convert-chunk-to-tile", "::mlir::ModuleOp"> {
  let summary = "chunk programs to plans of one core or CTA";
  let description = [{
    Each `chunk.program` becomes a `tile.kernel` for one sequence of one head: states are loaded, a loop goes over the
    chunks, final states are stored. In the loop every value of the program has a tile in scratch memory; tiles that
    are not in use at once share a place. Chains of elementwise functions become one pass. A state that is only read
    and advanced is stored transposed, so no product needs a transpose. If the state is `transposed` already, this is
    the layout of a core's caller, and a CTA's arrays are `transposed` tiles. Matrices of the tokens are known to be
    triangular: blocks that the mask empties are neither computed nor multiplied. The caller's arrays have the types
    that they are stored in, and factors of products are rounded to the program's `factors`; everything else is f32.
    With `threads` the plan is one of a CTA whose threads take every op together: its tiles lie in shared memory, and
    those that do not fit in device memory.

    Before:
    ```mlir
    chunk.program @twice {} chunk 64 {
      %x = chunk.input "x" : tensor<64x16xf32>
      %y = chunk.map add %x, %x : tensor<64x16xf32>, tensor<64x16xf32>
      chunk.output "y" %y : tensor<64x16xf32>
    }
    ```
    After (in the loop):
    ```mlir
    tile.load %arg0[%first] rows %n into %0 : !tile.tile<?x16xf32, global> into !tile.tile<64x16xf32, local, [16, 1]>
    tile.map %0 into %1 rows %n dims [array<i64: 0, 1>] : !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<64x16xf32, local, [16, 1]> {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      tile.yield %y : f32
    }
    tile.store %1 rows %n to %arg1[%first] : !tile.tile<64x16xf32, local, [16, 1]> to !tile.tile<?x16xf32, global>
    ```
  }];
  let options = [Option<"hasPairs", "has-pairs", "bool", "false",
                        "products whose factors are rounded to bf16 are of pairs, which the processor multiplies faster than f32">,
                 Option<"hasAMX", "has-amx", "bool", "false",
                        "and does so by AMX, whose left factors lie in rows">,
                 Option<"threads", "threads", "int64_t", "0",
                        "of a CTA that is one team, whose plan is wanted; 0: the plan of a core">,
                 Option<"sharedBytes", "shared-bytes", "int64_t", "232448",
                        "of shared memory that the plan of a CTA may take, at most what its GPU has">,
                 Option<"gpu", "gpu", "std::string", "\"\"",
                        "the target that a CTA is planned for, which its kernel then names; sm_90a if empty">,
                 Option<"symbol", "symbol", "std::string", "\"\"", "the kernel's name; the program's if empty">];
  let dependentDialects = ["::recur::tile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif // RECUR_CONVERSION_CHUNK_TO_TILE_PASSES_TD
