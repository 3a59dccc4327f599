#ifndef RECUR_TRANSFORMS_CHUNK_PASSES_TD
#define RECUR_TRANSFORMS_CHUNK_PASSES_TD

include "mlir/Pass/PassBase.td"

def CommonInteractionsPass : Pass<"chunk-common-interactions", "::recur::chunk::ProgramOp"> {
  let summary = "form each interaction matrix once";
  let description = [{
    Interactions of the same rows, writes and decay under the same mask become one. An interaction under the strict mask
    also becomes the inclusive one of the same rows, writes and decay where only triangular solves and inverses use it, for
    they read what lies strictly below the diagonal and nothing else: a system whose query is its key needs one matrix.

    Before:
    ```mlir
    %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
    %L = chunk.map mul %b, %A : tensor<8xf32>, tensor<8x8xf32>
    %U = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
    %Aq = chunk.interaction %k, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
    ```
    After:
    ```mlir
    %Aq = chunk.interaction %k, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
    %L = chunk.map mul %b, %Aq : tensor<8xf32>, tensor<8x8xf32>
    %U = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
    ```
  }];
  let statistics = [Statistic<"numMerged", "merged", "interactions that another one stands for">];
}

#endif // RECUR_TRANSFORMS_CHUNK_PASSES_TD
