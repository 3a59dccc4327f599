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

def Chunk_LinearOpInterface : OpInterface<"LinearOpInterface"> {
  let cppNamespace = "::recur::chunk";
  let description = [{
    Which operands an op is linear in while the others are held, and what carries a result's cotangent back to such an
    operand. The segment summary is derived from the first, a reverse mode starts from both.
  }];
  let methods = [
    InterfaceMethod<[{Whether the results, with all other operands held, are linear in these operands together, but for a
                      term that does not depend on them. A product is so in either factor and not in both.}], "bool", "isLinearIn",
                    (ins "::llvm::ArrayRef<unsigned>":$operands)>,
    InterfaceMethod<[{The cotangent of operand `operand` as a formula in the operands' names and `d`, the result's cotangent;
                      empty where the op is not linear in it.}], "::llvm::StringRef", "getAdjoint", (ins "unsigned":$operand)>,
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
