package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// crash is the network of a process that crashes just before or just after a call of an action.
type crash struct {
	next   http.RoundTripper
	action string
	after  bool
	cut    atomic.Bool
	dead   chan struct{} // closed when the process has crashed
}

var errCrashed = errors.New("the process has crashed")

// actionOf is the action of a request to SQS or S3.
func actionOf(r *http.Request) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return target[strings.LastIndexByte(target, '.')+1:]
	}
	switch {
	case r.Method == http.MethodPut && r.URL.Query().Has("partNumber"):
		return "UploadPart"
	case r.Method == http.MethodPut && r.URL.RawQuery == "x-id=PutObject":
		return "PutObject"
	case r.Method == http.MethodGet && r.URL.RawQuery == "x-id=GetObject":
		return "GetObject"
	case r.Method == http.MethodPost && r.URL.Query().Has("delete"):
		return "DeleteObjects"
	case r.Method == http.MethodPost && r.URL.Query().Has("uploads"):
		return "CreateMultipartUpload"
	case r.Method == http.MethodPost && r.URL.Query().Has("uploadId"):
		return "CompleteMultipartUpload"
	}
	return ""
}

func (c *crash) die() {
	if !c.cut.Swap(true) {
		close(c.dead)
	}
}

func (c *crash) RoundTrip(r *http.Request) (*http.Response, error) {
	now := actionOf(r) == c.action
	if now && !c.after {
		c.die()
	}
	if c.cut.Load() {
		return nil, errCrashed
	}
	answer, err := c.next.RoundTrip(r)
	if now {
		c.die()
	}
	if c.cut.Load() && err == nil {
		_ = answer.Body.Close()
		return nil, errCrashed
	}
	return answer, err
}

// crashing opens the backend of a process that will crash.
func (w *world) crashing(action string, after bool) (*snssqs.Backend, *crash) {
	w.Helper()
	c := &crash{next: w.server.Transport(), action: action, after: after, dead: make(chan struct{})}
	conf := w.sdk()
	conf.HTTPClient = nil
	store, err := s3store.Open(w.Context(), &s3store.Options{Bucket: local.Bucket, AWS: &conf, Transport: c})
	if err != nil {
		w.Fatal(err)
	}
	b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &conf, Transport: c, Store: store, CancelPolls: true})
	if err != nil {
		w.Fatal(err)
	}
	return b, c
}

// longBody is uploaded in parts.
func longBody() []byte { return bytes.Repeat([]byte("0123456789"), 1_800_000) }

// A producer that crashes between two steps leaves a message with its body or no message, and at most an object, or the
// parts of one, that nothing points to.
func TestAProducerCrashesBetweenTwoSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action      string
		after       bool
		long        bool
		left, sends int // objects in the end, and messages
	}{
		{action: "PutObject"},
		{action: "PutObject", after: true, left: 1},
		{action: "SendMessageBatch", left: 1},
		{action: "SendMessageBatch", after: true, sends: 1},
		{action: "CreateMultipartUpload", long: true},
		{action: "CreateMultipartUpload", long: true, after: true},
		{action: "UploadPart", long: true, after: true},
		{action: "CompleteMultipartUpload", long: true},
		{action: "CompleteMultipartUpload", long: true, after: true, left: 1},
		{action: "SendMessageBatch", long: true, after: true, sends: 1},
	} {
		inWorld(t, func(w *world) {
			consumer := w.consumer("orders", &godwit.ConsumerOptions{MaxBody: 20 << 20})
			b, died := w.crashing(c.action, c.after)
			body := bigBody()
			if c.long {
				body = longBody()
			}
			p, err := godwit.NewProducer(w.Context(), b, "orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Send(w.Context(), godwit.Message{Body: body}); err == nil {
				t.Errorf("%+v: the process did not crash", c)
			}
			<-died.dead
			_ = p.Close(context.Background())
			handled := 0
			w.handle(consumer, "handler", func(got []byte) {
				if handled++; !bytes.Equal(got, body) {
					t.Errorf("%+v: %d bytes", c, len(got))
				}
			})
			if dead := len(w.messages("orders--dlq")); handled != c.sends || w.objects() != c.left || dead != 0 {
				t.Errorf("%+v: %d handled, %d objects are left, %d dead letters", c, handled, w.objects(), dead)
			}
		})
	}
}

// A consumer that crashes between two steps loses no body: the message is handled again with it, until the message is
// deleted. At most the object is left.
func TestAConsumerCrashesBetweenTwoSteps(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		for _, c := range []struct {
			action  string
			after   bool
			handled int // by both processes together
			left    int
		}{
			{action: "ReceiveMessage", after: true, handled: 1},
			{action: "GetObject", handled: 1},
			{action: "GetObject", after: true, handled: 1},
			{action: "DeleteMessageBatch", handled: 2},
			{action: "DeleteMessageBatch", after: true, handled: 1, left: 1},
			{action: "DeleteObjects", handled: 1, left: 1},
			{action: "DeleteObjects", after: true, handled: 1},
		} {
			inWorld(t, func(w *world) {
				second := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered})
				w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: ordered}), godwit.Message{Body: bigBody()})
				b, died := w.crashing(c.action, c.after)
				first, err := godwit.NewConsumer(w.Context(), b, "orders", &godwit.ConsumerOptions{Ordered: ordered})
				if err != nil {
					t.Fatal(err)
				}
				handled := 0
				saw := func(got []byte) {
					if handled++; !bytes.Equal(got, bigBody()) {
						t.Errorf("%+v: %d bytes", c, len(got))
					}
				}
				run := w.run(first, func(_ context.Context, d *godwit.Delivery) error { saw(d.Body); return nil })
				<-died.dead
				run.cancel()
				<-run.done
				time.Sleep(time.Minute) // the lease ends
				w.handle(second, "handler", saw)
				dead := len(w.messages("orders--dlq" + suffix(ordered)))
				if handled != c.handled || w.objects() != c.left || dead != 0 {
					t.Errorf("ordered %v, %+v: handled %d times, %d objects are left, %d dead letters", ordered, c, handled,
						w.objects(), dead)
				}
			})
		}
	}
}

// A lost answer to the send of a large message makes a second message with a pointer to the same body, which is deleted
// with the first. The second is finished when it comes, and when it was received before: it is no dead letter.
func TestALostAnswerToALargeSendMakesNoDeadLetter(t *testing.T) {
	for _, slow := range []time.Duration{0, 30 * time.Second} {
		inWorld(t, func(w *world) {
			const n = 60
			c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 4})
			p := w.producer("orders", nil)
			lost := 0
			w.server.Control("sqs.SendMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
				lost++
				return localaws.Outcome{DropAfter: lost%3 == 0}
			})
			for i := range n {
				body := bytes.Repeat([]byte{'x'}, 300<<10)
				if err := p.Send(w.Context(), godwit.Message{Body: fmt.Append(body, i)}); err != nil {
					t.Fatal(err)
				}
			}
			handled := map[string]int{}
			var mu sync.Mutex
			r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
				time.Sleep(slow)
				mu.Lock()
				defer mu.Unlock()
				handled[string(d.Body[300<<10:])]++
				return nil
			})
			time.Sleep(2 * time.Hour)
			report := r.stop()
			if dead := len(w.messages("orders--dlq")); dead > 0 || len(handled) != n || report.Rejected > 0 {
				t.Errorf("slow %v: %d dead letters, %d of %d handled, %+v", slow, dead, len(handled), n, report)
			}
		})
	}
}
