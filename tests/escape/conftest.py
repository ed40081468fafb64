# SPDX-License-Identifier: Apache-2.0
import pytest

from escape import Place


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    made = []

    def make(name):
        place = Place(tmp_path_factory.mktemp(name))
        made.append(place)
        return place

    yield make
    for place in made:
        place.end()
