# SPDX-License-Identifier: Apache-2.0
"""The page of `narratoria serve`."""

from .row import Row


def page(bench):
    streams = 60  # the server has at most 64
    if not (bench.build / "lib/narratoria/plugins/web.so").exists():
        return [Row("page-streams", f"{streams} open event streams of the page", None, "ms",
                    most=20, note="built without libmicrohttpd")]
    run = bench.python("page_streams.py", bench.build / "bin/narratoria",
                       bench.program("million_logs"), streams, 10 if bench.quick else 40)
    return [
        Row("page-streams", f"{streams} open event streams on one session: processor time of the "
            "engine's thread for 1,000 events, over that with one stream",
            run["allMs"] - run["oneMs"], "ms", f"{run['allMs']:.1f} ms", f"{run['oneMs']:.1f} ms",
            most=20, note=f"until every stream has the last one, with a reader in Python on the "
            f"same machine: {run['allWallMs']:.0f} ms, {run['oneWallMs']:.0f} ms with one"),
        Row("page-first-byte",
            "`narratoria serve`, from its start to the first response with the page",
            run["firstByteMs"], "ms"),
    ]
