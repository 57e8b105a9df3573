"""A worker for `godwit run CHANNEL --worker 'python3 worker.py'`. The protocol is in docs/run.md."""

import json
import sys
import time


class Wrong(Exception):
    """The message is wrong, and will not become right."""


def handle(message):
    try:
        amount = json.loads(message["body"])["amount"]
    except (ValueError, KeyError, TypeError) as error:
        raise Wrong(f"it is no order: {error}") from error
    if amount < 0:
        raise Wrong("the amount is negative")
    print(f"booked {amount}", file=sys.stderr, flush=True)


def answer(message):
    answer = {"request": message["request"], "action": "done"}
    try:
        handle(message)
    except Wrong as error:
        answer.update(action="reject", error=str(error))
    except Exception as error:  # all others are failures: they are tried again
        answer.update(action="fail", error=repr(error))
    return answer


def late(message):
    """Whether it has waited too long for this worker: then another one has it."""
    return time.time() > message.get("begin_by", float("inf"))


def release(message):
    return {"request": message["request"], "action": "release"}


sys.stdin.readline()  # what godwit says about itself
print(json.dumps({"godwit": 1, "ready": True, "ahead": True}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    print(json.dumps(release(message) if late(message) else answer(message)), flush=True)
