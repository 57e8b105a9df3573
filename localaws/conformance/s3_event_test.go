package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// record is the part of an event that the cases look at.
type record struct {
	EventName string `json:"eventName"`
	S3        struct {
		ConfigurationID string `json:"configurationId"`
		Object          struct {
			Key, ETag, Sequencer string
			Size                 int64
		}
	}
}

// allowS3 is a policy that lets the case's bucket send.
func (b *bucket) allowS3(action, arn string) string {
	return fmt.Sprintf(`{"Statement":[{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"%s",`+
		`"Resource":"%s","Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:s3:::%s"}}}]}`, action, arn, b.name)
}

// events receives and deletes events. A message without records, which is a test event, is "test".
func (b *bucket) events(url *string) []string {
	b.Helper()
	var all []string
	for {
		out := must(b.sqs.ReceiveMessage(b.ctx, &sqs.ReceiveMessageInput{
			QueueUrl:            url,
			MaxNumberOfMessages: 10,
		}))(b.world)
		if len(out.Messages) == 0 {
			return all
		}
		for _, m := range out.Messages {
			must(b.sqs.DeleteMessage(b.ctx, &sqs.DeleteMessageInput{
				QueueUrl:      url,
				ReceiptHandle: m.ReceiptHandle,
			}))(b.world)
			var e struct {
				Records []record
				Event   string
			}
			if err := json.Unmarshal([]byte(*m.Body), &e); err != nil {
				b.Fatal(err)
			}
			for _, r := range e.Records {
				all = append(all, fmt.Sprintf("%s %s %d", r.EventName, r.S3.Object.Key, r.S3.Object.Size))
			}
			if e.Event == "s3:TestEvent" {
				all = append(all, "test")
			}
		}
	}
}

func queueXML(arn, filter string, events ...string) string {
	return "<NotificationConfiguration><QueueConfiguration><Id>q</Id><Queue>" + arn + "</Queue><Event>" +
		strings.Join(events, "</Event><Event>") + "</Event>" + filter +
		"</QueueConfiguration></NotificationConfiguration>"
}

func TestS3Notification(t *testing.T) {
	arnOf := func(b *bucket, url *string) string {
		out := must(b.sqs.GetQueueAttributes(b.ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []sqstypes.QueueAttributeName{"QueueArn"},
		}))(b.world)
		return out.Attributes["QueueArn"]
	}
	allow := func(b *bucket, url *string) string {
		arn := arnOf(b, url)
		must(b.sqs.SetQueueAttributes(b.ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: url, Attributes: attrs{"Policy": b.allowS3("sqs:SendMessage", arn)},
		}))(b.world)
		return arn
	}
	runBucket(t, "a queue gets the events of keys with its prefix and suffix", func(b *bucket) {
		url := b.queue("q", nil)
		arn := arnOf(b, url)
		filter := "<Filter><S3Key><FilterRule><Name>prefix</Name><Value>in/</Value></FilterRule>" +
			"<FilterRule><Name>Suffix</Name><Value>.csv</Value></FilterRule></S3Key></Filter>"
		conf := queueXML(arn, filter, "s3:ObjectCreated:*", "s3:ObjectRemoved:Delete")
		b.wants("without a policy", b.call("PUT", "?notification", nil, conf), 400, "InvalidArgument")
		allow(b, url)
		b.wants("with a policy", b.call("PUT", "?notification", nil, conf), 200, "")
		shown := b.call("GET", "?notification", nil, "")
		if !shown.has("<Id>q</Id>") || !shown.has("<Value>.csv</Value>") ||
			!shown.has("<Event>s3:ObjectRemoved:Delete<") {
			b.Errorf("shown: %s", shown.body)
		}
		b.put("in/a%20b.csv", "1,2")
		b.put("in/a.txt", "x")
		b.put("a.csv", "x")
		b.call("PUT", "in/copy.csv", headers{"x-amz-copy-source", b.name + "/a.csv"}, "")
		id := b.start("in/parts.csv")
		b.complete("in/parts.csv", id, completeXML(nil, b.part("in/parts.csv", id, 1, "12345")))
		b.call("DELETE", "in/a%20b.csv", nil, "")
		b.call("DELETE", "in/never.csv", nil, "")
		want := []string{
			"test", "ObjectCreated:Put in/a+b.csv 3", "ObjectCreated:Copy in/copy.csv 1",
			"ObjectCreated:CompleteMultipartUpload in/parts.csv 5", "ObjectRemoved:Delete in/a+b.csv 0",
		}
		if got := b.events(url); fmt.Sprint(got) != fmt.Sprint(want) {
			b.Errorf("events\n%q, want\n%q", got, want)
		}
		b.wants("nowhere", b.call("PUT", "?notification", nil, "<NotificationConfiguration/>"), 200, "")
		b.put("in/b.csv", "x")
		if got := b.events(url); len(got) > 0 {
			b.Errorf("events after the end: %q", got)
		}
	})
	runBucket(t, "tags and lifecycles have events", func(b *bucket) {
		url := b.queue("q", nil)
		b.wants("put", b.call("PUT", "?notification", nil,
			queueXML(allow(b, url), "", "s3:ObjectTagging:*", "s3:LifecycleExpiration:*")), 200, "")
		b.put("k", "x")
		b.call("PUT", "k?tagging", nil, "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>")
		b.call("DELETE", "k?tagging", nil, "")
		want := []string{"test", "ObjectTagging:Put k 0", "ObjectTagging:Delete k 0"}
		if got := b.events(url); fmt.Sprint(got) != fmt.Sprint(want) {
			b.Errorf("events %q, want %q", got, want)
		}
		b.wants("lifecycle", b.call("PUT", "?lifecycle", nil, lifecycleXML("<Filter/>",
			"<Expiration><Days>1</Days></Expiration>")),
			200, "")
		b.pass(48 * time.Hour)
		if got := b.events(url); fmt.Sprint(got) != "[LifecycleExpiration:Delete k 0]" {
			b.Errorf("events %q", got)
		}
	})
	runBucket(t, "a topic gets events if its policy allows S3, which that of a new topic does not", func(b *bucket) {
		url := b.queue("q", nil)
		arn := arnOf(b, url)
		must(b.sqs.SetQueueAttributes(b.ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: attrs{
			"Policy": `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"` + arn + `"}]}`,
		}}))(b.world)
		c := sns.New(sns.Options{
			Region: *region, BaseEndpoint: &b.endpoint, HTTPClient: b.http, Credentials: b.keys, RetryMaxAttempts: 1,
		})
		topic := must(c.CreateTopic(b.ctx, &sns.CreateTopicInput{Name: new(b.world.name("t"))}))(b.world).TopicArn
		must(c.Subscribe(b.ctx, &sns.SubscribeInput{
			TopicArn: topic, Protocol: new("sqs"), Endpoint: &arn, Attributes: attrs{"RawMessageDelivery": "true"},
		}))(b.world)
		conf := "<NotificationConfiguration><TopicConfiguration><Topic>" + *topic +
			"</Topic><Event>s3:ObjectCreated:Put</Event></TopicConfiguration></NotificationConfiguration>"
		b.wants("without a policy", b.call("PUT", "?notification", nil, conf), 400, "InvalidArgument")
		must(c.SetTopicAttributes(b.ctx, &sns.SetTopicAttributesInput{
			TopicArn: topic, AttributeName: new("Policy"), AttributeValue: new(b.allowS3("sns:Publish", *topic)),
		}))(b.world)
		b.wants("with a policy", b.call("PUT", "?notification", nil, conf), 200, "")
		b.put("k", "x")
		if got := b.events(url); fmt.Sprint(got) != "[test ObjectCreated:Put k 1]" {
			b.Errorf("events %q", got)
		}
	})
	runBucket(t, "destinations and configurations that are refused", func(b *bucket) {
		url := b.queue("q", nil)
		arn := allow(b, url)
		fifo := b.fifo("f", nil)
		put := func(text string, h ...string) reply { return b.call("PUT", "?notification", h, text) }
		b.wants("a FIFO queue", put(queueXML(allow(b, fifo), "", "s3:ObjectCreated:*")), 400, "InvalidArgument")
		b.wants("no queue", put(queueXML(arn+"x", "", "s3:ObjectCreated:*")), 400, "InvalidArgument")
		b.wants("no ARN", put(queueXML("q", "", "s3:ObjectCreated:*")), 400, "InvalidArgument")
		b.wants("another region", put(queueXML(strings.Replace(arn, "us-east-1", "eu-west-1", 1), "",
			"s3:ObjectCreated:*")),
			400, "InvalidArgument")
		b.wants("an event", put(queueXML(arn, "", "s3:Nothing")), 400, "InvalidArgument")
		b.wants("an event of what is not built", put(queueXML(arn, "", "s3:ObjectRestore:Post")), 501, "NotImplemented")
		rule := "<FilterRule><Name>prefix</Name><Value>a</Value></FilterRule>"
		b.wants("two prefixes", put(queueXML(arn, "<Filter><S3Key>"+rule+rule+"</S3Key></Filter>",
			"s3:ObjectCreated:*")), 400,
			"InvalidArgument")
		b.wants("a rule", put(queueXML(arn, "<Filter><S3Key>"+strings.Replace(rule, "prefix", "size",
			1)+"</S3Key></Filter>",
			"s3:ObjectCreated:*")), 400, "InvalidArgument")
		one := strings.TrimSuffix(strings.TrimPrefix(queueXML(arn, "", "s3:ObjectCreated:*"),
			"<NotificationConfiguration>"),
			"</NotificationConfiguration>")
		two := strings.Replace(strings.Replace(one, "*", "Put", 1), "<Id>q", "<Id>r", 1)
		b.wants("overlapping", put("<NotificationConfiguration>"+one+two+"</NotificationConfiguration>"), 400,
			"InvalidArgument")
		b.wants("Lambda", put("<NotificationConfiguration><CloudFunctionConfiguration><CloudFunction>x</CloudFunction>"+
			"<Event>s3:ObjectCreated:*</Event></CloudFunctionConfiguration></NotificationConfiguration>"), 501, "NotImplemented")
		b.wants("EventBridge", put("<NotificationConfiguration><EventBridgeConfiguration/></NotificationConfiguration>"), 501,
			"NotImplemented")
		b.wants("malformed", put("<NotificationConfiguration><X/></NotificationConfiguration>"), 400, "MalformedXML")
		if got := b.call("GET", "?notification", nil, ""); got.has("QueueConfiguration") {
			b.Errorf("a refused configuration is kept: %s", got.body)
		}
		b.wants("no queue, not validated", put(queueXML(arn+"x", "", "s3:ObjectCreated:*"),
			"x-amz-skip-destination-validation", "true"), 200, "")
	})
}

func lifecycleXML(filter, action string) string {
	return "<LifecycleConfiguration><Rule><ID>r</ID>" + filter + "<Status>Enabled</Status>" + action +
		"</Rule></LifecycleConfiguration>"
}

func TestS3Lifecycle(t *testing.T) {
	runBucket(t, "objects expire at the midnight after their days, by prefix, tag and size", func(b *bucket) {
		b.pass(time.Second) // the bubble begins at midnight
		expire := "<Expiration><Days>3</Days></Expiration>"
		filter := "<Filter><And><Prefix>tmp/</Prefix><Tag><Key>a</Key><Value>b</Value></Tag>" +
			"<ObjectSizeGreaterThan>2</ObjectSizeGreaterThan><ObjectSizeLessThan>9</ObjectSizeLessThan></And></Filter>"
		b.wants("put", b.call("PUT", "?lifecycle", nil, lifecycleXML(filter, expire)), 200, "")
		put := b.put("tmp/yes", "12345", "x-amz-tagging", "a=b")
		expiry := put.header.Get("x-amz-expiration")
		if !strings.Contains(expiry, `rule-id="r"`) || !strings.Contains(expiry, ` 00:00:00 GMT"`) {
			b.Errorf("put: %v", put.header)
		}
		b.put("tmp/small", "12", "x-amz-tagging", "a=b")
		b.put("tmp/large", "123456789", "x-amz-tagging", "a=b")
		b.put("tmp/other", "12345", "x-amz-tagging", "a=c")
		b.put("yes", "12345", "x-amz-tagging", "a=b")
		head := b.call("HEAD", "tmp/yes", nil, "").header.Get("x-amz-expiration")
		if head != put.header.Get("x-amz-expiration") {
			b.Errorf("head: %s", head)
		}
		b.pass(72 * time.Hour)
		b.wants("after three days", b.call("GET", "tmp/yes", nil, ""), 200, "")
		b.put("late", "x")
		b.pass(24 * time.Hour)
		list := b.call("GET", "?list-type=2", nil, "")
		if list.has("tmp/yes") || strings.Count(list.body, "<Contents>") != 5 {
			b.Errorf("after four days: %s", list.body)
		}
	})
	runBucket(t, "uploads are aborted", func(b *bucket) {
		action := "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>"
		b.wants("put", b.call("PUT", "?lifecycle", nil, lifecycleXML("<Filter><Prefix>a</Prefix></Filter>", action)),
			200, "")
		r := b.call("POST", "a?uploads", nil, "")
		if r.header.Get("x-amz-abort-rule-id") != "r" || r.header.Get("x-amz-abort-date") == "" {
			b.Errorf("create: %v", r.header)
		}
		b.start("b")
		b.pass(49 * time.Hour)
		if got := b.call("GET", "?uploads", nil, ""); got.has("<Key>a<") || !got.has("<Key>b<") {
			b.Errorf("uploads: %s", got.body)
		}
	})
	runBucket(t, "rules are shown as they were written, and wrong ones are refused", func(b *bucket) {
		days := "<Expiration><Days>1</Days></Expiration>"
		for _, c := range [][2]string{
			{"<Filter></Filter>", days},
			{"<Prefix>p</Prefix>", days},
			{"<Filter><Prefix>p</Prefix></Filter>", "<Expiration><Date>2030-01-01T00:00:00.000Z</Date></Expiration>"},
			{"<Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter>", days},
			{"<Filter><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></Filter>", days},
			{"<Filter><ObjectSizeLessThan>1</ObjectSizeLessThan></Filter>", days},
			{
				"<Filter></Filter>", "<NoncurrentVersionExpiration><NoncurrentDays>3</NoncurrentDays>" +
					"<NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>",
			},
			{"<Filter></Filter>", "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"},
		} {
			b.wants("put", b.call("PUT", "?lifecycle", nil, lifecycleXML(c[0], c[1])), 200, "")
			got := b.call("GET", "?lifecycle", nil, "")
			if !got.has(c[0]) || !got.has(c[1]) {
				b.Errorf("%s%s is shown as %s", c[0], c[1], got.body)
			}
		}
		all := "<Filter/>"
		for _, c := range []struct{ filter, action, code string }{
			{all, "<Expiration><Days>0</Days></Expiration>", "InvalidArgument"},
			{all, "<Expiration><Date>2030-01-01T01:00:00Z</Date></Expiration>", "InvalidArgument"},
			{all, "<Expiration><Days>1</Days><Date>2030-01-01T00:00:00Z</Date></Expiration>", "MalformedXML"},
			{all, "", "InvalidRequest"},
			{"", days, "MalformedXML"},
			{all + "<Prefix/>", days, "MalformedXML"},
			{"<Filter><Prefix>a</Prefix><ObjectSizeLessThan>1</ObjectSizeLessThan></Filter>", days, "MalformedXML"},
			{all, "<Transition><Days>1</Days><StorageClass>STANDARD_IA</StorageClass></Transition>", "InvalidArgument"},
			{all, "<Transition><Days>1</Days><StorageClass>STANDARD</StorageClass></Transition>", "MalformedXML"},
			{all, "<Transition><StorageClass>GLACIER</StorageClass></Transition>", "MalformedXML"},
		} {
			got := b.call("PUT", "?lifecycle", nil, lifecycleXML(c.filter, c.action))
			if got.code() != c.code {
				b.Errorf("%s%s: %d %s, want %s", c.filter, c.action, got.status, got.code(), c.code)
			}
		}
		rule := strings.TrimSuffix(strings.TrimPrefix(lifecycleXML(all, days), "<LifecycleConfiguration>"),
			"</LifecycleConfiguration>")
		b.wants("an id twice", b.call("PUT", "?lifecycle", nil,
			"<LifecycleConfiguration>"+rule+rule+"</LifecycleConfiguration>"), 400, "InvalidArgument")
	})
}
