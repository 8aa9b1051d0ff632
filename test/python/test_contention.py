"""C++ threads without the interpreter lock and Python threads, at the same time on one array."""

import importlib.util
import sys
import threading
import time

import memarray
import numpy as np
import pytest

if importlib.util.find_spec("contention") is None and "site-packages" in memarray.__file__:
    pytest.skip("the module with the C++ threads is not installed", allow_module_level=True)
import contention

pytestmark = pytest.mark.threads

LENGTH = 8192  # elements of 8 bytes: 64 KiB
WANTED = 1000


@pytest.fixture(autouse=True)
def threads_switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.trap("T07")
@pytest.mark.parametrize("policy", ["snapshot", "alias"])
def test_python_and_cpp_threads_see_no_torn_writes(policy):
    crowd = contention.Crowd(LENGTH)
    array = crowd.field
    array.escaped_views = policy
    tallies = {"read": [0, 0], "write": [0, 0]}
    counting = threading.Lock()
    torn, failed = [], []
    end = time.monotonic() + 600  # reached by busy machines alone

    def enough():
        with counting:
            here = min(map(min, tallies.values())) >= WANTED
        return (here and min(map(min, crowd.tallies.values())) >= WANTED) or torn or time.monotonic() > end

    def count(kind, granted):
        with counting:
            tallies[kind][0 if granted else 1] += 1

    def check(view):
        if not (view == view[0]).all():
            torn.append(view[0])

    def write(value, timeout):
        with array.write(timeout=timeout) as lease:
            view = np.from_dlpack(lease)
            check(view)
            view[: LENGTH // 2] = value
            time.sleep(0)
            view[LENGTH // 2 :] = value
            del view

    def read(timeout):
        with array.read(timeout=timeout) as lease:
            view = np.from_dlpack(lease)
            check(view)
            time.sleep(0)
            check(view)
            del view

    def work(number):
        try:
            value = number
            while not enough():
                value += 64
                for kind, use in (("write", lambda limit, value=value: write(value, limit)), ("read", read)):
                    try:
                        use(0 if value % 128 < 64 else 0.0001)
                        count(kind, True)
                    except memarray.LockError:
                        count(kind, False)
                    time.sleep(0)
        except BaseException as error:
            failed.append(error)
        finally:
            crowd.stop()

    threads = [threading.Thread(target=crowd.run, args=(4, 660.0))]
    threads += [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(660)
        assert not thread.is_alive()
    assert not failed
    assert not torn and not crowd.torn, "a torn value"
    for side, counts in (("Python", tallies), ("C++", crowd.tallies)):
        for kind, granted_and_refused in counts.items():
            assert min(granted_and_refused) >= WANTED, (side, kind, granted_and_refused)
    assert array.lock_id == -1
