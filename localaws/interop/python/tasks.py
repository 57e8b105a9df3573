"""The application that python/celery_run.py starts a worker for and sends tasks to."""

import os
import time
from urllib.parse import urlsplit

from celery import Celery
from kombu.utils.url import safequote

server = urlsplit(os.environ["AWS_ENDPOINT_URL"])
app = Celery("tasks", broker=f"sqs://{safequote('key')}:{safequote('secret')}@{server.netloc}")
app.conf.broker_transport_options = {"is_secure": False, "region": "us-east-1", "wait_time_seconds": 2, "visibility_timeout": 30}
app.conf.task_default_queue = "celery-work"
app.conf.worker_hijack_root_logger = False
app.conf.task_acks_late = True


def note(line):
    """The results are lines of a file: this application has no other backend."""
    with open(os.environ["RESULTS"], "a") as f:
        f.write(line + "\n")


@app.task
def add(x, y):
    note(f"{x}+{y}={x + y}")


@app.task
def later(sent, wanted):
    note(f"later {wanted <= time.time() - sent < wanted + 3}")


@app.task(bind=True, max_retries=2)
def stubborn(self):
    if self.request.retries < 2:
        raise self.retry(countdown=1)
    note(f"stubborn {self.request.retries}")
