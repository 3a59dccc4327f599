#ifndef RECUR_TRANSFORMS_CHUNK_PASSES_TD
#define RECUR_TRANSFORMS_CHUNK_PASSES_TD

include "mlir/Pass/PassBase.td"
include "lib/Transforms/Chunk/Phases.td"
include "lib/Transforms/Chunk/TypePasses.td"

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
}

def DeadStreamsPass : Pass<"chunk-dead-streams", "::recur::chunk::ProgramOp"> {
  let summary = "drop what no output and no state needs";
  let description = [{
    Erases ops whose results are not used, and the results and streams of token loops that are not:
    there the yielded value goes with the result, and may take what it was computed from along. What a program declares
    stays.

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
    The UT transform. `solve` turns products with an inverse into solves; `inverse` turns every solve into a product with
    `chunk.inverse`; `auto` makes an inverse where one matrix is solved with more than once, so that the triangle is gone
    through once and what is left is products. A solve whose channels decay has no one inverse, and stays.

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
    Where every value that is multiplied by an inverse has one number of each token as a factor, the columns of the inverse are
    scaled by it and the values are not: one matrix of the tokens is scaled, and rows of inputs can be multiplied as they
    came. In bf16 that is one rounding less.

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
    Values that are written to a state are often affine in it: rows are read, scaled, subtracted, solved with or multiplied by
    matrices of the tokens. Where a matrix of the tokens takes part, such a value becomes the sum of what no state enters and
    of one read of each state, whose rows no state enters either: of a delta rule, `Y - W S` with `Y = T V`, `W = T K`. That is
    more work, but what is left to go from chunk to chunk is two products.

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
    Advances of which nothing but `chunk.next` takes the result move to the end of the program, and then the nexts: below
    this level a state is then changed in place. With `chains` so does what only such an op takes the result of, for a
    state that changes in several steps: advances, and functions of states element by element, by which one goes on from
    another, is scaled by vectors or has the product of two added.

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
    Where each row that reads a state is scaled by a decay, and an elementwise function takes what was read further, what was
    read is scaled instead: below this level that is done in the pass of that function, and the rows as they are may
    serve other products as well.

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
    Where a sum has what two matrices gather of the same values, the matrices are added and gather once: a sum of numbers
    for each pair of tokens instead of a product. So it is with the parts of a complex state, of which both write the same values.

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
    A division takes a processor as long as ten multiplications. Where all channels of a token are divided by one number,
    the number is inverted and the channels are multiplied. That is done for square roots alone, as in the norm of a vector: the inverse of
    a number that is almost zero or almost infinite is no number of float32, but that of its root is.

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
    A segment takes a state S to `S A + B`. B is what the program makes of a state of zero; A is the derivative of what it
    makes of S, along the identity. So the summary of a state is the program itself with two copies of that state:
    `NAME.offset`, which starts from zero, and `NAME.map`, whose ops are the tangents of those that the state goes through; it
    becomes zero where what the state becomes does not depend on it. The other states that it needs are known by then,
    and stay; outputs and all that only they need go. The runner composes the summaries of segments (`chunk.compose`) to find the states where each
    segment starts.

    A state that erases along its columns while each row decays by itself, `S -> diag(L) S A + B`, has its map without that
    decay, and the decay of the rows as `NAME.scales`, which starts as ones. It must read what it erases after the decay:
    only then is what happens to a row the same for all but for a factor. So it is with decaying columns and a map from the left.

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
    From the program of a gradient (`chunk-differentiate`) go the gradients of all inputs and params that are not among
    `wanted`, and with them what nothing else needs: cotangents of states too, unless they are wanted as gradients of
    initial states or lead to a gradient that is. Other programs stay as they are.

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
    Before each gradient (`chunk-differentiate`) comes the program that its kept states are from: the gradient's own program
    without outputs, so that only what carries the states on is computed. A state that the gradient does not take, and that
    none which it takes needs, stays what it is.

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

#endif // RECUR_TRANSFORMS_CHUNK_PASSES_TD
