#include "Codegen/NVPTX/ElementKernel.h"

using namespace llvm;
using namespace recur::codegen;

void ElementKernel::begin(StringRef name, int64_t threads, int words) {
  Type *type = builder.getInt64Ty();
  function = Function::Create(FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
                              GlobalValue::ExternalLinkage, name, module);
  function->setCallingConv(CallingConv::PTX_Kernel);
  function->addFnAttr("nvvm.reqntid", std::to_string(threads));
  function->addParamAttr(0, Attribute::getWithByValType(module.getContext(), ArrayType::get(type, uint64_t(words))));
  function->addParamAttr(0, Attribute::getWithAlignment(module.getContext(), Align(8)));
  builder.SetInsertPoint(block("entry"));
}

Value *ElementKernel::word(int index) {
  Type *type = builder.getInt64Ty();
  return builder.CreateAlignedLoad(type, builder.CreateConstGEP1_64(type, function->getArg(0), uint64_t(index)),
                                   Align(8));
}

void ElementKernel::shareOut(Value *count, function_ref<void(Value *index)> give) {
  Value *threads = special(Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  Value *own = builder.CreateAdd(builder.CreateMul(special(Intrinsic::nvvm_read_ptx_sreg_ctaid_x), threads),
                                 special(Intrinsic::nvvm_read_ptx_sreg_tid_x));
  Value *step = builder.CreateMul(special(Intrinsic::nvvm_read_ptx_sreg_nctaid_x), threads);
  BasicBlock *before = builder.GetInsertBlock(), *test = block("test"), *body = block("element"), *end = block("end");
  builder.CreateBr(test);
  builder.SetInsertPoint(test);
  PHINode *index = builder.CreatePHI(builder.getInt64Ty(), 2);
  index->addIncoming(own, before);
  builder.CreateCondBr(builder.CreateICmpULT(index, count), body, end);
  builder.SetInsertPoint(body);
  give(index);
  index->addIncoming(builder.CreateAdd(index, step), builder.GetInsertBlock());
  builder.CreateBr(test);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
}
