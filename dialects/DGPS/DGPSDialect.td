#ifndef RECUR_DGPS_DIALECT_TD
#define RECUR_DGPS_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def DGPS_Dialect : Dialect {
  let name = "dgps";
  let cppNamespace = "::recur::dgps";
  let summary = "One token of one head of a recurrence, over the real numbers";
  let description = [{
    A `dgps.recurrence` holds the program for ONE token of ONE head: the values that the token brings (`dgps.input`),
    the constants of the head (`dgps.param`), the states as the previous token left them (`dgps.state`), arithmetic, and
    what leaves the token (`dgps.output`, `dgps.next`). The dialect says nothing of chunks, threads, memory or storage
    types: its values are real numbers, vectors and matrices (`!dgps.real`), and a rewrite is right when it is right over
    the reals. Its meaning is given by the token-by-token interpreter, which every lowering is tested against.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

def DGPS_RealType : TypeDef<DGPS_Dialect, "Real"> {
  let mnemonic = "real";
  let summary = "A real number, vector or matrix of one token";
  let description = [{
    The shape is static, of rank 0, 1 or 2, and written `<scalar>`, `<128>` or `<64x128>`. There is no element type: a
    storage type is chosen below this level.

    Example: `!dgps.real<scalar>`, `!dgps.real<128>`, `!dgps.real<64x128>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilder<(ins), [{ return $_get($_ctxt, ::llvm::ArrayRef<int64_t>{}); }]>];
  let extraClassDeclaration = [{
    unsigned getRank() const { return getShape().size(); }
    bool isScalar() const { return getRank() == 0; }
    bool isVector() const { return getRank() == 1; }
    bool isMatrix() const { return getRank() == 2; }
    int64_t getNumElements() const;
  }];
}

class DGPS_RealOfRank<int rank, string what> : Type<
    CPred<"::llvm::isa<::recur::dgps::RealType>($_self) && ::llvm::cast<::recur::dgps::RealType>($_self).getRank() == " # rank>,
    what, "::recur::dgps::RealType">;
def DGPS_Scalar : DGPS_RealOfRank<0, "a scalar">, BuildableType<"::recur::dgps::RealType::get($_builder.getContext())">;
def DGPS_Vector : DGPS_RealOfRank<1, "a vector">;
def DGPS_Matrix : DGPS_RealOfRank<2, "a matrix">;

#endif // RECUR_DGPS_DIALECT_TD
