"""The limit on tokens that threads share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.models.language.budget import Budget, Spent, budget_of

requests = st.lists(
    st.integers(1, 50).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most))), max_size=20
)


@given(limit=st.integers(1, 300), asked=requests)
def test_requests_that_cost_no_more_than_announced_never_exceed_the_limit(limit, asked):
    budget, ended = Budget(limit), []

    def request(most_and_used):
        most, used = most_and_used
        try:
            budget.take(most)
        except Spent:
            return
        ended.append(used)
        budget.settle(most, used)

    with ThreadPoolExecutor(4) as pool:
        [*pool.map(request, asked)]
    assert budget.spent == sum(ended) <= limit


def test_a_request_waits_for_what_another_may_leave():
    budget, started = Budget(100), threading.Event()
    budget.take(80)

    def second():
        started.set()
        budget.take(50)

    thread = threading.Thread(target=second)
    thread.start()
    started.wait()
    thread.join(0.1)
    assert thread.is_alive()
    budget.settle(80, 30)
    thread.join(10)
    assert not thread.is_alive()
    budget.settle(50, 50)
    assert budget.spent == 80


def test_a_request_that_can_never_fit_does_not_wait():
    budget = Budget(100)
    budget.take(60)
    budget.settle(60, 60)
    budget.take(40)
    budget.settle(40, 1)
    with pytest.raises(Spent):
        budget.take(40)


def test_without_a_limit_everything_fits_and_is_counted():
    budget = Budget(None)
    budget.take(10**12)
    budget.settle(10**12, 7)
    assert budget.spent == 7


def test_one_start_has_one_budget():
    assert budget_of("first", 100) is budget_of("first", 100)
    assert budget_of("first", 100) is not budget_of("second", 100)
