"""For as long as `dpnotes/__init__.py` looks for `explore` here; then this file goes.

The import system binds `dpnotes.explore` to a module of that name, which would hide the function: so the code lives in
`explorer.py`, and this module can be called.
"""

import sys
import types
from typing import Any

from dpnotes.explorer import Explorer, explore, show

__all__ = ["explore", "show"]


class _Callable(types.ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Explorer:
        return explore(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
