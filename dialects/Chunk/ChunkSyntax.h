// The pieces of the ops' textual form that ODS has no words for.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// `before`, `strict`, `inclusive`, or `points [before, 1] of [0, 1]`.
mlir::ParseResult parseVisibility(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &points,
                                  mlir::DenseI64ArrayAttr &steps);
void printVisibility(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DenseI64ArrayAttr points,
                     mlir::DenseI64ArrayAttr steps);
mlir::OptionalParseResult parseOptionalVisibility(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &points,
                                                  mlir::DenseI64ArrayAttr &steps);
void printOptionalVisibility(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DenseI64ArrayAttr points,
                             mlir::DenseI64ArrayAttr steps);

/// `log` or `linear`.
mlir::ParseResult parseSpace(mlir::OpAsmParser &parser, mlir::UnitAttr &linear);
void printSpace(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::UnitAttr linear);

/// `log(%g : tensor<64xf32>)`.
mlir::ParseResult parseDecay(mlir::OpAsmParser &parser, std::optional<mlir::OpAsmParser::UnresolvedOperand> &decay,
                             mlir::Type &type, mlir::UnitAttr &linear);
void printDecay(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value decay, mlir::Type type,
                mlir::UnitAttr linear);

} // namespace recur::chunk
