#include "Gather.h"
#include "Errors.h"
#include <cstring>
#include <utility>

namespace nb = nanobind;
using namespace recur::python;

static int64_t getBytes(Type type) { return type == Type::F32 ? 4 : 2; }

static void open(View &view, nb::handle object) {
  bool isKnown = view.open(object) && view.isOnCPU && view.sides <= View::mostSides && isFloat(view.type);
  if (!isKnown)
    raiseArgument("each array must be float32, bfloat16 or float16, and lie in the processor's memory");
}

static bool haveOneShape(const View &a, const View &b) {
  return a.type == b.type && a.sides == b.sides &&
         std::memcmp(a.shape, b.shape, size_t(a.sides) * sizeof *a.shape) == 0;
}

Gather::Gather(nb::list sourceArrays, nb::list pieceTuples) : kept(pieceTuples) {
  for (nb::handle array : sourceArrays)
    open(sources.emplace_back(), array);
  for (nb::handle tuple : pieceTuples) {
    View part, to;
    auto number = nb::cast<size_t>(tuple[0]);
    open(part, tuple[1]);
    open(to, tuple[2]);
    if (number >= sources.size() || !haveOneShape(part, to) || part.type != sources[number].type || to.isReadOnly)
      raiseArgument("each piece must lie in its source, and have the shape and type of the array that it is copied to");
    Piece piece = {number, 0, getBytes(part.type), static_cast<char *>(to.data), {}};
    piece.offset =
        (static_cast<const char *>(part.data) - static_cast<const char *>(sources[number].data)) / piece.bytes;
    for (int side = 0; side < part.sides; ++side) {
      if (part.shape[side] == 1)
        continue;
      Side added = {part.shape[side], part.strides[side], to.strides[side]};
      // A side that goes on where the next one ends is one with it.
      if (Side *outer = piece.sides.empty() ? nullptr : &piece.sides.back();
          outer && outer->from == added.count * added.from && outer->to == added.count * added.to)
        *outer = {outer->count * added.count, added.from, added.to};
      else
        piece.sides.push_back(added);
    }
    if (piece.sides.empty())
      piece.sides.push_back({1, 1, 1});
    pieces.push_back(std::move(piece));
  }
}

void Gather::copySides(const Piece &piece, size_t side, const char *from, char *to) {
  const Side &own = piece.sides[side];
  bool isLast = side + 1 == piece.sides.size();
  if (isLast && own.from == 1 && own.to == 1) {
    std::memcpy(to, from, size_t(own.count * piece.bytes));
    return;
  }
  for (int64_t i = 0; i < own.count; ++i, from += own.from * piece.bytes, to += own.to * piece.bytes) {
    if (isLast)
      std::memcpy(to, from, size_t(piece.bytes));
    else
      copySides(piece, side + 1, from, to);
  }
}

void Gather::copyPiece(const Piece &piece, const char *from) {
  copySides(piece, 0, from + piece.offset * piece.bytes, piece.to);
}

bool Gather::copy(nb::args arrays) const {
  if (arrays.size() != sources.size())
    return false;
  std::vector<const char *> data;
  for (size_t i = 0; i < sources.size(); ++i) {
    View view;
    if (!view.open(arrays[i]) || !view.isOnCPU || !haveOneShape(view, sources[i]))
      return false;
    for (int side = 0; side < view.sides; ++side)
      if (view.shape[side] > 1 && view.strides[side] != sources[i].strides[side])
        return false;
    data.push_back(static_cast<const char *>(view.data));
  }
  for (const Piece &piece : pieces)
    copyPiece(piece, data[piece.source]);
  return true;
}
