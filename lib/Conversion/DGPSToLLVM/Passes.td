#ifndef RECUR_CONVERSION_DGPSTOLLVM_PASSES_TD
#define RECUR_CONVERSION_DGPSTOLLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertDGPSToLLVMPass : Pass<"convert-dgps-to-llvm", "::mlir::ModuleOp"> {
  let summary = "recurrences to functions that go token by token";
  let description = [{
    Each `dgps.recurrence` becomes an `llvm.func` of the arrays, the number of tokens and the scratch memory: the
    kernel of the plan `step`. Every recurrence has one, whatever the classes of its states, and every processor. A
    scalar is a value, a vector lies on the stack, a matrix in the scratch memory. A matrix that is cheap to compute
    again, or is used once, has no memory: each use computes its elements, so an update such as `exp(g) * S + v k^T`
    is one pass over the state. A state lies in the caller's array of the final state, and is updated in place unless
    an op still reads the old value.

    The loops are `scf` over 64-bit integers, with one number a round: LLVM's vectorizers turn them into vector code,
    which the function requests by its attribute `recur-scalar-loops`. Sums may be reassociated; functions round as
    `Support/VectorMath.h` says. `llvm.dereferenceable` says how many bytes of scratch memory there must be; without
    it, none.

    Before:
    ```mlir
    dgps.recurrence @mean {} {
      %x = dgps.input "x" : <8>
      %h = dgps.state "h" : <8>
      %a = dgps.constant 0.9 : <scalar>
      %old = dgps.mul %a, %h : <scalar>, <8>
      %new = dgps.add %old, %x : <8>, <8>
      dgps.output "o" %new : <8>
      dgps.next %h, %new : <8>
    }
    ```
    After:
    ```mlir
    llvm.func @mean(%arrays: !llvm.ptr, %tokens: i64, %workspace: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}) attributes {passthrough = ["recur-scalar-loops"]}
    ```
  }];
  let options = [Option<"symbol", "symbol", "std::string", "\"\"", "the kernel's name; the recurrence's if empty">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif // RECUR_CONVERSION_DGPSTOLLVM_PASSES_TD
