"""Questions that ask the same in nearly the same words, and sets that are similar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragsweep.text.content_words import FEWEST_COMPARED, content_stems, is_copy

LEAST_ALIKE = 0.9  # Jaccard similarity of the content words of questions that count as copies
MOST_SHARING = 1000  # sets; a member of more of them does not make two of them candidates
CANDIDATES_AT_ONCE = 1 << 16
COSINE_ROUNDING = 1e-9

Pairs = npt.NDArray[np.int64]


def near_copies(questions: Sequence[str], least: float = LEAST_ALIKE) -> list[tuple[int, int]]:
    """The pairs of questions that are copies, perhaps with a few more words.

    Two questions are copies if the content words of one are in the other, in the same order, and the Jaccard similarity
    of both sets is at least `least`. Questions that differ by a number, a negation, or a replaced or moved word are not
    copies: they ask something else.
    """
    stems = [content_stems(question) for question in questions]
    compared = [row for row, of_question in enumerate(stems) if len({*of_question}) >= FEWEST_COMPARED]
    return [
        (compared[one], compared[other])
        for one, other in similar([[*dict.fromkeys(stems[row])] for row in compared], least).tolist()
        if is_copy(stems[compared[one]], stems[compared[other]])
    ]


def similar(sets: Sequence[Sequence[str]], least: float) -> Pairs:
    """The pairs of sets whose Jaccard similarity is at least `least`, shape [pairs, 2], in order.

    Of sets that are equal and in the same order, the first is paired with each other one, and it alone is compared with
    further sets. Candidates are found by prefix filtering (Bayardo, Ma and Srikant, WWW 2007): two sets that are so
    similar share one of the rarest members of each. A member of more than `MOST_SHARING` of the compared sets finds no
    candidates.

    Args:
        sets: Distinct members of each set, in any order.
        least: More than 0.
    """
    from scipy import sparse

    first_with: dict[tuple[str, ...], int] = {}
    equal, different = [], []
    for at, members in enumerate(map(tuple, sets)):
        first = first_with.setdefault(members, at)
        if first < at and members:
            equal.append((first, at))
        elif members:
            different.append(at)
    sizes = np.array([len(sets[at]) for at in different], dtype=np.int64)
    numbers: dict[str, int] = {}
    member = np.fromiter(
        (numbers.setdefault(word, len(numbers)) for at in different for word in sets[at]), np.int64, sizes.sum()
    )
    frequency = np.bincount(member, minlength=len(numbers))
    row = np.repeat(np.arange(len(different)), sizes)
    order = np.lexsort((member, frequency[member], row))  # the rarest members of each set first
    place = np.arange(len(member)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    in_prefix = place < (sizes - np.ceil(least * sizes - COSINE_ROUNDING) + 1)[row]
    kept = order[in_prefix & (frequency[member[order]] > 1) & (frequency[member[order]] <= MOST_SHARING)]

    def matrix(chosen: Pairs) -> sparse.csr_array:
        ones = np.ones(len(chosen), np.int32)
        return sparse.csr_array((ones, (row[chosen], member[chosen])), shape=(len(different), len(numbers)))

    prefixes, all_members = matrix(kept), matrix(order)
    one, other = sparse.triu(prefixes @ prefixes.T, 1).nonzero()
    near: list[tuple[int, int]] = []
    for first in range(0, len(one), CANDIDATES_AT_ONCE):
        batch = slice(first, first + CANDIDATES_AT_ONCE)
        shared = all_members[one[batch]].multiply(all_members[other[batch]]).sum(axis=1)
        alike = shared >= least * (sizes[one[batch]] + sizes[other[batch]] - shared) - COSINE_ROUNDING
        near += [
            (different[left], different[right])
            for left, right in zip(one[batch][alike], other[batch][alike], strict=True)
        ]
    return np.array(sorted([*equal, *near]), dtype=np.int64).reshape(-1, 2)
