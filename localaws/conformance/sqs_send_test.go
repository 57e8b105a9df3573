package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// with sets one attribute of a message.
func with(name string, v types.MessageAttributeValue) func(*sqs.SendMessageInput) {
	return func(i *sqs.SendMessageInput) {
		if i.MessageAttributes == nil {
			i.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		i.MessageAttributes[name] = v
	}
}

// delayed sets the delay of a message.
func delayed(seconds int32) func(*sqs.SendMessageInput) {
	return func(i *sqs.SendMessageInput) { i.DelaySeconds = seconds }
}

// sending is a send that may fail.
func (w *world) sending(url *string, body string, alter ...func(*sqs.SendMessageInput)) error {
	in := &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}
	for _, f := range alter {
		f(in)
	}
	_, err := w.sqs.SendMessage(w.ctx, in)
	return err
}

func TestSQSSendMessage(t *testing.T) {
	run(t, "digests of body, attributes and system attributes", func(w *world) {
		url := w.queue("q", nil)
		out := w.send(url, "Test Message", with("Hello", str("World")), func(i *sqs.SendMessageInput) {
			i.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("some-trace-id")},
			}
		})
		got := []string{
			aws.ToString(out.MD5OfMessageBody), aws.ToString(out.MD5OfMessageAttributes),
			aws.ToString(out.MD5OfMessageSystemAttributes),
		}
		want := []string{
			"d1d4180b7e411c4be86b00fb2ee103eb", "7db7fb1ba7f41366a8ea5eb18220b26d",
			"fdce4f2818803f2f73becc09a54792c0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
		plain := w.send(url, "Test Message")
		if plain.MD5OfMessageAttributes != nil || plain.MD5OfMessageSystemAttributes != nil ||
			plain.SequenceNumber != nil {
			w.Errorf("without attributes: %v", plain)
		}
		if len(aws.ToString(plain.MessageId)) != 36 || *plain.MessageId == *out.MessageId {
			w.Errorf("ids %s, %s", *plain.MessageId, *out.MessageId)
		}
	})
	run(t, "attributes of every type arrive as they were sent", func(w *world) {
		url := w.queue("q", nil)
		sent := map[string]types.MessageAttributeValue{
			"text": str("ü"), "typed": {DataType: aws.String("String.json"), StringValue: aws.String("{}")},
			"number": {DataType: aws.String("Number"), StringValue: aws.String("-1.5e3")},
			"big":    {DataType: aws.String("Number.bigint"), StringValue: aws.String("1234567890123456789012")},
			"bytes":  {DataType: aws.String("Binary.png"), BinaryValue: []byte{0, 1, 255}},
			"ä.1":    str("names may be of other letters"),
		}
		w.send(url, "x", func(i *sqs.SendMessageInput) { i.MessageAttributes = sent })
		got := w.one(url).MessageAttributes
		if diff := cmp.Diff(sent, got, cmpopts.IgnoreUnexported(types.MessageAttributeValue{}),
			cmpopts.EquateEmpty()); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
	})
	run(t, "attributes that break the rules are refused in AWS's words", func(w *world) {
		url := w.queue("q", nil)
		typed := func(dataType, text string) types.MessageAttributeValue {
			return types.MessageAttributeValue{DataType: &dataType, StringValue: &text}
		}
		for _, c := range []struct {
			name string
			v    types.MessageAttributeValue
			text string
		}{
			{
				"Hello", typed("Number", "world"),
				"Can't cast the value of message (user) attribute 'Hello' to a number.",
			},
			{
				"Hello", typed("String", ""),
				"Message (user) attribute 'Hello' must contain a non-empty value of type 'String'.",
			},
			{
				"Hello", typed("Binary", "x"),
				"Message (user) attribute 'Hello' must contain a non-empty value of type 'Binary'.",
			},
			{
				"Hello", typed("InvalidType", "x"),
				"The type of message (user) attribute 'Hello' is invalid. You must use only the following supported " +
					"type prefixes: Binary, Number, String.",
			},
			{"", typed("String", "x"), "The request must contain non-empty message (user) attribute names."},
			{
				"AWS.Hello", typed("String", "x"),
				"You can't use message attribute names beginning with 'AWS.' or 'Amazon.'.",
			},
			{
				"amazon.Hello", typed("String", "x"),
				"You can't use message attribute names beginning with 'AWS.' or 'Amazon.'.",
			},
			{".a", typed("String", "x"), "they cannot start or end with '.'"},
			{"a.", typed("String", "x"), "they cannot start or end with '.'"},
			{
				"a b", typed("String", "x"),
				"Message (user) attributes name can only contain upper and lower score characters",
			},
			{
				strings.Repeat("a", 257), typed("String", "x"),
				"Message (user) attribute name must be shorter than 256 bytes.",
			},
			{
				"a", typed("String."+strings.Repeat("a", 250), "x"),
				"Message (user) attribute type must be shorter than 256 bytes.",
			},
			{"a", typed("String", "x\x0b"), "Invalid characters found."},
			{
				"a",
				types.MessageAttributeValue{DataType: aws.String("StringList"), StringListValues: []string{"x"}},
				"Message attribute list values in SendMessage operation are not supported.",
			},
			{
				"a",
				types.MessageAttributeValue{DataType: aws.String("BinaryList"), BinaryListValues: [][]byte{{1}}},
				"Message attribute list values in SendMessage operation are not supported.",
			},
		} {
			w.refused(w.sending(url, "x", with(c.name, c.v)), invalidParameter, c.text)
		}
		_, _, body := w.json("SendMessage",
			`{"QueueUrl":"`+*url+`","MessageBody":"x","MessageAttributes":{"Hello":{}}}`)
		if !strings.Contains(body,
			"The message (user) attribute 'Hello' must contain a non-empty message attribute value.") {
			w.Errorf("an attribute without anything: %s", body)
		}
		var eleven []func(*sqs.SendMessageInput)
		for _, c := range "abcdefghijk" {
			eleven = append(eleven, with(string(c), str("x")))
		}
		w.refused(w.sending(url, "x", eleven...), invalidParameter,
			"Number of message attributes [11] exceeds the allowed maximum [10].")
	})
	run(t, "of system attributes only the trace header", func(w *world) {
		url := w.queue("q", nil)
		system := func(name string, v types.MessageSystemAttributeValue) func(*sqs.SendMessageInput) {
			return func(i *sqs.SendMessageInput) {
				i.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{name: v}
			}
		}
		w.refused(w.sending(url, "x",
			system("Hello",
				types.MessageSystemAttributeValue{DataType: aws.String("String"), StringValue: aws.String("x")})),
			invalidParameter, "Message system attribute name 'Hello' is invalid.")
		for _, bad := range []types.MessageSystemAttributeValue{
			{DataType: aws.String("Binary"), BinaryValue: []byte{1}},
			{DataType: aws.String("String"), StringListValues: []string{"x"}},
			{DataType: aws.String("String"), BinaryListValues: [][]byte{{1}}},
		} {
			w.refused(w.sending(url, "x", system("AWSTraceHeader", bad)), invalidParameter, "AWSTraceHeader")
		}
	})
	run(t, "a body may hold what XML may", func(w *world) {
		url := w.queue("q", nil)
		body := "\t\n\r ~\u0080\ud7ff\ue000\ufffd\U00010000\U0010ffff"
		w.send(url, body)
		if got := *w.one(url).Body; got != body {
			w.Errorf("received %q, want %q", got, body)
		}
		for _, bad := range []string{"\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"} {
			w.refused(w.sending(url, "a"+bad), badContents,
				"Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF")
		}
		w.refused(w.sending(url, ""), missingParameter, "The request must contain the parameter MessageBody.")
	})
	run(t, "a message may be as large as the queue says, attributes and all", func(w *world) {
		url := w.queue("q", attrs{"MaximumMessageSize": "1024"})
		w.send(url, strings.Repeat("a", 1024))
		const text = "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes."
		w.refused(w.sending(url, strings.Repeat("a", 1025)), invalidParameter, text)
		w.refused(w.sending(url, strings.Repeat("é", 513)), invalidParameter, text)
		small := strings.Repeat("a", 1024-len("name")-len("String")-len("text"))
		w.send(url, small, with("name", str("text")))
		w.refused(w.sending(url, small+"a", with("name", str("text"))), invalidParameter, text)
	})
	run(t, "a megabyte is enough and not too much", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, strings.Repeat("a", 1<<20))
		w.refused(w.sending(url, strings.Repeat("a", 1<<20+1)), invalidParameter,
			"Message must be shorter than 1048576 bytes.")
	})
	run(t, "a delay keeps a message back", func(w *world) {
		url := w.queue("q", attrs{"DelaySeconds": "3"})
		w.send(url, "queue's")
		w.send(url, "none", delayed(0))
		w.send(url, "own", delayed(5))
		// The SDK does not send a delay of zero, so the queue's delay applies.
		w.nothing(url)
		if n := w.attribute(url, "ApproximateNumberOfMessagesDelayed"); n != "3" {
			w.Errorf("%s delayed, want 3", n)
		}
		w.pass(3 * time.Second)
		if got := w.receive(url); len(got) != 2 {
			w.Errorf("after 3 seconds %v", bodies(got))
		}
		w.pass(2 * time.Second)
		if got := w.one(url); *got.Body != "own" {
			w.Errorf("after 5 seconds %s", *got.Body)
		}
		w.json("SendMessage", `{"QueueUrl":"`+*url+`","MessageBody":"at once","DelaySeconds":0}`)
		if got := w.one(url); *got.Body != "at once" {
			w.Errorf("with a delay of zero %s", *got.Body)
		}
		for _, bad := range []int32{-1, 901} {
			w.refused(w.sending(url, "x", delayed(bad)), invalidParameter,
				"for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.")
		}
	})
	run(t, "a group on a standard queue is accepted and returned, a deduplication id is not", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "x", in("tenant-1"))
		if got := w.one(url).Attributes["MessageGroupId"]; got != "tenant-1" {
			w.Errorf("group %q", got)
		}
		w.refused(w.sending(url, "x", dedup("d")), invalidParameter,
			"Value d for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that is "+
				"not valid for this queue type.")
	})
}
