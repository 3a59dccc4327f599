#include "Conversion/TileToNVVM/InlinePTX.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;

Value nvvm::emitText(TeamCode &t, StringRef text, StringRef constraints, ValueRange operands, Type result,
                     TextReach reach) {
  std::string all = constraints.str();
  if (reach == TextReach::Memory)
    all += all.empty() ? "~{memory}" : ",~{memory}";
  auto code = LLVM::InlineAsmOp::create(t.builder, t.loc, result ? TypeRange{result} : TypeRange{}, operands, text, all,
                                        /*has_side_effects=*/true, /*is_align_stack=*/false,
                                        LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return result ? code.getResult(0) : Value();
}

Value nvvm::forget(TeamCode &t, Value number, TextReach reach) {
  StringRef constraints = isa<FloatType>(number.getType()) ? "=f,f" : "=r,r";
  return emitText(t, "mov.b32 $0, $1;", constraints, number, number.getType(), reach);
}

SmallVector<Value> nvvm::takeApart(TeamCode &t, Value all, int64_t count) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(t.builder, t.loc, all, i));
  return values;
}

Type nvvm::structOf(TeamCode &t, Type element, int64_t count) {
  return LLVM::LLVMStructType::getLiteral(t.builder.getContext(), SmallVector<Type>(size_t(count), element));
}
