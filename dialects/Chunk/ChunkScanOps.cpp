// Scans, the token loop, conjugate gradients and summaries: shapes, checks and the token loop's textual form.
#include "dialects/Chunk/ChunkChecks.h"
#include "dialects/Chunk/ChunkSyntax.h"

using namespace mlir;
using namespace recur::chunk;

#define RECUR_INFER(OP)                                                                                                \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,           \
                                     DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,      \
                                     SmallVectorImpl<Type> &types)

LogicalResult recur::chunk::checkPerToken(std::optional<Location> loc, StringRef what, Value tokens, Value state) {
  if (shapePerToken(tokens) == tensorOf(state).getShape())
    return success();
  return emitOptionalError(loc, "the ", what, " of each token must have the shape of the state ", tensorOf(state),
                           ", but they are ", tensorOf(tokens));
}

LogicalResult recur::chunk::checkScan(std::optional<Location> loc, Value state, Value additions, Value decay) {
  if (failed(checkPerToken(loc, "additions", additions, state)))
    return failure();
  if (decay && !shapePerToken(decay).empty() && failed(checkPerToken(loc, "decay steps", decay, state)))
    return failure();
  if (decay && tensorOf(decay).getDimSize(0) != tensorOf(additions).getDimSize(0))
    return emitOptionalError(loc, "the decay has steps for ", tensorOf(decay).getDimSize(0),
                             " tokens, but there are additions for ", tensorOf(additions).getDimSize(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

RECUR_INFER(ScanOp) {
  ScanOpAdaptor adaptor(operands, attributes, properties, regions);
  types.append({adaptor.getAdditions().getType(), adaptor.getState().getType()});
  if (adaptor.getAngles() && adaptor.getDecay())
    return emitOptionalError(loc, "angles do not decay");
  return checkScan(loc, adaptor.getState(), adaptor.getAdditions(), adaptor.getDecay());
}

RECUR_INFER(TropicalScanOp) {
  TropicalScanOpAdaptor adaptor(operands, attributes, properties, regions);
  if (failed(checkPerToken(loc, "shifts", adaptor.getShifts(), adaptor.getState())) ||
      failed(checkPerToken(loc, "bounds", adaptor.getBounds(), adaptor.getState())))
    return failure();
  if (adaptor.getShifts().getType() != adaptor.getBounds().getType())
    return emitOptionalError(loc, "the shifts are ", adaptor.getShifts().getType(), ", but the bounds ",
                             adaptor.getBounds().getType());
  types.append({adaptor.getShifts().getType(), adaptor.getState().getType()});
  return success();
}

RECUR_INFER(MoebiusScanOp) {
  MoebiusScanOpAdaptor adaptor(operands, attributes, properties, regions);
  types.append({adaptor.getA().getType(), adaptor.getState().getType()});
  return checkPerToken(loc, "factors", adaptor.getA(), adaptor.getState());
}

double recur::chunk::neutralOf(Extremum extremum) {
  double infinity = std::numeric_limits<double>::infinity();
  return isLower(extremum) ? infinity : -infinity;
}

/// How segments of each kind of scan are composed.
static constexpr std::pair<Extremum, SummaryKind> summaryKinds[] = {{Extremum::Max, SummaryKind::Tropical},
                                                                    {Extremum::Min, SummaryKind::TropicalMin},
                                                                    {Extremum::SoftMax, SummaryKind::SoftMax},
                                                                    {Extremum::SoftMin, SummaryKind::SoftMin}};

SummaryKind recur::chunk::summaryKindOf(Extremum extremum) {
  for (auto [scanned, kind] : summaryKinds)
    if (scanned == extremum)
      return kind;
  llvm_unreachable("all extrema are listed");
}

std::optional<Extremum> recur::chunk::extremumOf(SummaryKind kind) {
  for (auto [scanned, composed] : summaryKinds)
    if (composed == kind)
      return scanned;
  return std::nullopt;
}

RECUR_INFER(PreviousOp) {
  types.push_back(operands[1].getType());
  return checkPerToken(loc, "values", operands[1], operands[0]);
}

RECUR_INFER(LastOp) {
  types.push_back(makeTensor(context, shapePerToken(operands[0])));
  return success();
}

//===----------------------------------------------------------------------===//
// TokenLoopOp
//===----------------------------------------------------------------------===//

/// The type of one token's row of a stream, or of a state in the loop's body.
static RankedTensorType typeInBody(Value value, bool isState) {
  RankedTensorType type = tensorOf(value);
  return makeTokens(value.getContext(), 1, isState ? type.getShape() : type.getShape().drop_front());
}

LogicalResult TokenLoopOp::verifyRegions() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (getReverse() && program && !program.getBackward())
    return emitOpError("goes from the last token to the first, which only a program that runs backward may");
  unsigned streams = getStreams().size(), states = getStates().size();
  Block &block = getBody().front();
  if (block.getNumArguments() != streams + states)
    return emitOpError() << "has " << streams << " streams and " << states << " states, but its body has "
                         << block.getNumArguments() << " arguments";
  for (auto [i, pair] : llvm::enumerate(llvm::zip(getOperands(), block.getArguments()))) {
    auto [operand, argument] = pair;
    RankedTensorType wanted = typeInBody(operand, i >= streams);
    if (argument.getType() != wanted)
      return emitOpError() << "argument " << i << " of the body must be " << wanted << ", but it is "
                           << argument.getType();
  }
  auto yield = cast<YieldOp>(block.getTerminator());
  if (getNumResults() < states || yield.getNumOperands() != getNumResults())
    return yield.emitOpError() << "gives " << yield.getNumOperands() << " values, but the loop around it has "
                               << getNumResults() << " results, the last " << states << " of them states";
  int64_t tokens = -1;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(getResults(), yield.getValues()))) {
    auto [result, value] = pair;
    bool isState = i >= getNumResults() - states;
    RankedTensorType wanted = typeInBody(result, isState);
    if (value.getType() != wanted)
      return yield.emitOpError() << "value " << i << " must be " << wanted << ", but it is " << value.getType();
    if (isState && result.getType() != getStates()[i - (getNumResults() - states)].getType())
      return emitOpError() << "result " << i << " must have its state's type "
                           << getStates()[i - (getNumResults() - states)].getType() << ", but it is "
                           << result.getType();
  }
  SmallVector<Value> tokenValues(getStreams());
  llvm::append_range(tokenValues, getStreamResults());
  for (Value value : tokenValues) {
    if (tokens >= 0 && tensorOf(value).getDimSize(0) != tokens)
      return emitOpError() << "streams must have equally many tokens, but there are " << tokens << " and "
                           << tensorOf(value).getDimSize(0);
    tokens = tensorOf(value).getDimSize(0);
  }
  return success();
}

/// `(%a1 = %a : type, ...)`.
static ParseResult parseBindings(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::Argument> &arguments,
                                 SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                                 SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()) || parser.parseColonType(types.emplace_back()));
  });
}

ParseResult TokenLoopOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("reverse")))
    result.getOrAddProperties<Properties>().reverse = parser.getBuilder().getUnitAttr();
  if (parseBindings(parser, arguments, operands, types))
    return failure();
  unsigned streams = operands.size();
  if (succeeded(parser.parseOptionalKeyword("carry")) && parseBindings(parser, arguments, operands, types))
    return failure();
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(types[i]);
    if (!type || (i < streams && type.getRank() == 0))
      return parser.emitError(loc, "expected streams and states to be tensors");
    argument.type = makeTokens(parser.getContext(), 1, i < streams ? type.getShape().drop_front() : type.getShape());
  }
  if (parser.parseArrowTypeList(result.types) || parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  result.getOrAddProperties<Properties>().operandSegmentSizes = {int32_t(streams), int32_t(operands.size() - streams)};
  return success();
}

void TokenLoopOp::print(OpAsmPrinter &printer) {
  auto bindings = [&](ValueRange arguments, ValueRange operands) {
    printer << '(';
    llvm::interleaveComma(llvm::zip(arguments, operands), printer, [&](auto binding) {
      printer << std::get<0>(binding) << " = " << std::get<1>(binding) << " : " << std::get<1>(binding).getType();
    });
    printer << ')';
  };
  Block &block = getBody().front();
  printer << (getReverse() ? " reverse " : " ");
  bindings(block.getArguments().take_front(getStreams().size()), getStreams());
  if (!getStates().empty()) {
    printer << " carry ";
    bindings(block.getArguments().take_back(getStates().size()), getStates());
  }
  printer.printArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getOperandSegmentSizesAttrName().getValue(), getReverseAttrName().getValue()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// CgOp and ComposeOp
//===----------------------------------------------------------------------===//

LogicalResult CgOp::verifyRegions() {
  Block &block = getBody().front();
  if (int64_t(getIterations()) < 1)
    return emitOpError("needs at least one iteration");
  ArrayRef<int64_t> ridge = shapePerToken(getRidge());
  int64_t ridges = tensorOf(getRidge()).getDimSize(0);
  if ((!ridge.empty() && ridge != shapePerToken(getVectors())) ||
      (ridges != 1 && ridges != tensorOf(getVectors()).getDimSize(0)))
    return emitOpError() << "the ridge must be a scalar or a vector as long as those of " << getVectors().getType()
                         << ", but it is " << getRidge().getType();
  if (block.getNumArguments() != 1 || block.getArgument(0).getType() != getVectors().getType())
    return emitOpError() << "its region must have one argument of the vectors' type " << getVectors().getType();
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getNumOperands() != 1 || yield.getOperand(0).getType() != getVectors().getType())
    return yield.emitOpError() << "must give one value of the vectors' type " << getVectors().getType();
  return success();
}

RECUR_INFER(ComposeOp) {
  ComposeOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType map = tensorOf(adaptor.getFirstMap()), offset = tensorOf(adaptor.getFirstOffset());
  if (adaptor.getKind() == SummaryKind::Right || adaptor.getKind() == SummaryKind::Left) {
    bool right = adaptor.getKind() == SummaryKind::Right;
    if (map.getRank() != 2 || offset.getRank() != 2 || map.getDimSize(0) != map.getDimSize(1) ||
        map.getDimSize(0) != offset.getDimSize(right ? 1 : 0))
      return emitOptionalError(loc, "a map from the ", right ? "right" : "left", " must be a square matrix as ",
                               right ? "wide" : "high", " as the offset ", offset, ", but it is ", map);
  } else if (map != offset) {
    return emitOptionalError(loc, "a map of kind '", stringifySummaryKind(adaptor.getKind()),
                             "' must have the offset's type ", offset, ", but it is ", map);
  }
  types.append({map, offset});
  return success();
}
