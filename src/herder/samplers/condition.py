"""Models with some sites held at evidence, as samplers see them: the free sites alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import plain_array
from herder.models.pairwise import PairwiseModel
from herder.samplers.orders import Field, check_model, scan_order

__all__ = ["ConditionedModel"]


class ConditionedModel:
    """A model with some sites held: chains see the free ones only.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        The whole model.
    evidence : mapping or None
        Held sites and their values.
    """

    def __init__(self, model: Field, evidence: Mapping[Any, Any] | None) -> None:
        check_model(model)
        self.model = model
        self.held, values = model.read_evidence(evidence)
        self.field, self.free = model, np.arange(model.n_sites)
        if evidence:
            self.field, self.free = model.given(evidence)
            whole = np.full(model.n_sites, model.states[0])
            whole[self.held] = values
            self.template = model.codes(whole)[0]

    def starts(self, start: ArrayLike | None, n_chains: int) -> list[NDArray[np.uint8] | None]:
        """Return the free sites of first states, one for each chain."""
        if start is None:
            return [None] * n_chains
        given = np.array(plain_array(start, "start", "be states"), ndmin=1)
        if given.shape[-1] == self.model.n_sites and given.ndim <= 2:
            given[..., self.held] = 1  # a state of every model, and of every type of number
        codes = self.model.codes(given, "start")
        if given.ndim == 2 and len(codes) != n_chains:
            raise ParameterError("start", f"have a row for each of {n_chains} chains", len(codes))
        rows = np.ascontiguousarray(codes[:, self.free])
        return [rows[k % len(rows)].copy() for k in range(n_chains)]

    def scan(self, order: str | ArrayLike) -> NDArray[np.intp]:
        """Return the order of a sweep over the free sites, by their numbers among these."""
        path = scan_order(self.model, order, self.held)
        return np.searchsorted(self.free, path)

    def whole(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return whole states from those of the free sites."""
        if not len(self.held):
            return codes
        states = np.tile(self.template, (len(codes), 1))
        states[:, self.free] = codes
        return states

    def values(self, codes: NDArray[np.uint8]) -> NDArray[np.int8]:
        """Return codes as states of the model."""
        if isinstance(self.model, PairwiseModel) and self.model.states == (-1, 1):
            return codes.astype(np.int8) * np.int8(2) - np.int8(1)
        return codes.astype(np.int8)
