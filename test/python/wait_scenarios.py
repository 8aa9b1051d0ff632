"""Short programs in which work on streams has to wait: each fails if one of its waits is dropped."""

import memarray
import numpy as np
from device_world import LATE, SHAPE
from dlpack_producer import ENTRANCES, Producer
from dlpack_structs import Device
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer
from support import filled, index_sums, look, small_numbers

SUMS = index_sums(SHAPE, "float64")


def a_kernel_then_a_fill(w):
    w.delay(w.first, w.a)
    w.a.fill(5)
    w.first.synchronize()
    assert (w.contents() == 5).all()


def a_fill_then_a_kernel(w):
    w.delay(None)
    w.a.fill(5)
    w.delay(w.second, w.a)
    assert (w.contents() == 5 + LATE * SUMS).all()


def a_move_then_a_kernel(w):
    w.a.fill(1)
    w.a.move_memory(kDLCPU)
    w.a.fill(2)
    w.delay(None)
    w.a.move_memory(kDLCUDA)
    w.a.add_index_tuple(stream=w.second)
    assert (w.contents() == 2 + SUMS).all()


def a_move_back_later_then_a_read(w):
    w.delay(w.first, w.a)
    w.a.move_memory(kDLCPU, stream=w.second, async_copy=True)
    assert (look(w.a) == w.values + LATE * SUMS).all()


def a_read_later_then_a_write_on_the_host(w):
    w.a.move_memory(kDLCPU)
    w.a.fill(3)
    w.delay(w.first)
    consumer = Consumer(stream=w.first)
    with w.a.read("cuda:0", stream=w.first) as lease:
        late = consumer.take(lease).read()
    w.a.read_numpy_array(np.full(SHAPE, 7.0))
    assert (late.result() == 3).all()


def a_copy_into_memory_that_another_reads(w):
    w.delay(None)
    twin = w.a.copy()
    w.a.move_memory(kDLCPU)
    w.a.fill(0)
    w.a.move_memory(kDLCUDA, stream=w.second, async_copy=True)
    twin.move_memory(kDLCPU)
    assert (look(twin) == w.values).all()


def a_move_out_of_memory_being_filled(w):
    w.delay(w.first, w.a)
    w.a.move_memory(kDLCPU, stream=w.first, async_copy=True)
    w.a.move_memory(kDLCUDA, device_id=1)
    assert (w.contents() == w.values + LATE * SUMS).all()
    consumer = Consumer("cuda:1")
    with w.a.read("cuda:1") as lease:
        assert (consumer.take(lease).read().result() == w.values + LATE * SUMS).all()


def a_move_to_another_device(w):
    w.delay(w.first, w.a)
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    w.a.add_index_tuple(stream=w.elsewhere)
    assert (w.contents() == w.values + (LATE + 1) * SUMS).all()


def a_move_to_another_device_by_the_first(w):
    w.a.fill(3)
    w.delay(None, w.busy_elsewhere)
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.second, async_copy=True)
    assert (w.contents() == 3).all()


def a_move_through_the_host(w):
    w.delay(w.first, w.a)
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    assert (w.contents() == w.values + LATE * SUMS).all()


def moves_through_the_host_at_once(w):
    w.a.add_index_tuple()
    others = [w.busy.copy() for _ in range(LATE)]
    for other in others:
        other.move_memory(kDLCUDA, device_id=1, async_copy=True)
    # The copy out runs behind the others; the copy in runs beside them.
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    assert (w.contents() == w.values + SUMS).all()


def three_pieces(w):
    """Returns an array whose copies pass through two buffers of 16 MiB in three pieces, and its values."""
    return filled((9, 1 << 19), start=w.start, values_of=small_numbers)


def a_large_move_to_a_device(w):
    large, values = three_pieces(w)
    w.delay(w.first)
    large.move_memory(kDLCUDA, stream=w.first, async_copy=True)
    large.add_index_tuple(stream=w.first)
    large.move_memory(kDLCPU)
    assert (look(large) == values + index_sums(values.shape, "float64")).all()


def a_large_move_back(w):
    large, values = three_pieces(w)
    large.move_memory(kDLCUDA)
    w.delay(w.second)
    large.add_index_tuple(stream=w.second)
    w.delay(w.first)
    large.move_memory(kDLCPU, stream=w.first, async_copy=True)
    assert (look(large) == values + index_sums(values.shape, "float64")).all()


def a_large_move_through_the_host(w):
    large, values = three_pieces(w)
    large.move_memory(kDLCUDA)
    large.add_index_tuple()  # only the device's side is valid
    values += index_sums(values.shape, "float64")
    w.delay(w.elsewhere, w.busy_elsewhere)
    large.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    large.move_memory(kDLCPU)
    assert (look(large) == values).all()


def a_lease_for_a_stream(w):
    consumer = Consumer(stream=w.second)
    w.delay(w.first, w.a)
    with w.a.read(stream=w.second) as lease:
        late = consumer.take(lease).read()
    assert (late.result() == w.values + LATE * SUMS).all()


def a_reader_in_another_stream(w):
    w.delay(w.first, w.a)
    consumer = Consumer()
    with w.a.read(stream=w.first) as lease:
        late = consumer.take(lease).read()
    assert (late.result() == w.values + LATE * SUMS).all()


def a_writer_in_another_stream(w):
    w.delay(w.first, w.a)
    consumer = Consumer()
    with w.a.write(stream=w.first) as lease:
        consumer.take(lease).write(5)
    assert (w.contents() == 5).all()


def readers_one_after_another(w):
    first, second = Consumer(), Consumer(stream=w.second)
    with w.a.read(stream=w.first) as lease:
        first.take(lease)
        w.delay(first.stream())
        handed_over = memarray.Event()
        handed_over.record(first.stream())
        second.take(lease).read().result()
        assert handed_over.query()


def writers_one_after_another(w):
    first, second = Consumer(), Consumer(stream=w.second)
    with w.a.write(stream=w.first) as lease:
        view = first.take(lease)
        for value in range(4):
            view.write(value)
        second.take(lease).write(9)
    assert (w.contents() == 9).all()


def the_next_owner_in_another_stream(w):
    consumer = Consumer()
    with w.a.write(stream=w.first) as lease:
        w.delay(consumer.stream())
        consumer.take(lease).write(9)
    w.delay(w.second, w.a)
    assert (w.contents() == 9 + LATE * SUMS).all()


def an_escaped_view_read_in_an_unknown_stream(w):
    consumer = Consumer(stream=-1)
    with w.a.write(stream=w.first) as lease:
        view = consumer.take(lease)
    w.delay(consumer.stream())
    late = view.read()
    view.drop()
    w.a.fill(1)
    assert (late.result() == w.values).all()


def an_escaped_view_written_in_a_known_stream(w):
    consumer = Consumer(stream=w.second)
    with w.a.write(stream=w.first) as lease:
        view = consumer.take(lease)
    w.delay(None)
    twin = w.a.copy()  # detaches the view, which may write its memory once the copy has read it
    view.write(100)
    assert (w.contents() == w.values).all()
    twin.move_memory(kDLCPU)
    assert (look(twin) == w.values).all()
    assert (view.read().result() == 100).all()


def an_aliased_view_written_after_a_move(w):
    w.a.escaped_views = "alias"  # otherwise a copy without a delay detaches the view first
    consumer = Consumer()
    with w.a.write(stream=w.first) as lease:
        view = consumer.take(lease)
    w.delay(w.elsewhere, w.busy_elsewhere)
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    view.write(100)
    assert (w.contents() == w.values).all()


def an_escaped_view_read_late(w):
    consumer = Consumer(stream=w.second)
    with w.a.read(stream=w.first) as lease:
        view = consumer.take(lease)
    w.delay(w.second)
    late = view.read()
    view.drop()
    w.a.fill(1)
    assert (late.result() == w.values).all()


def memory_freed_while_another_stream_reads_it(w):
    twin = w.a.copy()
    w.delay(None)
    kept = twin.copy()
    twin.move_memory(kDLCUDA, device_id=1, stream=w.second, async_copy=True)
    twin.fill(0)
    kept.move_memory(kDLCPU)
    assert (look(kept) == w.values).all()


def a_new_block_exported_to_another_stream(w):
    view = w.a.__dlpack__(max_version=(1, 0))
    w.delay(w.first)
    with w.a.write(stream=w.first, discard=True) as lease:
        Consumer(stream=w.second).take(lease).write(4)
    del view
    assert (w.contents() == 4).all()


def a_copy_for_a_stream(w):
    w.delay(w.first, w.a)
    with w.a.read(stream=w.second) as lease:
        late = Consumer(stream=w.second).take(lease, copy=True).read()
    w.a.fill(0)
    assert (late.result() == w.values + LATE * SUMS).all()


def a_resize_after_a_kernel(w):
    w.delay(w.first, w.a)
    w.a.resize([7, 5])
    assert (w.contents()[:6] == w.values + LATE * SUMS).all()


def memory_of_a_stream_when_the_device_is_full(w):
    first = memarray.MemArray([100_000])
    first.move_memory(kDLCUDA, stream=w.first)
    w.delay(w.first, first)
    del first
    second = memarray.MemArray([100_000])
    second.move_memory(kDLCUDA, stream=w.second)


def two_views(w):
    """Returns two views of one block, in two streams."""
    view = memarray.BufferView.from_numpy(w.values).to_device("cuda:0", stream=w.first)
    return view, view.to_device("cuda:0", stream=w.second)


def a_view_read_after_another_wrote_it(w):
    view, other = two_views(w)
    w.delay(w.second)
    other.add_index()
    assert view[:, ::2].sum() == (w.values + SUMS)[:, ::2].sum()


def a_view_written_after_another_wrote_it(w):
    view, other = two_views(w)
    w.delay(w.second)
    other[:, ::2].fill(1)
    view.add_index()
    assert view[:, ::2].sum() == (1 + SUMS)[:, ::2].sum()


def a_view_exported_after_another_wrote_it(w):
    view, other = two_views(w)
    w.delay(w.second)
    other.add_index()
    seen = Consumer(stream=w.first).take(view).read()
    assert (seen.result() == w.values + SUMS).all()


def a_copy_of_a_view_for_no_stream(w):
    view, _ = two_views(w)
    w.delay(w.first)
    copied = Consumer(stream=-1).take(view[::2], copy=True)
    assert (copied.read().result() == w.values[::2]).all()


def memory_of_a_producer_that_is_late(w):
    view, _ = two_views(w)
    w.delay(w.first)
    view.fill(6)

    class Shown:
        __cuda_array_interface__ = view.__cuda_array_interface__
        kept = view

    assert memarray.BufferView(Shown()).sum() == 6 * w.values.size


def managed_memory_of_a_producer_that_is_late(w):
    w.delay(w.first)
    last = memarray.Event()
    last.record(w.first)
    producer = Producer(device=Device(13, 0))
    producer.stream = lambda *_: w.first.handle
    assert ENTRANCES["the type's table"](producer).memory_type == "unified"
    assert last.query()


def unified_memory_written_on_its_device(w):
    array = memarray.MemArray(SHAPE, memory_type="unified")
    with array.write() as lease:
        view = lease.view()
        view.fill(1)
        there = view.to_device("cuda:0", stream=w.second)
        w.delay(w.second)
        there.add_index()
        assert (np.asarray(there.to_device("cpu")) == 1 + SUMS).all()


PEERLESS = {"peer_access": False}
SCENARIOS = {
    scenario: options
    for options, scenarios in (
        (
            {},
            (
                *(a_kernel_then_a_fill, a_fill_then_a_kernel, a_move_then_a_kernel, a_move_back_later_then_a_read),
                *(a_read_later_then_a_write_on_the_host, a_copy_into_memory_that_another_reads),
                *(a_move_out_of_memory_being_filled, a_move_to_another_device, a_move_to_another_device_by_the_first),
                *(a_large_move_to_a_device, a_large_move_back),
                *(a_lease_for_a_stream, a_reader_in_another_stream, a_writer_in_another_stream),
                *(readers_one_after_another, writers_one_after_another, the_next_owner_in_another_stream),
                *(an_escaped_view_read_in_an_unknown_stream, an_aliased_view_written_after_a_move),
                *(an_escaped_view_written_in_a_known_stream, an_escaped_view_read_late),
                *(memory_freed_while_another_stream_reads_it, a_new_block_exported_to_another_stream),
                *(a_copy_for_a_stream, a_resize_after_a_kernel),
                *(a_view_read_after_another_wrote_it, a_view_written_after_another_wrote_it),
                *(a_view_exported_after_another_wrote_it, a_copy_of_a_view_for_no_stream),
                unified_memory_written_on_its_device,
            ),
        ),
        ({"lend_as_cuda": True}, (memory_of_a_producer_that_is_late, managed_memory_of_a_producer_that_is_late)),
        (PEERLESS, (a_move_through_the_host, moves_through_the_host_at_once, a_large_move_through_the_host)),
        ({"memory": 1 << 20}, (memory_of_a_stream_when_the_device_is_full,)),
    )
    for scenario in scenarios
}
