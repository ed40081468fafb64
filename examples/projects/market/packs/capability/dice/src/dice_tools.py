import random


def roll(payload):
    return {"price": random.randint(1, payload.get("sides", 6))}
