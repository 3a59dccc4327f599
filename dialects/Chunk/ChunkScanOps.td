#ifndef RECUR_CHUNK_SCAN_OPS_TD
#define RECUR_CHUNK_SCAN_OPS_TD

include "dialects/Chunk/ChunkProductOps.td"

//===----------------------------------------------------------------------===//
// Scans over the tokens of a chunk
//===----------------------------------------------------------------------===//

def Chunk_ScanOp : Chunk_PureOp<"scan", [DeclareOpInterfaceMethods<Chunk_DecayedOpInterface>]> {
  let summary = "a state that each token scales and adds to, elementwise";
  let description = [{
    `x_t = a_t * x_{t-1} + b_t`, starting from the state; `all` is x after each token, `last` after the last. The decay is a
    and may be given as logarithms; without it a is 1. With `angles` the elements are angles: each addition and each sum is
    brought to between minus and plus half a turn, where numbers are dense, so that a sum of many turns is as exact as that
    of few. Derivatives do not see it.

    Verified: without the token dimension, the additions have the state's shape, and so has the decay, or it is a scalar;
    angles do not decay.

    Example:
    ```mlir
    %all, %last = chunk.scan %A, %b decay log(%g : tensor<64xf32>) : tensor<128xf32>, tensor<64x128xf32>
    %phases, %phase = chunk.scan %none, %theta angles : tensor<32xf32>, tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Chunk_Tensor:$state, Chunk_Tokens:$additions, Optional<Chunk_Decay>:$decay, UnitAttr:$linear,
                       UnitAttr:$angles);
  let results = (outs Chunk_Tokens:$all, Chunk_Tensor:$last);
  let assemblyFormat = [{
    $state `,` $additions (`decay` custom<Decay>($decay, type($decay), $linear)^)? (`angles` $angles^)? attr-dict
    `:` type($state) `,` type($additions)
  }];
  let hasCanonicalizer = 1;
}

def Chunk_TropicalScanOp : Chunk_PureOp<"tropical_scan"> {
  let summary = "a state that each token moves and bounds, elementwise";
  let description = [{
    `x_t = max(x_{t-1} + a_t, b_t)`, starting from the state; `all` is x after each token, `last` after the last. With
    `as min` it is the smaller of the two; with `as soft_max` it is `log(exp(x_{t-1} + a_t) + exp(b_t))`; with `as soft_min`
    the negative of that of the negatives. All four are sums of an algebra in which `+` is the product, so what a segment
    does to the state is again one shift and one bound. Of two values that are both the least there is (minus infinity for a
    maximum) the result is the same value.

    Verified: without the token dimension, shifts and bounds have the state's shape.

    Example:
    ```mlir
    %all, %last = chunk.tropical_scan %m, %f, %i : tensor<f32>, tensor<64xf32>, tensor<64xf32>
    %sums, %sum = chunk.tropical_scan %l, %w, %k as soft_max : tensor<8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
    ```
  }];
  let arguments = (ins Chunk_Tensor:$state, Chunk_Tokens:$shifts, Chunk_Tokens:$bounds,
                       DefaultValuedAttr<Chunk_Extremum, "::recur::chunk::Extremum::Max">:$extremum);
  let results = (outs Chunk_Tokens:$all, Chunk_Tensor:$last);
  let assemblyFormat = [{
    $state `,` $shifts `,` $bounds (`as` $extremum^)? attr-dict `:` type($state) `,` type($shifts) `,` type($bounds)
  }];
}

def Chunk_MoebiusScanOp : Chunk_PureOp<"moebius_scan", [AllTypesMatch<["a", "b", "c", "d"]>]> {
  let summary = "a state of which each token makes a quotient of two sums, elementwise";
  let description = [{
    `x_t = (a_t x_{t-1} + b_t) / (c_t x_{t-1} + d_t)`, starting from the state; `all` is x after each token, `last` after the
    last. So goes the variance of a Kalman filter, which each token's noise adds to and each measurement divides. One such
    map after the other is again one, by the product of their 2 x 2 matrices.

    Verified: without the token dimension, each factor has the state's shape; all have one type.

    Example:
    ```mlir
    %all, %last = chunk.moebius_scan %P, (%a, %b) over (%c, %d) : tensor<8xf32>, tensor<64x8xf32>
    ```
  }];
  let arguments = (ins Chunk_Tensor:$state, Chunk_Tokens:$a, Chunk_Tokens:$b, Chunk_Tokens:$c, Chunk_Tokens:$d);
  let results = (outs Chunk_Tokens:$all, Chunk_Tensor:$last);
  let assemblyFormat = [{
    $state `,` `(` $a `,` $b `)` `over` `(` $c `,` $d `)` attr-dict `:` type($state) `,` type($a)
  }];
}

def Chunk_PreviousOp : Chunk_PureOp<"previous"> {
  let summary = "a state before each token, from what it was after each";
  let description = [{
    Row 0 is the state, row t the operand's row t - 1.

    Verified: without the token dimension, the operand has the state's shape.

    Example: `%before = chunk.previous %A, %all : tensor<128xf32>, tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tensor:$state, Chunk_Tokens:$all);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$state `,` $all attr-dict `:` type($state) `,` type($all)";
}

def Chunk_LastOp : Chunk_PureOp<"last"> {
  let summary = "what the last token has";
  let description = [{
    The last row. If each token replaces a state by a value that does not depend on the state, the state after the
    chunk is the last such value, and `chunk.previous` gives the state before each token.

    Example: `%next = chunk.last %all : tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tokens:$all);
  let results = (outs Chunk_Tensor:$result);
  let assemblyFormat = "$all attr-dict `:` type($all)";
}

def Chunk_TokenLoopOp : Chunk_Op<"token_loop", [SingleBlockImplicitTerminator<"YieldOp">, AttrSizedOperandSegments, RecursiveMemoryEffects,
                                                DeclareOpInterfaceMethods<Chunk_DifferentiableOpInterface>,
                                                DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>]> {
  let summary = "the tokens one by one, for states that nothing better is known of";
  let description = [{
    The body is the program of one token, in ops on values whose token dimension is 1. Its arguments are the rows of the
    streams and then the states, which get a token dimension of 1 there; it yields what the token gives, row by row the
    first results, and then the states for the next token, whose last values are the last results. Values of the program
    that are the same for every token (params, constants) are used in the body as they are. A `reverse` loop goes from the
    last token to the first.

    Verified: a `reverse` loop is in a program that runs `backward`; the arguments', the yielded values' and the results' shapes.

    Example:
    ```mlir
    %y, %S1 = chunk.token_loop (%x1 = %x : tensor<64x32xf32>) carry (%S0 = %S : tensor<32x8xf32>) -> (tensor<64x32xf32>, tensor<32x8xf32>) {
      %S2 = chunk.map tanh %S0 : tensor<1x32x8xf32>
      %y1 = chunk.map matvec %S2, %c : tensor<1x32x8xf32>, tensor<1x8xf32>
      chunk.yield %y1, %S2 : tensor<1x32xf32>, tensor<1x32x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Chunk_Tokens>:$streams, Variadic<Chunk_Tensor>:$states, UnitAttr:$reverse);
  let results = (outs Variadic<Chunk_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The results that hold one row a token, and those that are the states after the last.
    ::mlir::ResultRange getStreamResults() { return getResults().drop_back(getStates().size()); }
    ::mlir::ResultRange getStateResults() { return getResults().take_back(getStates().size()); }
  }];
}

//===----------------------------------------------------------------------===//
// Conjugate gradients
//===----------------------------------------------------------------------===//

def Chunk_CgOp : Chunk_Op<"cg", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects, AllTypesMatch<["vectors", "result"]>,
                                 DeclareOpInterfaceMethods<Chunk_DifferentiableOpInterface>,
                                 DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>]> {
  let summary = "conjugate-gradient steps from zero on (G + diag(ridge)) y = x, for every token's G and x";
  let description = [{
    The region gives `G_t x_t` for all tokens' x_t at once, so that G_t is never formed: for a state it is one more linear
    attention. A fixed number of steps; a step whose residual or curvature is exactly zero changes nothing. The ridge is a
    scalar or a vector. The adjoint is that of the solution, or with `by_steps` that of the steps.

    Verified: the region's argument and what it yields have the type of the vectors; the ridge's shape; at least one
    iteration.

    Example:
    ```mlir
    %y = chunk.cg %q ridge %r iterations 30 : tensor<64x8xf32>, tensor<1x8xf32> {
    ^bb0(%x: tensor<64x8xf32>):
      %A = chunk.interaction %x, %k inclusive : tensor<64x8xf32>, tensor<64x8xf32>
      %y1 = chunk.apply %A, %k : tensor<64x64xf32>, tensor<64x8xf32>
      chunk.yield %y1 : tensor<64x8xf32>
    }
    ```
  }];
  let arguments = (ins Chunk_Vectors:$vectors, Chunk_Tokens:$ridge, I64Attr:$iterations, UnitAttr:$by_steps);
  let results = (outs Chunk_Vectors:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$vectors `ridge` $ridge `iterations` $iterations (`by_steps` $by_steps^)? attr-dict `:` type($vectors) `,` type($ridge) $body";
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def Chunk_LoopOp : Chunk_Op<"loop", [SingleBlockImplicitTerminator<"YieldOp">, AttrSizedOperandSegments, RecursiveMemoryEffects,
                                     DeclareOpInterfaceMethods<Chunk_DifferentiableOpInterface>,
                                     DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>]> {
  let summary = "steps of all tokens at once, a fixed number of them";
  let description = [{
    The region is one step, in ops on the values of all tokens: a product with a state is one more linear attention, as in
    `chunk.cg`. Its arguments are what the step takes of `kept`, and then the carried values, which go from step to step.
    It yields what the step keeps, and then the carried values for the next step; the last of these are the last results.

    A kept value has for every token one part for each step, one behind the other: a vector with as many times more elements,
    of which step n takes or gives the n-th part. A number is a part of one element, and so is a vector of one element. In a
    `reverse` loop the first step takes the last part. So a loop that keeps its values has another one as its adjoint.

    Verified: at least one step; the kept values are vectors of the tokens; the arguments', the yielded values' and the results'
    types.

    Example:
    ```mlir
    %y = chunk.loop carry (%q : tensor<64x8xf32>) iterations 30 -> tensor<64x8xf32> {
    ^bb0(%x: tensor<64x8xf32>):
      %A = chunk.interaction %x, %k inclusive : tensor<64x8xf32>, tensor<64x8xf32>
      %Hx = chunk.apply %A, %k : tensor<64x64xf32>, tensor<64x8xf32>
      %x1 = chunk.map sub %q, %Hx : tensor<64x8xf32>, tensor<64x8xf32>
      chunk.yield %x1 : tensor<64x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Chunk_Vectors>:$kept, Variadic<Chunk_Tensor>:$carried, I64Attr:$iterations, UnitAttr:$reverse);
  let results = (outs Variadic<Chunk_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`reverse` $reverse^)? (`kept` `(` $kept^ `:` type($kept) `)`)? (`carry` `(` $carried^ `:` type($carried) `)`)?
    `iterations` $iterations attr-dict `->` type($results) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The results that hold a part for each step, and the carried values after the last.
    ::mlir::ResultRange getKeptResults() { return getResults().drop_back(getCarried().size()); }
    ::mlir::ResultRange getCarriedResults() { return getResults().take_back(getCarried().size()); }
  }];
}

//===----------------------------------------------------------------------===//
// Summaries of segments
//===----------------------------------------------------------------------===//

def Chunk_ComposeOp : Chunk_PureOp<"compose", [TypesMatchWith<"both maps have one type", "first_map", "second_map", "$_self">, TypesMatchWith<"both offsets have one type", "first_offset", "second_offset", "$_self">]> {
  let summary = "the map of two segments, one after the other";
  let description = [{
    A segment takes a state S to `S A + B` (`right`), to `A S + B` (`left`), to `A * S + B` elementwise (`elementwise`), or
    to `max(S + A, B)` (`tropical`), or to the smaller or the soft ones of the two (`tropical_min`, `soft_max`, `soft_min`; see
    `chunk.tropical_scan`). The first operands are the earlier segment's A and B.

    Verified: A is square and as wide as B for `right`, as high as B for `left`, and has B's type otherwise.

    Example:
    ```mlir
    %A, %B = chunk.compose right(%A1, %B1), (%A2, %B2) : tensor<128x128xf32>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Chunk_SummaryKind:$kind, Chunk_Tensor:$first_map, Chunk_Tensor:$first_offset, Chunk_Tensor:$second_map,
                       Chunk_Tensor:$second_offset);
  let results = (outs Chunk_Tensor:$map, Chunk_Tensor:$offset);
  let assemblyFormat = [{
    $kind `(` $first_map `,` $first_offset `)` `,` `(` $second_map `,` $second_offset `)` attr-dict
    `:` type($first_map) `,` type($first_offset)
  }];
}

#endif // RECUR_CHUNK_SCAN_OPS_TD
