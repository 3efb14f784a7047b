"""What a run returns: SciPy's result, with a repr that can be read."""

from __future__ import annotations

from scipy.optimize import OptimizeResult

SHOWN = ("message", "success", "fun", "x", "nfev")


class RunResult(OptimizeResult):
    """All of a run by name; shown without its trials, of which there may be many."""

    def __repr__(self) -> str:
        shown = {key: self[key] for key in SHOWN if key in self}
        if "trials" in self:
            shown["trials"] = f"{len(self['trials'])} of them"
        if "guarantee" in self:
            shown["guarantee"] = str(self["guarantee"])
        short = OptimizeResult()
        short.update(shown)
        return repr(short)
