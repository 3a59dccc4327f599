#ifndef RECUR_DGPS_INTERFACES_TD
#define RECUR_DGPS_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DGPS_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::recur::dgps";
  let description = [{
    An op that applies one real function to each element of its operands, a scalar operand standing for a constant of the
    other's shape. Constant folding and the analyses ask it for the function instead of listing ops.
  }];
  let methods = [
    InterfaceMethod<"The function, on one element of each operand.", "double", "applyToElement",
                    (ins "::llvm::ArrayRef<double>":$operands)>,
  ];
}

#endif // RECUR_DGPS_INTERFACES_TD
