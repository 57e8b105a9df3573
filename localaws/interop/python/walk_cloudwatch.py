"""A walk through CloudWatch with boto3, which speaks awsJson with it, and query when it is asked to."""

import datetime
import json
import os
import time
import urllib.request

import boto3
import botocore

cloudwatch = boto3.client("cloudwatch")
sqs = boto3.client("sqs")
sns = boto3.client("sns")
checks = 0
now = None


def same(what, got, want):
    global checks
    checks += 1
    if got != want:
        raise SystemExit(f"{what}: got {got!r}, want {want!r}")


def refused(what, code, status, call, **arguments):
    """call is refused with a code and a status."""
    try:
        call(**arguments)
    except botocore.exceptions.ClientError as e:
        same(what, (e.response["Error"]["Code"], e.response["ResponseMetadata"]["HTTPStatusCode"]), (code, status))
        return
    raise SystemExit(f"{what}: no error, want {code}")


def advance(d):
    """advance moves the server's clock, and returns its time."""
    request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL"] + "/_localaws/advance?d=" + d, method="POST")
    with urllib.request.urlopen(request) as answer:
        return datetime.datetime.fromisoformat(json.load(answer)["now"])


def begin():
    """begin moves the server's clock to the beginning of a minute. What follows has the minute for itself: an alarm is
    evaluated, and a queue reports, at the end of each minute."""
    advance(f"{60 - advance('0s').second}s")


def read(*queries, minutes=10):
    end = advance("0s")
    out = cloudwatch.get_metric_data(MetricDataQueries=list(queries), StartTime=end - datetime.timedelta(minutes=minutes),
                                     EndTime=end + datetime.timedelta(minutes=5))
    return {r["Id"]: sum(r["Values"]) for r in out["MetricDataResults"]}


def stat(id, namespace, name, statistic="Sum", **dimensions):
    at = [{"Name": k, "Value": v} for k, v in dimensions.items()]
    return {"Id": id, "MetricStat": {"Metric": {"Namespace": namespace, "MetricName": name, "Dimensions": at}, "Period": 60,
                                     "Stat": statistic}}


def metrics():
    data = [{"MetricName": "latency", "Value": float(i), "Unit": "Milliseconds", "Dimensions": [{"Name": "Host", "Value": "x" * 300}]}
            for i in range(100)]  # more than 10 KiB, which botocore compresses
    cloudwatch.put_metric_data(Namespace="py", MetricData=data)
    cloudwatch.put_metric_data(Namespace="py", MetricData=[
        {"MetricName": "size", "Values": [1.0, 10.0], "Counts": [2, 4], "Unit": "Count"},
        {"MetricName": "set", "StatisticValues": {"SampleCount": 10, "Sum": 55, "Minimum": 1, "Maximum": 10}}])
    same("metrics", sorted(m["MetricName"] for m in cloudwatch.list_metrics(Namespace="py")["Metrics"]), ["latency", "set", "size"])
    end = advance("0s")
    points = cloudwatch.get_metric_statistics(
        Namespace="py", MetricName="size", StartTime=end - datetime.timedelta(minutes=2), EndTime=end + datetime.timedelta(minutes=1),
        Period=60, Statistics=["SampleCount", "Sum", "Maximum"])["Datapoints"]
    same("statistics", [(p["SampleCount"], p["Sum"], p["Maximum"], p["Unit"]) for p in points], [(6.0, 42.0, 10.0, "Count")])
    same("data", read(stat("p", "py", "latency", "p90", Host="x" * 300), stat("s", "py", "set"),
                      {"Id": "e", "Expression": "s * 2 + 1"}), {"p": 89.0, "s": 55.0, "e": 111.0})
    refused("both values", "InvalidParameterCombination", 400, cloudwatch.put_metric_data, Namespace="py",
            MetricData=[{"MetricName": "m", "Value": 1.0, "Values": [1.0]}])
    try:
        cloudwatch.put_metric_data(Namespace="py", MetricData=[{"MetricName": "m", "Value": 1.0, "Values": [1.0]}])
    except cloudwatch.exceptions.InvalidParameterCombinationException:
        same("typed error", True, True)


def query():
    """The query protocol, with a compressed form."""
    import gzip
    form = b"Action=PutMetricData&Version=2010-08-01&Namespace=old&MetricData.member.1.MetricName=m&MetricData.member.1.Value=3"
    request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL"] + "/", data=gzip.compress(form), headers={
        "Content-Encoding": "GZIP", "Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})
    with urllib.request.urlopen(request) as answer:
        same("query", (answer.status, b"<PutMetricDataResponse" in answer.read()), (200, True))
    same("its metric", read(stat("m", "old", "m")), {"m": 3.0})


def queues():
    begin()
    url = sqs.create_queue(QueueName="py-metrics")["QueueUrl"]
    sqs.receive_message(QueueUrl=url)
    sqs.send_message(QueueUrl=url, MessageBody="Hello")
    advance("1m")
    q = lambda id, name: stat(id, "AWS/SQS", name, QueueName="py-metrics")
    same("a queue", read(q("sent", "NumberOfMessagesSent"), q("size", "SentMessageSize"), q("empty", "NumberOfEmptyReceives")),
         {"sent": 1.0, "size": 5.0, "empty": 1.0})
    sqs.purge_queue(QueueUrl=url)
    advance("7h")
    same("an empty queue sleeps", read(q("visible", "ApproximateNumberOfMessagesVisible")), {"visible": 0})
    end = advance("0s")
    points = cloudwatch.get_metric_statistics(
        Namespace="AWS/SQS", MetricName="ApproximateNumberOfMessagesVisible", Dimensions=[{"Name": "QueueName", "Value": "py-metrics"}],
        StartTime=end - datetime.timedelta(minutes=30), EndTime=end, Period=60, Statistics=["Maximum"])["Datapoints"]
    same("it has no points, not zeros", points, [])


def alarms():
    topic = sns.create_topic(Name="py-alerts")["TopicArn"]
    url = sqs.create_queue(QueueName="py-alerts")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic}}}]})})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    begin()
    cloudwatch.put_metric_alarm(
        AlarmName="py-alarm", MetricName="load", Namespace="py", Period=60, EvaluationPeriods=1, Threshold=2, Statistic="Average",
        ComparisonOperator="GreaterThanThreshold", AlarmActions=[topic], TreatMissingData="notBreaching",
        Tags=[{"Key": "team", "Value": "a"}])
    alarm = cloudwatch.describe_alarms(AlarmNames=["py-alarm"])["MetricAlarms"][0]
    same("a new alarm", (alarm["StateValue"], alarm["StateReason"], alarm["ActionsEnabled"]),
         ("INSUFFICIENT_DATA", "Unchecked: Initial alarm creation", True))
    same("its tags", cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"], [{"Key": "team", "Value": "a"}])
    cloudwatch.put_metric_data(Namespace="py", MetricData=[{"MetricName": "load", "Value": 21.5}])
    advance("1m")
    alarm = cloudwatch.describe_alarms(AlarmNames=["py-alarm"])["MetricAlarms"][0]
    same("its state", alarm["StateValue"], "ALARM")
    message = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"][0]
    told = json.loads(json.loads(message["Body"])["Message"])
    same("its message", (told["AlarmName"], told["NewStateValue"], told["NewStateReason"], told["Trigger"]["Statistic"]),
         ("py-alarm", "ALARM", alarm["StateReason"], "AVERAGE"))
    cloudwatch.disable_alarm_actions(AlarmNames=["py-alarm"])
    cloudwatch.set_alarm_state(AlarmName="py-alarm", StateValue="OK", StateReason="by hand")
    alarm = cloudwatch.describe_alarms(StateValue="OK", AlarmNamePrefix="py-")["MetricAlarms"][0]
    same("set by hand", (alarm["StateReason"], alarm["ActionsEnabled"]), ("by hand", False))
    refused("an unknown state", "ValidationError", 400, cloudwatch.set_alarm_state, AlarmName="py-alarm", StateValue="X", StateReason="")
    refused("no such alarm", "ResourceNotFound", 404, cloudwatch.set_alarm_state, AlarmName="none", StateValue="OK", StateReason="")
    cloudwatch.delete_alarms(AlarmNames=["py-alarm"])
    same("deleted", cloudwatch.describe_alarms(AlarmNames=["py-alarm"])["MetricAlarms"], [])


for part in (metrics, query, queues, alarms):
    part()
print(f"boto3 {boto3.__version__}: {checks} checks of CloudWatch")
