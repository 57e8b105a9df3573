#!/usr/bin/env python3
"""Writes cases.txt: expressions, a time, and the next three times, as croniter (PyPI) computes them, without a zone.

    pip install croniter==7.0.0 && python3 cases.py > cases.txt
"""

import random
from datetime import datetime, timedelta

from croniter import croniter

random.seed(44)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()


def item(low, high, names, base):
    def spell(value):
        if names and random.random() < 0.4:
            return names[value - base]
        return str(value)

    kind = random.random()
    first = random.randint(low, high)
    last = random.randint(first, high)
    if last == first:  # croniter 7.0.0 takes 5-5 for all values
        return spell(first)
    if kind < 0.5:
        return spell(first)
    if kind < 0.75:
        return f"{spell(first)}-{spell(last)}"
    step = random.randint(2, max(2, (high - low) // 2))  # */1 is a * for croniter in some lists only
    if kind < 0.9:
        return f"*/{step}"
    return f"{first}-{last}/{step}"


def field(low, high, star, names=None, base=0):
    if random.random() < star:
        return "*"
    return ",".join(item(low, high, names, base) for _ in range(random.choice([1, 1, 1, 2, 3])))


n = 0
while n < 1000:
    expression = " ".join([
        field(0, 59, 0.1), field(0, 23, 0.3), field(1, 31, 0.5), field(1, 12, 0.6, MONTHS, 1),
        field(0, 6, 0.5, WEEKDAYS, 0),
    ])
    if n < 7:
        expression = ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"][n]
    start = datetime(2020, 1, 1) + timedelta(seconds=random.randrange(15 * 365 * 86400))
    try:
        times = croniter(expression, start)
        nexts = [times.get_next(datetime) for _ in range(3)]
    except Exception:  # croniter finds none within 50 years
        continue
    print("\t".join([expression] + [t.strftime("%Y-%m-%dT%H:%M:%S") for t in [start] + nexts]))
    n += 1
