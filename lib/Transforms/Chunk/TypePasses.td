#ifndef RECUR_TRANSFORMS_CHUNK_TYPE_PASSES_TD
#define RECUR_TRANSFORMS_CHUNK_TYPE_PASSES_TD

include "mlir/Pass/PassBase.td"

// The types of arrays, and of factors of products.

def ChooseFactorsPass : Pass<"chunk-choose-factors", "::recur::chunk::ProgramOp"> {
  let summary = "choose the type that factors of products may be rounded to";
  let description = [{
    Sets `factors` if all factors of the program's products may be rounded to bf16. They may if each factor comes from
    vectors that are stored as bf16, scaled by anything. Numbers of a token, decays, params and states do not count: a
    key that is scaled by decays of f32 gates is rounded like the key. If a vector of f32 is a factor, or is added to
    one, all factors of the program stay f32. A program that already has `factors` keeps them. With `f16`, vectors
    that are stored as f16 count like those of bf16. With `tf32`, factors that are not rounded to bf16 are rounded to tf32.

    Before:
    ```mlir
    chunk.program @gated {} chunk 64 {
      %q = chunk.input "q" stored bf16 : tensor<64x8xf32>
      %k = chunk.input "k" stored bf16 : tensor<64x8xf32>
      %g = chunk.input "g" : tensor<64xf32>
      %A = chunk.interaction %q, %k inclusive decay log %g : tensor<64xf32> : tensor<64x8xf32>, tensor<64x8xf32>
      chunk.output "A" %A : tensor<64x64xf32>
    }
    ```
    After:
    ```mlir
    chunk.program @gated {} chunk 64 factors bf16 {
    ```
  }];
  let options = [Option<"f16", "f16", "bool", "false", "factors of f16 data may be rounded to bf16 as well">,
                 Option<"tf32", "tf32", "bool", "false", "factors that stay f32 are rounded to tf32">];
}

def StorePass : Pass<"chunk-store", "::recur::chunk::ProgramOp"> {
  let summary = "say which type each array has in the caller's memory";
  let description = [{
    What `dgps-store` does, for a program that no recurrence was converted to: gives each input, param, state and output the
    attribute `stored` for its type, where that is not f32 and it has none. A cotangent and a gradient have the type of the
    array that they are of.

    Before:
    ```mlir
    %k = chunk.input "k" : tensor<64x8xf32>
    %g = chunk.input "g" : tensor<64xf32>
    ```
    After `--chunk-store=types=bf16,g=f32`:
    ```mlir
    %k = chunk.input "k" stored bf16 : tensor<64x8xf32>
    %g = chunk.input "g" : tensor<64xf32>
    ```
  }];
  let options = [Option<"types", "types", "std::string", "\"f32\"", "as --dtype of recurc">];
}

def KeptTypesPass : Pass<"chunk-kept-types", "::mlir::ModuleOp"> {
  let summary = "leave states that products alone read as factors of these";
  let description = [{
    A gradient whose factors may be rounded rounds a kept state as it is loaded, where nothing but products and sums over its
    elements reads it. Then it may as well be left rounded: half of the bytes, and the same results. Says so of the gradient's
    `chunk.kept` and of the state in the program that leaves it (`chunk-keep-states`).

    Before:
    ```mlir
    %S = chunk.kept "S" : tensor<8x8xf32>
    %r = chunk.read %q, %S : tensor<16x8xf32>, tensor<8x8xf32>
    ```
    After, where the program has `factors bf16`:
    ```mlir
    %S = chunk.kept "S" stored bf16 : tensor<8x8xf32>
    %r = chunk.read %q, %S : tensor<16x8xf32>, tensor<8x8xf32>
    ```
  }];
}

#endif // RECUR_TRANSFORMS_CHUNK_TYPE_PASSES_TD
