package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	model "github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// arrivals are bodies with the times at which they were handled.
type arrivals struct {
	mu sync.Mutex
	at map[string][]time.Time
	in []string
}

func (a *arrivals) handle(_ context.Context, d *godwit.Delivery) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = map[string][]time.Time{}
	}
	a.at[string(d.Body)] = append(a.at[string(d.Body)], time.Now())
	a.in = append(a.in, string(d.Body))
	return nil
}

// once fails unless each message came once, not before its time, and 99 of 100 at most a second late.
func (a *arrivals) once(t *testing.T, due map[string]time.Time) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	var late []time.Duration
	for body, want := range due {
		at := a.at[body]
		if len(at) != 1 {
			t.Errorf("%s was handled %d times", body, len(at))
			continue
		}
		if d := at[0].Sub(want); d < 0 {
			t.Errorf("%s came %v before its time", body, -d)
		} else {
			late = append(late, d)
		}
	}
	if len(a.at) != len(due) {
		t.Errorf("%d messages came, want %d", len(a.at), len(due))
	}
	slices.Sort(late)
	if n := len(late); n > 0 && late[n*99/100] > time.Second {
		t.Errorf("of %d messages, one in a hundred is %v late or more", n, late[n*99/100])
	}
}

// kinds are the channels on which SQS itself cannot delay for long, or at all.
var kinds = []struct {
	name, send, receive string
	ordered             bool
}{
	{"standard", "orders", "orders", false},
	{"ordered", "orders", "orders", true},
	{"exchange", "events.*", "events.audit", false},
	{"ordered exchange", "events.*", "events.audit", true},
}

func TestLaterOnTime(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var a arrivals
				r := w.run(w.consumer(kind.receive, &godwit.ConsumerOptions{Ordered: kind.ordered}), a.handle)
				p := w.producer(kind.send, &godwit.ProducerOptions{Ordered: kind.ordered})
				n := 1000
				if kind.name != "standard" {
					n = 100
				}
				random := rand.New(rand.NewPCG(1, 2))
				due := map[string]time.Time{}
				var ms []godwit.Message
				begin := time.Now()
				for i := range n {
					m := body(fmt.Sprint("message ", i))
					d := 16*time.Minute + time.Duration(random.Int64N(int64(2*time.Hour)))
					if i%10 == 0 {
						d = 16 * time.Minute // together
					}
					due[string(m.Body)] = begin.Add(d)
					if i%2 == 0 {
						m.Delay = d
					} else {
						m.At = begin.Add(d)
					}
					ms = append(ms, m)
				}
				if err := p.SendBatch(w.Context(), ms); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Hour)
				r.stop()
				a.once(t, due)
			})
		})
	}
}

// exaggerated is the transport of a process to which the service says that a multiple of a queue's messages are hidden.
type exaggerated struct {
	http.RoundTripper
	by int
}

var hiddenInJSON = regexp.MustCompile(`("ApproximateNumberOfMessagesNotVisible":")(\d+)`)

// RoundTrip implements http.RoundTripper.
func (e exaggerated) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := e.RoundTripper.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetQueueAttributes") {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	body = hiddenInJSON.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := hiddenInJSON.FindSubmatch(found)
		n, _ := strconv.Atoi(string(parts[2]))
		return fmt.Appendf(parts[1], "%d", n*e.by)
	})
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, answer.Body.Close()
}

// hides makes the queue of later messages, and limits how many of it are hidden at the same time.
func (p *process) hides(most int) *queue.Queue {
	p.Helper()
	m := godwit.Message{Body: []byte("first"), Delay: 20 * time.Minute}
	if err := p.producer("orders", false).Send(p.Context(), m); err != nil {
		p.Fatal(err)
	}
	later := p.server.SQS().Queue("orders--later").Model()
	limits := later.Config()
	limits.InFlight = most
	later.Configure(limits)
	return later
}

// More messages wait than SQS hides: the others wait by its delays, and none is late. The full run has the limit and
// the number of messages that docs/later.md names.
func TestLaterBeyondWhatIsHidden(t *testing.T) {
	inWorld(t, func(w *world) {
		n, scale := fullrun.Pick(1000, 500_000), fullrun.Pick(200, 1)
		most := fullrun.Pick(10*time.Minute, 30*time.Minute)
		w.server.Control("sqs.*", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: 5 * time.Millisecond}
		})
		var a arrivals
		p := w.apart(snssqs.Options{Transport: exaggerated{w.server.Transport(), scale}})
		stop := p.consume("orders", false, a.handle)
		later, producer := p.hides(120_000/scale), p.producer("orders", false)
		due, random := map[string]time.Time{"first": time.Now().Add(20 * time.Minute)}, rand.New(rand.NewPCG(1, 2))
		begin := time.Now().Add(fullrun.Pick(18*time.Minute, 20*time.Minute))
		requests := func() (n int) {
			for _, k := range w.server.Calls() {
				n += k
			}
			return n
		}
		before := requests()
		for first := 0; first < n; first += 10_000 {
			var ms []godwit.Message
			for i := first; i < min(n, first+10_000); i++ {
				m := body(fmt.Sprint("m", i))
				m.At = begin.Add(time.Duration(random.Int64N(int64(most))))
				due[string(m.Body)] = m.At
				ms = append(ms, m)
			}
			if err := producer.SendBatch(w.Context(), ms); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		hidden := 0
		for time.Until(begin) > -most {
			time.Sleep(time.Second)
			hidden = max(hidden, later.Stats().InFlight)
		}
		time.Sleep(time.Minute)
		stop()
		a.once(t, due)
		if made := requests() - before; made > 8*n {
			t.Errorf("%d messages have taken %d requests", n, made)
		}
		if hidden < 80_000/scale || hidden >= 120_000/scale {
			t.Errorf("at most %d messages were hidden", hidden)
		}
		w.visible("orders--later", 0)
	})
}

// Messages beyond those that may be hidden, which the waker may not send again, are hidden for some minutes.
func TestLaterMayNotWaitByDelays(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		p := w.apart(snssqs.Options{Transport: exaggerated{w.server.Transport(), 1000}})
		stop, due := p.consume("orders", false, a.handle), map[string]time.Time{}
		p.hides(10_000)
		due["first"] = time.Now().Add(20 * time.Minute)
		var ms []godwit.Message
		for i := range 500 {
			m := body(fmt.Sprint("m", i))
			m.At = time.Now().Add(2*time.Hour + time.Duration(i)*time.Second/10)
			due[string(m.Body)] = m.At
			ms = append(ms, m)
		}
		if err := p.producer("orders", false).SendBatch(w.Context(), ms); err != nil {
			t.Fatal(err)
		}
		w.server.Control("sqs.SendMessageBatch", func(_ context.Context, r *localaws.Request) localaws.Outcome {
			if strings.HasSuffix(r.Input.(*model.SendMessageBatchInput).QueueURL, "--later") {
				return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "denied", Status: 403}}
			}
			return localaws.Outcome{}
		})
		time.Sleep(time.Hour)
		if n := w.calls("sqs.ReceiveMessage"); n > 1000 {
			t.Errorf("%d receives in an hour", n)
		}
		time.Sleep(2 * time.Hour)
		stop()
		a.once(t, due)
	})
}

// A waker of an earlier version hides all that SQS hides. Until the first of these is due, nothing else is received.
// Then the new waker makes room, and what follows is in time.
func TestLaterBesideAnOldWaker(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		p := w.apart(snssqs.Options{Transport: exaggerated{w.server.Transport(), 200}})
		p.consume("orders", false, a.handle)() // which makes the queue of the channel
		later := p.hides(600)
		begin, due := time.Now().Add(20*time.Minute), map[string]time.Time{}
		due["first"] = begin
		var ms []godwit.Message
		for i := range 1000 {
			m := body(fmt.Sprint("m", i))
			m.At = begin.Add(time.Duration(i*7%1000) * time.Second)
			due[string(m.Body)] = m.At
			ms = append(ms, m)
		}
		if err := p.producer("orders", false).SendBatch(w.Context(), ms); err != nil {
			t.Fatal(err)
		}
		time.Sleep(16 * time.Minute)
		url, old := "http://localaws.internal/000000000000/orders--later", sqs.NewFromConfig(w.sdk())
		for later.Stats().InFlight < 600 {
			out, err := old.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
				QueueUrl: &url, MaxNumberOfMessages: 10,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range out.Messages {
				until := int32(time.Until(due[*m.Body]) / time.Second)
				if _, err := old.ChangeMessageVisibility(w.Context(), &sqs.ChangeMessageVisibilityInput{
					QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: until,
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop := p.consume("orders", false, a.handle)
		time.Sleep(time.Until(begin) + 20*time.Minute)
		stop()
		for text, at := range due {
			if a.times(text) != 1 {
				t.Errorf("%s came %d times", text, a.times(text))
			} else if late := a.at[text][0].Sub(at); late < 0 || late > 5*time.Second {
				t.Errorf("%s came %v late", text, late)
			}
		}
		w.visible("orders--later", 0)
	})
}

// runs returns a running consumer of a channel.
func (a *arrivals) runs(w *world, channel string, ordered bool) *running {
	return w.run(w.consumer(channel, &godwit.ConsumerOptions{Ordered: ordered}), a.handle)
}

// times is how often a message was handled.
func (a *arrivals) times(body string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at[body])
}

func (w *world) sendAll(channel string, ordered bool, ms ...godwit.Message) {
	w.Helper()
	if err := w.producer(channel, &godwit.ProducerOptions{Ordered: ordered}).SendBatch(w.Context(), ms); err != nil {
		w.Fatal(err)
	}
}

// A deploy a moment before messages are due makes none late: a consumer that stops releases what it holds.
func TestLaterAcrossADeploy(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		due := map[string]time.Time{}
		r := a.runs(w, "orders", false)
		for i := range 40 {
			m := body(fmt.Sprint("m", i))
			m.At = time.Now().Add(time.Hour + time.Duration(i)*100*time.Millisecond)
			due[string(m.Body)] = m.At
			w.sendAll("orders", false, m)
		}
		time.Sleep(time.Hour + 200*time.Millisecond)
		r.stop()
		r = a.runs(w, "orders", false)
		time.Sleep(time.Minute)
		r.stop()
		a.once(t, due)
	})
}

// A waker that is killed between the send of a message and its delete leaves both. A standard channel gets the message
// twice, an ordered one once.
func TestLaterKilledBeforeTheDelete(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			var a arrivals
			r := a.runs(w, "orders", ordered)
			m := body("m")
			m.Delay = time.Hour
			w.sendAll("orders", ordered, m)
			time.Sleep(time.Hour - time.Minute)
			stop := w.server.Control("sqs.DeleteMessageBatch",
				func(_ context.Context, r *localaws.Request) localaws.Outcome {
					if strings.HasSuffix(r.Input.(*model.DeleteMessageBatchInput).QueueURL, "--later") {
						return localaws.Outcome{Drop: true}
					}
					return localaws.Outcome{}
				})
			time.Sleep(time.Minute + 5*time.Second)
			r.stop()
			stop()
			r = a.runs(w, "orders", ordered)
			time.Sleep(5 * time.Minute)
			r.stop()
			want := 2
			if ordered {
				want = 1
			}
			if n := a.times("m"); n != want {
				t.Errorf("ordered %v: handled %d times, want %d", ordered, n, want)
			}
			w.visible("orders--later", 0)
		})
	}
}

// A waker that cannot delete what it has sent does not send it again.
func TestLaterDeleteIsDenied(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		r := a.runs(w, "orders", false)
		stop := w.server.Control("sqs.DeleteMessageBatch",
			func(_ context.Context, r *localaws.Request) localaws.Outcome {
				if strings.HasSuffix(r.Input.(*model.DeleteMessageBatchInput).QueueURL, "--later") {
					return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "denied", Status: 403}}
				}
				return localaws.Outcome{}
			})
		m := body("m")
		m.Delay = 20 * time.Minute
		w.sendAll("orders", false, m)
		time.Sleep(25 * time.Minute)
		stop()
		time.Sleep(time.Minute)
		r.stop()
		if n := a.times("m"); n != 1 {
			t.Errorf("handled %d times", n)
		}
		w.visible("orders--later", 0)
	})
}

// If nobody is awake for two days, nothing is lost: what is overdue comes at once.
func TestLaterNobodyAwake(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		made := a.runs(w, "orders", false)
		time.Sleep(time.Second)
		made.stop()
		for name, d := range map[string]time.Duration{"hour": time.Hour, "days": 49 * time.Hour} {
			m := body(name)
			m.Delay = d
			w.sendAll("orders", false, m)
		}
		begin := time.Now()
		time.Sleep(48 * time.Hour)
		r := a.runs(w, "orders", false)
		time.Sleep(2 * time.Hour)
		r.stop()
		a.once(t, map[string]time.Time{"hour": begin.Add(48 * time.Hour), "days": begin.Add(49 * time.Hour)})
	})
}

// A message that waits costs four requests a day: two receives, and two that hide it again.
func TestLaterRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		r := a.runs(w, "orders", false)
		const days = 2
		m := body("m")
		m.Delay = days*24*time.Hour + time.Minute
		w.sendAll("orders", false, m)
		time.Sleep(days * 24 * time.Hour)
		receives := w.messages("orders--later")[0].Count
		hides := w.calls("sqs.ChangeMessageVisibilityBatch")
		if n := receives + hides; n < 1 || n > 4*days+3 {
			t.Errorf("%d receives and %d changes of visibility in %d days", receives, hides, days)
		}
		time.Sleep(time.Hour)
		r.stop()
		if n := a.times("m"); n != 1 {
			t.Errorf("handled %d times", n)
		}
	})
}

// A delay is longer than SQS keeps a message, and than the store keeps a body: both are renewed.
func TestLaterSeventyDays(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		a.runs(w, "orders", true).stop()
		small, big := godwit.Message{Body: []byte("small")}, godwit.Message{Body: []byte(strings.Repeat("x", 300<<10))}
		small.Delay, big.Delay = 10*24*time.Hour, 70*24*time.Hour
		small.OrderKey, big.OrderKey = "k", "k"
		begin := time.Now()
		w.sendAll("orders", true, small, big)
		for time.Since(begin) < 71*24*time.Hour { // it is awake for a moment, once a day
			r := a.runs(w, "orders", true)
			time.Sleep(5 * time.Second)
			r.stop()
			time.Sleep(24 * time.Hour)
		}
		for _, m := range []godwit.Message{small, big} {
			at := a.at[string(m.Body)]
			if len(at) != 1 || at[0].Sub(begin) < m.Delay || at[0].Sub(begin) > m.Delay+25*time.Hour {
				t.Errorf("a message of %d bytes, delayed by %v, came at %v", len(m.Body), m.Delay, at)
			}
		}
		if len(a.at) != 2 {
			t.Errorf("%d bodies came", len(a.at))
		}
		w.visible("orders--later", 0)
	})
}

// Messages of a key that are due at the same time come in the order of their sends.
func TestLaterInOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		r := a.runs(w, "orders", true)
		at := time.Now().Add(time.Hour)
		p := w.producer("orders", &godwit.ProducerOptions{Ordered: true}) // the order is that of one producer
		var want []string
		for i := range 30 {
			m := body(fmt.Sprintf("%02d", i))
			m.OrderKey, m.At = "k", at
			if err := p.Send(w.Context(), m); err != nil {
				t.Fatal(err)
			}
			want = append(want, string(m.Body))
		}
		time.Sleep(2 * time.Hour)
		r.stop()
		if !slices.Equal(a.in, want) {
			t.Errorf("they came as %v", a.in)
		}
	})
}

// An expiry counts from when the service has accepted the message for the first time.
func TestLaterExpires(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		a.runs(w, "orders", false).stop()
		m := body("m")
		m.Delay, m.Expires = time.Hour, 2*time.Hour
		w.sendAll("orders", false, m)
		time.Sleep(3 * time.Hour)
		r := a.runs(w, "orders", false)
		time.Sleep(time.Minute)
		if report := r.stop(); report.Expired != 1 || a.times("m") != 0 {
			t.Errorf("handled %d times: %+v", a.times("m"), report)
		}
	})
}

// A message that its channel does not take any more, when it is due, is a dead letter, and can be handled from there.
func TestLaterUndeliverable(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		r := a.runs(w, "orders", true)
		m := godwit.Message{Body: []byte(strings.Repeat("x", 2000)), OrderKey: "k", Delay: time.Hour}
		w.sendAll("orders", true, m)
		url := "http://localaws.internal/000000000000/orders.fifo"
		if _, err := sqs.NewFromConfig(w.sdk()).SetQueueAttributes(w.Context(), &sqs.SetQueueAttributesInput{
			QueueUrl: &url, Attributes: map[string]string{"MaximumMessageSize": "1024"},
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		r.stop()
		w.visible("orders--later", 0)
		if len(a.in) > 0 {
			t.Errorf("%d messages were handled", len(a.in))
		}
		var kinds, keys []string
		letters := w.run(w.consumer("orders@dlq", nil), func(_ context.Context, d *godwit.Delivery) error {
			kinds, keys = append(kinds, d.Death.Kind), append(keys, d.OrderKey)
			return nil
		})
		time.Sleep(time.Minute)
		letters.stop()
		if !slices.Equal(kinds, []string{"undeliverable"}) || !slices.Equal(keys, []string{"k"}) {
			t.Errorf("dead letters of kinds %q and keys %q", kinds, keys)
		}
	})
}

func TestImpossibleDelays(t *testing.T) {
	inWorld(t, func(w *world) {
		ordered := godwit.ProducerOptions{Ordered: true}
		p, o := w.producer("orders", nil), w.producer("bills", &ordered)
		for _, one := range []struct {
			p    *godwit.Producer
			m    godwit.Message
			says string
		}{
			{p, godwit.Message{Delay: -time.Second}, "between 0"},
			{o, godwit.Message{Delay: -time.Second}, "between 0"},
			{p, godwit.Message{Delay: 20 * 366 * 24 * time.Hour}, "between 0"},
			{p, godwit.Message{At: time.Now().Add(30 * 366 * 24 * time.Hour)}, "between 0"},
			{p, godwit.Message{Delay: time.Hour, Expires: time.Minute}, "Message.Expires"},
			{o, godwit.Message{Delay: time.Hour, DedupID: "x"}, "DedupID"},
		} {
			if err := one.p.Send(w.Context(), one.m); err == nil || !strings.Contains(err.Error(), one.says) {
				t.Errorf("delay %v: %v, want an error that says %q", one.m.Delay, err, one.says)
			}
		}
		for _, name := range []string{
			"orders@later", "events.later", "later", "later.orders",
			"orders@ticks", "events.ticks", "ticks", "ticks.orders",
		} {
			_, err := godwit.NewConsumer(w.Context(), w.backend, name, nil)
			if !errors.Is(err, godwit.ErrInvalid) {
				t.Errorf("a consumer of %s: %v", name, err)
			}
			if _, err := godwit.NewProducer(w.Context(), w.backend, name, nil); !errors.Is(err, godwit.ErrInvalid) {
				t.Errorf("a producer of %s: %v", name, err)
			}
		}
		w.server.Control("sqs.CreateQueue", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "denied", Status: 403}}
		})
		err := p.Send(w.Context(), godwit.Message{Delay: time.Hour})
		if driver.ClassOf(err) != driver.Denied || !strings.Contains(err.Error(), "orders@later") {
			t.Errorf("a queue that may not be created: %v", err)
		}
		never := w.producer("orders", &godwit.ProducerOptions{Provision: godwit.ProvisionNever})
		err = never.Send(w.Context(), godwit.Message{Delay: time.Hour})
		if err == nil || !strings.Contains(err.Error(), "orders--later") {
			t.Errorf("a producer that creates nothing: %v", err)
		}
	})
}
