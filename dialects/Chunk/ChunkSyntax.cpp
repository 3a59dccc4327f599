#include "dialects/Chunk/ChunkSyntax.h"

using namespace mlir;
using namespace recur::chunk;

namespace {
/// The words for one row and one write a token.
struct Word {
  StringRef word;
  int64_t point;
};
constexpr Word words[] = {{"before", beforeDecay}, {"strict", 0}, {"inclusive", 1}};
} // namespace

static ParseResult parsePoint(OpAsmParser &parser, int64_t &point) {
  if (succeeded(parser.parseOptionalKeyword("before"))) {
    point = beforeDecay;
    return success();
  }
  return parser.parseInteger(point);
}

OptionalParseResult recur::chunk::parseOptionalVisibility(OpAsmParser &parser, DenseI64ArrayAttr &points,
                                                          DenseI64ArrayAttr &steps) {
  Builder &builder = parser.getBuilder();
  for (auto [word, point] : words)
    if (succeeded(parser.parseOptionalKeyword(word))) {
      points = builder.getDenseI64ArrayAttr({point});
      steps = builder.getDenseI64ArrayAttr({0});
      return ParseResult(success());
    }
  if (failed(parser.parseOptionalKeyword("points")))
    return std::nullopt;
  SmallVector<int64_t> pointList, stepList;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parsePoint(parser, pointList.emplace_back()); }) ||
      parser.parseKeyword("of") || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(stepList.emplace_back());
      }))
    return ParseResult(failure());
  points = builder.getDenseI64ArrayAttr(pointList);
  steps = builder.getDenseI64ArrayAttr(stepList);
  return ParseResult(success());
}

ParseResult recur::chunk::parseVisibility(OpAsmParser &parser, DenseI64ArrayAttr &points, DenseI64ArrayAttr &steps) {
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult result = parseOptionalVisibility(parser, points, steps);
  if (!result.has_value())
    return parser.emitError(loc, "expected 'before', 'strict', 'inclusive' or 'points'");
  return *result;
}

void recur::chunk::printOptionalVisibility(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr points,
                                           DenseI64ArrayAttr steps) {
  if (points)
    printVisibility(printer, op, points, steps);
}

void recur::chunk::printVisibility(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr points,
                                   DenseI64ArrayAttr steps) {
  if (points.size() == 1 && steps.asArrayRef() == ArrayRef<int64_t>(0))
    for (auto [word, point] : words)
      if (points[0] == point) {
        printer << word;
        return;
      }
  printer << "points [";
  llvm::interleaveComma(points.asArrayRef(), printer, [&](int64_t point) {
    if (point == beforeDecay)
      printer << "before";
    else
      printer << point;
  });
  printer << "] of [";
  llvm::interleaveComma(steps.asArrayRef(), printer);
  printer << ']';
}

ParseResult recur::chunk::parseSpace(OpAsmParser &parser, UnitAttr &linear) {
  if (succeeded(parser.parseOptionalKeyword("linear"))) {
    linear = parser.getBuilder().getUnitAttr();
    return success();
  }
  if (succeeded(parser.parseOptionalKeyword("log")))
    return success();
  return parser.emitError(parser.getCurrentLocation(), "expected 'log' or 'linear'");
}

void recur::chunk::printSpace(OpAsmPrinter &printer, Operation *, UnitAttr linear) {
  printer << (linear ? "linear" : "log");
}

ParseResult recur::chunk::parseDecay(OpAsmParser &parser, std::optional<OpAsmParser::UnresolvedOperand> &decay,
                                     Type &type, UnitAttr &linear) {
  return failure(parseSpace(parser, linear) || parser.parseLParen() || parser.parseOperand(decay.emplace()) ||
                 parser.parseColonType(type) || parser.parseRParen());
}

void recur::chunk::printDecay(OpAsmPrinter &printer, Operation *op, Value decay, Type type, UnitAttr linear) {
  printSpace(printer, op, linear);
  printer << '(' << decay << " : " << type << ')';
}

#define GET_OP_CLASSES
#include "dialects/Chunk/ChunkOps.cpp.inc"
