package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestRecordedSend(t *testing.T) {
	run(t, "a group or a deduplication id that is given must not be empty (recorded on AWS, 2025-07-30)",
		func(w *world) {
			q, f := w.queue("q", nil), w.queue("f.fifo", attrs{"FifoQueue": "true"})
			const rule = " can only include alphanumeric and punctuation characters. 1 to 128 in length."
			for _, bad := range []string{"", strings.Repeat("a", 129), "group 123"} {
				w.refused(w.sending(q, "x", in(bad)), invalidParameter,
					"Value "+bad+" for parameter MessageGroupId is invalid. Reason: MessageGroupId"+rule)
				w.refused(w.sending(f, "x", in("g"), dedup(bad)), invalidParameter,
					"Value "+bad+" for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId"+
						rule)
			}
			w.send(f, "x", in("g"), dedup(strings.Repeat("a", 128)))
		})
	run(t, "a message too long is worded otherwise in a batch (recorded on AWS, 2024-04-30)", func(w *world) {
		q := w.queue("q", attrs{"MaximumMessageSize": "1024"})
		w.refused(w.sending(q, strings.Repeat("a", 1025)), invalidParameter,
			"One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.")
		out := must(w.sqs.SendMessageBatch(w.ctx,
			&sqs.SendMessageBatchInput{QueueUrl: q, Entries: []types.SendMessageBatchRequestEntry{
				{Id: aws.String("fits"), MessageBody: aws.String(strings.Repeat("a", 1024))},
				{Id: aws.String("long"), MessageBody: aws.String(strings.Repeat("a", 1025))},
			}}))(w)
		if len(out.Successful) != 1 || *out.Successful[0].MD5OfMessageBody != "c9a34cfc85d982698c6ac89f76071abd" {
			w.Errorf("successful %v", out.Successful)
		}
		w.failures(out.Failed, failure("long", invalidParameter,
			"One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes."))
	})
}

func TestRecordedReceive(t *testing.T) {
	run(t, "names of message attributes (recorded on AWS, 2024-04-30)", func(w *world) {
		q := w.queue("q", attrs{"VisibilityTimeout": "0"})
		w.send(q, "msg", func(i *sqs.SendMessageInput) {
			i.MessageAttributes = map[string]types.MessageAttributeValue{
				"Help.Me": str("Me"), "Hello": str("There"),
				"General": str("Kenobi"),
			}
		})
		const all = "4c360f3fdafd970e05fae2f149d997f5"
		for _, c := range []struct {
			names []string
			md5   string // "": none
		}{
			{nil, ""},
			{[]string{"All"}, all},
			{[]string{"*"}, all},
			{[]string{".*"}, all},
			{[]string{"Foo", "Help"}, ""},
			{[]string{"Hello", "General"}, "fca026605781cb4126a1e9044df24232"},
			{[]string{"Foo", "Hello"}, "a311262e065454b75da111d535b8dacd"},
			{[]string{"Hel.*"}, "83fee93c1bcd8b9a5a923ffacdc636c7"},
			{[]string{"AWS."}, ""},
			{[]string{"..foo"}, ""},
		} {
			m := w.one(q, func(i *sqs.ReceiveMessageInput) {
				i.MessageAttributeNames, i.MessageSystemAttributeNames = c.names, nil
			})
			if aws.ToString(m.MD5OfMessageAttributes) != c.md5 || (len(m.MessageAttributes) > 0) != (c.md5 != "") ||
				m.Attributes != nil {
				w.Errorf("%v: digest %v, attributes %v, %v", c.names, aws.ToString(m.MD5OfMessageAttributes),
					m.MessageAttributes, m.Attributes)
			}
		}
	})
	run(t, "system attributes by both names: the old one hides the new in the query protocol (recorded on AWS, "+
		"2024-06-04)", func(w *world) {
		q := w.queue("q", attrs{"VisibilityTimeout": "0"})
		w.send(q, "msg")
		_, _, body := w.json("ReceiveMessage",
			`{"QueueUrl":"`+*q+`","AttributeNames":["SenderId"],"MessageSystemAttributeNames":["All"]}`)
		for _, name := range []string{
			"SenderId", "SentTimestamp", "ApproximateReceiveCount",
			"ApproximateFirstReceiveTimestamp",
		} {
			if !strings.Contains(body, `"`+name+`":`) {
				w.Errorf("awsJson without %s: %s", name, body)
			}
		}
		_, body = w.query("/", "ReceiveMessage",
			url.Values{"QueueUrl": {*q}, "AttributeName.1": {"SenderId"}, "MessageSystemAttributeName.1": {"All"}})
		if !strings.Contains(body, "<Name>SenderId</Name>") || strings.Contains(body, "<Name>SentTimestamp</Name>") {
			w.Errorf("query: %s", body)
		}
	})
	run(t, "the first of two handles with a visibility timeout of zero still deletes (recorded on AWS, 2024-05-14)",
		func(w *world) {
			q := w.queue("q", attrs{"VisibilityTimeout": "0"})
			w.send(q, "x")
			first := w.one(q)
			w.one(q)
			w.remove(q, first)
			w.nothing(q)
		})
	run(t, "answers of the query protocol in JSON (validated on AWS)", func(w *world) {
		q := w.queue("q", nil)
		path := strings.TrimPrefix(*q, w.endpoint)
		get := func(values url.Values) (int, string) {
			r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.endpoint+path+"?"+values.Encode(), nil)
			if err != nil {
				w.Fatal(err)
			}
			r.Header.Set("Accept", "application/json")
			w.sign(r, "")
			code, _, body := w.do(r)
			return code, body
		}
		code, body := get(url.Values{"Action": {"GetQueueAttributes"}, "AttributeName.1": {"QueueArn"}})
		want := `{"GetQueueAttributesResponse":{"GetQueueAttributesResult":{"Attributes":[{"Name":"QueueArn","Value":"` +
			w.arn(q) + `"}]}`
		if code != 200 || !strings.HasPrefix(unspaced(body), want) {
			w.Errorf("attributes: %d %s, want %s", code, body, want)
		}
		code, body = get(url.Values{"Action": {"ReceiveMessage"}})
		want = `{"ReceiveMessageResponse":{"ReceiveMessageResult":{"messages":null}`
		if code != 200 || !strings.HasPrefix(unspaced(body), want) {
			w.Errorf("no message: %d %s, want %s", code, body, want)
		}
		code, body = get(url.Values{"Action": {"ListQueues"}})
		want = `{"Error":{"Code":"InvalidAction"`
		if code != 400 || !strings.HasPrefix(unspaced(body), want) {
			w.Errorf("an action that is not a queue's: %d %s, want %s", code, body, want)
		}
		code, body = get(nil)
		if code != 404 || !strings.Contains(body, "<UnknownOperationException") {
			w.Errorf("without an action: %d %s", code, body)
		}
	})
	run(t, "an older handle of a message moves its time too (validated on AWS)", func(w *world) {
		q := w.queue("q", attrs{"VisibilityTimeout": "0"})
		w.send(q, "x")
		old := w.one(q)
		w.one(q, hidden(3))
		if err := w.change(q, old, 0); err != nil {
			w.Fatal(err)
		}
		w.one(q)
	})
}

func TestRecordedFIFO(t *testing.T) {
	scopes := map[string]attrs{
		"queue":        {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"},
		"messageGroup": {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"},
	}
	run(t, "a queue de-duplicates as it was made, whatever its scope is set to (recorded on AWS, 2025-08-19)",
		func(w *world) {
			for first, then := range map[string]string{"queue": "messageGroup", "messageGroup": "queue"} {
				q := w.queue(first+".fifo", joined(attrs{"FifoQueue": "true"}, scopes[first]))
				w.send(q, "1", in("a"), dedup("d"))
				must(w.sqs.SetQueueAttributes(w.ctx,
					&sqs.SetQueueAttributesInput{QueueUrl: q, Attributes: scopes[then]}))(w)
				if got := w.attribute(q, "DeduplicationScope"); got != then {
					w.Errorf("scope %s", got)
				}
				w.send(q, "2", in("b"), dedup("d"))
				w.send(q, "3", in("a"), dedup("new"))
				w.send(q, "4", in("b"), dedup("new"))
				want := map[string][]string{"queue": {"1", "3"}, "messageGroup": {"1", "2", "3", "4"}}[first]
				got := bodies(w.receive(q))
				if slices.Sort(got); !slices.Equal(got, want) {
					w.Errorf("made with %s: received %v, want %v", first, got, want)
				}
			}
		})
	run(t, "a purge forgets what was de-duplicated (validated on AWS)", func(w *world) {
		q := w.queue("f.fifo", attrs{"FifoQueue": "true"})
		w.send(q, "1", in("g"), dedup("d"))
		must(w.sqs.PurgeQueue(w.ctx, &sqs.PurgeQueueInput{QueueUrl: q}))(w)
		w.send(q, "2", in("g"), dedup("d"))
		w.want(w.receive(q), "2")
	})
	run(t, "groups that were taken from go behind the others (validated on AWS)", func(w *world) {
		q := w.fifo("f", attrs{"VisibilityTimeout": "0"})
		for _, body := range []string{"g1-m1", "g2-m1", "g2-m2", "g3-m1", "g1-m2"} {
			w.send(q, body, in(body[:2]))
		}
		w.want(w.receive(q, upTo(3)), "g1-m1", "g1-m2", "g2-m1")
		w.want(w.receive(q), "g3-m1", "g1-m1", "g1-m2", "g2-m1", "g2-m2")
	})
}
