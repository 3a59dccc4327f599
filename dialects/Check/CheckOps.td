#ifndef RECUR_CHECK_OPS_TD
#define RECUR_CHECK_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Check_Dialect : Dialect {
  let name = "check";
  let cppNamespace = "::recur::check_ir";
  let summary = "What a program gives, written beside it: for tests";
  let description = [{
    Files of tests state the meaning of ops: a program, numbers that it is run on, and the numbers that it must give.
    `recur-opt --interpret` runs them in the interpreter of the program's dialect. No stage makes or reads this dialect.
  }];
}

def Check_RunOp : Op<Check_Dialect, "run"> {
  let summary = "the numbers that a program gives when it is run on others";
  let description = [{
    Runs a `dgps.recurrence`, a `chunk.program` or a `tile.kernel` of the same module.

    Arrays of the first two have names: inputs, params and states (as they are before the first token; zero where they
    are left out) on the left, outputs and states (after the last token) on the right. There is one sequence of one head,
    and its dimensions are not written: inputs and outputs are `[T, ...]`, params and states as declared. After `sizes`,
    which gives B, H and the number of groups of heads, every array is written with all its dimensions: `[B, T, H, ...]`,
    `[H, ...]` and `[B, H, ...]`. `tokens` gives T where no input says it. Of a kernel the arrays have no names: on both
    sides they stand in the kernel's order, rows of numbers, before and after; `[]` is an array that is absent.

    Each number must be the one that is written up to a relative error of 1e-15, or of the number after `within`; zero,
    infinities and `nan` must be what they are (zero may be off by that number). `rounding` makes products round their
    operands as a target does: f32, tf32, bf16 or f16; a kernel's tiles with `f32` as their elements. Instead of numbers
    there may be the message of an error after `fails`; one of a kernel has an op's place as `+4:3`, with lines counted from
    the kernel's.

    Verified: the symbol is that of a program; arrays are rectangular; names are there where they belong.

    Example:
    ```mlir
    dgps.recurrence @sum {} {
      %x = dgps.input "x" : <2>
      %S = dgps.state "S" : <2>
      %S1 = dgps.add %S, %x : <2>, <2>
      dgps.output "o" %S1 : <2>
      dgps.next %S, %S1 : <2>
    }
    check.run @sum (x = [[1, 2], [3, 4]], S = [10, 20]) gives (o = [[11, 22], [14, 26]], S = [14, 26])
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$program, StrArrayAttr:$given_names, ArrayAttr:$given, StrArrayAttr:$wanted_names,
                       ArrayAttr:$wanted, OptionalAttr<DenseI64ArrayAttr>:$sizes, OptionalAttr<I64Attr>:$tokens,
                       OptionalAttr<F64Attr>:$within, OptionalAttr<StrAttr>:$rounding, OptionalAttr<StrAttr>:$message);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // RECUR_CHECK_OPS_TD
