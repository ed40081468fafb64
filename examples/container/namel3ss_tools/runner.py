# SPDX-License-Identifier: Apache-2.0
"""`python -m namel3ss_tools.runner`, the default command of a container's tool (spec 001)."""

from narratoria_runner import main

if __name__ == "__main__":
    raise SystemExit(main())
