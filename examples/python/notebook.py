# SPDX-License-Identifier: Apache-2.0

# %% [markdown]
"""
# A story in a notebook

Run the cells one by one in an editor that supports `# %%` (VS Code, PyCharm, Spyder, Jupyter with
jupytext), or all of them as a program. With a file name, the displays of the cells are written to a
page:

    python examples/python/notebook.py
    python examples/python/notebook.py story.html
"""

# %%
from __future__ import annotations

import sys
from pathlib import Path

import narratoria
from narratoria import Invocation, Plan, RetryPolicy
from narratoria.tool import ToolError

session = narratoria.Session(story=narratoria.sample_story())
page: list[str] = []

# %% [markdown]
# ## A turn
# The narrative, the choices, the pictures, and how the plan went.

# %%
turn = session.play("I light the torch and examine the door")
page.append(turn._repr_html_())  # a notebook calls this method
turn

# %% [markdown]
# ## The state
# The display is a tree that unfolds. The state itself reads like a dict.

# %%
page.append(session.state._repr_html_())
session.state

# %%
session.state["inventory"]["torch"]["lit"]

# %% [markdown]
# ## An asset
# Images, sounds, films and texts are embedded in the page.

# %%
picture = session.assets[0]
page.append(picture._repr_html_())
picture


# %% [markdown]
# ## A function as a tool
# Running the cell again replaces the previous function.


# %%
@session.tool
def brew(herbs: list[str], context: narratoria.Context) -> int:
    """Brews a potion; returns how strong it is."""
    context.log(f"Stirring {', '.join(herbs)} in")
    if "nightshade" in herbs:
        raise ToolError("POISONOUS", "Nobody should drink that.")
    context.patch({"potion": {"herbs": herbs}})
    return len(herbs)


# %% [markdown]
# ## A plan without a narrator
# One of its tools fails and is retried; the tool that depends on it is skipped.

# %%
plan = Plan(
    tools=[
        Invocation("tea", "brew", {"herbs": ["mint", "sage"]}),
        Invocation(
            "poison",
            "brew",
            {"herbs": ["nightshade"]},
            retry_policy=RetryPolicy(max_retries=1, backoff_ms=5),
        ),
        Invocation("door", "tools/door-examiner", {"target": "mysterious_door"}, ["poison"]),
    ]
)
result = session.execute(plan)
page.append(result._repr_html_())
result

# %%
result["tea"].result, result["poison"].error, [tool.tool_id for tool in result.skipped]

# %% [markdown]
# ## Everything as one page

# %%
session.close()
if len(sys.argv) == 2 and sys.argv[1].endswith(".html"):
    head = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>A story</title>\n'
    Path(sys.argv[1]).write_text(head + "\n<hr>\n".join(page) + "\n</html>\n", encoding="utf-8")
