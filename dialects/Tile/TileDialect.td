#ifndef RECUR_TILE_DIALECT_TD
#define RECUR_TILE_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::recur::tile";
  let summary = "Plans: tiles in the named memories of one core or CTA, and what is done with them";
  let description = [{
    A value is a tile: a small dense array that lies in a memory which its type names. A `tile.kernel` is one plan, for one
    core or one CTA: which tiles there are, what is copied between memories, in which order products, row passes and solves
    run. Loops are `scf.for` over 64-bit integers. The dialect knows nothing of recurrences: what a chunk program means has
    been spelled out before it comes here.

    An op writes into tiles that it is given. How many rows hold data is an operand of the ops (`rows`): the last chunk of
    a sequence may be short, and rows beyond it hold numbers that no op reads into a row that counts.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Memory : I32EnumAttr<"Memory", "the memory that a tile lies in", [
  I32EnumAttrCase<"Global", 0, "global">, I32EnumAttrCase<"Local", 1, "local">,
  I32EnumAttrCase<"Shared", 2, "shared">, I32EnumAttrCase<"Registers", 3, "registers">]> {
  let cppNamespace = "::recur::tile";
}

def Tile_Reduction : I32EnumAttr<"Reduction", "how elements become one", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::recur::tile";
}

def Tile_Team : I32EnumAttr<"Team", "the threads that run a copy of a role", [
  I32EnumAttrCase<"Warp", 0, "warp">, I32EnumAttrCase<"Warpgroup", 1, "warpgroup">]> {
  let cppNamespace = "::recur::tile";
}

def Tile_Blocks : I32EnumAttr<"Blocks", "which square blocks of a matrix", [
  I32EnumAttrCase<"Below", 0, "below">, I32EnumAttrCase<"Diagonal", 1, "diagonal">, I32EnumAttrCase<"Above", 2, "above">]> {
  let cppNamespace = "::recur::tile";
}

def Tile_Summaries : I32EnumAttr<"Summaries", "what a kernel has to do with the summaries of segments", [
  I32EnumAttrCase<"Made", 0, "made">, I32EnumAttrCase<"Taken", 1, "taken">]> {
  let cppNamespace = "::recur::tile";
}

def Tile_TileType : TypeDef<Tile_Dialect, "Tile"> {
  let mnemonic = "tile";
  let summary = "a dense array in a named memory";
  let description = [{
    Sizes, element type, memory, and the distance in elements between neighbours along each dimension: rows are padded so
    that they begin at whole vectors and spread over cache sets. `global` is the caller's memory, whose rows lie as the
    caller says: its first size is `?` and it has no strides. Of a `transposed` one the caller has the transpose of each
    row, a matrix: the element in row i and column j lies where the caller has that in row j and column i. `local` is a core's scratch memory, `shared` a CTA's,
    `registers` those of one core, or spread over the threads of a warpgroup (`tile.role`).

    `swizzle N` is a layout of matrices in shared memory. A matrix, the last two dimensions, lies in panels of N bytes of
    its columns, one panel behind another; the rows of a panel are N bytes apart. The 16-byte pieces of a panel's row r are
    permuted: the piece that would be at place p is at p xor (r mod 8) for 128 bytes, p xor (r / 2 mod 4) for 64, and
    p xor (r / 4 mod 2) for 32. That is what the copy engine and the matrix units of a GPU call by that name.

    Verified: sizes and strides; only tiles in global memory whose rows are matrices are transposed; only shared tiles are swizzled, by 32, 64 or 128 bytes; rows of a swizzled tile come in
    eights, columns in panels; its strides are those that the layout says, and of leading dimensions a multiple of 8 N bytes
    that leaves room for the matrix.

    Example: `!tile.tile<64x100xf32, local, [112, 1]>`, `!tile.tile<?x100xbf16, global>`,
    `!tile.tile<?x64x128xf32, global, transposed>`, `!tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "::recur::tile::Memory":$memory,
                        OptionalArrayRefParameter<"int64_t">:$strides, DefaultValuedParameter<"int64_t", "0">:$swizzle,
                        DefaultValuedParameter<"bool", "false">:$transposed);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                   "::recur::tile::Memory":$memory, "::llvm::ArrayRef<int64_t>":$strides, "int64_t":$swizzle), [{
    return $_get($_ctxt, shape, elementType, memory, strides, swizzle, /*transposed=*/false);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getSize(unsigned dim) const { return getShape()[dim]; }
    int64_t getStride(unsigned dim) const { return getStrides()[dim]; }
    /// Bytes of one element.
    int64_t getElementBytes() const { return getElementType().getIntOrFloatBitWidth() / 8; }
    int64_t getNumElements() const;
    /// The columns of one panel of a swizzled tile.
    int64_t getPanelColumns() const { return getSwizzle() / getElementBytes(); }
    /// How far panels of a swizzled tile are apart, in elements.
    int64_t getPanelStride() const { return getShape()[getRank() - 2] * getPanelColumns(); }
    /// How many elements there are from the first one's place to the last one's; of tiles outside of global memory.
    int64_t getExtent() const;
  }];
}

def Tile_BarriersType : TypeDef<Tile_Dialect, "Barriers"> {
  let mnemonic = "barriers";
  let summary = "barriers of a CTA, which count arrivals and bytes by phases";
  let description = [{
    Verified: there are 1 to 64.

    Example: `!tile.barriers<2>`
  }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Tile_GlobalTile : Type<CPred<"::llvm::isa<::recur::tile::TileType>($_self) && "
                                 "::llvm::cast<::recur::tile::TileType>($_self).getMemory() == ::recur::tile::Memory::Global">,
                           "a tile in global memory", "::recur::tile::TileType">;
def Tile_WorkTile : Type<CPred<"::llvm::isa<::recur::tile::TileType>($_self) && "
                               "::llvm::cast<::recur::tile::TileType>($_self).getMemory() != ::recur::tile::Memory::Global">,
                         "a tile in a memory of the core or CTA", "::recur::tile::TileType">;

#endif // RECUR_TILE_DIALECT_TD
