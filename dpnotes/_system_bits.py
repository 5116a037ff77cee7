"""The operating system's randomness behind NumPy's interface for sources of bits."""

from __future__ import annotations

import ctypes
import operator
import os
import threading
from functools import partial
from itertools import repeat

_CAPSULE = b"BitGenerator"  # NumPy looks for this name, and for this table of functions (numpy/random/bitgen.h)
_WORD, _HALF, _DOUBLE = (ctypes.CFUNCTYPE(kind, ctypes.c_void_p) for kind in (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_double))


class _Table(ctypes.Structure):
    _fields_ = [("state", ctypes.c_void_p), ("next_uint64", _WORD), ("next_uint32", _HALF), ("next_double", _DOUBLE),
                ("next_raw", _WORD)]


class SystemBits:
    """What numpy.random.Generator asks of a source: a lock, and a capsule around the table.

    The functions are chains of built-ins on purpose: no line of Python runs inside them, so that an interrupt from the
    keyboard cannot strike there, be swallowed, and leave a zero where a random number should be.
    """

    def __init__(self) -> None:
        def whole(n_bytes: int):
            return map(int.from_bytes, map(os.urandom, repeat(n_bytes)), repeat("little"))

        words, doubles = whole(8), map(operator.mul, map(operator.rshift, whole(8), repeat(11)), repeat(2.0**-53))
        word = _WORD(partial(next, words))  # called with the state, which `next` takes for a default it never needs
        self._table = _Table(None, word, _HALF(partial(next, whole(4))), _DOUBLE(partial(next, doubles)), word)
        new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
            ("PyCapsule_New", ctypes.pythonapi))
        self.capsule = new_capsule(ctypes.addressof(self._table), _CAPSULE, None)
        self.lock = threading.Lock()
