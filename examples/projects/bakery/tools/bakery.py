"""Tools of a bakery. Each is a function; .namel3ss/tools.yaml says where it runs."""

import os

PRICES = {"buns": 1.25, "pretzels": 2.5}


def read_order(payload):
    print("reading", payload["words"])  # a log event
    items = []
    for part in payload["words"].split(","):
        count, name = part.split()
        items.append({"name": name, "count": int(count)})
    return {"items": items}


def add_prices(payload):
    return {"total": sum(PRICES[item["name"]] * item["count"] for item in payload["items"])}


def reserve(payload):
    return {"shelf": sum(item["count"] for item in payload["items"])}


def print_label(payload):
    return {"text": f"{os.environ['BAKERY']} shelf {payload['shelf']}, {payload['total']:.2f} to pay"}
