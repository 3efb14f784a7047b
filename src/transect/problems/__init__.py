"""Objectives with a box and a known optimum."""

from __future__ import annotations

from .synthetic import Problem, ackley, hyper_ellipsoid, levy

__all__ = ["Problem", "ackley", "hyper_ellipsoid", "levy"]
