#ifndef RECUR_CONVERSION_TILE_TO_NVVM_PASSES_TD
#define RECUR_CONVERSION_TILE_TO_NVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTileToNVVMPass : Pass<"convert-tile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "plans of one team of a CTA to kernels of the NVVM dialect";
  let description = [{
    Each `tile.kernel` with `threads` becomes a kernel of one CTA for each head of each sequence. All threads execute
    the ops of the plan one after another. Elements of maps, columns of scans and sums of reductions are distributed
    over threads, and blocks of products over warps, which multiply them by `mma.sync` with sums in registers. If an
    op touches memory that an earlier op has written, or writes memory that an earlier op has read, a barrier of the
    CTA stands between them. The kernel has one parameter, an array of 64-bit words: the number of tokens and heads,
    where packed sequences begin, the workspace of local tiles, and for each array where it lies and how far its
    elements are apart. Tiles must have been placed (`tile.alloc at`). Iterations of an `scf.parallel` over the chunks
    are distributed over the CTAs of a row of the grid; for packed sequences, each CTA takes one chunk from a list of
    all chunks. With `lists` a kernel of one CTA makes that list (`NAME_listing`, with the first kernel's name), and a
    kernel whose state goes from chunk to chunk in registers has a second form, whose CTAs go from one head of a
    sequence to the next (`NAME_listed`). In a loop over the chunks, the first loads of the next iteration are on
    their way to registers while the present one is computed, unless the kernel is `in_turn`. The first loads of an
    iteration of a parallel loop bypass the registers (`cp.async`), and the kernel waits for them where they are
    needed. Tiles in `registers` are a block of each warp, known by name from the op that makes them.

    Before:
    ```mlir
    tile.kernel @twice required 1 workspace 0 threads 128 shared 64 {
    ^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %t = tile.alloc at 0 : !tile.tile<1x16xf32, shared, [16, 1]>
      tile.load %x[%zero] rows %one into %t : !tile.tile<?x16xf32, global> into !tile.tile<1x16xf32, shared, [16, 1]>
      tile.store %t rows %one to %y[%zero] : !tile.tile<1x16xf32, shared, [16, 1]> to !tile.tile<?x16xf32, global>
    }
    ```
    After:
    ```mlir
    llvm.mlir.global external @twice_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
    llvm.func @twice(%words: !llvm.ptr {llvm.align = 8 : i64, llvm.byval = !llvm.array<46 x i64>}) attributes {nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128, 1, 1>}
    ```
  }];
  let options = [Option<"lists", "lists", "bool", "false",
                        "a kernel makes the list of the chunks of packed sequences, and chains go from sequence to sequence">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FuseMultiplyAddsPass : Pass<"fuse-multiply-adds"> {
  let summary = "a product that only a sum takes and the sum are one instruction";
  let description = [{
    Kernels of a GPU for data of 16 bits are bound by the instructions that they issue, and one rounding less is no
    worse for them; those of float32 alone go without. A module with such data says so by the attribute
    `tile.short_data`, which `convert-tile-to-nvvm` leaves and this pass takes away. A product that is used twice
    stays, because it would be computed twice. So does code that splits a number by multiplying it and taking two
    differences, because an exact product would undo the split.

    Before:
    ```mlir
    %product = arith.mulf %a, %b : f32
    %difference = arith.subf %c, %product : f32
    ```
    After:
    ```mlir
    %negative = arith.negf %a : f32
    %difference = llvm.intr.fma(%negative, %b, %c) : (f32, f32, f32) -> f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // RECUR_CONVERSION_TILE_TO_NVVM_PASSES_TD
