#ifndef RECUR_TILE_ROLE_OPS_TD
#define RECUR_TILE_ROLE_OPS_TD

include "dialects/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar Tile_Sync = MemoryEffects<[MemRead, MemWrite]>;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

def Tile_RolesOp : Tile_Op<"roles", [HasParent<"KernelOp">, SingleBlock, NoTerminator]> {
  let summary = "what the teams of a CTA do at the same time";
  let description = [{
    The plan of one CTA is a kernel whose body makes shared tiles and barriers and then gives the roles. All roles start
    once the barriers are there, run side by side, and end by themselves; nothing orders them but barriers. The CTA has
    the threads that the roles ask for.

    Verified: the body holds roles only, with different names; the warpgroups that they fill (four warps of one role fill
    one) are at most 8 and their registers at most 512 for one thread of each. In the kernel: roles come last and once,
    before them are shared tiles, barriers and constants alone; shared tiles and barriers that are placed lie within
    the `workspace`, of at most 232448 bytes, apart from each other; tiles begin at multiples of 128 bytes and of 8
    times their swizzle, barriers at multiples of 8.

    Example:
    ```mlir
    tile.roles {
      tile.role "loads" copies 1 of warp registers 24 {
      ^bb0(%copy: i64):
      }
      tile.role "sums" copies 2 of warpgroup registers 240 {
      ^bb0(%copy: i64):
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
}

def Tile_RoleOp : Tile_Op<"role", [HasParent<"RolesOp">, SingleBlock, NoTerminator]> {
  let summary = "what each of some like teams of threads does";
  let description = [{
    A team is one warp, or one warpgroup: four warps, the first a multiple of four. Each of the `copies` runs the body with
    its index. The threads of a team run an op together, one op after another: where one thread needs what another has
    written, the lowering puts a barrier of the team. `registers` is how many a thread of the team has.

    A register tile belongs to the copy that runs its `tile.alloc`. It has 64 rows and lies in the threads of the
    warpgroup as the accumulators of a matrix product do: warp w has the rows 16 w to 16 w + 15, and the thread l of it,
    in row l / 4 and in the row 8 below, the columns 8 j + 2 (l mod 4) and the one after.

    Verified: copies; `registers` is a multiple of 8 from 24 to 256; the body's argument is the copy's index; the body
    allocates register tiles only, of f32, bf16 or f16, with 64 rows, of dense rows of a multiple of 8 columns, in
    warpgroups only; a nest of elements walks all register tiles along the same dimensions, its rows or its columns, not
    both; only maps, products, transposes, loads and stores take register tiles.

    Example:
    ```mlir
    tile.role "state" copies 2 of warpgroup registers 184 {
    ^bb0(%copy: i64):
      %S = tile.alloc : !tile.tile<64x128xf32, registers, [128, 1]>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$copies, Tile_Team:$team, I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `copies` $copies `of` $team `registers` $registers $body attr-dict";
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def Tile_BarriersOp : Tile_Op<"barriers", [MemoryEffects<[MemAlloc]>]> {
  let summary = "some barriers with phases";
  let description = [{
    As many as the type says, all of the same kind, one behind another in shared memory. A barrier counts its phases from
    0. A phase is complete when `arrivals` teams have arrived in it and the bytes that they said to expect have come; the
    next phase begins at once.

    Verified: `arrivals` is 1 or more; they are made by the kernel, not in a role.

    Example: `%full = tile.barriers arrivals 1 at 4096 : <2>`
  }];
  let arguments = (ins I64Attr:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_BarriersType:$result);
  let assemblyFormat = "`arrivals` $arrivals (`at` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_ArriveOp : Tile_Op<"arrive", [Tile_Sync]> {
  let summary = "one arrival of the team at a barrier";
  let description = [{
    Everything that the team's threads did before, except asynchronous products and sends, is visible to a team that
    then waits for the phase. A team counts as one arrival, whatever its number of threads. `expect` adds bytes that
    asynchronous copies onto the barrier will bring before the phase is complete.

    Verified: stands in a role; bytes are positive and below 2^20.

    Example: `tile.arrive %full[%stage] expect 49152 : <2>`
  }];
  let arguments = (ins Tile_BarriersType:$barriers, I64:$index, OptionalAttr<I64Attr>:$bytes);
  let assemblyFormat = "$barriers `[` $index `]` (`expect` $bytes^)? attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

def Tile_WaitOp : Tile_Op<"wait", [Tile_Sync]> {
  let summary = "stop until a phase of a barrier is complete";
  let description = [{
    Phases are counted from 0; waiting for phase -1 does not stop. Hardware tells phases by their parity, so the phase
    must be the current one or the one before: then the lowest bit says which.

    Verified: stands in a role.

    Example: `tile.wait %full[%stage] phase %round : <2>`
  }];
  let arguments = (ins Tile_BarriersType:$barriers, I64:$index, I64:$phase);
  let assemblyFormat = "$barriers `[` $index `]` `phase` $phase attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

def Tile_FenceOp : Tile_Op<"fence", [Tile_Sync]> {
  let summary = "what the team wrote is there for products and sends";
  let description = [{
    The matrix units and the copy engine read shared memory on another path than threads. They see what a team has
    written into shared tiles (by maps, for example) only after this fence of the same team; for another team's
    products and sends, an arrival must follow.

    Verified: stands in a role.

    Example: `tile.fence`
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous copies and products
//===----------------------------------------------------------------------===//

def Tile_FetchOp : Tile_Op<"fetch", [Tile_Sync]> {
  let summary = "rows of an array into a shared tile, asynchronously";
  let description = [{
    A box of the array, as large as the tile, from row `first` and column `column` (0 if there is none) on. Rows before 0
    or from `of` on, and columns outside the array, give zeros. From now on the tile holds nothing; when the box has come,
    all the tile's bytes count at the barrier. The tile may be read after waiting for that phase. It begins at a multiple
    of 128 bytes.

    Verified: stands in a role; `of` is the kernel's number of tokens or a constant, so that the box can be described
    before the kernel starts; array and tile have two dimensions and one element type; the tile is shared, of at most 256
    rows; it is swizzled, or its rows are dense, of at most 256 columns, and a multiple of 16 bytes; a row of the array
    is a multiple of 16 bytes.

    Example: `tile.fetch %k[%first] of %tokens into %tile on %full[%stage] : <?x128xbf16, global> into <64x128xbf16, shared, [64, 1], swizzle 128> on <2>`
  }];
  let arguments = (ins Tile_GlobalTile:$array, I64:$first, Optional<I64>:$column, I64:$of, Tile_WorkTile:$tile,
                       Tile_BarriersType:$barriers, I64:$index);
  let assemblyFormat = [{
    $array `[` $first (`,` $column^)? `]` `of` $of `into` $tile `on` $barriers `[` $index `]` attr-dict
    `:` type($array) `into` type($tile) `on` type($barriers)
  }];
  let hasVerifier = 1;
}

def Tile_SendOp : Tile_Op<"send", [Tile_Sync]> {
  let summary = "a shared tile to rows of an array, asynchronously";
  let description = [{
    Like `tile.fetch`, in the other direction: elements outside of the array's rows or columns are not written. The
    tile keeps its contents, and may be written again after `tile.sent`.

    Verified: as `tile.fetch`.

    Example: `tile.send %tile to %o[%first, %column] of %tokens : <64x64xbf16, shared, [64, 1], swizzle 128> to <?x128xbf16, global>`
  }];
  let arguments = (ins Tile_WorkTile:$tile, Tile_GlobalTile:$array, I64:$first, Optional<I64>:$column, I64:$of);
  let assemblyFormat = [{
    $tile `to` $array `[` $first (`,` $column^)? `]` `of` $of attr-dict `:` type($tile) `to` type($array)
  }];
  let hasVerifier = 1;
}

def Tile_SentOp : Tile_Op<"sent", [Tile_Sync]> {
  let summary = "stop until at most some of the team's sends are under way";
  let description = [{
    Sends end in their order. A role ends with none under way.

    Verified: stands in a role; `pending` is 0 to 7.

    Example: `tile.sent pending 0`
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "`pending` $pending attr-dict";
  let hasVerifier = 1;
}

def Tile_SettleOp : Tile_Op<"settle", [Tile_Sync]> {
  let summary = "stop until at most some of the team's asynchronous products are under way";
  let description = [{
    Products end in their order. Until a product has ended, its result and the left factor in registers are out of bounds
    (another asynchronous product may add to the result), and its shared factors are still being read: an arrival before
    the settle does not release them. A role ends with none under way.

    Verified: stands in a role; `pending` is 0 to 7.

    Example: `tile.settle pending 0`
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "`pending` $pending attr-dict";
  let hasVerifier = 1;
}

#endif // RECUR_TILE_ROLE_OPS_TD
