"""Means, population variances and covariance of pairs: all that a straight line needs to know of them.

Every field is an array, so that one call serves one session (0-d) or twenty thousand simulated ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.calibration.pairs import Floats, Grouping, Pairs


@dataclass(frozen=True)
class Moments:
    """Of n pairs (x, y); variances are those of the population (divided by n)."""

    n: Floats
    mean_x: Floats
    mean_y: Floats
    var_x: Floats
    var_y: Floats
    cov_xy: Floats


@dataclass(frozen=True)
class GroupSums:
    """Sums over the pairs of each group (tile or unit), about a common centre so that nothing cancels.

    The last axis is the group; leading axes are sessions. Sums of groups add up, which makes resampling groups, and
    leaving one out, a matter of small matrix products.
    """

    centre_x: Floats
    """Shape of the leading axes."""
    centre_y: Floats
    sums: Floats
    """... x 6 x groups: n, sum u, sum v, sum uu, sum uv, sum vv, with u = x - centre_x and v = y - centre_y."""

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.sums.shape[-1])

    def total(self) -> Moments:
        """Moments of all pairs."""
        return self._moments(self.sums.sum(axis=-1))

    def without_each(self) -> Moments:
        """Moments of all pairs but those of one group; the last axis is the group that was left out."""
        return self._moments(self.sums.sum(axis=-1, keepdims=True) - self.sums, per_group=True)

    def weighted(self, weights: Floats) -> Moments:
        """Moments where group g counts weights[b, g] times; the last axis is the draw b."""
        return self._moments(self.sums @ weights.T, per_group=True)

    def _moments(self, sums: Floats, *, per_group: bool = False) -> Moments:
        if per_group:
            n, u, v, uu, uv, vv = np.moveaxis(sums, -2, 0)
            centre_x, centre_y = self.centre_x[..., None], self.centre_y[..., None]
        else:
            n, u, v, uu, uv, vv = np.moveaxis(sums, -1, 0)
            centre_x, centre_y = self.centre_x, self.centre_y
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v, uu, uv, vv = u / n, v / n, uu / n, uv / n, vv / n
            return Moments(n, centre_x + u, centre_y + v, uu - u * u, vv - v * v, uv - u * v)


def moments_of(x: Floats, y: Floats) -> Moments:
    """Moments along the last axis, in two passes."""
    n = np.full(x.shape[:-1], float(x.shape[-1]))
    mean_x, mean_y = x.mean(axis=-1), y.mean(axis=-1)
    u, v = x - mean_x[..., None], y - mean_y[..., None]
    return Moments(n, mean_x, mean_y, (u * u).mean(axis=-1), (v * v).mean(axis=-1), (u * v).mean(axis=-1))


def sums_by(pairs: Pairs, groups: Grouping) -> GroupSums:
    """Sums of every group of `pairs`, in the order of `groups.names`."""
    centre_x, centre_y = np.mean(pairs.confidence), np.mean(pairs.iou)
    u, v = pairs.confidence - centre_x, pairs.iou - centre_y
    columns = (np.ones_like(u), u, v, u * u, u * v, v * v)
    sums: Floats = np.stack(
        [np.bincount(groups.codes, weights=column, minlength=groups.number) for column in columns]
    ).astype(np.float64)
    return GroupSums(np.asarray(centre_x), np.asarray(centre_y), sums)
