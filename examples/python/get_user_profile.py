#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example of spec 002: a tool that fetches a profile and sets a key of the state.

    python examples/python/get_user_profile.py 123

The key's metadata describes it; a narrator reads both in the text for its prompt.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Any

import narratoria


async def get_user_profile(
    user_id: Annotated[str, "The unique identifier of the user."], context: narratoria.Context
) -> dict[str, Any]:
    """Retrieves a user's profile information based on their ID."""
    context.log(f"Fetching profile for user: {user_id}")

    # Simulate fetching data
    await asyncio.sleep(0.1)
    profile = {"id": user_id, "name": "Alice", "email": "alice@example.com"}

    # Optionally interact with state via context
    context.set_state("last_fetched_user_id", user_id)

    return profile  # the user profile object


def main() -> None:
    user_id = sys.argv[1] if len(sys.argv) > 1 else "123"
    with narratoria.Session() as session:
        session.tool(get_user_profile)
        session.state.describe("last_fetched_user_id", "the user whose profile was read last")
        result = session.execute(
            {
                "requestId": "example",
                "tools": [
                    {
                        "toolId": "user",
                        "toolPath": "get_user_profile",
                        "input": {"user_id": user_id},
                    }
                ],
            }
        )
        print(result["user"].result)
        print(session.format_state_for_prompt())


if __name__ == "__main__":
    main()
