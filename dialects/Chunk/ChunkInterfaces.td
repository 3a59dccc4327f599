#ifndef RECUR_CHUNK_INTERFACES_TD
#define RECUR_CHUNK_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Chunk_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::recur::chunk";
  let description = [{
    What an op costs for one full chunk of one head. A product counts two flops a multiply-add, an elementwise function one
    a result; masked halves of a triangle are not counted. The passes that choose between forms compare these.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations for one chunk.", "int64_t", "getFlops">,
    InterfaceMethod<"Bytes of all operands and results, were each read or written once.", "int64_t", "getBytes", (ins), [{}],
                    [{ return ::recur::chunk::countBytes($_op); }]>,
  ];
}

def Chunk_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::recur::chunk";
  let description = [{
    The derivative of an op, as ops of the same dialect. The map of a segment is the derivative of a program by one of its
    states.

    The tangent of a value is how it moves when what is differentiated by moves along a direction; `chunk::Tangents` knows the
    tangents of the operands, and of what the op's regions use, and null there is a tangent of zero. Nothing is divided by a
    decay or by a state, so that the tangent is right at decays of zero too.

    A direction may have other sizes than its value where the op treats the rows or columns of a state alike: K directions
    of a row of the state, for example, are a tangent of KxK for a state of VxK. The ops that are built take their sizes from
    the tangents.

    The cotangent of a value is how much what is differentiated moves with it; `chunk::Adjoints` adds up what each op that uses
    the value finds, and null there is a cotangent of zero. Where a function has no derivative the cotangents follow the
    usual subgradient, and a slope that is infinite where the value is finite counts as zero.
  }];
  let methods = [
    InterfaceMethod<[{Builds the tangents of the results at the builder's place, and tells `tangents` of them. A result that
                      does not depend on what has a tangent gets none.}], "void", "buildTangent",
                    (ins "::mlir::OpBuilder &":$builder, "::recur::chunk::Tangents &":$tangents)>,
    InterfaceMethod<[{Builds what carries the cotangents of the results, at least one of which is not null, back to the operands
                      and to what the op's regions use, and adds it to `adjoints`. The op's operands and results are known at
                      the builder's place. Fails where the op has no adjoint, and says why.}], "::mlir::LogicalResult",
                    "buildAdjoint", (ins "::mlir::OpBuilder &":$builder, "::recur::chunk::Adjoints &":$adjoints)>,
  ];
}

def Chunk_DecayedOpInterface : OpInterface<"DecayedOpInterface"> {
  let cppNamespace = "::recur::chunk";
  let description = [{
    An op that multiplies the decay steps of ranges of tokens. A neutral decay (zero as a logarithm, one as it is) is
    dropped through this interface.
  }];
  let methods = [
    InterfaceMethod<"The steps; null where nothing decays.", "::mlir::Value", "getDecaySteps", (ins), [{}],
                    [{ return $_op.getDecay(); }]>,
    InterfaceMethod<"Whether the steps are logarithms.", "bool", "inLogSpace", (ins), [{}],
                    [{ return !$_op.getLinear(); }]>,
    InterfaceMethod<"Makes nothing decay.", "void", "dropDecay", (ins), [{}],
                    [{ $_op.getDecayMutable().clear(); $_op.setLinear(false); }]>,
  ];
}

#endif // RECUR_CHUNK_INTERFACES_TD
