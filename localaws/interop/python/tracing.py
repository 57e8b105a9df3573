"""A foreign program with boto3 and OpenTelemetry's instrumentation of it, for telemetry's TestTracesOfPython.

tracing.py send QUEUE_URL     begins a trace, and sends a message alone and two as a batch
tracing.py receive QUEUE_URL  receives three messages, and deletes them

Both print their spans as JSON: name, trace, id, parent and links, where an id of a link is its trace and its span.
"""

import json
import sys

import boto3
from opentelemetry import trace
from opentelemetry.instrumentation.boto3sqs import Boto3SQSInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

command, url = sys.argv[1:]
spans = InMemorySpanExporter()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracers)
Boto3SQSInstrumentor().instrument()
sqs = boto3.client("sqs")

if command == "send":
    with trace.get_tracer("shop").start_as_current_span("checkout"):
        sqs.send_message(QueueUrl=url, MessageBody="alone")
        answer = sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": f"batch {i}"} for i in range(2)])
        if answer.get("Failed"):
            raise SystemExit(answer["Failed"])
elif command == "receive":
    left = 3
    while left:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=10).get("Messages", [])
        if not messages:
            raise SystemExit(f"{left} messages did not come")
        for m in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"])
            left -= 1
else:
    raise SystemExit(__doc__)


def ids(context):
    return {"trace": f"{context.trace_id:032x}", "id": f"{context.span_id:016x}"}


print(
    json.dumps(
        [
            {
                "name": s.name,
                **ids(s.context),
                "parent": f"{s.parent.span_id:016x}" if s.parent else "",
                "links": [ids(link.context) for link in s.links],
            }
            for s in spans.get_finished_spans()
        ]
    )
)
