#include "Codegen/NVPTX/GradientSums.h"
#include "ABI/LaunchWords.h"
#include "Codegen/NVPTX/ElementKernel.h"
#include "recur/Runtime.h"

using namespace llvm;
using namespace recur;

namespace {

class SumsWriter : codegen::ElementKernel {
public:
  explicit SumsWriter(Module &module) : ElementKernel(module) {}
  void write(StringRef name);

private:
  /// Where an element lies whose place is known, by the three strides from this word on.
  Value *offset(int strides);
  Value *load(Value *array, Value *index, Value *type);
  void store(Value *number, Value *array, Value *index, Value *type);
  Value *sumOfSlices(Value *start, Value *first);
  void giveElement();

  Value *from = nullptr, *to = nullptr, *fromType = nullptr, *toType = nullptr, *slices = nullptr,
        *sliceStride = nullptr, *adds = nullptr;
  Value *sequence = nullptr, *token = nullptr, *head = nullptr, *element = nullptr; // of what a thread has
};

} // namespace

Value *SumsWriter::offset(int strides) {
  Value *sum = element;
  int word = strides;
  for (Value *index : {sequence, token, head})
    sum = builder.CreateAdd(sum, builder.CreateMul(index, this->word(word++)));
  return sum;
}

/// An element of one of the types of data, as float32.
Value *SumsWriter::load(Value *array, Value *index, Value *type) {
  BasicBlock *unknown = block("types"), *end = block("loaded");
  SwitchInst *choice = builder.CreateSwitch(type, unknown);
  SmallVector<std::pair<Value *, BasicBlock *>> loaded;
  for (auto [dtype, stored] : {std::pair<int, Type *>(RECUR_F32, builder.getFloatTy()),
                               {RECUR_BF16, builder.getBFloatTy()},
                               {RECUR_F16, builder.getHalfTy()}}) {
    BasicBlock *own = block("load");
    choice->addCase(builder.getInt64(uint64_t(dtype)), own);
    builder.SetInsertPoint(own);
    Value *number = builder.CreateLoad(stored, builder.CreateGEP(stored, array, index));
    loaded.push_back({stored->isFloatTy() ? number : builder.CreateFPExt(number, builder.getFloatTy()), own});
    builder.CreateBr(end);
  }
  builder.SetInsertPoint(unknown);
  builder.CreateUnreachable();
  builder.SetInsertPoint(end);
  PHINode *number = builder.CreatePHI(builder.getFloatTy(), unsigned(loaded.size()));
  for (auto [one, own] : loaded)
    number->addIncoming(one, own);
  return number;
}

void SumsWriter::store(Value *number, Value *array, Value *index, Value *type) {
  BasicBlock *unknown = block("types"), *end = block("stored");
  SwitchInst *choice = builder.CreateSwitch(type, unknown);
  for (auto [dtype, stored] : {std::pair<int, Type *>(RECUR_F32, builder.getFloatTy()),
                               {RECUR_BF16, builder.getBFloatTy()},
                               {RECUR_F16, builder.getHalfTy()}}) {
    BasicBlock *own = block("store");
    choice->addCase(builder.getInt64(uint64_t(dtype)), own);
    builder.SetInsertPoint(own);
    Value *rounded = stored->isFloatTy() ? number : builder.CreateFPTrunc(number, stored);
    builder.CreateStore(rounded, builder.CreateGEP(stored, array, index));
    builder.CreateBr(end);
  }
  builder.SetInsertPoint(unknown);
  builder.CreateUnreachable();
  builder.SetInsertPoint(end);
}

/// The start, and behind it what each slice has at its place.
Value *SumsWriter::sumOfSlices(Value *start, Value *first) {
  BasicBlock *before = builder.GetInsertBlock(), *test = block("slices"), *body = block("slice"),
             *end = block("summed");
  builder.CreateBr(test);
  builder.SetInsertPoint(test);
  PHINode *slice = builder.CreatePHI(builder.getInt64Ty(), 2), *sum = builder.CreatePHI(builder.getFloatTy(), 2);
  builder.CreateCondBr(builder.CreateICmpSLT(slice, slices), body, end);
  builder.SetInsertPoint(body);
  Value *place = builder.CreateAdd(first, builder.CreateMul(slice, sliceStride));
  Value *next = builder.CreateFAdd(sum, load(from, place, fromType));
  Value *nextSlice = builder.CreateAdd(slice, builder.getInt64(1));
  slice->addIncoming(builder.getInt64(0), before);
  slice->addIncoming(nextSlice, builder.GetInsertBlock());
  sum->addIncoming(start, before);
  sum->addIncoming(next, builder.GetInsertBlock());
  builder.CreateBr(test);
  builder.SetInsertPoint(end);
  return sum;
}

void SumsWriter::giveElement() {
  Value *own = offset(abi::SumToStridesWord);
  BasicBlock *before = builder.GetInsertBlock(), *adding = block("adding"), *starting = block("starting");
  builder.CreateCondBr(builder.CreateICmpNE(adds, builder.getInt64(0)), adding, starting);
  builder.SetInsertPoint(adding);
  Value *there = load(to, own, toType);
  BasicBlock *added = builder.GetInsertBlock();
  builder.CreateBr(starting);
  builder.SetInsertPoint(starting);
  PHINode *start = builder.CreatePHI(builder.getFloatTy(), 2);
  start->addIncoming(ConstantFP::get(builder.getFloatTy(), 0), before);
  start->addIncoming(there, added);
  store(sumOfSlices(start, offset(abi::SumFromStridesWord)), to, own, toType);
}

void SumsWriter::write(StringRef name) {
  begin(name, codegen::sumThreads, abi::sumWords);
  Type *number = builder.getInt64Ty();
  from = pointer(abi::SumFromWord), to = pointer(abi::SumToWord);
  fromType = word(abi::SumFromTypeWord), toType = word(abi::SumToTypeWord);
  slices = word(abi::SumSlicesWord), sliceStride = word(abi::SumSliceStrideWord), adds = word(abi::SumAddsWord);
  Value *tokens = word(abi::SumTokensWord), *heads = word(abi::SumHeadsWord), *elements = word(abi::SumElementsWord);
  Value *count =
      builder.CreateMul(builder.CreateMul(word(abi::SumSequencesWord), tokens), builder.CreateMul(heads, elements));

  // The tokens that any sequence has.
  BasicBlock *entry = builder.GetInsertBlock(), *packed = block("packed"), *begin = block("begin");
  Value *offsets = pointer(abi::SumOffsetsWord), *zero = builder.getInt64(0);
  builder.CreateCondBr(builder.CreateIsNotNull(offsets), packed, begin);
  builder.SetInsertPoint(packed);
  Value *firstOffset = builder.CreateLoad(number, offsets);
  Value *lastOffset = builder.CreateLoad(number, builder.CreateGEP(number, offsets, word(abi::SumLastOffsetWord)));
  builder.CreateBr(begin);
  builder.SetInsertPoint(begin);
  auto choose = [&](Value *ofAll, Value *ofPacked) {
    PHINode *chosen = builder.CreatePHI(number, 2);
    chosen->addIncoming(ofAll, entry);
    chosen->addIncoming(ofPacked, packed);
    return chosen;
  };
  Value *firstToken = choose(zero, firstOffset), *endToken = choose(tokens, lastOffset);
  shareOut(count, [&](Value *index) {
    Value *rest = index;
    auto takeApart = [&](Value *size) {
      Value *place = builder.CreateURem(rest, size);
      rest = builder.CreateUDiv(rest, size);
      return place;
    };
    element = takeApart(elements), head = takeApart(heads), token = takeApart(tokens), sequence = rest;
    Value *isThere =
        builder.CreateAnd(builder.CreateICmpSGE(token, firstToken), builder.CreateICmpSLT(token, endToken));
    BasicBlock *give = block("give"), *next = block("next");
    builder.CreateCondBr(isThere, give, next);
    builder.SetInsertPoint(give);
    giveElement();
    builder.CreateBr(next);
    builder.SetInsertPoint(next);
  });
}

std::unique_ptr<Module> codegen::makeGradientSums(LLVMContext &context, StringRef name) {
  auto module = std::make_unique<Module>(name, context);
  SumsWriter(*module).write(name);
  return module;
}
