"""A foreign program with boto3, for cmd/godwit's TestForeignMessages: it sends and receives messages with attributes.

operate.py send QUEUE_URL < MESSAGES      MESSAGES is a list in JSON; binary values are in base64
operate.py receive QUEUE_URL COUNT        prints so many messages in the same form, and deletes them
operate.py make QUEUE < ATTRIBUTES        creates a queue
operate.py subscribe TOPIC QUEUE_URL      creates a topic, and a subscription without raw delivery for "kind" = "mail"
operate.py publish TOPIC_ARN < MESSAGES
operate.py move FROM_ARN TO_ARN           lets SQS move the messages of a dead-letter queue, and waits
"""

import base64
import json
import sys
import time
import uuid

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
            extra["MessageDeduplicationId"] = str(uuid.uuid4())
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


def subscribe(name, url):
    topic = boto3.client("sns").create_topic(Name=name)["TopicArn"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    statement = {
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    boto3.client("sns").subscribe(
        TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"FilterPolicy": json.dumps({"kind": ["mail"]})}
    )
    return topic


def publish(topic, messages):
    for m in messages:
        attributes = {name: attribute(a) for name, a in m["attributes"].items()}
        boto3.client("sns").publish(TopicArn=topic, Message=m["body"], MessageAttributes=attributes)


def move(source, to):
    sqs.start_message_move_task(SourceArn=source, DestinationArn=to)
    while sqs.list_message_move_tasks(SourceArn=source)["Results"][0]["Status"] == "RUNNING":
        time.sleep(0.1)


match sys.argv[1:]:
    case ["send", url]:
        send(url, json.load(sys.stdin))
    case ["receive", url, count]:
        json.dump(receive(url, int(count)), sys.stdout)
    case ["make", name]:
        sqs.create_queue(QueueName=name, Attributes=json.load(sys.stdin))
    case ["subscribe", name, url]:
        print(subscribe(name, url), end="")
    case ["publish", topic]:
        publish(topic, json.load(sys.stdin))
    case ["move", source, to]:
        move(source, to)
    case _:
        sys.exit(__doc__)
