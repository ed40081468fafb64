"""Tools of the market: functions that get the input and return the result."""


def greet(payload):
    print("a customer comes in")  # a log event
    return {"message": f"Hello {payload['name']}"}


def total(payload):
    prices = payload["prices"]
    if not prices:
        raise ValueError("there is nothing to pay for")
    return {"total": round(sum(prices), 2), "items": len(prices)}
