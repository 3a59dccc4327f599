#include "Conversion/DGPSToLLVM/LoopBuilder.h"

using namespace llvm;
using namespace recur;
using namespace recur::conversion;

LoopBuilder::LoopBuilder(BasicBlock *block) : IRBuilder<>(block) {
  // Sums may be taken in another order, the same one in every run; nothing else is assumed of the numbers.
  FastMathFlags flags;
  flags.setAllowReassoc();
  flags.setAllowContract();
  setFastMathFlags(flags);
}

BasicBlock *LoopBuilder::makeBlock(const Twine &name) {
  return BasicBlock::Create(getContext(), name, GetInsertBlock()->getParent());
}

void LoopBuilder::loop(Value *count, function_ref<void(Value *)> body) {
  BasicBlock *before = GetInsertBlock(), *head = makeBlock("loop"), *inside = makeBlock("body"), *after = makeBlock("");
  CreateBr(head);
  SetInsertPoint(head);
  PHINode *i = CreatePHI(getInt64Ty(), 2);
  i->addIncoming(getInt64(0), before);
  CreateCondBr(CreateICmpSLT(i, count), inside, after);
  SetInsertPoint(inside);
  body(i);
  i->addIncoming(CreateAdd(i, getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true), GetInsertBlock());
  CreateBr(head);
  SetInsertPoint(after);
}

LoopBuilder::Value *LoopBuilder::reduce(int64_t count, Value *start, function_ref<Value *(Value *, Value *)> body) {
  BasicBlock *before = GetInsertBlock(), *head = makeBlock("loop"), *inside = makeBlock("body"), *after = makeBlock("");
  CreateBr(head);
  SetInsertPoint(head);
  PHINode *i = CreatePHI(getInt64Ty(), 2), *soFar = CreatePHI(start->getType(), 2);
  i->addIncoming(getInt64(0), before);
  soFar->addIncoming(start, before);
  CreateCondBr(CreateICmpSLT(i, getInt64(count)), inside, after);
  SetInsertPoint(inside);
  Value *next = body(i, soFar);
  Value *step = CreateAdd(i, getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  i->addIncoming(step, GetInsertBlock());
  soFar->addIncoming(next, GetInsertBlock());
  CreateBr(head);
  SetInsertPoint(after);
  return soFar;
}

LoopBuilder::Value *LoopBuilder::dot(int64_t count, function_ref<Value *(Value *)> a,
                                     function_ref<Value *(Value *)> b) {
  return reduce(count, number(0), [&](Value *i, Value *sum) { return CreateFAdd(sum, CreateFMul(a(i), b(i))); });
}

void LoopBuilder::when(Value *condition, function_ref<void()> body) {
  BasicBlock *inside = makeBlock("when"), *after = makeBlock("");
  CreateCondBr(condition, inside, after);
  SetInsertPoint(inside);
  body();
  CreateBr(after);
  SetInsertPoint(after);
}

Type *LoopBuilder::getStoredType(DataType type) {
  return type == DataType::F32 ? getFloatTy() : type == DataType::F16 ? getHalfTy() : getInt16Ty();
}

LoopBuilder::Value *LoopBuilder::loadStored(DataType type, Value *pointer, Value *index) {
  Type *stored = getStoredType(type);
  Value *value = CreateLoad(stored, CreateInBoundsGEP(stored, pointer, index));
  if (type == DataType::F16)
    return CreateFPExt(value, getFloatTy());
  if (type == DataType::BF16)
    return CreateBitCast(CreateShl(CreateZExt(value, getInt32Ty()), 16), getFloatTy());
  return value;
}

void LoopBuilder::storeRounded(DataType type, Value *value, Value *pointer, Value *index) {
  if (type == DataType::F16)
    value = CreateFPTrunc(value, getHalfTy());
  if (type == DataType::BF16) {
    // By integers: the conversion of bfloat would call a function that older compilers' libraries lack.
    Value *isNaN = CreateFCmpUNO(value, value), *bits = CreateBitCast(value, getInt32Ty());
    Value *odd = CreateAnd(CreateLShr(bits, 16), 1);
    Value *rounded = CreateLShr(CreateAdd(CreateAdd(bits, getInt32(0x7fff)), odd), 16);
    value = CreateTrunc(CreateSelect(isNaN, getInt32(0x7fc0), rounded), getInt16Ty());
  }
  CreateStore(value, CreateInBoundsGEP(getStoredType(type), pointer, index));
}
