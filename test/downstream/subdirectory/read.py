"""The module before the package, so that it has to find the core itself."""

import reader

ones = reader.ones(5)
assert reader.total(ones) == 5, "the module's array"

import memarray  # noqa: E402

assert isinstance(ones, memarray.MemArray)
assert "site-packages" not in memarray.__file__, "the package of this tree, not one that is installed"
assert reader.total(memarray.MemArray([4])) == 0
