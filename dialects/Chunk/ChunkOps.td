#ifndef RECUR_CHUNK_OPS_TD
#define RECUR_CHUNK_OPS_TD

include "dialects/Chunk/ChunkProgramOps.td"
include "dialects/Chunk/ChunkTokenOps.td"
include "dialects/Chunk/ChunkProductOps.td"
include "dialects/Chunk/ChunkScanOps.td"
include "dialects/Chunk/ChunkAdjointOps.td"

#endif // RECUR_CHUNK_OPS_TD
