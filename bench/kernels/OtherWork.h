// Whether other programs kept the machine's processors busy while this one measured.
#pragma once

namespace recur::bench {

/// Begins to watch when it is made.
class OtherWork {
public:
  OtherWork();
  /// How many processors other programs, and other machines on this host, kept busy on average since then; 0 where the
  /// system does not say.
  double countProcessors() const;
  bool isNoticeable() const { return countProcessors() > 0.1; }

private:
  double everyone, self, start; // seconds
};

} // namespace recur::bench
