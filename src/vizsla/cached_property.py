"""cached_property without a lock, as Python has it from 3.12 on.

Before, one lock served all objects of a class while one of them computed: a child that was forked meanwhile found it
held for good. Without it two threads may both compute, to the same value.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - as in functools
        """A property that is computed on first use and then kept among the object's attributes."""

        def __init__(self, function):
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, thing, owner=None):
            if thing is None:
                return self
            value = thing.__dict__[self.name] = self.function(thing)
            return value


__all__ = ["cached_property"]
