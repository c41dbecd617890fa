"""Lp for Python: operators, numpy, constructors with keywords, scopes as context managers.

Classes are patched, not replaced, so objects that the library makes have all of this too.
"""

from . import _base, _vfuncs, _tensors, _modules, _precision
from ._base import *

__all__ = _base.__all__
