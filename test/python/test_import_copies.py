"""The effect of `copy=` on DLPack producers and on memarray."""

import memarray
import pytest
from dlpack_producer import ENTRANCES, Producer
from memarray import BufferView

pytestmark = pytest.mark.sanitize


def test_import_copies_only_when_copy_is_true(copies):
    producer = Producer()
    assert memarray.from_dlpack(producer, copy=False).owner is producer
    assert producer.deleted == 1
    assert copies() == 0
    own = memarray.from_dlpack(Producer(flags=1), copy=True)
    assert copies() == 1
    assert own.writable
    assert own.owner is None
    own.fill(0)
    with pytest.raises(TypeError, match="copy"):
        memarray.from_dlpack(producer, copy=1)


@pytest.mark.parametrize(
    "take", [memarray.from_dlpack, BufferView, memarray.MemArray.from_dlpack, ENTRANCES["the type's table"]]
)
def test_producer_copy_is_refused_with_copy_false(take):
    asked = []

    class Copies(Producer):
        def __dlpack__(self, **keywords):
            asked.append(keywords.get("copy"))
            return super().__dlpack__()

    for copy in (None, True):
        assert BufferView(take(Copies(flags=2), copy=copy)).sum() == 15
    never = Copies(flags=2)
    with pytest.raises(BufferError, match="copy=False"):
        take(never, copy=False)
    assert never.deleted == 1
    assert asked in ([None, None, False], [])


def test_producer_without_copy_keyword_receives_max_version():
    class Between(Producer):
        def __dlpack__(self, stream=None, max_version=None):
            assert max_version == (1, 3)
            return super().__dlpack__()

    assert not memarray.from_dlpack(Between(flags=1), copy=False).writable
