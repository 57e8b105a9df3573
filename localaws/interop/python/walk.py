"""A walk through queues and topics with boto3, which speaks awsJson to SQS and the query protocol to SNS."""

import hashlib
import json
import time

import boto3
import botocore

sqs = boto3.client("sqs")
sns = boto3.client("sns")
checks = 0


def same(what, got, want):
    global checks
    checks += 1
    if got != want:
        raise SystemExit(f"{what}: got {got!r}, want {want!r}")


def refused(what, kind, call, **arguments):
    """call is refused with the typed exception that the SDK's model names."""
    try:
        call(**arguments)
    except botocore.exceptions.ClientError as e:
        same(what, type(e).__name__, kind)
        return e.response
    raise SystemExit(f"{what}: no error, want {kind}")


def arn(url):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def take(url, n=10, **more):
    more = {"WaitTimeSeconds": 5, "AttributeNames": ["All"], "MessageAttributeNames": ["All"], **more}
    return sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=n, **more).get("Messages", [])


def bodies(messages):
    return [m["Body"] for m in messages]


def queues():
    url = sqs.create_queue(QueueName="py-plain", Attributes={"VisibilityTimeout": "41", "DelaySeconds": "0"}, tags={"team": "a"})["QueueUrl"]
    same("GetQueueUrl", sqs.get_queue_url(QueueName="py-plain")["QueueUrl"], url)
    same("creating again with fewer attributes", sqs.create_queue(QueueName="py-plain")["QueueUrl"], url)
    refused("creating again with others", "QueueNameExists", sqs.create_queue, QueueName="py-plain", Attributes={"VisibilityTimeout": "7"})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"MaximumMessageSize": "2048"})
    got = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    same("attributes", {k: got[k] for k in ("VisibilityTimeout", "MaximumMessageSize", "MessageRetentionPeriod", "ApproximateNumberOfMessages")},
         {"VisibilityTimeout": "41", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "345600", "ApproximateNumberOfMessages": "0"})
    same("no attribute asked for", sqs.get_queue_attributes(QueueUrl=url).get("Attributes"), None)
    for i in range(3):
        sqs.create_queue(QueueName=f"py-page-{i}")
    pages = list(sqs.get_paginator("list_queues").paginate(QueueNamePrefix="py-page-", PaginationConfig={"PageSize": 2}))
    same("pages of queues", [len(p["QueueUrls"]) for p in pages], [2, 1])
    sqs.tag_queue(QueueUrl=url, Tags={"cost": "7"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["team"])
    same("tags", sqs.list_queue_tags(QueueUrl=url)["Tags"], {"cost": "7"})
    refused("a queue that is not there", "QueueDoesNotExist", sqs.get_queue_url, QueueName="py-none")
    error = refused("a message that is too long", "ClientError", sqs.send_message, QueueUrl=url, MessageBody="x" * 2049)["Error"]
    same("its code", error["Code"], "InvalidParameterValue")
    same("its text", error["Message"], "One or more parameters are invalid. Reason: Message must be shorter than 2048 bytes.")


def pauses():
    url = sqs.create_queue(QueueName="py-paused")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="a")
    statement = {"Sid": "godwitPause", "Effect": "Deny", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": arn(url)}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})})
    got = refused("a receive that the policy denies", "ClientError", sqs.receive_message, QueueUrl=url)
    same("its code", got["Error"]["Code"], "AccessDenied")
    same("its status", got["ResponseMetadata"]["HTTPStatusCode"], 403)
    sqs.send_message(QueueUrl=url, MessageBody="b")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})
    same("after the pause", sorted(bodies(take(url))), ["a", "b"])


def messages():
    url = sqs.create_queue(QueueName="py-messages")["QueueUrl"]
    body = 'grün <&>"\r\n\t☃ 😀'
    attributes = {
        "text": {"DataType": "String.name", "StringValue": "ä"},
        "number": {"DataType": "Number", "StringValue": "1.50"},
        "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    }
    sent = sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)
    same("digest of the body", sent["MD5OfMessageBody"], hashlib.md5(body.encode()).hexdigest())
    [m] = take(url)
    same("body", m["Body"], body)
    same("attributes", m["MessageAttributes"], attributes)
    same("digest of the attributes", m["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"])
    same("id", m["MessageId"], sent["MessageId"])
    same("count", m["Attributes"]["ApproximateReceiveCount"], "1")
    same("nothing while it is held", take(url, WaitTimeSeconds=0), [])
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=0)
    [again] = take(url, MessageAttributeNames=["te.*"], AttributeNames=["ApproximateReceiveCount"])
    same("count again", again["Attributes"], {"ApproximateReceiveCount": "2"})
    same("attributes by prefix", list(again["MessageAttributes"]), ["text"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"])
    same("deleted", sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesNotVisible"])["Attributes"],
         {"ApproximateNumberOfMessagesNotVisible": "0"})
    began = time.monotonic()
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=2)
    same("after its delay", bodies(take(url)), ["later"])
    same("and not before", 1.5 < time.monotonic() - began < 4, True)
    refused("a handle that is none", "ReceiptHandleIsInvalid", sqs.delete_message, QueueUrl=url, ReceiptHandle="nonsense")
    refused("visibility beyond 12 hours", "ClientError", sqs.change_message_visibility, QueueUrl=url, ReceiptHandle=again["ReceiptHandle"], VisibilityTimeout=43201)
    refused("control characters", "InvalidMessageContents", sqs.send_message, QueueUrl=url, MessageBody="\x01")
    sqs.purge_queue(QueueUrl=url)
    sqs.delete_queue(QueueUrl=url)
    refused("deleted", "QueueDoesNotExist", sqs.send_message, QueueUrl=url, MessageBody="x")


def batches():
    url = sqs.create_queue(QueueName="py-batch")["QueueUrl"]
    out = sqs.send_message_batch(QueueUrl=url, Entries=[
        {"Id": "good", "MessageBody": "1"}, {"Id": "late", "MessageBody": "2", "DelaySeconds": 901}, {"Id": "fine", "MessageBody": "3"}])
    same("sent", [e["Id"] for e in out["Successful"]], ["good", "fine"])
    same("not sent", [(e["Id"], e["Code"], e["SenderFault"]) for e in out["Failed"]], [("late", "InvalidParameterValue", True)])
    got = take(url)
    same("arrived", sorted(bodies(got)), ["1", "3"])
    handles = [got[0]["ReceiptHandle"], "nonsense"]
    out = sqs.change_message_visibility_batch(QueueUrl=url, Entries=[{"Id": str(i), "ReceiptHandle": h, "VisibilityTimeout": 60} for i, h in enumerate(handles)])
    same("changed", ([e["Id"] for e in out["Successful"]], [(e["Id"], e["Code"]) for e in out["Failed"]]), (["0"], [("1", "ReceiptHandleIsInvalid")]))
    out = sqs.delete_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "ReceiptHandle": h} for i, h in enumerate(handles)])
    same("removed", ([e["Id"] for e in out["Successful"]], [(e["Id"], e["Code"]) for e in out["Failed"]]), (["0"], [("1", "ReceiptHandleIsInvalid")]))
    entry = {"Id": "a", "MessageBody": "x"}
    refused("an empty batch", "EmptyBatchRequest", sqs.send_message_batch, QueueUrl=url, Entries=[])
    refused("two of one id", "BatchEntryIdsNotDistinct", sqs.send_message_batch, QueueUrl=url, Entries=[entry, entry])
    refused("eleven", "TooManyEntriesInBatchRequest", sqs.send_message_batch, QueueUrl=url, Entries=[{**entry, "Id": str(i)} for i in range(11)])


def fifo():
    url = sqs.create_queue(QueueName="py.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    sent = [sqs.send_message(QueueUrl=url, MessageBody=b, MessageGroupId=g, MessageDeduplicationId=b) for b, g in (("1", "a"), ("2", "a"), ("3", "b"))]
    numbers = [m["SequenceNumber"] for m in sent]
    same("numbers grow", (numbers, {len(n) for n in numbers}), (sorted(numbers), {20}))
    twice = sqs.send_message(QueueUrl=url, MessageBody="1", MessageGroupId="a", MessageDeduplicationId="1")
    same("a duplicate is its first", (twice["MessageId"], twice["SequenceNumber"]), (sent[0]["MessageId"], numbers[0]))
    [head] = take(url, n=1)
    same("the head", (head["Body"], head["Attributes"]["MessageGroupId"], head["Attributes"]["SequenceNumber"]), ("1", "a", numbers[0]))
    same("its group is locked", bodies(take(url)), ["3"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=head["ReceiptHandle"])
    same("and free again", bodies(take(url)), ["2"])
    same("without a group", refused("without a group", "ClientError", sqs.send_message, QueueUrl=url, MessageBody="x")["Error"]["Code"], "MissingParameter")


def dead_letters():
    dlq = sqs.create_queue(QueueName="py-dead")["QueueUrl"]
    url = sqs.create_queue(QueueName="py-mortal", Attributes={
        "RedrivePolicy": json.dumps({"deadLetterTargetArn": arn(dlq), "maxReceiveCount": 1}), "VisibilityTimeout": "0"})["QueueUrl"]
    same("its sources", sqs.list_dead_letter_source_queues(QueueUrl=dlq)["queueUrls"], [url])
    sent = sqs.send_message(QueueUrl=url, MessageBody="x", MessageAttributes={"a": {"DataType": "String", "StringValue": "b"}})
    same("received once", bodies(take(url)), ["x"])
    same("and not again", take(url, WaitTimeSeconds=0), [])
    [dead] = take(dlq, VisibilityTimeout=0)
    same("the same message", (dead["MessageId"], dead["Attributes"]["DeadLetterQueueSourceArn"], dead["MessageAttributes"]["a"]["StringValue"]), (sent["MessageId"], arn(url), "b"))
    refused("a task from a queue of living messages", "ClientError", sqs.start_message_move_task, SourceArn=arn(url))
    sqs.start_message_move_task(SourceArn=arn(dlq))
    deadline = time.monotonic() + 10
    while True:
        [task] = sqs.list_message_move_tasks(SourceArn=arn(dlq))["Results"]
        if task["Status"] == "COMPLETED" or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    same("the task", (task["Status"], task["ApproximateNumberOfMessagesMoved"], task["ApproximateNumberOfMessagesToMove"]), ("COMPLETED", 1, 1))
    same("it is back", bodies(take(url)), ["x"])
    error = refused("a task handle that is none", "ClientError", sqs.cancel_message_move_task, TaskHandle="bm9uZQ==")["Error"]
    same("its code and text", (error["Code"], error["Message"]), ("InvalidParameterValue", "Value for parameter TaskHandle is invalid."))
    refused("a source that is not there", "ResourceNotFoundException", sqs.start_message_move_task, SourceArn=arn(dlq) + "x")


def allow(url, topic):
    statement = {"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn(url),
                 "Condition": {"ArnEquals": {"aws:SourceArn": topic}}}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})})


def topics():
    topic = sns.create_topic(Name="py-news", Tags=[{"Key": "k", "Value": "v"}])["TopicArn"]
    raw, letters, closed = (sqs.create_queue(QueueName=f"py-{n}")["QueueUrl"] for n in ("raw", "letters", "closed"))
    allow(raw, topic)
    allow(letters, topic)
    subscribe = lambda url, **a: sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(url), ReturnSubscriptionArn=True, Attributes=a)["SubscriptionArn"]
    filtered = subscribe(raw, RawMessageDelivery="true", FilterPolicy=json.dumps({"price": [{"numeric": [">", 10, "<=", 20]}], "shop": [{"prefix": "eu-"}, "us"]}))
    enveloped = subscribe(letters)
    subscribe(closed)
    same("subscriptions", len(sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]), 3)
    same("subscribing again", subscribe(letters), enveloped)
    publish = lambda text, price, shop: sns.publish(TopicArn=topic, Message=text, Subject="s", MessageAttributes={
        "price": {"DataType": "Number", "StringValue": price}, "shop": {"DataType": "String", "StringValue": shop}})["MessageId"]
    ids = [publish("cheap", "10", "us"), publish("good", "20", "eu-1"), publish("far", "15", "ap-1")]
    got = take(raw)
    same("filtered and raw", [(m["Body"], m["MessageAttributes"]["price"]["StringValue"]) for m in got], [("good", "20")])
    got = [json.loads(b) for b in bodies(take(letters))]
    same("all, in envelopes", sorted((g["Message"], g["MessageId"], g["Subject"], g["TopicArn"], g["Type"]) for g in got),
         sorted((m, i, "s", topic, "Notification") for m, i in zip(("cheap", "good", "far"), ids)))
    same("their attributes", {g["MessageAttributes"]["shop"]["Value"] for g in got}, {"us", "eu-1", "ap-1"})
    same("what a policy keeps out", take(closed, WaitTimeSeconds=1), [])
    sns.set_subscription_attributes(SubscriptionArn=filtered, AttributeName="FilterPolicyScope", AttributeValue="MessageBody")
    sns.set_subscription_attributes(SubscriptionArn=filtered, AttributeName="FilterPolicy", AttributeValue=json.dumps({"kind": {"name": [{"anything-but": ["b"]}]}}))
    out = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=[{"Id": n, "Message": json.dumps({"kind": {"name": n}})} for n in ("a", "b", "c")])
    same("batch", [e["Id"] for e in out["Successful"]], ["a", "b", "c"])
    same("filtered by body", sorted(json.loads(b)["kind"]["name"] for b in bodies(take(raw))), ["a", "c"])
    same("per protocol", sns.publish(TopicArn=topic, MessageStructure="json", Message=json.dumps({"default": "d", "sqs": '{"kind":{"name":"q"}}'}))["ResponseMetadata"]["HTTPStatusCode"], 200)
    same("per protocol, arrived", bodies(take(raw)), ['{"kind":{"name":"q"}}'])
    refused("a filter that is none", "InvalidParameterException", sns.set_subscription_attributes,
            SubscriptionArn=filtered, AttributeName="FilterPolicy", AttributeValue='{"a":"b"}')
    refused("a topic that is not there", "NotFoundException", sns.publish, TopicArn=topic + "x", Message="x")
    refused("a batch of nothing", "EmptyBatchRequestException", sns.publish_batch, TopicArn=topic, PublishBatchRequestEntries=[])
    sns.unsubscribe(SubscriptionArn=enveloped)
    sns.delete_topic(TopicArn=topic)
    same("deleted", [t for t in sns.list_topics()["Topics"] if t["TopicArn"] == topic], [])


def ordered_topics():
    topic = sns.create_topic(Name="py-news.fifo", Attributes={"FifoTopic": "true", "ContentBasedDeduplication": "true"})["TopicArn"]
    url = sqs.create_queue(QueueName="py-news.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    allow(url, topic)
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(url), Attributes={"RawMessageDelivery": "true"})
    first = sns.publish(TopicArn=topic, Message="1", MessageGroupId="g")
    for text in "1", "2", "3":
        last = sns.publish(TopicArn=topic, Message=text, MessageGroupId="g")
    same("numbers", first["SequenceNumber"] < last["SequenceNumber"], True)
    got = take(url)
    same("in order, once", bodies(got), ["1", "2", "3"])
    same("group", {m["Attributes"]["MessageGroupId"] for m in got}, {"g"})
    plain = sns.create_topic(Name="py-plain-topic")["TopicArn"]
    refused("a FIFO queue on a standard topic", "InvalidParameterException", sns.subscribe, TopicArn=plain, Protocol="sqs", Endpoint=arn(url))


for part in queues, pauses, messages, batches, fifo, dead_letters, topics, ordered_topics:
    part()
print(f"boto3 {boto3.__version__}: {checks} checks passed")
