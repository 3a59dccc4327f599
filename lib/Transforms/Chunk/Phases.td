#ifndef RECUR_TRANSFORMS_CHUNK_PHASES_TD
#define RECUR_TRANSFORMS_CHUNK_PHASES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// What makes the phases of a plan of a program
//===----------------------------------------------------------------------===//

def LeadStatesPass : Pass<"chunk-lead-states", "::mlir::ModuleOp"> {
  let summary = "find scalars and vectors ahead of the matrices that they lead";
  let description = [{
    A scalar or vector state leads if one scan advances it and it depends on no other state: a `chunk.scan`, a
    `chunk.tropical_scan` or a `chunk.moebius_scan`, of whose tokens a chunk leaves one map of the same kind. A state leads too if it
    holds a row of an earlier token (`chunk.last`, of `chunk.previous` any number of times) that depends on no state; of
    the elementwise functions that make such a row, `_ahead` has the chunk's last row alone.
    A window of an input's last rows, which a loop moves by one, is no state of the program any more: its rows are found
    in the input's array, and a program `_held` says what it becomes. Rows that tokens find there by themselves are the
    input's some tokens earlier (`chunk.input` with `back`); others are found together (`chunk.held`).
    The pass puts two programs in front. `_ahead` finds for each chunk what the chunk adds to such states and by what
    it scales them, so its chunks can be computed at the same time. `_carry` goes from chunk to chunk with these
    results alone, and leaves each chunk the states that it begins with. The program then takes these states and keeps
    only the others; if it has none, its chunks are independent as well. A scan does not lead if its states enter a
    system whose solutions add up in a state without decay, because rounding them in parts would lose too many digits.
    States that need no others than these lead then, behind them: `_ahead2` and `_carry2` find these, and so on.
    Scalars and vectors of other classes that need no matrix, and lead one, have a program `_vectors` of their own. It
    goes from chunk to chunk and leaves what they were at the beginning of each; it has phases like any other program.

    Before:
    ```mlir
    chunk.program @sum {} chunk 8 {
      %x = chunk.input "x" : tensor<8x3xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %A = chunk.state "A" : tensor<3xf32>
      %all, %last = chunk.scan %A, %x decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
      chunk.output "o" %all : tensor<8x3xf32>
      chunk.next %A, %last : tensor<3xf32>
    }
    ```
    After:
    ```mlir
    chunk.program @sum_ahead {} chunk 8 {
      %x = chunk.input "x" : tensor<8x3xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %zero = chunk.constant 0.000000e+00 : tensor<1x3xf32>
      %start = chunk.reshape_state %zero : tensor<1x3xf32> to tensor<3xf32>
      %all, %last = chunk.scan %start, %x decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
      %offset = chunk.reshape_state %last : tensor<3xf32> to tensor<1x3xf32>
      chunk.give "A.offset" %offset : tensor<1x3xf32>
      %map = chunk.cumulative_decay total log(%g) : tensor<8xf32>
      chunk.give "A.map" %map : tensor<1xf32>
    }
    chunk.program @sum_carry {} chunk 8 {
      %A = chunk.state "A" : tensor<3xf32>
      %offset = chunk.take "A.offset" : tensor<1x3xf32>
      %map = chunk.take "A.map" : tensor<1xf32>
      %all, %last = chunk.scan %A, %offset decay linear(%map : tensor<1xf32>) : tensor<3xf32>, tensor<1x3xf32>
      chunk.next %A, %last : tensor<3xf32>
      chunk.give "A" whole %A : tensor<3xf32>
    }
    chunk.program @sum {} chunk 8 {
      %x = chunk.input "x" : tensor<8x3xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %A = chunk.take "A" whole : tensor<3xf32>
      %all, %last = chunk.scan %A, %x decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
      chunk.output "o" %all : tensor<8x3xf32>
    }
    ```
  }];
}

def TrailStatesPass : Pass<"chunk-trail-states", "::mlir::ModuleOp"> {
  let summary = "find the cotangents that scans and delays carry back behind the rest of the program";
  let description = [{
    In the program of a gradient, the cotangent of a state that leads (`chunk-lead-states`) trails: one scan carries it from the
    last token to the first, or a delay from each token to the one before, and no other state needs it, but sums and such that trail as
    well. The program leaves what each chunk adds to the cotangent and what it scales it with; a delay leaves nothing of it. Of delays
    that follow one another a chunk gives back its own rows, and what comes from behind it only where it has fewer tokens than they
    reach over, as the sequence's last may; where something else is made of the rows between two delays, they trail one behind
    the other. Behind the program come two: `_carry` goes from the last chunk to the first with that
    alone, and leaves each chunk the cotangent that it ends with. `_behind`, whose chunks are apart, finishes the outputs and sums that the
    cotangent enters. What `_behind` needs besides, it makes again of arrays by elementwise functions, scans and decays; the rest it takes. Of
    rows that delays and weights make of one row, it takes that one.

    Before:
    ```mlir
    chunk.program @sum_gradient {} chunk 8 backward {
      %d = chunk.input "cotangent.o" : tensor<8x3xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %A = chunk.state "gradient.A" : tensor<3xf32>
      %all, %first = chunk.reverse_scan %A, %d decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
      chunk.output "gradient.x" %all : tensor<8x3xf32>
      chunk.next %A, %first : tensor<3xf32>
    }
    ```
    After:
    ```mlir
    chunk.program @sum_gradient {} chunk 8 backward {
      %d = chunk.input "cotangent.o" : tensor<8x3xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %zero = chunk.constant 0.000000e+00 : tensor<1x3xf32>
      %end = chunk.reshape_state %zero : tensor<1x3xf32> to tensor<3xf32>
      %all, %first = chunk.reverse_scan %end, %d decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
      %offset = chunk.reshape_state %first : tensor<3xf32> to tensor<1x3xf32>
      chunk.give "gradient.A.offset" %offset : tensor<1x3xf32>
      %map = chunk.cumulative_decay total log(%g) : tensor<8xf32>
      chunk.give "gradient.A.map" %map : tensor<1xf32>
    }
    chunk.program @sum_gradient_carry {} chunk 8 backward {
      %A = chunk.state "gradient.A" : tensor<3xf32>
      %offset = chunk.take "gradient.A.offset" : tensor<1x3xf32>
      %map = chunk.take "gradient.A.map" : tensor<1xf32>
      %all, %last = chunk.scan %A, %offset decay linear(%map : tensor<1xf32>) : tensor<3xf32>, tensor<1x3xf32>
      chunk.next %A, %last : tensor<3xf32>
      chunk.give "gradient.A" whole %A : tensor<3xf32>
    }
    chunk.program @sum_gradient_behind {} chunk 8 backward {
      %A = chunk.take "gradient.A" whole : tensor<3xf32>
      %d = chunk.input "cotangent.o" : tensor<8x3xf32>
      %g = chunk.input "g" : tensor<8xf32>
      %all, %first = chunk.reverse_scan %A, %d decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
      chunk.output "gradient.x" %all : tensor<8x3xf32>
    }
    ```
  }];
}

def SlicesFirstPass : Pass<"chunk-slices-first", "::recur::chunk::ProgramOp"> {
  let summary = "rows that are computed together and taken apart are computed apart";
  let description = [{
    Elementwise functions and rows of earlier tokens may compute several rows side by side, of which other ops only
    use parts. The pass then computes each part by itself: a layer may convolve queries, keys and values together, for
    example. So no tile holds all of them, and each part is the same as if the text computed it separately.

    Before:
    ```mlir
    %xy = chunk.concat %x, %y : tensor<8x3xf32>, tensor<8x2xf32> to tensor<8x5xf32>
    %r = chunk.map exp %xy : tensor<8x5xf32>
    %a = chunk.slice %r[0 for 3] : tensor<8x5xf32>
    %b = chunk.slice %r[3 for 2] : tensor<8x5xf32>
    ```
    After:
    ```mlir
    %a = chunk.map exp %x : tensor<8x3xf32>
    %b = chunk.map exp %y : tensor<8x2xf32>
    ```
  }];
}

def ProloguePass : Pass<"chunk-prologue", "::mlir::ModuleOp"> {
  let summary = "what rows of several tokens make is found in a phase in front";
  let description = [{
    Keys, queries and values of a layer are often computed from rows of several tokens: convolved, normalised, mixed
    with the row of the token before. Such rows are f32 and need earlier rows, which takes memory from the main
    computation. So the pass puts a program `_prologue` in front, whose chunks are independent. It computes, token by
    token, everything that depends only on inputs and on rows of earlier tokens (`chunk.previous`, `chunk.held`), and
    leaves the results that other ops use: rows in the type of the data, as a caller of a simpler recurrence would
    pass them, and numbers in f32. The program takes these results like inputs. If a number scales a row, both are
    left separately, provided the number needs no rows or the row is left anyway. Steps of decays are computed where
    they are used, because the rounding error of a step would count for every token that the step covers.

    Before:
    ```mlir
    chunk.program @shifted {} chunk 8 {
      %k = chunk.input "k" : tensor<8x3xf32>
      %v = chunk.input "v" : tensor<8x2xf32>
      %k_back1 = chunk.initial "k_back1" : tensor<3xf32>
      %S = chunk.state "S" : tensor<2x3xf32>
      %h = chunk.held %k[1], %k_back1 : tensor<8x3xf32>, tensor<3xf32>
      %p = chunk.previous %h, %k : tensor<3xf32>, tensor<8x3xf32>
      %r = chunk.map add %k, %p : tensor<8x3xf32>, tensor<8x3xf32>
      %S1 = chunk.advance %S, %v, %r : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
      chunk.next %S, %S1 : tensor<2x3xf32>
    }
    ```
    After:
    ```mlir
    chunk.program @shifted_prologue {} chunk 8 {
      %k = chunk.input "k" : tensor<8x3xf32>
      %k_back1 = chunk.initial "k_back1" : tensor<3xf32>
      %h = chunk.held %k[1], %k_back1 : tensor<8x3xf32>, tensor<3xf32>
      %p = chunk.previous %h, %k : tensor<3xf32>, tensor<8x3xf32>
      %r = chunk.map add %k, %p : tensor<8x3xf32>, tensor<8x3xf32>
      chunk.give "prologue.0" rounded %r : tensor<8x3xf32>
    }
    chunk.program @shifted {} chunk 8 {
      %r = chunk.take "prologue.0" rounded : tensor<8x3xf32>
      %v = chunk.input "v" : tensor<8x2xf32>
      %S = chunk.state "S" : tensor<2x3xf32>
      %S1 = chunk.advance %S, %v, %r : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
      chunk.next %S, %S1 : tensor<2x3xf32>
    }
    ```
  }];
}

def PhasesPass : Pass<"chunk-phases", "::mlir::ModuleOp"> {
  let summary = "split a program into phases, of which one alone goes from chunk to chunk";
  let description = [{
    The phase `_early` computes values that depend on no state and that the states need. `_chain` computes the states,
    and `_late` computes outputs from the states and inputs. The chunks of `_early` and `_late` can be computed in any
    order or at the same time. A phase `_remains` computes the bounds of the state that a chunk leaves
    (`chunk.remains`), if no other phase does: only a chain that begins within a sequence needs them. A phase takes
    values from earlier phases (`chunk.take`, `chunk.give`), except values that elementwise functions, decays and
    interactions make of inputs: it computes these again. A product of two vectors is made where it is added to a state.
    Several states have one chain, whatever they read of each other. If states of a program change by anything but reads,
    advances, elementwise functions, scales of rows and columns, products of two vectors and inverses that are applied,
    the program stays unchanged.

    The program of a gradient has the same phases, of which the chain goes from the last chunk to the first. `_late`
    computes what a chunk adds to the gradient of a param, and a phase `_sums` adds it up. A matrix of the tokens is
    multiplied by a decay of the tokens only once: the decay's own cotangent is computed from the operands of
    products. A product uses rows of an array unscaled; their scales are applied to its result.

    With `outputs-in-chain` the chain computes everything that is a sequence of steps on rows of values: it reads and
    advances its one state, applies matrices of the tokens from `_early`, and combines rows of values number by
    number. It computes the outputs that result from such steps. `_early` still computes everything that depends on no
    state, so the chain does as little as possible. `_late` computes the remaining outputs, if there are any. A
    program without such a chain stays unchanged, and so does a program that solves systems with its states.
    `precise-inverses` leaves an inverse `precise` that only the chain's products take, if errors last: no decay is
    between its writes, or a token has several. With `interactions-in-chain` the chain is the whole program, if the
    program has one state, whose writes do not read it, and interactions under one decay a token or none; the bounds
    of the state have a phase of their own. `systems-apart` is for conjugate gradients on decayed sums of squares of
    keys, if nothing else of the program cancels. One op then solves the systems of a chunk with its own rounding, and
    the other phases are rounded like those of any program, except the states of the systems: each of their updates is
    a product of the unscaled keys and of two parts of the scaled keys, and they are stored unrounded. Each state has
    a chain of its own, `_chain_` and its name; so have the parts of a program that summarises a state.

    Before:
    ```mlir
    chunk.program @sum {} chunk 8 {
      %q = chunk.input "q" : tensor<8x3xf32>
      %v = chunk.input "v" : tensor<8x2xf32>
      %S = chunk.state "S" : tensor<2x3xf32>
      %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
      chunk.output "o" %o : tensor<8x2xf32>
      %S1 = chunk.advance %S, %v, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
      chunk.next %S, %S1 : tensor<2x3xf32>
    }
    ```
    After:
    ```mlir
    chunk.program @sum_chain {} chunk 8 exact {
      %q = chunk.input "q" : tensor<8x3xf32>
      %v = chunk.input "v" : tensor<8x2xf32>
      %S = chunk.state "S" : tensor<2x3xf32>
      %S1 = chunk.advance %S, %v, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
      chunk.next %S, %S1 : tensor<2x3xf32>
      chunk.give "S" whole %S : tensor<2x3xf32>
    }
    chunk.program @sum_late {} chunk 8 exact {
      %S = chunk.take "S" whole : tensor<2x3xf32>
      %q = chunk.input "q" : tensor<8x3xf32>
      %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
      chunk.output "o" %o : tensor<8x2xf32>
    }
    ```
  }];
  let options = [Option<"outputsInChain", "outputs-in-chain", "bool", "false", "let the chain make the outputs that it can">,
                 Option<"interactionsInChain", "interactions-in-chain", "bool", "false", "let the chain make interactions too">,
                 Option<"systemsApart", "systems-apart", "bool", "false", "an op of its own solves the systems of a chunk">,
                 Option<"preciseInverses", "precise-inverses", "bool", "false", "inverses that the chain applies are left as factors of tf32">];
}

def PadChannelsPass : Pass<"chunk-pad-channels", "::recur::chunk::ProgramOp"> {
  let summary = "pad channels of states to a multiple of a size";
  let description = [{
    The channels that matrices of the state have along a dimension become a multiple of `size` wherever values have
    them, by zeros behind those that the caller has, which declarations then name. So products have whole pieces of 16
    numbers and rows begin where 16 bytes can be copied, whatever the sizes are. Padding is zero in the inputs, and
    the pass follows from op to op which values it gets. Channels stay unpadded if padding would change a sum over
    them, as in a softmax, or would become other than zero in a state. A program that cancels stays unchanged.

    Before, with `size=4`:
    ```mlir
    %v = chunk.input "v" : tensor<2x4xf32>
    %k = chunk.input "k" : tensor<2x3xf32>
    %S = chunk.state "S" : tensor<4x3xf32>
    %S1 = chunk.advance %S, %v, %k : tensor<4x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>
    chunk.next %S, %S1 : tensor<4x3xf32>
    ```
    After:
    ```mlir
    %v = chunk.input "v" : tensor<2x4xf32>
    %k = chunk.input "k" of [3] : tensor<2x4xf32>
    %S = chunk.state "S" of [4, 3] : tensor<4x4xf32>
    %S1 = chunk.advance %S, %v, %k : tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
    chunk.next %S, %S1 : tensor<4x4xf32>
    ```
  }];
  let options = [Option<"size", "size", "int64_t", "16", "of which the channels become a multiple">];
}

def PartsPass : Pass<"chunk-parts", "::recur::chunk::ProgramOp"> {
  let summary = "narrow a program to a part of its channels, where they are apart";
  let description = [{
    Two dimensions of values count as one if an op combines them number by number. A dimension is whole if an op sums
    along it, or treats its places differently, as it does with tokens. If a dimension of all states and of all
    outputs of the chunk is not whole, its channels are independent: the program becomes one for `size` of them. It
    becomes one for `alone` channels if the program only reads and advances one matrix with given rows; the matrix can
    then stay in registers, with as many rows as a product has. Values without that dimension are the same for every
    part.

    Before, with `size=2`:
    ```mlir
    %v = chunk.input "v" : tensor<8x4xf32>
    %k = chunk.input "k" : tensor<8x3xf32>
    %S = chunk.state "S" : tensor<4x3xf32>
    %S1 = chunk.advance %S, %v, %k : tensor<4x3xf32>, tensor<8x4xf32>, tensor<8x3xf32>
    ```
    After:
    ```mlir
    %v = chunk.input "v" : tensor<8x2xf32>
    %k = chunk.input "k" : tensor<8x3xf32>
    %S = chunk.state "S" : tensor<2x3xf32>
    %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    ```
  }];
  let options = [Option<"size", "size", "int64_t", "32", "channels of a part">,
                 Option<"alone", "alone", "int64_t", "0", "channels of a part of a state that is alone; 0: as of others">,
                 Option<"cutShort", "cut-short", "bool", "false", "the last part of such a state may have fewer">];
}

def UnscaledInputsPass : Pass<"chunk-unscaled-inputs", "::recur::chunk::ProgramOp"> {
  let summary = "rows of inputs read and are written as they came";
  let description = [{
    If each row of an input is scaled by a number before it reads a state, the pass scales the result of the read
    instead; if the row is scaled before it is written with a value, it scales the value. Then a phase that goes from
    chunk to chunk uses the input itself, and no other phase has to leave a scaled copy. The same is done for computed
    rows if an interaction without a decay of each channel uses them: the interaction uses the unscaled rows, so no
    scaled copy is needed besides. If a constant scales rows of an array that an interaction is applied to transposed,
    and nothing else uses the interaction, the pass scales the interaction.

    Before:
    ```mlir
    %d = chunk.cumulative_decay through log(%g) : tensor<8xf32>
    %r = chunk.map mul %d, %q : tensor<8xf32>, tensor<8x3xf32>
    %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %e = chunk.cumulative_decay after log(%g) : tensor<8xf32>
    %w = chunk.map mul %e, %k : tensor<8xf32>, tensor<8x3xf32>
    %S1 = chunk.advance %S, %v, %w : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    ```
    After:
    ```mlir
    %d = chunk.cumulative_decay through log(%g) : tensor<8xf32>
    %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %y = chunk.map mul %d, %x : tensor<8xf32>, tensor<8x2xf32>
    %e = chunk.cumulative_decay after log(%g) : tensor<8xf32>
    %u = chunk.map mul %e, %v : tensor<8xf32>, tensor<8x2xf32>
    %S1 = chunk.advance %S, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    ```
  }];
}

def UnscaledKeysPass : Pass<"chunk-unscaled-keys", "::recur::chunk::ProgramOp"> {
  let summary = "keys of inputs stay as they came where a number brings each to some length";
  let description = [{
    If each row of an input is scaled by a number, for example to length one, and only interactions, reads and
    advances use the rows, all of these use the input itself. The numbers scale values that exist for each token
    anyway: the rows of an interaction, and the values that its columns multiply. The solution of a system is scaled
    as a whole: with numbers n of the keys, `(I + L diag(n)) U = B` is the same as `(I + diag(n) L) (n U) = diag(n)
    B`. Nothing is divided by n. So no scaled copy of rows is made, left or rounded, and a recurrence that normalises
    its keys has the same plan as one that gets normalised keys.

    Before:
    ```mlir
    %u = chunk.map div %k, %n : tensor<8x3xf32>, tensor<8xf32>
    %x = chunk.read %u, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
    %A = chunk.interaction %u, %u strict : tensor<8x3xf32>, tensor<8x3xf32>
    %U = chunk.solve %A, %y : tensor<8x8xf32>, tensor<8x2xf32>
    %S1 = chunk.advance %S, %U, %u : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    ```
    After:
    ```mlir
    %i = chunk.map div %one, %n : tensor<1xf32>, tensor<8xf32>
    %r = chunk.map mul %i, %k : tensor<8xf32>, tensor<8x3xf32>
    %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
    %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
    %s = chunk.map mul %i, %i : tensor<8xf32>, tensor<8xf32>
    %L = chunk.map mul %s, %A : tensor<8xf32>, tensor<8x8xf32>
    %z = chunk.map mul %i, %y : tensor<8xf32>, tensor<8x2xf32>
    %U = chunk.solve %L, %z : tensor<8x8xf32>, tensor<8x2xf32>
    %S1 = chunk.advance %S, %U, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    ```
  }];
}

def GatherStepsPass : Pass<"chunk-gather-steps", "::recur::chunk::ProgramOp"> {
  let summary = "maps of each micro-step's rows are one map of all their rows";
  let description = [{
    If the rows of a token's micro-steps are made by maps of one kind and then interleaved, the operands of the maps
    are interleaved instead, and one map makes all rows. An input with a row for each step has its rows in this order
    already, so nothing is copied.

    Before:
    ```mlir
    %k0 = chunk.extract %k[0] : tensor<8x2x3xf32>
    %k1 = chunk.extract %k[1] : tensor<8x2x3xf32>
    %a = chunk.map mul %d, %k0 : tensor<8xf32>, tensor<8x3xf32>
    %b = chunk.map mul %d, %k1 : tensor<8xf32>, tensor<8x3xf32>
    %r = chunk.interleave %a, %b : tensor<8x3xf32>, tensor<8x3xf32>
    ```
    After:
    ```mlir
    %k0 = chunk.extract %k[0] : tensor<8x2x3xf32>
    %k1 = chunk.extract %k[1] : tensor<8x2x3xf32>
    %e = chunk.interleave %d, %d : tensor<8xf32>, tensor<8xf32>
    %x = chunk.interleave %k0, %k1 : tensor<8x3xf32>, tensor<8x3xf32>
    %r = chunk.map mul %e, %x : tensor<16xf32>, tensor<16x3xf32>
    ```
  }];
}

def SeparateWritesPass : Pass<"chunk-separate-writes", "::recur::chunk::ProgramOp"> {
  let summary = "writes whose rows lie in arrays are not interleaved";
  let description = [{
    If a token has several writes that no state enters, their rows are interleaved for one advance and one interaction.
    Rows that lie in arrays would be copied for that. So each of these writes has its own advance, and its own interaction
    and product with values, and its rows are loaded as they lie.

    Before:
    ```mlir
    %x = chunk.interleave %k, %y : tensor<8x3xf32>, tensor<8x3xf32>
    %u = chunk.interleave %v, %w : tensor<8x2xf32>, tensor<8x2xf32>
    %S1 = chunk.advance %S, %u, %x : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
    %A = chunk.interaction %q, %x points [2] of [0, 1] : tensor<8x3xf32>, tensor<16x3xf32>
    %o = chunk.apply %A, %u : tensor<8x16xf32>, tensor<16x2xf32>
    ```
    After:
    ```mlir
    %S0 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    %S1 = chunk.advance %S0, %w, %y : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    %A0 = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
    %o0 = chunk.apply %A0, %v : tensor<8x8xf32>, tensor<8x2xf32>
    %A1 = chunk.interaction %q, %y inclusive : tensor<8x3xf32>, tensor<8x3xf32>
    %o1 = chunk.apply %A1, %w : tensor<8x8xf32>, tensor<8x2xf32>
    %o = chunk.map add %o0, %o1 : tensor<8x2xf32>, tensor<8x2xf32>
    ```
  }];
}

def SpreadScalesPass : Pass<"chunk-spread-scales", "::recur::chunk::ProgramOp"> {
  let summary = "a constant that scales a sum goes to its terms";
  let description = [{
    If a constant scales the sum of a state's read and an interaction's product with values, it scales the two terms
    instead. Below this level the pass that masks the matrix also scales it, the product starts from the scaled read,
    and no pass over the sum is needed.

    Before:
    ```mlir
    %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
    %y = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
    %z = chunk.map add %x, %y : tensor<8x2xf32>, tensor<8x2xf32>
    %o = chunk.map mul %c, %z : tensor<1xf32>, tensor<8x2xf32>
    ```
    After:
    ```mlir
    %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
    %B = chunk.map mul %c, %A : tensor<1xf32>, tensor<8x8xf32>
    %y = chunk.apply %B, %v : tensor<8x8xf32>, tensor<8x2xf32>
    %z = chunk.map mul %c, %x : tensor<1xf32>, tensor<8x2xf32>
    %o = chunk.map add %z, %y : tensor<8x2xf32>, tensor<8x2xf32>
    ```
  }];
}

#endif // RECUR_TRANSFORMS_CHUNK_PHASES_TD
