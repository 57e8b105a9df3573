"""A worker for `godwit run CHANNEL --worker 'python3 worker.py'`. The protocol is in docs/run.md."""

import json
import sys


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


sys.stdin.readline()  # what godwit says about itself
print(json.dumps({"godwit": 1, "ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
