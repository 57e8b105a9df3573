"""A foreign program with boto3, for cmd/godwit's TestForeignMessages: it sends and receives messages with attributes.

operate.py send QUEUE_URL < MESSAGES      MESSAGES is a list in JSON; binary values are in base64
operate.py receive QUEUE_URL COUNT        prints so many messages in the same form, and deletes them
"""

import base64
import json
import sys

import boto3

sqs = boto3.client("sqs")


def attribute(a):
    if a["type"].split(".")[0] == "Binary":
        return {"DataType": a["type"], "BinaryValue": base64.b64decode(a["value"])}
    return {"DataType": a["type"], "StringValue": a["value"]}


def send(url, messages):
    for m in messages:
        extra = {}
        if m.get("trace"):
            extra["MessageSystemAttributes"] = {"AWSTraceHeader": {"DataType": "String", "StringValue": m["trace"]}}
        if m.get("group"):
            extra["MessageGroupId"] = m["group"]
        if url.endswith(".fifo"):
            extra["MessageDeduplicationId"] = m["body"][:20].encode().hex()
        attributes = {name: attribute(a) for name, a in m["attributes"].items()}
        sqs.send_message(QueueUrl=url, MessageBody=m["body"], MessageAttributes=attributes, **extra)


def receive(url, count):
    messages = []
    while len(messages) < count:
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=10, MessageAttributeNames=["All"], AttributeNames=["All"]
        )
        if not answer.get("Messages"):
            sys.exit(f"only {len(messages)} of {count} messages")
        for m in answer["Messages"]:
            attributes = {}
            for name, a in m.get("MessageAttributes", {}).items():
                value = a.get("StringValue")
                if "BinaryValue" in a:
                    value = base64.b64encode(a["BinaryValue"]).decode()
                attributes[name] = {"type": a["DataType"], "value": value}
            messages.append({
                "body": m["Body"], "attributes": attributes, "trace": m["Attributes"].get("AWSTraceHeader", ""),
                "group": m["Attributes"].get("MessageGroupId", ""),
            })
            sqs.delete_message(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"])
    return messages


if sys.argv[1] == "send":
    send(sys.argv[2], json.load(sys.stdin))
else:
    json.dump(receive(sys.argv[2], int(sys.argv[3])), sys.stdout)
