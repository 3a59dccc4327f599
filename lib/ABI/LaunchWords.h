// What a launch passes to a kernel of a GPU, which finds out itself which head of which sequence it has: 64-bit words.
#pragma once
#include <cstdint>

namespace recur::abi {

/// The first of them. Not zero: tensor maps are there, behind all words; or the launch goes by a list of the chunks of
/// packed sequences, and an order of these. Packed sequences of other numbers of tokens than those from one on and
/// below another are left alone. Into how many segments a packed sequence is cut is a byte for each class of its number
/// of chunks. The four behind that are for a launch that announces its chunks: there are so many units, which are heads
/// of sequences, whose first chunks, then second ones and so on are dealt out to so many teams in some rounds, and from
/// then on to the first of these alone, those that last. Of packed sequences, where there is no list, a team has chunks
/// of one unit: their numbers are multiples of that of units. Then comes a PoolUse, and where the call has pools: every
/// how many tokens states go to rows, or 0; and then where these rows are and how many of them each sequence has, and
/// how many tokens it had before, or null, of 32 bits each. Last, of kernels that keep states before every token: how
/// many of each sequence's first tokens are replayed, and where it says of how many of them the sequence has the
/// states, of 32 bits each. Then one that is null, or where it says of each unit, with 32 bits, whether it is left
/// alone, which launches that go by a list or run side by side do not ask. And of trees where the tokens' parents are,
/// of 32 bits each, how many of them each sequence has, how far they are apart from sequence to sequence, and from
/// which byte of a CTA's workspace on there is room for the states that several tokens begin with: the CTA's states,
/// each from a multiple of the workspace's alignment on, as often as there may be tokens behind one that is not the one
/// before.
enum LaunchWord {
  TokensWord,
  HeadsWord,
  OffsetsWord,
  WorkspaceWord,
  WorkspaceStrideWord,
  MapsWord,
  ListWord,
  OrderWord,
  FromTokensWord,
  BelowTokensWord,
  CutsWord,
  CutsEndWord = CutsWord + 12,
  UnitsWord = CutsEndWord,
  TeamsWord,
  LastingTeamsWord,
  SharedRoundsWord,
  PoolsWord,
  IntervalWord,
  IntervalRowsWord,
  IntervalColumnsWord,
  PositionsWord,
  ReplayedWord,
  AcceptedWord,
  LeftAloneWord,
  ParentsWord,
  ParentColumnsWord,
  ParentStrideWord,
  TreeOffsetWord,
  launchWords
};

/// The class of a number of chunks: four for each power of two, and each small number by itself; and the least number
/// that is in it.
constexpr int exactCuts = 8, cutClasses = 8 * (CutsEndWord - CutsWord);
constexpr int getCutClass(int64_t chunks) {
  if (chunks < exactCuts)
    return int(chunks);
  int power = 63 - __builtin_clzll((unsigned long long)chunks);
  int found = exactCuts + 4 * (power - 3) + int(chunks >> (power - 2) & 3);
  return found < cutClasses ? found : cutClasses - 1;
}
constexpr int64_t getCutChunks(int cutClass) {
  int above = cutClass - exactCuts;
  return above < 0 ? cutClass : int64_t(4 + above % 4) << (above / 4 + 1);
}
static_assert(getCutClass(getCutChunks(cutClasses - 1)) == cutClasses - 1 && getCutChunks(getCutClass(8)) == 8);

/// What the launch that makes the list is given. A list begins with how many chunks and how many sequences there are,
/// of 32 bits each, as all of it; then come pairs of a chunk's sequence and its number in that. There is room for as
/// many as whole chunks fit into all tokens, and one more for each sequence. The order has all sequences that are
/// listed, longer ones first.
enum ListingWord {
  ListedOffsetsWord,
  ListedSequencesWord,
  ListedTokensWord,
  ListedFromWord,
  ListedBelowWord,
  ListWordOfListing,
  OrderWordOfListing,
  listingWords
};
constexpr int listHeaderBytes = 8, listEntryBytes = 8, orderEntryBytes = 4;
constexpr int listingThreads = 1024;

/// What the launch is given that adds up parts of gradients. An element of the result is at a sequence, a token, a head
/// and a place among so many elements, which lie one behind another in what is added and in the result; strides are in
/// elements. It is the sum in float32 of so many slices in their order, each a slice stride behind the one before it,
/// or zero where there are none; behind what is there already, where the launch adds to that. Where there are offsets,
/// of packed sequences, tokens before the first and from the last on are left alone. Threads share out all elements,
/// however many CTAs there are.
enum SumWord {
  SumFromWord,
  SumToWord,
  SumFromTypeWord, // a recur_dtype
  SumToTypeWord,
  SumSlicesWord,
  SumSliceStrideWord,
  SumAddsWord,      // not 0: to what is there
  SumSequencesWord, // sizes of the result
  SumTokensWord,
  SumHeadsWord,
  SumElementsWord,
  SumFromStridesWord, // over sequences, tokens, heads
  SumToStridesWord = SumFromStridesWord + 3,
  SumOffsetsWord = SumToStridesWord + 3, // null: there are none
  SumLastOffsetWord,                     // the place of the last one
  sumWords
};

/// What the launch is given that puts summaries of parts of sequences together. Units, which are heads of sequences,
/// have matrices of so many rows and columns; an element of the result is at a unit, a row and a column, and so is that
/// of `add`, each with rows one behind another. Elsewhere strides say where things lie: of a product, left has rows and
/// the inner side, right the inner side and columns, and scale rows and columns; where each element goes by itself,
/// left and right have rows alone. Strides are in elements. What is null is not there. Threads share out all elements.
enum ComposeWord {
  ComposeOperationWord, // a ComposeOperation
  ComposeValueWord,     // the bits of a float32
  ComposeResultWord,
  ComposeLeftWord,
  ComposeRightWord,
  ComposeScaleWord,
  ComposeAddWord,
  ComposeUnitsWord, // sizes
  ComposeRowsWord,
  ComposeColumnsWord,
  ComposeInnerWord,
  ComposeResultUnitWord, // strides over units
  ComposeLeftUnitWord,
  ComposeRightUnitWord,
  ComposeScaleUnitWord,
  ComposeAddUnitWord,
  ComposeLeftRowWord,
  ComposeLeftInnerWord,
  ComposeRightRowWord,
  ComposeRightInnerWord,
  ComposeRightColumnWord,
  ComposeScaleRowWord,
  ComposeScaleColumnWord,
  composeWords
};

enum ComposeOperation {
  FillOperation,     // the value
  IdentityOperation, // the value where row and column are the same, else zero
  ScaledOperation,   // left * right + add, in which what is null counts for nothing
  KeptOperation,     // the same, but add alone where left is zero
  MaxOperation,      // of left + right, and of add
  MinOperation,
  SoftMaxOperation,
  SoftMinOperation,
  SumOperation,            // left + right
  ProductOperation,        // scale * (left times right) + add, summed in float32
  PreciseProductOperation, // the same without scale and add, summed in float64
  LargeOperation,          // zero for the unit, where left is no number, or larger in size than the value
  BlockProductOperation,   // as ProductOperation, by threads that each make so many rows of a column
  composeOperations
};

/// A thread of a block product has so many rows, which divide all, and so many numbers along the inner side at a time,
/// which divide that. Left rows lie one behind another, and so do either columns of right or its inner side; each
/// begins at a multiple of so many numbers.
constexpr int blockRows = 8, blockInner = 4;

/// A CTA whose launch runs beside another has so many teams at most, though it may have room for more: a fourth made
/// less of each and the second launch waited, as measured with 128 keys, and with 64, where five have room.
constexpr int mostTeams = 3;

/// Then these of each array, in the order of a kernel's arrays, and behind them of the flags of chunks where a kernel
/// announces or awaits them, which are absent where nobody does. Strides are in elements; 0 where the array has no such
/// dimension. So many heads as the group says share one of the array. Parts of the channels are PartStride apart. A
/// sequence that begins at a token lies FirstStride further for each FirstTokens whole tokens before it.
enum ArrayWord {
  DataWord,
  SequenceStrideWord,
  TokenStrideWord,
  HeadStrideWord,
  GroupWord,
  RowStrideWord,
  ColumnStrideWord,
  PartStrideWord,
  FirstTokensWord,
  FirstStrideWord,
  arrayWords
};

/// What PoolsWord says: whether the call has pools of states, and whether the states after all tokens go to their rows;
/// where tokens are replayed, only that after as many tokens does.
enum PoolUse { NoPools, Pools, PoolsOfTokens };

/// Behind these of all arrays come, of each, those that are read where the call has pools of states: where the
/// sequences' rows are, of 32 bits each, null where the array is in no pool; how many rows there are; and for a row
/// that there is not, null or what all sequences have in common in its place, with a head's stride. Then how many rows
/// each sequence has, 0 for one, of which the state has the one that is counted to, from 1 on: where the counts of
/// sequences are, of 32 bits each, or null: the number of tokens before the state.
enum PoolWord { RowsWord, RowCountWord, AbsentWord, AbsentHeadStrideWord, ColumnsWord, CountsWord, poolWords };

constexpr int getWord(int array, ArrayWord word) { return launchWords + arrayWords * array + word; }
constexpr int getPoolWord(int arrays, int array, PoolWord word) {
  return launchWords + arrayWords * arrays + poolWords * array + word;
}
constexpr int countWords(int arrays) { return getPoolWord(arrays, arrays, RowsWord); }

/// A tensor map has 128 bytes, and begins at a multiple of 64. A launch has one for each array whose rows the copy unit
/// may bring, in the order of its arrays, of which flags are one.
constexpr int mapWords = 16, mapAlignment = 64, mostMaps = 16;
constexpr int getMapWord(int arrays, int map) {
  constexpr int alignedWords = mapAlignment / 8;
  return (countWords(arrays) + alignedWords - 1) / alignedWords * alignedWords + mapWords * map;
}

/// What each of several teams of a CTA has of shared memory behind its tiles: where its arrays begin, with their
/// strides, in a round and in the next one; and of four rounds where the flag is, and the chunk.
constexpr int arrayPlaceBytes = 16, turnBytes = 16, keptTurns = 4;
constexpr int countTeamBytes(int arrays) { return 2 * arrayPlaceBytes * arrays + turnBytes * keptTurns; }

/// What of a state counts as little, as `tile.segment` has it.
inline constexpr double little = 0x1p-25;

/// The most arrays that a launch has, and that launches leave to each other.
inline constexpr int mostLaunchArrays = 128, mostLeft = 128;

} // namespace recur::abi
