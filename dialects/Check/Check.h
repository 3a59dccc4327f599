// The check dialect: programs with the numbers that they must give, for tests.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Check/CheckDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Check/CheckOps.h.inc"
