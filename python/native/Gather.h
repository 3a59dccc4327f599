// Parts of arrays, which lie the same way each time, copied to memory that stays: what a bound call reads.
#pragma once
#include "View.h"
#include <vector>

namespace recur::python {

class Gather {
public:
  /// `sources`: arrays like those that will be given. `pieces`: of each the number of its source, a part of that source
  /// as an array, and the array of the same shape and type that it is copied to.
  Gather(nanobind::list sources, nanobind::list pieces);
  Gather(const Gather &) = delete;

  /// Copies the pieces in their order. False, with nothing copied, where an array is not like the one in its place.
  bool copy(nanobind::args arrays) const;

private:
  struct Side {
    int64_t count, from, to; // steps in elements
  };
  struct Piece {
    size_t source;
    int64_t offset, bytes; // into the source in elements; of an element
    char *to;
    std::vector<Side> sides; // the innermost last
  };
  static void copyPiece(const Piece &piece, const char *from);
  static void copySides(const Piece &piece, size_t side, const char *from, char *to);

  std::vector<View> sources; // what they were like
  std::vector<Piece> pieces;
  nanobind::object kept;
};

} // namespace recur::python
