"""``python -m recur explain gdn.recur`` is ``recurc explain gdn.recur``."""

from recur_tools import recurc

recurc()
