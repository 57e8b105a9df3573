"""A walk through S3 with boto3, which uploads with checksums in headers, and its transfer manager with parts."""

import base64
import datetime
import hashlib
import io
import json
import os
import urllib.error
import urllib.request

import boto3
import boto3.s3.transfer
import botocore

s3 = boto3.client("s3")
sqs = boto3.client("sqs")
sns = boto3.client("sns")
checks = 0


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
        return e.response
    raise SystemExit(f"{what}: no error, want {code}")


def buckets():
    s3.create_bucket(Bucket="py-plain")
    same("creating again", s3.create_bucket(Bucket="py-plain")["Location"], "/py-plain")
    same("location", s3.get_bucket_location(Bucket="py-plain")["LocationConstraint"], None)
    same("head", s3.head_bucket(Bucket="py-plain")["BucketRegion"], "us-east-1")
    same("listed", [b["Name"] for b in s3.list_buckets(Prefix="py-")["Buckets"]], ["py-plain"])
    refused("a bad name", "InvalidBucketName", 400, s3.create_bucket, Bucket="Bad_Name")
    refused("no bucket", "NoSuchBucket", 404, s3.list_objects_v2, Bucket="py-none")
    refused("no bucket, head", "404", 404, s3.head_bucket, Bucket="py-none")
    refused("no tags", "NoSuchTagSet", 404, s3.get_bucket_tagging, Bucket="py-plain")
    refused("another owner", "AccessDenied", 403, s3.list_objects_v2, Bucket="py-plain", ExpectedBucketOwner="111122223333")
    s3.put_bucket_tagging(Bucket="py-plain", Tagging={"TagSet": [{"Key": "team", "Value": "a"}]})
    same("tags", s3.get_bucket_tagging(Bucket="py-plain")["TagSet"], [{"Key": "team", "Value": "a"}])
    s3.delete_bucket_tagging(Bucket="py-plain")
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::py-plain/*"}]})
    s3.put_bucket_policy(Bucket="py-plain", Policy=policy)
    same("policy", json.loads(s3.get_bucket_policy(Bucket="py-plain")["Policy"]), json.loads(policy))
    s3.delete_bucket_policy(Bucket="py-plain")
    refused("no policy", "NoSuchBucketPolicy", 404, s3.get_bucket_policy, Bucket="py-plain")
    same("public access is blocked", set(s3.get_public_access_block(Bucket="py-plain")["PublicAccessBlockConfiguration"].values()), {True})
    s3.put_public_access_block(Bucket="py-plain", PublicAccessBlockConfiguration={"BlockPublicAcls": True})
    same("public access", s3.get_public_access_block(Bucket="py-plain")["PublicAccessBlockConfiguration"]["BlockPublicPolicy"], False)
    s3.delete_public_access_block(Bucket="py-plain")
    refused("no block", "NoSuchPublicAccessBlockConfiguration", 404, s3.get_public_access_block, Bucket="py-plain")
    rules = s3.get_bucket_encryption(Bucket="py-plain")["ServerSideEncryptionConfiguration"]["Rules"]
    same("encryption", rules[0]["ApplyServerSideEncryptionByDefault"], {"SSEAlgorithm": "AES256"})
    s3.put_bucket_encryption(Bucket="py-plain", ServerSideEncryptionConfiguration={"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}, "BucketKeyEnabled": True}]})
    same("with a key", s3.put_object(Bucket="py-plain", Key="k")["ServerSideEncryption"], "aws:kms")
    s3.delete_bucket_encryption(Bucket="py-plain")
    same("ownership", s3.get_bucket_ownership_controls(Bucket="py-plain")["OwnershipControls"]["Rules"], [{"ObjectOwnership": "BucketOwnerEnforced"}])
    same("versioning", s3.get_bucket_versioning(Bucket="py-plain").get("Status"), None)
    same("acl", s3.get_bucket_acl(Bucket="py-plain")["Grants"][0]["Permission"], "FULL_CONTROL")
    for code, call in (("NoSuchCORSConfiguration", s3.get_bucket_cors), ("NoSuchWebsiteConfiguration", s3.get_bucket_website),
                       ("ReplicationConfigurationNotFoundError", s3.get_bucket_replication), ("ObjectLockConfigurationNotFoundError", s3.get_object_lock_configuration)):
        refused(code, code, 404, call, Bucket="py-plain")
    refused("versioning is not built", "NotImplemented", 501, s3.put_bucket_versioning, Bucket="py-plain", VersioningConfiguration={"Status": "Enabled"})
    west = boto3.client("s3", region_name="us-west-2")
    west.create_bucket(Bucket="py-west", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    same("location of another region", s3.get_bucket_location(Bucket="py-west")["LocationConstraint"], "us-west-2")
    refused("created again", "BucketAlreadyOwnedByYou", 409, west.create_bucket, Bucket="py-west", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    west.put_object(Bucket="py-west", Key="k", Body=b"x")
    raw = boto3.client("s3", config=botocore.config.Config(s3={"addressing_style": "path"}))
    same("boto3 follows the redirect", raw.get_object(Bucket="py-west", Key="k")["Body"].read(), b"x")
    refused("not empty", "BucketNotEmpty", 409, west.delete_bucket, Bucket="py-west")
    west.delete_object(Bucket="py-west", Key="k")
    west.delete_bucket(Bucket="py-west")


def objects():
    s3.create_bucket(Bucket="py-objects")
    b = {"Bucket": "py-objects"}
    put = s3.put_object(**b, Key="ä/b c+%2F.txt", Body=b"hello", ContentType="text/plain", CacheControl="no-cache", Metadata={"who": "ada"}, Tagging="a=1&b=2", StorageClass="STANDARD_IA")
    same("etag", put["ETag"], '"5d41402abc4b2a76b9719d911017c592"')
    same("checksum", (put["ChecksumCRC32"], put["ChecksumType"]), ("NhCmhg==", "FULL_OBJECT"))
    got = s3.get_object(**b, Key="ä/b c+%2F.txt")
    same("body", got["Body"].read(), b"hello")
    same("headers", (got["ContentType"], got["CacheControl"], got["Metadata"], got["TagCount"], got["StorageClass"], got["ServerSideEncryption"], got["AcceptRanges"]),
         ("text/plain", "no-cache", {"who": "ada"}, 2, "STANDARD_IA", "AES256", "bytes"))
    for algorithm in ("CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME"):
        try:
            s3.put_object(**b, Key=algorithm, Body=b"x" * 1000, ChecksumAlgorithm=algorithm)
        except botocore.exceptions.MissingDependencyException:
            continue # awscrt is not installed
        same(algorithm, bool(s3.head_object(**b, Key=algorithm, ChecksumMode="ENABLED").get("Checksum" + algorithm)), True)
    refused("a wrong checksum", "BadDigest", 400, s3.put_object, **b, Key="bad", Body=b"x", ChecksumCRC32="AAAAAA==")
    refused("a wrong digest", "BadDigest", 400, s3.put_object, **b, Key="bad", Body=b"x", ContentMD5=base64.b64encode(b"0" * 16).decode())
    refused("an invalid digest", "InvalidDigest", 400, s3.put_object, **b, Key="bad", Body=b"x", ContentMD5="x")
    refused("nothing is stored", "404", 404, s3.head_object, **b, Key="bad")
    refused("no key", "NoSuchKey", 404, s3.get_object, **b, Key="bad")
    key = {**b, "Key": "ä/b c+%2F.txt"}
    part = s3.get_object(**key, Range="bytes=1-2")
    same("range", (part["Body"].read(), part["ContentRange"], part["ResponseMetadata"]["HTTPStatusCode"]), (b"el", "bytes 1-2/5", 206))
    same("the last bytes", s3.get_object(**key, Range="bytes=-3")["Body"].read(), b"llo")
    refused("beyond the end", "InvalidRange", 416, s3.get_object, **key, Range="bytes=5-")
    refused("if-match", "PreconditionFailed", 412, s3.get_object, **key, IfMatch='"x"')
    refused("if-none-match", "304", 304, s3.get_object, **key, IfNoneMatch=put["ETag"])
    later = got["LastModified"] + datetime.timedelta(seconds=1)
    earlier = got["LastModified"] - datetime.timedelta(seconds=1)
    refused("if-modified-since", "304", 304, s3.get_object, **key, IfModifiedSince=got["LastModified"])
    refused("if-unmodified-since", "PreconditionFailed", 412, s3.get_object, **key, IfUnmodifiedSince=earlier)
    same("overrides", s3.get_object(**key, ResponseContentType="x/y")["ContentType"], "x/y")
    refused("write if absent", "PreconditionFailed", 412, s3.put_object, **key, Body=b"y", IfNoneMatch="*")
    refused("write if the same", "PreconditionFailed", 412, s3.put_object, **key, Body=b"y", IfMatch='"x"')
    refused("write if it is there", "NoSuchKey", 404, s3.put_object, **b, Key="bad", Body=b"y", IfMatch='"x"')
    s3.put_object(**key, Body=b"hello", IfMatch=put["ETag"], Tagging="a=1")
    same("object tags", s3.get_object_tagging(**key)["TagSet"], [{"Key": "a", "Value": "1"}])
    s3.put_object_tagging(**key, Tagging={"TagSet": [{"Key": "c", "Value": "3"}]})
    same("other tags", s3.get_object_tagging(**key)["TagSet"], [{"Key": "c", "Value": "3"}])
    s3.delete_object_tagging(**key)
    same("no tags", s3.get_object_tagging(**key)["TagSet"], [])
    copied = s3.copy_object(**b, Key="copy", CopySource=key)
    same("copy", copied["CopyObjectResult"]["ETag"], put["ETag"])
    refused("copy to itself", "InvalidRequest", 400, s3.copy_object, **key, CopySource=key)
    s3.copy_object(**key, CopySource=key, MetadataDirective="REPLACE", Metadata={"who": "bob"})
    same("replaced", s3.head_object(**key)["Metadata"], {"who": "bob"})
    refused("delete if the same", "PreconditionFailed", 412, s3.delete_object, **key, IfMatch='"x"')
    out = s3.delete_objects(**b, Delete={"Objects": [{"Key": k} for k in ("copy", "none", "CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME")]})
    same("deleted", len(out["Deleted"]), 7)
    refused("more than a thousand", "MalformedXML", 400, s3.delete_objects, **b, Delete={"Objects": [{"Key": str(i)} for i in range(1001)]})
    refused("a storage class", "InvalidStorageClass", 400, s3.put_object, **b, Key="x", StorageClass="ICE")
    refused("a long key", "KeyTooLongError", 400, s3.put_object, **b, Key="x" * 1025)
    secret = os.urandom(32)
    s3.put_object(**b, Key="own", Body=b"own key", SSECustomerAlgorithm="AES256", SSECustomerKey=secret)
    refused("without the key", "InvalidRequest", 400, s3.get_object, **b, Key="own")
    same("with the key", s3.get_object(**b, Key="own", SSECustomerAlgorithm="AES256", SSECustomerKey=secret)["Body"].read(), b"own key")


def lists():
    s3.create_bucket(Bucket="py-lists")
    keys = sorted(f"{a}/{b:02}" for a in "abc" for b in range(10)) + ["d", "e&<>é"]
    for k in keys:
        s3.put_object(Bucket="py-lists", Key=k, Body=b"x")
    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket="py-lists", PaginationConfig={"PageSize": 7}))
    same("pages", [len(p["Contents"]) for p in pages], [7, 7, 7, 7, 4])
    same("keys", [o["Key"] for p in pages for o in p["Contents"]], sorted(keys))
    pages = list(s3.get_paginator("list_objects").paginate(Bucket="py-lists", PaginationConfig={"PageSize": 7}))
    same("keys of version 1", [o["Key"] for p in pages for o in p["Contents"]], sorted(keys))
    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket="py-lists", Delimiter="/", PaginationConfig={"PageSize": 2}))
    same("groups", [c["Prefix"] for p in pages for c in p.get("CommonPrefixes", [])], ["a/", "b/", "c/"])
    same("beside groups", [o["Key"] for p in pages for o in p.get("Contents", [])], ["d", "e&<>é"])
    pages = list(s3.get_paginator("list_objects").paginate(Bucket="py-lists", Delimiter="/", PaginationConfig={"PageSize": 2}))
    same("groups of version 1", [c["Prefix"] for p in pages for c in p.get("CommonPrefixes", [])], ["a/", "b/", "c/"])
    out = s3.list_objects_v2(Bucket="py-lists", Prefix="b/", StartAfter="b/07", FetchOwner=True)
    same("start after", ([o["Key"] for o in out["Contents"]], out["KeyCount"], bool(out["Contents"][0]["Owner"]["ID"])), (["b/08", "b/09"], 2, True))
    same("versions", {v["VersionId"] for v in s3.list_object_versions(Bucket="py-lists")["Versions"]}, {"null"})
    refused("a bad token", "InvalidArgument", 400, s3.list_objects_v2, Bucket="py-lists", ContinuationToken="x")
    same("no keys wanted", s3.list_objects_v2(Bucket="py-lists", MaxKeys=0)["IsTruncated"], False)


def parts():
    s3.create_bucket(Bucket="py-parts")
    b = {"Bucket": "py-parts", "Key": "big"}
    five = os.urandom(5 << 20)
    id = s3.create_multipart_upload(**b, Metadata={"a": "b"}, ContentType="x/y")["UploadId"]
    up = [s3.upload_part(**b, UploadId=id, PartNumber=n, Body=body) for n, body in ((1, five), (2, five), (3, b"end"))]
    same("parts", [p["Size"] for p in s3.list_parts(**b, UploadId=id)["Parts"]], [5 << 20, 5 << 20, 3])
    same("uploads", [u["UploadId"] for u in s3.list_multipart_uploads(Bucket="py-parts")["Uploads"]], [id])
    listed = [{"PartNumber": i + 1, "ETag": p["ETag"]} for i, p in enumerate(up)]
    refused("order", "InvalidPartOrder", 400, s3.complete_multipart_upload, **b, UploadId=id, MultipartUpload={"Parts": listed[::-1]})
    refused("another etag", "InvalidPart", 400, s3.complete_multipart_upload, **b, UploadId=id, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": "x"}]})
    refused("too small", "EntityTooSmall", 400, s3.complete_multipart_upload, **b, UploadId=id, MultipartUpload={"Parts": [listed[0], listed[2], {"PartNumber": 4, "ETag": s3.upload_part(**b, UploadId=id, PartNumber=4, Body=b"x")["ETag"]}]})
    refused("part 0", "InvalidArgument", 400, s3.upload_part, **b, UploadId=id, PartNumber=10001, Body=b"x")
    done = s3.complete_multipart_upload(**b, UploadId=id, MultipartUpload={"Parts": listed})
    digest = hashlib.md5(b"".join(hashlib.md5(x).digest() for x in (five, five, b"end"))).hexdigest()
    same("etag of parts", done["ETag"], f'"{digest}-3"')
    same("whole", s3.get_object(**b)["Body"].read() == five + five + b"end", True)
    second = s3.get_object(**b, PartNumber=3)
    same("part 3", (second["Body"].read(), second["PartsCount"]), (b"end", 3))
    refused("upload is over", "NoSuchUpload", 404, s3.upload_part, **b, UploadId=id, PartNumber=1, Body=b"x")
    id = s3.create_multipart_upload(**b)["UploadId"]
    s3.abort_multipart_upload(**b, UploadId=id)
    refused("upload is aborted", "NoSuchUpload", 404, s3.list_parts, **b, UploadId=id)
    c = {"Bucket": "py-parts", "Key": "copied"}
    id = s3.create_multipart_upload(**c, ChecksumAlgorithm="SHA256")["UploadId"]
    copied = [s3.upload_part_copy(**c, UploadId=id, PartNumber=1, CopySource=b, CopySourceRange=f"bytes=0-{(6 << 20) - 1}")["CopyPartResult"],
              s3.upload_part_copy(**c, UploadId=id, PartNumber=2, CopySource=b, CopySourceRange=f"bytes={6 << 20}-{(10 << 20) + 2}")["CopyPartResult"]]
    refused("without checksums", "InvalidRequest", 400, s3.complete_multipart_upload, **c, UploadId=id, MultipartUpload={"Parts": [{"PartNumber": i + 1, "ETag": p["ETag"]} for i, p in enumerate(copied)]})
    done = s3.complete_multipart_upload(**c, UploadId=id, MultipartUpload={"Parts": [{"PartNumber": i + 1, "ETag": p["ETag"], "ChecksumSHA256": p["ChecksumSHA256"]} for i, p in enumerate(copied)]})
    same("composite", (done["ChecksumType"], done["ChecksumSHA256"].endswith("-2")), ("COMPOSITE", True))
    same("copied", s3.get_object(**c)["Body"].read() == five + five + b"end", True)
    config = boto3.s3.transfer.TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
    body = os.urandom(23 << 20)
    s3.upload_fileobj(io.BytesIO(body), "py-parts", "managed", Config=config)
    back = io.BytesIO()
    s3.download_fileobj("py-parts", "managed", back, Config=config)
    same("transfer manager", back.getvalue() == body, True)
    s3.copy({"Bucket": "py-parts", "Key": "managed"}, "py-parts", "managed-copy", Config=config)
    same("managed copy", s3.head_object(Bucket="py-parts", Key="managed-copy")["ContentLength"], 23 << 20)


def signed():
    s3.create_bucket(Bucket="py-signed")
    for version in ("s3v4", "s3"):
        c = boto3.client("s3", config=botocore.config.Config(signature_version=version))
        url = c.generate_presigned_url("put_object", Params={"Bucket": "py-signed", "Key": "k"}, ExpiresIn=60)
        urllib.request.urlopen(urllib.request.Request(url, data=b"signed " + version.encode(), method="PUT"))
        url = c.generate_presigned_url("get_object", Params={"Bucket": "py-signed", "Key": "k", "ResponseContentType": "x/y"}, ExpiresIn=60)
        answer = urllib.request.urlopen(url)
        same(version, (answer.read(), answer.headers["Content-Type"]), (b"signed " + version.encode(), "x/y"))
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "py-signed", "Key": "k"}, ExpiresIn=-5)
    try:
        urllib.request.urlopen(url)
        raise SystemExit("an expired URL is answered")
    except urllib.error.HTTPError as e:
        same("expired", e.code in (400, 403), True)
    for host in ("py-signed.s3.us-east-1.amazonaws.com", "py-signed.localhost:4566", "py-signed.example.test"):
        request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL"] + "/k", headers={"Host": host})
        same("bucket in the host", urllib.request.urlopen(request).read(), b"signed s3")


def lifecycle():
    s3.create_bucket(Bucket="py-lifecycle")
    b = {"Bucket": "py-lifecycle"}
    refused("no lifecycle", "NoSuchLifecycleConfiguration", 404, s3.get_bucket_lifecycle_configuration, **b)
    rules = [{"ID": "r", "Status": "Enabled", "Filter": {"And": {"Prefix": "tmp/", "Tags": [{"Key": "a", "Value": "b"}], "ObjectSizeGreaterThan": 1}}, "Expiration": {"Days": 3}},
             {"ID": "u", "Status": "Enabled", "Filter": {"Prefix": ""}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}}]
    s3.put_bucket_lifecycle_configuration(**b, LifecycleConfiguration={"Rules": rules})
    same("rules", s3.get_bucket_lifecycle_configuration(**b)["Rules"], rules)
    same("expiration", 'rule-id="r"' in s3.put_object(**b, Key="tmp/x", Body=b"xx", Tagging="a=b")["Expiration"], True)
    same("abortion", s3.create_multipart_upload(**b, Key="y")["AbortRuleId"], "u")
    s3.delete_bucket_lifecycle(**b)


def notifications():
    s3.create_bucket(Bucket="py-events")
    b = {"Bucket": "py-events"}
    url = sqs.create_queue(QueueName="py-events")["QueueUrl"]
    queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = sns.create_topic(Name="py-events")["TopicArn"]
    conf = {"QueueConfigurations": [{"Id": "q", "QueueArn": queue, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"],
                                     "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "in/"}, {"Name": "suffix", "Value": ".csv"}]}}}]}
    refused("a policy that refuses", "InvalidArgument", 400, s3.put_bucket_notification_configuration, **b, NotificationConfiguration=conf)
    refused("a topic that refuses", "InvalidArgument", 400, s3.put_bucket_notification_configuration, **b,
            NotificationConfiguration={"TopicConfigurations": [{"TopicArn": topic, "Events": ["s3:ObjectCreated:*"]}]})
    allow = lambda action, arn: json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": action,
                                            "Resource": arn, "Condition": {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::py-events"}, "StringEquals": {"aws:SourceAccount": "000000000000"}}}]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": allow("sqs:SendMessage", queue)})
    s3.put_bucket_notification_configuration(**b, NotificationConfiguration=conf)
    [test] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1)["Messages"]
    same("test event", json.loads(test["Body"])["Event"], "s3:TestEvent")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=test["ReceiptHandle"])
    shown = s3.get_bucket_notification_configuration(**b)["QueueConfigurations"][0]
    same("shown", (shown["Id"], shown["QueueArn"], [r["Value"] for r in shown["Filter"]["Key"]["FilterRules"]]), ("q", queue, ["in/", ".csv"]))
    s3.put_object(**b, Key="in/a b.csv", Body=b"1,2")
    s3.put_object(**b, Key="out/a.csv", Body=b"1,2")
    s3.delete_object(**b, Key="in/a b.csv")
    events = [json.loads(m["Body"])["Records"][0] for m in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)["Messages"]]
    same("events", [(e["eventName"], e["s3"]["object"]["key"], e["s3"]["object"].get("size")) for e in events],
         [("ObjectCreated:Put", "in/a+b.csv", 3), ("ObjectRemoved:Delete", "in/a+b.csv", None)])
    same("in order", events[0]["s3"]["object"]["sequencer"] < events[1]["s3"]["object"]["sequencer"], True)
    sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=allow("sns:Publish", topic))
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": queue}]})})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
    s3.put_bucket_notification_configuration(**b, NotificationConfiguration={"TopicConfigurations": [{"TopicArn": topic, "Events": ["s3:ObjectCreated:Copy"]}]})
    s3.copy_object(**b, Key="copy", CopySource="py-events/out/a.csv")
    messages = [json.loads(m["Body"]) for m in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)["Messages"]]
    same("by the topic", [(m["Subject"], json.loads(m["Message"]).get("Records", [{}])[0].get("eventName")) for m in messages],
         [("Amazon S3 Notification", None), ("Amazon S3 Notification", "ObjectCreated:Copy")])


for walk in (buckets, objects, lists, parts, signed, lifecycle, notifications):
    walk()
print(f"{checks} checks")
