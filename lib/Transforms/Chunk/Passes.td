#ifndef RECUR_TRANSFORMS_CHUNK_PASSES_TD
#define RECUR_TRANSFORMS_CHUNK_PASSES_TD

include "mlir/Pass/PassBase.td"
include "lib/Transforms/Chunk/Phases.td"
include "lib/Transforms/Chunk/TypePasses.td"

def CommonInteractionsPass : Pass<"chunk-common-interactions", "::recur::chunk::ProgramOp"> {
  let summary = "form each interaction matrix once";
  let description = [{
    Interactions of the same rows, writes and decay under the same mask become one. If only triangular solves and
    inverses use an interaction under the strict mask, it becomes the inclusive interaction of the same rows, writes
    and decay, because they read only what lies strictly below the diagonal. So a system whose query is its key needs
    one matrix.

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
}

def DeadStreamsPass : Pass<"chunk-dead-streams", "::recur::chunk::ProgramOp"> {
  let summary = "drop what no output and no state needs";
  let description = [{
    Erases ops whose results are not used, and unused results and streams of token loops. The yielded value goes with
    the result, and so may the values that it was computed from. Declarations of a program stay.

    Before:
    ```mlir
    %l:3 = chunk.token_loop (%x1 = %x : tensor<8xf32>, %y1 = %y : tensor<8xf32>) carry (%a = %A : tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
      %b = chunk.map tanh %a : tensor<1xf32>
      %c = chunk.map add %b, %x1 : tensor<1xf32>, tensor<1xf32>
      %d = chunk.map mul %c, %y1 : tensor<1xf32>, tensor<1xf32>
      chunk.yield %c, %d, %c : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
    }
    chunk.output "o" %l#0 : tensor<8xf32>
    ```
    After:
    ```mlir
    %l:2 = chunk.token_loop (%x1 = %x : tensor<8xf32>) carry (%a = %A : tensor<f32>) -> (tensor<8xf32>, tensor<f32>) {
      %b = chunk.map tanh %a : tensor<1xf32>
      %c = chunk.map add %b, %x1 : tensor<1xf32>, tensor<1xf32>
      chunk.yield %c, %c : tensor<1xf32>, tensor<1xf32>
    }
    chunk.output "o" %l#0 : tensor<8xf32>
    ```
  }];
}

def SolveFormPass : Pass<"chunk-solve-form", "::recur::chunk::ProgramOp"> {
  let summary = "solve against the right-hand side, or multiply with an explicit inverse";
  let description = [{
    The UT transform. `solve` turns products with an inverse into solves; `inverse` turns every solve into a product
    with `chunk.inverse`; `auto` makes an inverse if several solves have the same matrix, so one substitution serves
    all of them and the rest are products. A solve whose channels decay has a different inverse for each channel, and
    stays.

    Before, with `form=inverse`:
    ```mlir
    %U = chunk.solve %L, %B : tensor<8x8xf32>, tensor<8x2xf32>
    ```
    After:
    ```mlir
    %T = chunk.inverse %L : tensor<8x8xf32>
    %U = chunk.apply %T, %B : tensor<8x8xf32>, tensor<8x2xf32>
    ```
  }];
  let options = [Option<"form", "form", "std::string", "\"auto\"", "`auto`, `solve` or `inverse`">];
}

def GainsInInversesPass : Pass<"chunk-gains-in-inverses", "::recur::chunk::ProgramOp"> {
  let summary = "an inverse has the gain of all that it multiplies";
  let description = [{
    If every value that an inverse multiplies has the same number of each token as a factor, the columns of the
    inverse are scaled by this number, and the values are not. Then one matrix of the tokens is scaled, and rows of
    inputs can be multiplied unchanged. In bf16 this saves one rounding.

    Before:
    ```mlir
    %T = chunk.inverse %L : tensor<8x8xf32>
    %w = chunk.map mul %beta, %v : tensor<8xf32>, tensor<8x2xf32>
    %U = chunk.apply %T, %w : tensor<8x8xf32>, tensor<8x2xf32>
    ```
    After:
    ```mlir
    %T = chunk.inverse %L columns(%beta : tensor<8xf32>) : tensor<8x8xf32>
    %U = chunk.apply %T, %v : tensor<8x8xf32>, tensor<8x2xf32>
    ```
  }];
}

def SeparateStatesPass : Pass<"chunk-separate-states", "::recur::chunk::ProgramOp"> {
  let summary = "what advances a state becomes a part without states and one read of each";
  let description = [{
    Values that are written to a state are often affine in the state: rows are read, scaled, subtracted, solved with
    or multiplied by matrices of the tokens. If a matrix of the tokens takes part, such a value becomes the sum of a
    part that depends on no state and of one read of each state, with rows that depend on no state either: for a delta
    rule, `Y - W S` with `Y = T V`, `W = T K`. This is more work in all, but only two products remain in the chain
    from chunk to chunk. Values that are the same but for a number of each row, which several states are written, are
    taken apart once, before that number. An inverse that is applied to reads of several states stays: then all of them
    are read with the same rows.

    Before:
    ```mlir
    %x = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
    %u = chunk.solve %L, %y : tensor<8x8xf32>, tensor<8x2xf32>
    %S1 = chunk.advance %S, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    ```
    After:
    ```mlir
    %n = chunk.map neg %k : tensor<8x3xf32>
    %y = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
    %w = chunk.solve %L, %n : tensor<8x8xf32>, tensor<8x3xf32>
    %x = chunk.read %w, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %u = chunk.map add %y, %x : tensor<8x2xf32>, tensor<8x2xf32>
    %S1 = chunk.advance %S, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    ```
  }];
}

def AdvanceLastPass : Pass<"chunk-advance-last", "::recur::chunk::ProgramOp"> {
  let summary = "states change after all that reads them";
  let description = [{
    Advances of which nothing but `chunk.next` takes the result move to the end of the program, and then the nexts:
    below this level a state is then changed in place. With `chains` the ops move too whose results only such ops use.
    A state then may change in several steps: by advances, and by elementwise functions that continue one state from
    another, scale it by vectors or add the product of two.

    Before:
    ```mlir
    %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    chunk.next %S, %S1 : tensor<2x3xf32>
    %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
    chunk.output "o" %o : tensor<8x2xf32>
    ```
    After:
    ```mlir
    %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
    chunk.output "o" %o : tensor<8x2xf32>
    %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    chunk.next %S, %S1 : tensor<2x3xf32>
    ```
  }];
  let options = [Option<"chains", "chains", "bool", "true", "also what such an op alone takes the result of">];
}

def DecayReadsPass : Pass<"chunk-decay-reads", "::recur::chunk::ProgramOp"> {
  let summary = "decays of rows that read a state move to what was read";
  let description = [{
    If each row that reads a state is scaled by a decay, and an elementwise function uses the result of the read, the
    pass scales this result instead of the row. Below this level the pass of the elementwise function does the
    scaling, and the unscaled rows may serve other products as well.

    Before:
    ```mlir
    %d = chunk.cumulative_decay through log(%g) : tensor<8xf32>
    %r = chunk.map mul %d, %q : tensor<8xf32>, tensor<8x3xf32>
    %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %o = chunk.map add %x, %v : tensor<8x2xf32>, tensor<8x2xf32>
    ```
    After:
    ```mlir
    %d = chunk.cumulative_decay through log(%g) : tensor<8xf32>
    %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %y = chunk.map mul %d, %x : tensor<8xf32>, tensor<8x2xf32>
    %o = chunk.map add %y, %v : tensor<8x2xf32>, tensor<8x2xf32>
    ```
  }];
}

def GatherOncePass : Pass<"chunk-gather-once", "::recur::chunk::ProgramOp"> {
  let summary = "values that several matrices gather into one sum are gathered once";
  let description = [{
    If a sum has the products of two matrices with the same values, the matrices are added and multiply the values
    once: a sum of numbers for each pair of tokens replaces a product. This happens for a complex state, whose two
    parts write the same values.

    Before:
    ```mlir
    %x = chunk.apply %A, %u : tensor<8x8xf32>, tensor<8x2xf32>
    %y = chunk.apply %B, %u : tensor<8x8xf32>, tensor<8x2xf32>
    %o = chunk.map add %x, %y : tensor<8x2xf32>, tensor<8x2xf32>
    ```
    After:
    ```mlir
    %C = chunk.map add %A, %B : tensor<8x8xf32>, tensor<8x8xf32>
    %o = chunk.apply %C, %u : tensor<8x8xf32>, tensor<8x2xf32>
    ```
  }];
}

def InvertRootsPass : Pass<"chunk-invert-roots", "::recur::chunk::ProgramOp"> {
  let summary = "rows that are divided by a root are multiplied by its inverse";
  let description = [{
    A division takes a processor as long as ten multiplications. If all channels of a token are divided by one number,
    the pass inverts the number and multiplies the channels. It does so only for square roots, as in the norm of a
    vector: the inverse of a number that is almost zero or almost infinite is beyond float32, but the inverse of its
    root is not.

    Before:
    ```mlir
    %s = chunk.map dot %k, %k : tensor<8x3xf32>, tensor<8x3xf32>
    %r = chunk.map sqrt %s : tensor<8xf32>
    %x = chunk.map div %k, %r : tensor<8x3xf32>, tensor<8xf32>
    ```
    After:
    ```mlir
    %s = chunk.map dot %k, %k : tensor<8x3xf32>, tensor<8x3xf32>
    %r = chunk.map sqrt %s : tensor<8xf32>
    %i = chunk.map div %one, %r : tensor<1xf32>, tensor<8xf32>
    %x = chunk.map mul %i, %k : tensor<8xf32>, tensor<8x3xf32>
    ```
  }];
}

def SummarizePass : Pass<"chunk-summarize", "::mlir::ModuleOp"> {
  let summary = "derive what a segment of tokens does to each state";
  let description = [{
    A segment takes a state S to `S A + B`. B is what the program makes of a state of zero; A is the derivative of
    what it makes of S, along the identity. So the summary of a state is the program itself with two copies of that
    state: `NAME.offset`, which starts from zero, and `NAME.map`, whose ops are the tangents of the ops that change
    the state. The map becomes zero if the new state does not depend on the old one. Other states that the summary
    needs are known by then, and stay; outputs and all values that only outputs need go. The runner composes the
    summaries of segments (`chunk.compose`) to find the states where each segment starts.

    A state that erases along its columns while each row decays by itself, `S -> diag(L) S A + B`, has its map without
    that decay, and the decay of the rows as `NAME.scales`, which starts as ones. It must read what it erases after
    the decay, because only then all rows change in the same way, apart from a factor. The same holds for decaying
    columns and a map from the left.

    A state whose elements only scale has an elementwise map of its own shape; one that is read from the left a map from
    the left; a running maximum a tropical one. Where a state of a program has no such map, or what it becomes is not affine
    in it, the program gets no summaries.

    Before:
    ```mlir
    chunk.program @sum {} chunk 8 {
      %x = chunk.input "x" : tensor<8xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %A = chunk.state "A" : tensor<f32>
      %all, %last = chunk.scan %A, %x decay log(%g : tensor<8xf32>) : tensor<f32>, tensor<8xf32>
      chunk.output "o" %all : tensor<8xf32>
      chunk.next %A, %last : tensor<f32>
    }
    ```
    After, behind it:
    ```mlir
    chunk.program @sum_summary_A {} chunk 8 summary_of "A" as elementwise {
      %x = chunk.input "x" : tensor<8xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %A.map = chunk.state "A.map" : tensor<f32>
      %A.offset = chunk.state "A.offset" : tensor<f32>
      %all, %last = chunk.scan %A.offset, %x decay log(%g : tensor<8xf32>) : tensor<f32>, tensor<8xf32>
      %zero = chunk.constant 0.000000e+00 : tensor<8xf32>
      %all1, %last1 = chunk.scan %A.map, %zero decay log(%g : tensor<8xf32>) : tensor<f32>, tensor<8xf32>
      chunk.next %A.map, %last1 : tensor<f32>
      chunk.next %A.offset, %last : tensor<f32>
    }
    ```
  }];
}

def DifferentiatePass : Pass<"chunk-differentiate", "::mlir::ModuleOp"> {
  let summary = "derive the program of a program's gradient";
  let description = [{
    Behind each program comes one that runs over the chunks from the last to the first. It has the inputs and params of the
    program, the states at the chunk's start as the program left them (`chunk.kept`), the cotangents of the outputs as
    inputs `cotangent.NAME`, and those of the states at the chunk's end as states. It gives the cotangents of the inputs as
    outputs `gradient.NAME`; those of the states at the chunk's start are what its states `gradient.NAME` become, and those of
    the params are added up over the chunks in states of their names.

    The program's ops compute their values again, and each builds its adjoint (`buildAdjoint`), from the last to the first.
    Values that both need are computed once: interactions, their decay, and the triangle of a solve, which is solved
    transposed. The passes of the forward form drop what is not needed and share what is equal.

    Before:
    ```mlir
    chunk.program @sum {} chunk 8 {
      %x = chunk.input "x" : tensor<8xf32>
      %A = chunk.state "A" : tensor<f32>
      %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
      %o = chunk.map mul %all, %all : tensor<8xf32>, tensor<8xf32>
      chunk.output "o" %o : tensor<8xf32>
      chunk.next %A, %last : tensor<f32>
    }
    ```
    After, behind it, and after `canonicalize` and `cse`:
    ```mlir
    chunk.program @sum_gradient {} chunk 8 backward {
      %x = chunk.input "x" : tensor<8xf32>
      %A = chunk.kept "A" : tensor<f32>
      %gradient.A = chunk.state "gradient.A" : tensor<f32>
      %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
      %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
      %0 = chunk.map mul %cotangent.o, %all : tensor<8xf32>, tensor<8xf32>
      %1 = chunk.map add %0, %0 : tensor<8xf32>, tensor<8xf32>
      %all_0, %first = chunk.reverse_scan %gradient.A, %1 : tensor<f32>, tensor<8xf32>
      chunk.output "gradient.x" %all_0 : tensor<8xf32>
      chunk.next %gradient.A, %first : tensor<f32>
    }
    ```
  }];
}

def LeaveOutGradientsPass : Pass<"chunk-leave-out-gradients", "::recur::chunk::ProgramOp"> {
  let summary = "drop gradients that nobody wants, and what only they need";
  let description = [{
    Removes from the program of a gradient (`chunk-differentiate`) the gradients of all inputs and params that are not
    among `wanted`, and the values that nothing else needs. Cotangents of states go too, unless they are wanted as
    gradients of initial states or lead to a wanted gradient. Other programs stay unchanged.

    Before:
    ```mlir
    chunk.program @sum_gradient {} chunk 8 backward {
      %x = chunk.input "x" : tensor<8xf32>
      %y = chunk.input "y" : tensor<8xf32>
      %A = chunk.kept "A" : tensor<f32>
      %gradient.A = chunk.state "gradient.A" : tensor<f32>
      %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
      %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
      %0 = chunk.map mul %cotangent.o, %all : tensor<8xf32>, tensor<8xf32>
      %1 = chunk.map mul %cotangent.o, %y : tensor<8xf32>, tensor<8xf32>
      %all_0, %first = chunk.reverse_scan %gradient.A, %1 : tensor<f32>, tensor<8xf32>
      chunk.output "gradient.x" %all_0 : tensor<8xf32>
      chunk.output "gradient.y" %0 : tensor<8xf32>
      chunk.next %gradient.A, %first : tensor<f32>
    }
    ```
    After, where `y` alone is wanted:
    ```mlir
    chunk.program @sum_gradient {} chunk 8 backward {
      %x = chunk.input "x" : tensor<8xf32>
      %y = chunk.input "y" : tensor<8xf32>
      %A = chunk.kept "A" : tensor<f32>
      %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
      %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
      %0 = chunk.map mul %cotangent.o, %all : tensor<8xf32>, tensor<8xf32>
      chunk.output "gradient.y" %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [ListOption<"wanted", "wanted", "std::string", "inputs, params and states whose gradients stay">];
}

def KeepStatesPass : Pass<"chunk-keep-states", "::mlir::ModuleOp"> {
  let summary = "derive the program that leaves the states at each chunk's start";
  let description = [{
    Before each gradient (`chunk-differentiate`) the pass puts the program that computes its kept states: the original
    program without outputs, so it computes only what the states need. A state that neither the gradient nor a state
    of the gradient needs stays unchanged.

    Before:
    ```mlir
    chunk.program @sum {} chunk 8 {
      %x = chunk.input "x" : tensor<8xf32>
      %A = chunk.state "A" : tensor<f32>
      %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
      %o = chunk.map mul %all, %all : tensor<8xf32>, tensor<8xf32>
      chunk.output "o" %o : tensor<8xf32>
      chunk.next %A, %last : tensor<f32>
    }
    ```
    After, behind it, and after `canonicalize`:
    ```mlir
    chunk.program @sum_states {} chunk 8 keeps {
      %x = chunk.input "x" : tensor<8xf32>
      %A = chunk.state "A" : tensor<f32>
      %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
      chunk.next %A, %last : tensor<f32>
    }
    ```
  }];
}

def HoldDelaysPass : Pass<"chunk-hold-delays", "::mlir::ModuleOp"> {
  let summary = "find what delays of inputs hold in the arrays of a gradient's inputs";
  let description = [{
    A gradient (`chunk-differentiate`) takes each state as it was kept at the chunk's start. A state that holds the row that an
    input had some tokens ago is in the input's array anyway (`chunk.held`), but for the first tokens of a sequence,
    which have what the state was before them (`chunk.initial`). So nothing of such a state need be kept. Nor need a window
    of an input's last rows, which a loop moves by one.

    Before:
    ```mlir
    chunk.program @twice {} chunk 8 {
      %x = chunk.input "x" : tensor<8xf32>
      %s = chunk.state "s" : tensor<f32>
      %p = chunk.previous %s, %x : tensor<f32>, tensor<8xf32>
      %o = chunk.map mul %x, %p : tensor<8xf32>, tensor<8xf32>
      %l = chunk.last %x : tensor<8xf32>
      chunk.output "o" %o : tensor<8xf32>
      chunk.next %s, %l : tensor<f32>
    }
    chunk.program @twice_gradient {} chunk 8 backward {
      %x = chunk.input "x" : tensor<8xf32>
      %s = chunk.kept "s" : tensor<f32>
      %p = chunk.previous %s, %x : tensor<f32>, tensor<8xf32>
      %c = chunk.input "cotangent.o" : tensor<8xf32>
      %g = chunk.map mul %c, %p : tensor<8xf32>, tensor<8xf32>
      chunk.output "gradient.x" %g : tensor<8xf32>
    }
    ```
    After, of the gradient:
    ```mlir
    chunk.program @twice_gradient {} chunk 8 backward {
      %x = chunk.input "x" : tensor<8xf32>
      %c = chunk.input "cotangent.o" : tensor<8xf32>
      %i = chunk.initial "s" : tensor<f32>
      %s = chunk.held %x[1], %i : tensor<8xf32>, tensor<f32>
      %p = chunk.previous %s, %x : tensor<f32>, tensor<8xf32>
      %g = chunk.map mul %c, %p : tensor<8xf32>, tensor<8xf32>
      chunk.output "gradient.x" %g : tensor<8xf32>
    }
    ```
  }];
}

#endif // RECUR_TRANSFORMS_CHUNK_PASSES_TD
