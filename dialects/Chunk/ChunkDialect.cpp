#include "dialects/Chunk/Chunk.h"

using namespace mlir;
using namespace recur::chunk;

#include "dialects/Chunk/ChunkDialect.cpp.inc"
#include "dialects/Chunk/ChunkEnums.cpp.inc"
#include "dialects/Chunk/ChunkInterfaces.cpp.inc"

void ChunkDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Chunk/ChunkOps.cpp.inc"
      >();
}

Operation *ChunkDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto number = dyn_cast<FloatAttr>(value);
  if (!number)
    return nullptr;
  return ConstantOp::create(builder, loc, number.getValueAsDouble(), type);
}

RankedTensorType recur::chunk::makeTensor(MLIRContext *context, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

RankedTensorType recur::chunk::makeTokens(MLIRContext *context, int64_t tokens, ArrayRef<int64_t> perToken) {
  SmallVector<int64_t> shape{tokens};
  llvm::append_range(shape, perToken);
  return makeTensor(context, shape);
}
