#ifndef RECUR_TRANSFORMS_CHUNK_PHASES_TD
#define RECUR_TRANSFORMS_CHUNK_PHASES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// What makes the phases of a plan of a program
//===----------------------------------------------------------------------===//

def LeadStatesPass : Pass<"chunk-lead-states", "::mlir::ModuleOp"> {
  let summary = "find the states that scans carry on ahead of the rest of the program";
  let description = [{
    A state of a number or a vector that one scan carries on, and that no other state enters, leads. So does one that holds
    what a token some time ago had (`chunk.last`, of `chunk.previous` any number of times), of rows that no state enters. In front of the program come
    two: `_ahead` finds for each chunk what it adds to such states and what it scales them with, so that its chunks can be
    computed at once; `_carry` goes from chunk to chunk with that alone, and leaves each chunk the states that it begins
    with. The program then takes them and has the other states only: if it has none, its chunks are apart as well. No scan leads where its
    states enter a system whose solutions add up in a state without decay, for rounding them in parts would lose too many digits.

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

def SlicesFirstPass : Pass<"chunk-slices-first", "::recur::chunk::ProgramOp"> {
  let summary = "rows that are computed together and taken apart are computed apart";
  let description = [{
    Where nothing but parts of a row are taken of what elementwise functions, and rows some tokens before, make of rows side by
    side, each part is made by itself: a layer may convolve queries, keys and values together. So no tile has all of
    them, and each part is what it would be if the text had written it so.

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
    Keys, queries and values of a layer are often made of rows of several tokens: convolved, normalised, mixed with what the token
    before had. Such rows are f32 and need those before them, which takes the room of what is done with them. So a program
    `_prologue` comes in front, whose chunks are apart: it has all that is made of inputs and of rows some tokens before
    (`chunk.previous`, `chunk.held`), token by token, and leaves what anything else takes: rows in the type of the data, as the caller
    of a plainer recurrence would have them, numbers in f32. The program takes them as it takes inputs. A number times a
    row is left as the two where the number needs no rows, or the row is left anyway. Steps of decays are made where they are
    needed, for rounded they would be off by as much for every token that they count for.

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
    The phase `_early` has what no state enters and what the states need, `_chain` what the states go through, `_late` what of
    them and of the inputs becomes outputs. The chunks of the first and the last can be computed in any order or at once. A
    phase `_remains` finds what bounds the state that a chunk leaves (`chunk.remains`), where no other phase leaves that: only
    a chain that begins within a sequence needs it. What one phase needs of another it takes (`chunk.take`, `chunk.give`), but
    for what is made of inputs by elementwise functions, decays and interactions: that is made again. A program whose states go
    through anything but reads, advances and elementwise functions stays as it is.

    The program of a gradient has the same phases, of which the chain goes from the last chunk to the first. What a chunk adds
    to the gradient of a param is late, and a phase `_sums` adds it up. A matrix of the tokens meets a decay of the tokens once:
    the decay's own cotangent is made of what products take. A product takes rows that are in an array as they are: what scales them
    scales its result.

    With `outputs-in-chain` the chain does all that can be done with rows of values one step behind another: it reads and
    advances its one state, applies matrices of the tokens that `_early` leaves, and combines rows of values number by number;
    outputs that are made so are its own. What no state enters is still done early, so that as little as can be goes from chunk
    to chunk. `_late` has the rest, if there is any. A program without such a chain stays as it is, and so does one whose
    states systems are solved with. `precise-inverses` leaves an inverse `precise` that only the chain's products take, if
    errors last: no decay is between its writes, or a token has several. With `interactions-in-chain` the chain is the whole
    program, if that has one state, which writes do not read, and interactions under one decay a token or none; what bounds the
    state has its phase. With `systems-apart` conjugate gradients on decayed sums of squares of keys keep to themselves how
    they are rounded, where nothing else of the program cancels. Then the other phases are rounded like those of any program,
    but for the states that systems are solved with: what is added to them is a product of keys as they came and of two parts
    of the scaled ones, and they are left as they are. Each state has a chain of its own, `_chain_` and its name; so have the
    parts of a program that summarises a state.

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
    The channels that matrices of the state have along a dimension become a multiple of `size` wherever values have them, by
    zeros behind those that the caller has, which declarations then name. So products have whole pieces of 16 numbers and
    rows begin where 16 bytes can be copied, whatever the sizes are. Padding is zero where it enters, and it is found from op to op
    what it becomes: channels stay as they are where that would change what is added up over them, as it does in a softmax, or
    leave zero in a state. A program that cancels stays as it is.

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
    Two dimensions of values are one where an op takes them together, number by number; a dimension is whole where numbers
    along it are added up, or are told apart by their place, as tokens are. If a dimension of all states, and of all that
    leaves the chunk, is not whole, then its channels are apart: the program becomes one for `size` of them, or for `alone`
    of them if nothing happens in it but that one matrix is read and advanced with rows that are there (it can stay in
    registers then, as many rows as a product has). Values without that dimension are the same for every part.

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
    Where each row of an input is scaled by a number before it reads a state, what was read is scaled instead; where it is
    scaled before it is written with a value, the value is. Then a phase that goes from chunk to chunk takes the
    input itself, and nobody has to leave it a scaled copy. Rows that are computed are treated so too where an interaction
    without a decay of each channel takes them: it has them as they are, so that no scaled copy is made besides.

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
    Where each row of an input is scaled by a number, as to length one, and nothing but interactions, reads and advances takes
    the rows, all of these take the input itself, and the numbers go to what is there for each token anyway: rows of an
    interaction are scaled, and so are the values that its columns multiply. What a system is solved for is scaled as a
    whole: with numbers n of the keys, `(I + L diag(n)) U = B` says of n U that `(I + diag(n) L) (n U) = diag(n) B`. Nothing is
    divided by n. So no scaled copy of rows is made, left or rounded, and a recurrence whose keys are normalised in the text has the
    plan of one that gets them normalised.

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
    Where the rows of a token's micro-steps are made by maps of one kind and then interleaved, what the maps take is
    interleaved, and one map makes all rows. The rows of an input that has one for each step lie so already, so that
    nothing is copied any more.

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

def SpreadScalesPass : Pass<"chunk-spread-scales", "::recur::chunk::ProgramOp"> {
  let summary = "a constant that scales a sum goes to its terms";
  let description = [{
    Where a constant scales the sum of what was read of a state and what an interaction made of values, it scales the two
    instead. Below this level the matrix is scaled in the pass that masks it, what was read as the product starts from it,
    and no pass over the sum is left.

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
