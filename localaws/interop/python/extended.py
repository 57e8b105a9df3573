"""Amazon's extended clients for SQS and SNS, as the other end of TestExtendedClients in package snssqs.

extended.py send QUEUE_URL     reads {"bodies": […], "attributes": n, …} and sends them, one by one and as a batch
extended.py publish TOPIC_ARN  the same for a topic
extended.py receive QUEUE_URL  reads {"count": n, "names": […], …}, changes the visibility of the messages, deletes them
                               with their objects, and prints the bodies as JSON
"""

import json
import sys

import boto3
import sns_extended_client  # noqa: F401: it extends boto3's clients
import sqs_extended_client  # noqa: F401

command, target = sys.argv[1:]
given = json.load(sys.stdin)


def client(service):
    c = boto3.client(service)
    c.large_payload_support = given["bucket"]
    c.use_legacy_attribute = given.get("legacy", False)
    c.always_through_s3 = given.get("always", False)
    return c


def attributes():
    return {f"a{i}": {"DataType": "String", "StringValue": "x"} for i in range(given.get("attributes", 0))}


def fifo(i):
    return {"MessageGroupId": "g"} if target.endswith(".fifo") else {}


if command == "send":
    sqs = client("sqs")
    half = len(given["bodies"]) // 2
    for i, body in enumerate(given["bodies"][:half]):
        sqs.send_message(QueueUrl=target, MessageBody=body, MessageAttributes=attributes(), **fifo(i))
    entries = [{"Id": str(i), "MessageBody": body, "MessageAttributes": attributes(), **fifo(i)} for i, body in enumerate(given["bodies"][half:])]
    answer = sqs.send_message_batch(QueueUrl=target, Entries=entries)
    if answer.get("Failed"):
        raise SystemExit(answer["Failed"])
elif command == "publish":
    sns = client("sns")
    for i, body in enumerate(given["bodies"]):
        sns.publish(TopicArn=target, Message=body, MessageAttributes=attributes(), **fifo(i))
elif command == "receive":
    sqs = client("sqs")
    sqs.delete_payload_from_s3 = True
    bodies = []
    while len(bodies) < given["count"]:
        answer = sqs.receive_message(QueueUrl=target, MaxNumberOfMessages=10, WaitTimeSeconds=2, MessageAttributeNames=list(given["names"]))
        messages = answer.get("Messages", [])
        if not messages:
            raise SystemExit(f"received {len(bodies)} of {given['count']} messages")
        for m in messages:
            sqs.change_message_visibility(QueueUrl=target, ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=60)
            sqs.delete_message(QueueUrl=target, ReceiptHandle=m["ReceiptHandle"])
            bodies.append(m["Body"])
    json.dump(bodies, sys.stdout)
