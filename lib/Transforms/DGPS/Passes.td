#ifndef RECUR_TRANSFORMS_DGPS_PASSES_TD
#define RECUR_TRANSFORMS_DGPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NormalizePass : Pass<"dgps-normalize", "::recur::dgps::RecurrenceOp"> {
  let summary = "write the update of each delta state in its normal form";
  let description = [{
    Rewrites the update of each delta state, and what reads the state, to the normal form that the analysis finds: one
    decay, then rank-one writes `gain * value - erase * (X @ key)`, whatever the algebra of the source. Other states are
    left as they are. Values that the program computes already are used again.

    Before:
    ```mlir
    %r = dgps.matvec %S, %k : <4x6>, <6>
    %ar = dgps.mul %a, %r : <scalar>, <4>
    %e = dgps.sub %v, %ar : <4>, <4>
    %w = dgps.outer %e, %k : <4>, <6>
    %bw = dgps.mul %beta, %w : <scalar>, <4x6>
    %aS = dgps.mul %a, %S : <scalar>, <4x6>
    %S1 = dgps.add %aS, %bw : <4x6>, <4x6>
    ```
    After:
    ```mlir
    %aS = dgps.mul %a, %S : <scalar>, <4x6>
    %bv = dgps.mul %beta, %v : <scalar>, <4>
    %r = dgps.matvec %aS, %k : <4x6>, <6>
    %br = dgps.mul %beta, %r : <scalar>, <4>
    %u = dgps.sub %bv, %br : <4>, <4>
    %w = dgps.outer %u, %k : <4>, <6>
    %S1 = dgps.add %aS, %w : <4x6>, <4x6>
    ```
  }];
}

def StorePass : Pass<"dgps-store", "::recur::dgps::RecurrenceOp"> {
  let summary = "say which type each array has in the caller's memory";
  let description = [{
    Gives each input, param, state and output the attribute `stored` for its type, where that is not f32. `types` is what
    `recurc --dtype` takes: the type of all inputs, params and outputs, and those of others by name; a state that is not
    named is f32. What says its type already keeps it, so that a recurrence that was read from a file goes on as it was.

    Before:
    ```mlir
    %k = dgps.input "k" : <8>
    %g = dgps.input "g" : <scalar>
    %S = dgps.state "S" : <4x8>
    ```
    After `--dgps-store=types=bf16,g=f32`:
    ```mlir
    %k = dgps.input "k" stored bf16 : <8>
    %g = dgps.input "g" : <scalar>
    %S = dgps.state "S" : <4x8>
    ```
  }];
  let options = [Option<"types", "types", "std::string", "\"f32\"", "as --dtype of recurc">];
}

#endif // RECUR_TRANSFORMS_DGPS_PASSES_TD
