package conformance

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestSQSWire(t *testing.T) {
	run(t, "errors in awsJson: the type in the body, the query's code in a header", func(w *world) {
		for _, c := range []struct{ action, body, kind, header string }{
			{
				"SendMessage", `{"QueueUrl":"` + w.endpoint + `/000000000000/none","MessageBody":"x"}`,
				"com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue;Sender",
			},
			{
				"CreateQueue", `{"QueueName":"a b"}`, "com.amazon.coral.service#InvalidParameterValueException",
				"InvalidParameterValue;Sender",
			},
			{
				"CreateQueue", `{}`, "com.amazon.coral.service#MissingRequiredParameterException",
				"MissingParameter;Sender",
			},
			{
				"CreateQueue", `{"QueueName":"a","Attributes":{"Nope":"1"}}`, "com.amazonaws.sqs#InvalidAttributeName",
				"InvalidAttributeName;Sender",
			},
			{
				"CreateQueue", `{"QueueName":{}}`, "com.amazon.coral.service#SerializationException",
				"MalformedInput;Sender",
			},
			{"Nope", `{}`, "com.amazon.coral.service#UnknownOperationException", "InvalidAction;Sender"},
		} {
			code, header, body := w.json(c.action, c.body)
			if code != 400 || !strings.Contains(body, `"`+c.kind+`"`) || header.Get("x-amzn-query-error") != c.header {
				w.Errorf("%s %s\n%d %s %s\nwant %s, %s", c.action, c.body, code, header.Get("x-amzn-query-error"), body,
					c.kind, c.header)
			}
			if header.Get("Content-Type") != "application/x-amz-json-1.0" || header.Get("x-amzn-requestid") == "" {
				w.Errorf("headers %v", header)
			}
		}
	})
	run(t, "what is not known is refused by its name", func(w *world) {
		if w.local == nil {
			w.Skip("AWS ignores it")
		}
		q := w.queue("q", nil)
		if code, _, body := w.json("SendMessage",
			`{"QueueUrl":"`+*q+`","MessageBody":"x","Priority":1}`); code != 400 ||
			!contains(body, "Priority of SendMessage") {
			w.Errorf("awsJson: %d %s", code, body)
		}
		if code, body := w.query("/", "SendMessage",
			url.Values{"QueueUrl": {*q}, "MessageBody": {"x"}, "Priority": {"1"}}); code != 400 ||
			!contains(body, "Priority of SendMessage") {
			w.Errorf("query: %d %s", code, body)
		}
	})
	run(t, "a message through the query protocol, the queue in the path", func(w *world) {
		code, body := w.query("/", "CreateQueue", url.Values{
			"QueueName": {w.name("q")}, "Attribute.1.Name": {"VisibilityTimeout"}, "Attribute.1.Value": {"7"},
			"Tag.1.Key": {"k"}, "Tag.1.Value": {"v"},
		})
		found := regexp.MustCompile(`<CreateQueueResult><QueueUrl>(.*)</QueueUrl></CreateQueueResult>`).FindStringSubmatch(body)
		if code != 200 || found == nil {
			w.Fatalf("create: %d %s", code, body)
		}
		at, err := url.Parse(found[1])
		if err != nil {
			w.Fatal(err)
		}
		_, body = w.query(at.Path, "SendMessage", url.Values{
			"MessageBody":             {"<a>&\"\r\n"},
			"MessageAttribute.1.Name": {"n"}, "MessageAttribute.1.Value.DataType": {"String"},
			"MessageAttribute.1.Value.StringValue": {"v"},
		})
		if !contains(body, "<MD5OfMessageBody>") || !contains(body, "<MD5OfMessageAttributes>") {
			w.Errorf("send: %s", body)
		}
		_, body = w.query(at.Path, "ReceiveMessage",
			url.Values{
				"AttributeName.1": {"ApproximateReceiveCount"}, "MessageAttributeName.1": {"All"},
				"VisibilityTimeout": {"0"},
			})
		for _, want := range []string{
			"<ReceiveMessageResult><Message><MessageId>", "<Body>&lt;a&gt;&amp;&quot;&#xD;\n</Body>",
			"<Attribute><Name>ApproximateReceiveCount</Name><Value>1</Value></Attribute>",
			"<MessageAttribute><Name>n</Name><Value><StringValue>v</StringValue><DataType>String</DataType></Value></MessageAttribute>",
		} {
			if !contains(body, want) {
				w.Errorf("receive: %s\nwant %s", body, want)
			}
		}
		_, body = w.query(at.Path, "SendMessageBatch", url.Values{
			"SendMessageBatchRequestEntry.1.Id": {"a"}, "SendMessageBatchRequestEntry.1.MessageBody": {"x"},
			"SendMessageBatchRequestEntry.2.Id": {"b"}, "SendMessageBatchRequestEntry.2.MessageBody": {"x"},
			"SendMessageBatchRequestEntry.2.DelaySeconds": {"901"},
		})
		for _, want := range []string{
			"<SendMessageBatchResultEntry><Id>a</Id>",
			"<BatchResultErrorEntry><Id>b</Id><SenderFault>true</SenderFault><Code>InvalidParameterValue</Code>",
		} {
			if !contains(body, want) {
				w.Errorf("batch: %s\nwant %s", body, want)
			}
		}
		_, body = w.query(at.Path, "GetQueueAttributes", url.Values{"AttributeName.1": {"VisibilityTimeout"}})
		if !contains(body,
			"<GetQueueAttributesResult><Attribute><Name>VisibilityTimeout</Name><Value>7</Value></Attribute></GetQueueAttributesResult>") {
			w.Errorf("attributes: %s", body)
		}
		_, body = w.query(at.Path, "ListQueueTags", nil)
		if !contains(body, "<Tag><Key>k</Key><Value>v</Value></Tag>") {
			w.Errorf("tags: %s", body)
		}
		_, body = w.query("/", "ListQueues", url.Values{"QueueNamePrefix": {w.prefix}})
		if !contains(body, "<ListQueuesResult><QueueUrl>"+found[1]+"</QueueUrl></ListQueuesResult>") {
			w.Errorf("list: %s", body)
		}
		if code, body = w.query(at.Path, "DeleteQueue", nil); code != 200 || !contains(body, "<DeleteQueueResponse") ||
			contains(body, "Result>") {
			w.Errorf("delete: %d %s", code, body)
		}
		code, body = w.query(at.Path, "DeleteQueue", nil)
		if code != 400 ||
			!contains(body,
				"<Type>Sender</Type><Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue "+
					"does not exist for this wsdl version.</Message>") {
			w.Errorf("delete again: %d %s", code, body)
		}
	})
	run(t, "an empty batch in the query protocol", func(w *world) {
		q := w.queue("q", nil)
		for _, values := range []url.Values{
			{"QueueUrl": {*q}},
			{"QueueUrl": {*q}, "DeleteMessageBatchRequestEntry": {""}},
			{"QueueUrl": {*q}, "Entries": {""}},
		} { // as botocore writes it
			if code, body := w.query("/", "DeleteMessageBatch", values); code != 400 ||
				!contains(body, "AWS.SimpleQueueService.EmptyBatchRequest") {
				w.Errorf("%d %s", code, body)
			}
		}
	})
}
