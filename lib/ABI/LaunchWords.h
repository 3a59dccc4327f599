// What a launch passes to a kernel of a GPU, which finds out itself which head of which sequence it has: 64-bit words.
#pragma once

namespace recur::abi {

/// The first of them.
enum LaunchWord { TokensWord, HeadsWord, OffsetsWord, WorkspaceWord, WorkspaceStrideWord, launchWords };

/// Then these of each array, in the order of a kernel's arrays. Strides are in elements; 0 where the array has no such
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

constexpr int getWord(int array, ArrayWord word) { return launchWords + arrayWords * array + word; }
constexpr int countWords(int arrays) { return launchWords + arrayWords * arrays; }

/// The most arrays that a launch has, and that launches leave to each other.
inline constexpr int mostLaunchArrays = 128, mostLeft = 64;

} // namespace recur::abi
