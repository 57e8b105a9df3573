"""Celery on SQS: a worker, tasks at once, one with a countdown, one that retries; then an empty queue."""

import os
import subprocess
import sys
import tempfile
import time

import celery
import kombu

with tempfile.TemporaryDirectory() as folder:
    os.environ["RESULTS"] = results = os.path.join(folder, "results")
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))
    open(results, "w").close()
    import boto3
    import tasks

    want = sorted([f"{i}+{i}={2 * i}" for i in range(20)] + ["later True", "stubborn 2"])
    log = open(os.path.join(folder, "log"), "w+")
    worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "tasks", "worker", "-P", "solo", "-l", "info", "--without-mingle", "--without-gossip"],
                              stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        for i in range(20):
            tasks.add.delay(i, i)
        tasks.later.apply_async((time.time(), 4), countdown=4)
        tasks.stubborn.delay()
        deadline = time.monotonic() + 60
        while (got := sorted(open(results).read().split("\n")[:-1])) != want and time.monotonic() < deadline and worker.poll() is None:
            time.sleep(0.2)
        sqs = boto3.client("sqs")
        url = sqs.get_queue_url(QueueName="celery-work")["QueueUrl"]
        counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"]
        empty = dict.fromkeys(counts, "0")
        while (left := sqs.get_queue_attributes(QueueUrl=url, AttributeNames=counts)["Attributes"]) != empty and time.monotonic() < deadline:
            time.sleep(0.2)
    finally:
        worker.terminate()
        code = worker.wait(30)
    if got != want or left != empty or code != 0:
        log.seek(0)
        raise SystemExit(f"{log.read()}\ngot {got}\nwant {want}\nleft in the queue: {left}; the worker ended with {code}")
print(f"celery {celery.__version__} with kombu {kombu.__version__}: {len(want)} tasks, one of them with a countdown, one retried; the queue is empty")
