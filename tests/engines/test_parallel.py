"""Work in threads: results come in order, and work ends when nobody wants them."""

from collections.abc import Iterator
from threading import Event, Lock
from time import sleep

import pytest

from mercer.engines.parallel import AHEAD, in_order


def test_work_is_told_to_stop_when_its_results_are_no_longer_wanted() -> None:
    begun: list[int] = []
    events: set[Event] = set()

    def work(number: int, stop: Event) -> int:
        begun.append(number)
        events.add(stop)
        return begun[-1]

    results = in_order(work, range(100), threads=2)
    assert [next(results), next(results)] == [0, 1]
    results.close()
    assert len(begun) < 10
    assert all(event.is_set() for event in events)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    def work(i: int, stop: Event) -> int:
        sleep(0.001 * (7 * i % 5))
        return i * i

    assert list(in_order(work, range(30), threads)) == [i * i for i in range(30)]
    assert list(in_order(work, [], threads)) == []


def test_items_are_made_as_they_are_needed() -> None:
    made, done = 0, 0
    lock = Lock()

    def items() -> Iterator[int]:
        nonlocal made
        for i in range(50):
            made += 1
            assert made - done <= 2 * AHEAD + 2
            yield i

    def work(i: int, stop: Event) -> int:
        nonlocal done
        with lock:
            done += 1
        return i

    assert list(in_order(work, items(), threads=2)) == list(range(50))


def test_what_work_raises_is_raised_where_results_are_read() -> None:
    def work(i: int, stop: Event) -> int:
        if i == 5:
            raise ValueError("five")
        return i

    with pytest.raises(ValueError, match="five"):
        list(in_order(work, range(20), threads=2))
