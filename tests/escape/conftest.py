# SPDX-License-Identifier: Apache-2.0
import tempfile
from pathlib import Path

import pytest

from escape import Place


@pytest.fixture(scope="session")
def places():
    made = []

    def make(name):
        # Not in pytest's folder, which other users cannot enter.
        place = Place(Path(tempfile.mkdtemp(prefix=f"escape-{name}-")))
        made.append(place)
        return place

    yield make
    for place in made:
        place.end()
