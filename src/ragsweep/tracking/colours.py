"""The colour of a run in the UI. MLflow's own choice often gives neighbouring runs the same colour."""

VIRIDIS = ("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30")  # without its palest eighth


def colour(number: int, total: int) -> str:
    """The colour of a job, from dark for the first to light for the last. No two jobs have the same colour.

    Args:
        number: The job's number, from 0.
        total: How many jobs there are.

    Returns:
        Such as "#21918c".
    """
    place = number / max(total - 1, 1) * (len(VIRIDIS) - 1)
    before = min(int(place), len(VIRIDIS) - 2)
    pairs = zip(bytes.fromhex(VIRIDIS[before]), bytes.fromhex(VIRIDIS[before + 1]), strict=True)
    return f"#{bytes(round(low + (high - low) * (place - before)) for low, high in pairs).hex()}"
