"""The colours of runs in the UI."""

import pytest

from ragsweep.tracking.tracked_job import colour


@pytest.mark.parametrize("total", [1, 2, 15, 100])
def test_no_two_runs_of_a_sweep_have_the_same_colour(total):
    colours = {colour(number, total) for number in range(total)}
    assert len(colours) == total
    assert all(len(each) == 7 and int(each[1:], 16) for each in colours)


def test_colours_go_from_dark_to_light():
    light = [sum(bytes.fromhex(colour(number, 15)[1:])) for number in range(15)]
    assert light == sorted(light)
