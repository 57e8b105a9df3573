package ops_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/ops"
)

// Thousands of messages on SQS at 20 ms a request, with throttling, lost answers and failed entries, and a filter:
// nothing is lost, and only what the result names is doubled. On an ordered queue, keys keep their order.
func TestRequeueOnSQS(t *testing.T) {
	for _, ch := range []driver.Channel{orders, queued} {
		t.Run(ch.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { requeueOnSQS(t, ch) })
		})
	}
}

func requeueOnSQS(t *testing.T, ch driver.Channel) {
	n := fullrun.Pick(2000, 10_000)
	stays := n/2 + 7
	stayed := fmt.Sprintf("%05d", stays)
	m, b := newSQS(t, ch)
	for i := 0; i < n; i += 10 {
		var ms []driver.Message
		for k := range 10 {
			ms = append(ms, letter(fmt.Sprint("key ", k), fmt.Sprintf("%05d", i+k)))
		}
		m.put(dead(ch), ms...)
	}
	seed := rand.Uint64()
	if at := os.Getenv("GODWIT_SEED"); at != "" {
		_, _ = fmt.Sscan(at, &seed)
	}
	t.Logf("seed %d (GODWIT_SEED)", seed)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	stop := b.Server().Control("sqs.*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		o := localaws.Outcome{Delay: 20 * time.Millisecond}
		if r.Action == "GetQueueAttributes" || r.Action == "GetQueueUrl" {
			return o // a requeue that cannot begin ends with the error, and that is right
		}
		mu.Lock()
		defer mu.Unlock()
		switch random.IntN(20) {
		case 0:
			o.Err = &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}
		case 1:
			o.DropAfter = r.Action != "ReceiveMessage" // SQS strands what it received: another test
		case 2:
			failing := fmt.Sprint(random.IntN(10))
			o.FailEntries = func(id string) *wire.Error {
				if id != failing {
					return nil
				}
				return &wire.Error{Code: "InternalError", Message: "try again", Fault: true}
			}
		}
		return o
	})
	before := b.Server().Calls()
	r, err := ops.Requeue(t.Context(), b, ch.String()+"@dlq", &ops.RequeueOptions{
		Select: ops.Selection{Body: func(body []byte) (bool, error) { return string(body) != stayed, nil }},
	})
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	after := b.Server().Calls()
	t.Logf("%d sent in %v: %d receives, %d sends, %d deletes", r.Moved, r.Took,
		after["sqs.ReceiveMessage"]-before["sqs.ReceiveMessage"],
		after["sqs.SendMessageBatch"]-before["sqs.SendMessageBatch"],
		after["sqs.DeleteMessageBatch"]-before["sqs.DeleteMessageBatch"])
	stop()
	stay := 1
	if ch.Ordered {
		stay = (n - stays + 9) / 10 // and what is behind it in its key
	}
	time.Sleep(time.Minute) // a lost answer of a release
	times, last := map[string]int{}, map[string]string{}
	for _, d := range m.take(ch) {
		if ch.Ordered && string(d.Body) <= last[d.OrderKey] {
			t.Fatalf("%s came after %s", d.Body, last[d.OrderKey])
		}
		times[string(d.Body)]++
		last[d.OrderKey] = string(d.Body)
	}
	doubled := 0
	for _, n := range times {
		if n > 1 {
			doubled++
		}
	}
	left := texts(m.take(dead(ch)))
	if len(times) != n-stay || doubled > len(r.Doubled) || ch.Ordered && doubled > 0 || len(left) != stay ||
		left[0] != stayed {
		t.Errorf("%d of %d messages, %d twice, %d named, %d stay: %+v", len(times), n, doubled, len(r.Doubled),
			len(left), r)
	}
}

// A message that the service refuses stays. The journal then says that it was not sent after all, so that the next run
// does not name it as perhaps doubled.
func TestRequeueOfRefusedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := newSQS(t, orders)
		m.put(orders, letter("", "a"), letter("", "b"))
		m.reject(orders, refused)
		stop := b.Server().Control("sqs.SendMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{FailEntries: func(id string) *wire.Error {
				if id != "0" {
					return nil
				}
				return &wire.Error{Code: "InvalidMessageContents", Message: "not allowed"}
			}}
		})
		path := filepath.Join(t.TempDir(), "journal")
		r, err := ops.Requeue(t.Context(), b, "orders@dlq", &ops.RequeueOptions{Journal: path})
		stop()
		if r.Moved != 1 || r.Stay.Refused != 1 {
			t.Fatalf("%+v: %v", r, err)
		}
		j, err := ops.OpenJournal(path, "orders@dlq", "orders")
		if err != nil {
			t.Fatal(err)
		}
		if open := j.Open(); len(open) > 0 {
			t.Errorf("in doubt: %q", open)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The body of a large message stays in the store when the message is requeued, and its pointer is sent on.
func TestRequeueOfLargeMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := newSQS(t, orders)
		text := strings.Repeat("large ", 1<<16)
		m.put(orders, letter("", text))
		m.reject(orders, refused)
		if r := m.requeue("orders@dlq", nil); r.Moved != 1 {
			t.Fatalf("%+v", r)
		}
		if n := b.Server().Calls()["s3.PutObject"]; n != 1 {
			t.Errorf("the body was uploaded %d times", n)
		}
		r, err := b.Receiver(t.Context(), orders, driver.ReceiverOptions{Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		ds, err := r.Receive(t.Context(), driver.Ask{Max: 10}, nil)
		if err != nil || len(ds) != 1 {
			t.Fatalf("%d messages are back: %v", len(ds), err)
		}
		e := ops.Entry{Delivery: ds[0]}
		if body, err := e.Content(t.Context()); err != nil || string(body) != text {
			t.Errorf("the body has %d bytes: %v", len(body), err)
		}
		err = errors.Join(r.Settle(t.Context(), []driver.Settlement{{Handle: ds[0].Handle}}), r.Close(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if n := b.Server().Calls()["s3.DeleteObject"] + b.Server().Calls()["s3.DeleteObjects"]; n != 1 {
			t.Errorf("the body was deleted %d times", n)
		}
	})
}

// An export of SQS receives every message once, and all of them can be received again at once afterwards.
func TestExportFromSQS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := newSQS(t, orders)
		const n = 2000
		for i := range n {
			m.put(dead(orders), letter("", fmt.Sprint(i)))
		}
		b.Server().Control("sqs.*", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: 20 * time.Millisecond}
		})
		var file strings.Builder
		written, err := ops.Export(t.Context(), service{b}, "orders@dlq", &file, &ops.ExportOptions{Receive: true})
		if err != nil || written != n || strings.Count(file.String(), "\n") != n {
			t.Fatalf("%d, %v", written, err)
		}
		if d, err := b.Inspect(t.Context(), dead(orders)); err != nil || d.Waiting != n || d.InFlight != 0 {
			t.Errorf("%+v, %v", d, err)
		}
		t.Logf("%v", b.Server().Calls())
	})
}
