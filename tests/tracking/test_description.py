"""The description of an experiment: the latest decision."""

from datetime import datetime, timedelta

import pytest

from ragsweep.tracking.journal import NOTE, describe

NOW = datetime(2026, 7, 18, 10, 15)


@pytest.fixture
def decide(application):
    """A function that records the decision of a sweep, and the description that the experiment has then."""
    client = application.client()
    experiment_id = client.create_experiment("described")

    def of(headline, decided=NOW):
        describe(client, experiment_id, headline, "alpha: alpha 0.5", int(decided.timestamp() * 1000))
        return client.get_experiment(experiment_id).tags[NOTE]

    return of


def test_it_is_the_latest_decision_and_where_to_click(decide):
    for headline in ("Ship one.", "Ship two.", "Ship three: NDCG 0.5 [0.4, 0.6]."):
        described = decide(headline)
    assert described == (
        'Ship three: NDCG 0.5 [0.4, 0.6]. See "alpha: alpha 0.5" under "Model training" (2026-07-18 10:15).'
    )
    decide("Ship two.")
    assert decide("Ship one.", NOW - timedelta(days=1)).startswith("Ship two.")
    assert decide("Ship three.", NOW + timedelta(days=1)).startswith("Ship three.")


@pytest.mark.parametrize("own", ["Our own words.", "Ship one, we think.", "{} See also our page."])
@pytest.mark.parametrize("before", [False, True])
def test_the_words_of_a_user_stay(decide, application, own, before):
    own = own.format(decide("Ship one.") if before else "Ours.")
    client = application.client()
    client.set_experiment_tag(client.get_experiment_by_name("described").experiment_id, NOTE, own)
    assert decide("Ship two.", NOW + timedelta(days=1)) == own
