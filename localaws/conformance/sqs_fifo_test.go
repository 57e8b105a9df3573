package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// attempt sets the attempt id of a receive.
func attempt(name string) func(*sqs.ReceiveMessageInput) {
	return func(i *sqs.ReceiveMessageInput) { i.ReceiveRequestAttemptId = &name }
}

func (w *world) want(got []types.Message, bodiesWanted ...string) {
	w.Helper()
	if b := bodies(got); !slices.Equal(b, bodiesWanted) {
		w.Errorf("received %v, want %v", b, bodiesWanted)
	}
}

func TestSQSFIFOOrder(t *testing.T) {
	run(t, "a group is received in order", func(w *world) {
		url := w.fifo("f", nil)
		var want []string
		for _, b := range []string{"1", "2", "3", "4", "5"} {
			w.send(url, b, in("g"))
			want = append(want, b)
		}
		got := w.receive(url)
		w.want(got, want...)
		for i := 1; i < len(got); i++ {
			if a, b := got[i-1].Attributes["SequenceNumber"], got[i].Attributes["SequenceNumber"]; len(b) != 20 ||
				a >= b {
				w.Errorf("sequence %s, then %s", a, b)
			}
		}
	})
	run(t, "a group is locked while one of it is in flight, others are not", func(w *world) {
		url := w.fifo("f", attrs{"VisibilityTimeout": "3"})
		w.send(url, "a1", in("a"))
		w.send(url, "a2", in("a"))
		w.send(url, "b1", in("b"))
		a1 := w.one(url, upTo(1))
		w.want([]types.Message{a1}, "a1")
		w.want(w.receive(url), "b1")
		w.nothing(url)
		w.remove(url, a1)
		w.want(w.receive(url), "a2")
	})
	run(t, "released in order: what comes back comes before what is behind it", func(w *world) {
		url := w.fifo("f", attrs{"VisibilityTimeout": "3"})
		for _, b := range []string{"1", "2", "3", "4"} {
			w.send(url, b, in("g"))
		}
		got := w.receive(url, upTo(3))
		w.want(got, "1", "2", "3")
		w.remove(url, got[1])
		if err := w.change(url, got[2], 0); err != nil {
			w.Fatal(err)
		}
		w.nothing(url) // the first is still in flight
		w.pass(3 * time.Second)
		w.want(w.receive(url), "1", "3", "4")
	})
	run(t, "a message made visible unlocks its group for itself, not for messages in flight behind it", func(w *world) {
		url := w.fifo("f", nil)
		w.send(url, "g1-m1", in("1"))
		w.send(url, "g1-m2", in("1"))
		w.send(url, "g1-m3", in("1"))
		w.send(url, "g2-m1", in("2"))
		got := w.receive(url, upTo(2))
		w.want(got, "g1-m1", "g1-m2")
		if err := w.change(url, got[0], 0); err != nil {
			w.Fatal(err)
		}
		w.want(w.receive(url, waiting(2)), "g2-m1", "g1-m1")
	})
	run(t, "groups take turns, each as far as it goes", func(w *world) {
		url := w.fifo("f", attrs{"VisibilityTimeout": "2"})
		for _, m := range [][2]string{{"g1-m1", "1"}, {"g2-m1", "2"}, {"g2-m2", "2"}, {"g3-m1", "3"}, {"g1-m2", "1"}} {
			w.send(url, m[0], in(m[1]))
		}
		w.want(w.receive(url, upTo(3)), "g1-m1", "g1-m2", "g2-m1")
		w.pass(2 * time.Second)
		w.want(w.receive(url), "g3-m1", "g1-m1", "g1-m2", "g2-m1", "g2-m2")
	})
	run(t, "a delayed head holds its group", func(w *world) {
		url := w.fifo("f", attrs{"DelaySeconds": "2"})
		w.send(url, "1", in("g"))
		w.nothing(url)
		w.pass(time.Second)
		w.send(url, "2", in("g"))
		w.pass(time.Second)
		first := w.receive(url)
		w.want(first, "1")
		w.remove(url, first[0])
		w.nothing(url)
		w.pass(time.Second)
		w.want(w.receive(url), "2")
	})
	run(t, "a waiting poll wakes when a group is free", func(w *world) {
		url := w.fifo("f", nil)
		w.send(url, "1", in("g"))
		w.send(url, "2", in("g"))
		m := w.one(url, upTo(1))
		began := time.Now()
		w.beside(func() {
			time.Sleep(2 * time.Second)
			w.remove(url, m)
		})
		w.want(w.receive(url, waiting(20)), "2")
		if took := time.Since(began); took < 2*time.Second || w.local != nil && took > 2*time.Second {
			w.Errorf("after %v, want 2s", took)
		}
	})
}

func TestSQSFIFOSend(t *testing.T) {
	run(t, "group and deduplication id are required and bounded", func(w *world) {
		url := w.queue("f.fifo", attrs{"FifoQueue": "true"})
		w.refused(w.sending(url, "x", dedup("d")), missingParameter,
			"The request must contain the parameter MessageGroupId.")
		w.refused(w.sending(url, "x", in("g")), invalidParameter,
			"The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "+
				"explicitly")
		for _, bad := range []string{"a b", "ä", strings.Repeat("x", 129)} {
			w.refused(w.sending(url, "x", in(bad), dedup("d")), invalidParameter,
				"MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.")
			w.refused(w.sending(url, "x", in("g"), dedup(bad)), invalidParameter,
				"MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.")
		}
		w.send(url, "x", in(strings.Repeat("g", 128)), dedup("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
	})
	run(t, "a delay of its own is refused", func(w *world) {
		w.refused(w.sending(w.fifo("f", nil), "x", in("g"), delayed(2)), invalidParameter,
			"Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid "+
				"for this queue type.")
	})
	run(t, "a batch with an entry out of order is refused whole", func(w *world) {
		url := w.queue("f.fifo", attrs{"FifoQueue": "true"})
		for entries, want := range map[string]string{
			`[{"Id":"a","MessageBody":"x","MessageDeduplicationId":"d"}]`:                                       "The request must contain the parameter MessageGroupId.",
			`[{"Id":"a","MessageBody":"x","MessageGroupId":"g"}]`:                                               "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
			`[{"Id":"a","MessageGroupId":"g","MessageDeduplicationId":"d"}]`:                                    "The request must contain the parameter SendMessageBatchRequestEntry.1.MessageBody.",
			`[{"Id":"a","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":3}]`: "Value 3 for parameter DelaySeconds is invalid.",
		} {
			code, header, body := w.json("SendMessageBatch", `{"QueueUrl":"`+*url+`","Entries":`+entries+`}`)
			if code != 400 || header.Get("x-amzn-query-error") != "InvalidParameterValue;Sender" ||
				!contains(body, want) {
				w.Errorf("%s\n%d %s %s\nwant %s", entries, code, header.Get("x-amzn-query-error"), body, want)
			}
		}
		out := must(w.sqs.SendMessageBatch(w.ctx,
			&sqs.SendMessageBatchInput{QueueUrl: url, Entries: []types.SendMessageBatchRequestEntry{
				{
					Id: aws.String("a"), MessageBody: aws.String("1"), MessageGroupId: aws.String("g"),
					MessageDeduplicationId: aws.String("1"),
				},
				{
					Id: aws.String("b"), MessageBody: aws.String("2"), MessageGroupId: aws.String("g"),
					MessageDeduplicationId: aws.String("2"),
				},
			}}))(w)
		if len(out.Successful) != 2 || *out.Successful[0].SequenceNumber >= *out.Successful[1].SequenceNumber {
			w.Errorf("successful %v", out.Successful)
		}
		w.want(w.receive(url), "1", "2")
	})
}

func TestSQSFIFODeduplication(t *testing.T) {
	run(t, "for five minutes, also after deletion: accepted, answered alike, not delivered", func(w *world) {
		url := w.queue("f.fifo", attrs{"FifoQueue": "true"})
		first := w.send(url, "one", in("g"), dedup("d"))
		w.remove(url, w.one(url))
		w.pass(4*time.Minute + 59*time.Second)
		again := w.send(url, "other", in("g"), dedup("d"))
		if *again.MessageId != *first.MessageId || *again.SequenceNumber != *first.SequenceNumber ||
			*again.MD5OfMessageBody == *first.MD5OfMessageBody {
			w.Errorf("first %v, again %v", first, again)
		}
		w.nothing(url)
		w.pass(time.Second)
		w.send(url, "three", in("g"), dedup("d"))
		w.want(w.receive(url), "three")
	})
	run(t, "by content where the queue says so, an explicit id first", func(w *world) {
		url := w.fifo("f", nil)
		w.send(url, "same", in("g"))
		w.send(url, "same", in("h"))
		w.send(url, "same", in("g"), dedup("other"))
		w.want(w.receive(url), "same", "same")
	})
	run(t, "of the whole queue, or of the group where the scope says so", func(w *world) {
		for _, c := range []struct {
			scope string
			want  []string
		}{{"queue", []string{"1"}}, {"messageGroup", []string{"1", "2"}}} {
			url := w.queue(c.scope+".fifo", attrs{"FifoQueue": "true", "DeduplicationScope": c.scope})
			w.send(url, "1", in("g"), dedup("d"))
			w.send(url, "2", in("h"), dedup("d"))
			w.want(w.receive(url), c.want...)
		}
	})
}

func TestSQSFIFOHandles(t *testing.T) {
	run(t, "an expired handle neither deletes nor hides", func(w *world) {
		url := w.fifo("f", attrs{"VisibilityTimeout": "1"})
		w.send(url, "x", in("g"))
		m := w.one(url)
		w.pass(2 * time.Second)
		text := "Value " + *m.ReceiptHandle +
			" for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
		w.refused(w.removing(url, m.ReceiptHandle), invalidParameter, text)
		w.refused(w.change(url, m, 5), invalidParameter, text)
		w.one(url)
	})
	run(t, "one whose visibility was extended is good", func(w *world) {
		url := w.fifo("f", attrs{"VisibilityTimeout": "1"})
		w.send(url, "x", in("g"))
		m := w.one(url)
		if err := w.change(url, m, 6); err != nil {
			w.Fatal(err)
		}
		w.pass(3 * time.Second)
		w.remove(url, m)
		w.pass(4 * time.Second)
		w.nothing(url)
	})
	run(t, "deleting once more is fine", func(w *world) {
		url := w.fifo("f", nil)
		w.send(url, "x", in("g"))
		m := w.one(url)
		w.remove(url, m)
		w.remove(url, m)
	})
}

func TestSQSReceiveRequestAttempt(t *testing.T) {
	run(t, "the same attempt returns the same batch, and its visibility starts again", func(w *world) {
		url := w.fifo("f", attrs{"VisibilityTimeout": "4"})
		w.send(url, "1", in("g"))
		w.send(url, "2", in("g"))
		first := w.receive(url, attempt("a"))
		w.pass(3 * time.Second)
		again := w.receive(url, attempt("a"))
		w.want(again, "1", "2")
		for i := range again {
			if *again[i].ReceiptHandle != *first[i].ReceiptHandle {
				w.Errorf("message %d: another handle", i)
			}
		}
		w.pass(3 * time.Second)
		w.nothing(url)
		w.pass(time.Second)
		w.want(w.receive(url), "1", "2")
	})
	run(t, "not once one of them was deleted, changed or expired", func(w *world) {
		for name, spoil := range map[string]func(url *string, m types.Message){
			"deleted": func(url *string, m types.Message) { w.remove(url, m) },
			"changed": func(url *string, m types.Message) {
				if err := w.change(url, m, 5); err != nil {
					w.Error(err)
				}
			},
			"expired": func(*string, types.Message) { w.pass(3 * time.Second) },
		} {
			url := w.fifo(name, attrs{"VisibilityTimeout": "3"})
			w.send(url, "1", in("g"))
			w.send(url, "2", in("g"))
			got := w.receive(url, attempt("a"))
			spoil(url, got[0])
			_, err := w.sqs.ReceiveMessage(w.ctx,
				&sqs.ReceiveMessageInput{QueueUrl: url, ReceiveRequestAttemptId: aws.String("a")})
			w.refused(err, invalidParameter, "not valid anymore since the receive call is not retryable")
		}
	})
	run(t, "its name is bounded", func(w *world) {
		_, err := w.sqs.ReceiveMessage(w.ctx,
			&sqs.ReceiveMessageInput{QueueUrl: w.fifo("f", nil), ReceiveRequestAttemptId: aws.String("a b")})
		w.refused(err, invalidParameter,
			"ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.")
	})
}
