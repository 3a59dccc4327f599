// The dialects' headers as well, for all that comes above the dialects: most of it includes one or more of them.
#pragma once
#include "cmake/precompiled.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "dialects/Tile/Tile.h"
