#ifndef RECUR_INTERFACES_STORED_TYPE_TD
#define RECUR_INTERFACES_STORED_TYPE_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"

// The type that an array has in the caller's memory, where that is not f32.
def Recur_StoredType : TypeAttrOf<AnyTypeOf<[BF16, F16]>> {
  let summary = "a type of data that is not f32: bf16 or f16";
}

// The type that factors of products are rounded to, where that is not f32.
def Recur_FactorType : TypeAttrOf<AnyTypeOf<[BF16, F16, TF32]>> {
  let summary = "a type of factors that is not f32: bf16, f16 or tf32";
}

// The type of data that an input has, which may be declared as integers.
def Recur_StoredInputType : TypeAttrOf<AnyTypeOf<[BF16, F16, I32]>> {
  let summary = "a type of data that is not f32: bf16, f16 or i32";
}

#endif // RECUR_INTERFACES_STORED_TYPE_TD
