#ifndef RECUR_CONVERSION_DGPSTOCHUNK_PASSES_TD
#define RECUR_CONVERSION_DGPSTOCHUNK_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertDGPSToChunkPass : Pass<"convert-dgps-to-chunk", "::mlir::ModuleOp"> {
  let summary = "derive the chunkwise form of every recurrence";
  let description = [{
    Makes a `chunk.program` of each `dgps.recurrence`. The class of a state decides what it becomes: a delta state
    becomes interactions, an advance, and a triangular solve if its writes read it; a diagonal state becomes a scan, a
    tropical state a tropical scan, and a Moebius state a Moebius scan. Any other state, and the states that it reads
    as whole matrices, become a token loop within the chunk. The rest of the token's program becomes arithmetic on all
    tokens of the chunk.

    A delta state has keys as its columns, on whichever side the recurrence has them: if the recurrence reads the
    state as `k @ S`, the program has the transposed state and marks it (`chunk.state "S" transposed`).

    Before:
    ```mlir
    dgps.recurrence @linear_attention {} {
      %q = dgps.input "q" : <8>
      %k = dgps.input "k" : <8>
      %v = dgps.input "v" : <4>
      %S = dgps.state "S" : <4x8>
      %w = dgps.outer %v, %k : <4>, <8>
      %S1 = dgps.add %S, %w : <4x8>, <4x8>
      %o = dgps.matvec %S1, %q : <4x8>, <8>
      dgps.output "o" %o : <4>
      dgps.next %S, %S1 : <4x8>
    }
    ```
    After, for chunks of 16 tokens:
    ```mlir
    chunk.program @linear_attention {} chunk 16 {
      %q = chunk.input "q" : tensor<16x8xf32>
      %k = chunk.input "k" : tensor<16x8xf32>
      %v = chunk.input "v" : tensor<16x4xf32>
      %S = chunk.state "S" : tensor<4x8xf32>
      %S1 = chunk.advance %S, %v, %k : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
      %past = chunk.read %q, %S : tensor<16x8xf32>, tensor<4x8xf32>
      %A = chunk.interaction %q, %k inclusive : tensor<16x8xf32>, tensor<16x8xf32>
      %present = chunk.apply %A, %v : tensor<16x16xf32>, tensor<16x4xf32>
      %o = chunk.map add %past, %present : tensor<16x4xf32>, tensor<16x4xf32>
      chunk.output "o" %o : tensor<16x4xf32>
      chunk.next %S, %S1 : tensor<4x8xf32>
    }
    ```
  }];
  let options = [Option<"chunk", "chunk", "int64_t", "64", "tokens of a chunk">,
                 Option<"remains", "remains", "bool", "false", "say how much a chunk leaves of a delta state, where that is known (`chunk.remains`)">,
                 Option<"declared", "declared", "bool", "false", "delta states as the recurrence has them, also where keys are their rows">];
  let dependentDialects = ["::recur::chunk::ChunkDialect", "::recur::dgps::DGPSDialect"];
}

#endif // RECUR_CONVERSION_DGPSTOCHUNK_PASSES_TD
