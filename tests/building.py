"""Builds an entry of a store; run as a program, while others wait."""

import sys
import time

import numpy as np

SECONDS = 1


def build():
    print("built", flush=True)
    time.sleep(SECONDS)
    return {"array": np.ones(3)}


def keep(path):
    from ragsweep.store.stage_store import Store

    Store(path).get("stage", 1, build)


if __name__ == "__main__":
    import building  # as the tests import it

    building.keep(sys.argv[1])
