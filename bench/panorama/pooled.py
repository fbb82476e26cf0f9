"""Unmatched fruit of several rows together, with what so many fruit can tell."""

import case_files
from scipy.stats import binomtest

GOAL_CLEAN, GOAL_FAULT = 1.0, 2.0
"""Per cent of the fruit found on strip and panorama that may be left without a partner."""
SUMS = ("strip", "panorama", "lost", "extra", "lost_lenient", "extra_lenient", "near_threshold")


def pool(rows: list[case_files.Row]) -> case_files.Row:
    """Figures of one case over several rows.

    `unmatched_percent` is the share of what was found, on the strip and on the panorama, that has no partner. A pair is
    one fruit found twice, so the interval (Wilson's) is that of the share of unmatched fruit, carried over.
    """
    sums = {name: sum(int(str(row[name])) for row in rows) for name in SUMS}
    found, unmatched = sums["strip"] + sums["panorama"], sums["lost"] + sums["extra"]
    fruit = (found + unmatched) // 2
    if not fruit:
        return {**sums, "fruit": 0, "unmatched_percent": None, "interval_percent": None, "lenient_percent": None}
    interval = binomtest(unmatched, fruit).proportion_ci(0.95, method="wilson")
    lenient = sums["lost_lenient"] + sums["extra_lenient"]
    return {
        **sums,
        "fruit": fruit,
        "unmatched_percent": round(100 * unmatched / found, 2),
        "interval_percent": [round(100 * share / (2 - share), 2) for share in interval],
        "lenient_percent": round(100 * lenient / found, 2),
    }


def pooled(tables: dict[str, dict[str, case_files.Row]]) -> dict[str, case_files.Row]:
    """Case -> its figures over all rows that have it, and those of each row."""
    names = sorted({name for cases in tables.values() for name in cases})
    return {
        name: {
            **pool([cases[name] for cases in tables.values() if name in cases]),
            "rows": {row: pool([cases[name]]) for row, cases in tables.items() if name in cases},
        }
        for name in names
    }


def print_table(cases: dict[str, case_files.Row]) -> None:
    """One line a case: fruit, how many have no partner, and whether the goal is met."""
    heads = f"{'rows':>4} {'fruit':>6} {'lost':>5} {'extra':>6} {'near':>5}"
    print(f"{'case':28} {heads} {'unmatched % (95 %)':>22} lenient %")
    for name, row in cases.items():
        rows, low_high, share = row["rows"], row["interval_percent"], row["unmatched_percent"]
        assert isinstance(rows, dict)
        numbers = f"{len(rows):>4} {row['fruit']:>6} {row['lost']:>5} {row['extra']:>6} {row['near_threshold']:>5}"
        if not isinstance(low_high, list) or not isinstance(share, float):
            print(f"{name:28} {numbers}")
            continue
        goal = GOAL_CLEAN if name == "clean" else GOAL_FAULT
        missed = "  MISSED" if share > goal and not name.startswith("control") else ""
        shares = f"{share:.2f} ({low_high[0]:.2f} to {low_high[1]:.2f})"
        print(f"{name:28} {numbers} {shares:>22} {row['lenient_percent']!s:>9}{missed}")
