"""Threads: the user's settings come back, and blocks cover everything."""

from __future__ import annotations

from threadpoolctl import threadpool_info, threadpool_limits

from transect._threads import each_block, quiet_blas, spans


def blas_threads() -> set[int]:
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_overlapping_suggestions_restore_the_users_threads() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = quiet_blas(), quiet_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_blocks_cover_everything_in_order() -> None:
    pieces = spans(1000, 300)
    assert [i for start, stop in pieces for i in range(start, stop)] == list(range(1000))
    assert each_block(lambda span: span, pieces) == pieces
