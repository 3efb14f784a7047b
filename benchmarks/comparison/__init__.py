"""Sample efficiency beside public optimisers; ``benchmarks/compare.py`` is the way in.

A task is a problem, instances of it by seed. A method is told evaluations and asked for points,
in [-1, 1]^D, and minimises. A run is one method on one instance, kept in a file from which it can
go on. A summary has the best values of many runs at a few checkpoints: tables and the figure are
made from it alone.
"""
