package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// bigBody is larger than what a queue takes.
func bigBody() []byte { return bytes.Repeat([]byte("0123456789"), 200_000) }

// objects counts the bodies in the store.
func (w *world) objects() int {
	w.Helper()
	b := w.server.S3().Bucket(local.Bucket)
	if b == nil {
		return 0
	}
	n, _ := b.Count()
	return n
}

// s3 makes every call of S3 fail, until the returned function is called.
func (w *world) s3(action string, e *wire.Error) (repair func()) {
	return w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: e}
	})
}

var (
	down   = &wire.Error{Code: "ServiceUnavailable", Message: "try again", Status: 503, Fault: true}
	denied = &wire.Error{Code: "AccessDenied", Message: "Access Denied", Status: 403}
)

// dropObjects deletes all bodies in the store, as another program would.
func (w *world) dropObjects() {
	w.Helper()
	client := s3.NewFromConfig(w.sdk(), func(o *s3.Options) { o.UsePathStyle = true })
	out, err := client.ListObjectsV2(w.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(local.Bucket)})
	if err != nil {
		w.Fatal(err)
	}
	for _, o := range out.Contents {
		if _, err := client.DeleteObject(w.Context(),
			&s3.DeleteObjectInput{Bucket: aws.String(local.Bucket), Key: o.Key}); err != nil {
			w.Fatal(err)
		}
	}
}

// deaths are the kinds of the channel's dead letters, in any order, without those that a consumer takes meanwhile.
func (w *world) deaths(channel string) (kinds []string) {
	w.Helper()
	c := w.consumer(channel+"@dlq", &godwit.ConsumerOptions{WaitTime: -1})
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
	defer cancel()
	for d, err := range c.Deliveries(ctx) {
		if err != nil {
			w.Fatal(err)
		}
		kinds = append(kinds, d.Death.Kind)
		_ = d.Done()
	}
	w.close(c)
	slices.Sort(kinds)
	return kinds
}

// A large message arrives with its body, whatever the kind of the channel, of the handler, and of the send. On a
// one-to-one channel its object is then deleted.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		for _, way := range []string{"handler", "typed", "batch", "deliveries", "batches"} {
			t.Run(fmt.Sprintf("%s ordered %v", way, ordered), func(t *testing.T) {
				inWorld(t, func(w *world) {
					c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered})
					p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
					message := func(b byte) godwit.Message {
						body := bigBody()
						body[0] = b
						return godwit.Message{Body: body, OrderKey: string(b)}
					}
					w.send(p, message('a'))
					b := message('b')
					b.Reader, b.Size, b.Body = io.MultiReader(bytes.NewReader(b.Body)), int64(len(b.Body)), nil
					if err := p.SendBatch(w.Context(), []godwit.Message{b, body("small"), message('c')}); err != nil {
						t.Fatal(err)
					}
					r, err := p.SendAsync(w.Context(), message('d'))
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Wait(w.Context()); err != nil || w.objects() != 4 {
						t.Fatalf("%d objects, %v", w.objects(), err)
					}
					var got []string
					saw := func(body []byte) {
						got = append(got, string(body[:1]))
						if string(body) != "small" && !bytes.Equal(body[1:], bigBody()[1:]) {
							t.Errorf("a body of %d bytes", len(body))
						}
					}
					w.handle(c, way, saw)
					slices.Sort(got)
					if strings.Join(got, "") != "abcds" {
						t.Errorf("handled %q", got)
					}
					if n := w.objects(); n != 0 {
						t.Errorf("%d objects are left", n)
					}
				})
			})
		}
	}
}

// handle handles what a channel has for a minute, in one of the ways that there are. It calls saw for one message at a
// time.
func (w *world) handle(c *godwit.Consumer, way string, see func(body []byte)) {
	w.Helper()
	var one sync.Mutex
	saw := func(body []byte) {
		one.Lock()
		defer one.Unlock()
		see(body)
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	var err error
	switch way {
	case "handler":
		_, err = c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error { saw(d.Body); return nil })
	case "typed":
		_, err = c.Run(ctx, godwit.Handle(godwit.Raw, func(_ context.Context, d godwit.Typed[[]byte]) error {
			saw(d.Value)
			return nil
		}))
	case "batch":
		_, err = c.RunBatches(ctx, func(_ context.Context, ds []*godwit.Delivery) error {
			for _, d := range ds {
				saw(d.Body)
			}
			return nil
		}, &godwit.BatchOptions{Window: time.Second})
	case "deliveries":
		for d, failed := range c.Deliveries(ctx) {
			err = errors.Join(err, failed)
			if d != nil {
				saw(d.Body)
				err = errors.Join(err, d.Done())
			}
		}
		w.close(c)
	case "batches":
		for ds, failed := range c.Batches(ctx) {
			err = errors.Join(err, failed)
			for _, d := range ds {
				saw(d.Body)
				err = errors.Join(err, d.Done())
			}
		}
		w.close(c)
	}
	if err != nil {
		w.Error(err)
	}
}

// A body above MaxBody, or every one with Stream, is read by the handler. A handler that does not read it, or that
// needs it in memory, does not lose it.
func TestBodiesThatHandlersRead(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, d *godwit.Delivery) error {
		if d.Body != nil {
			return errors.New("the body is in memory")
		}
		for range 2 {
			r, err := d.Open(ctx)
			if err != nil {
				return err
			}
			got, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, bigBody()) {
				return fmt.Errorf("read %d bytes: %w", len(got), err)
			}
		}
		return nil
	}
	small := &godwit.ConsumerOptions{MaxBody: 1 << 20}
	ignore := func(context.Context, *godwit.Delivery) error { return nil }
	typed := godwit.Handle(godwit.Raw, func(context.Context, godwit.Typed[[]byte]) error { return nil })
	for _, c := range []struct {
		name string
		o    *godwit.ConsumerOptions
		h    godwit.Handler
		dead bool
	}{
		{"above MaxBody", small, read, false},
		{"Stream", &godwit.ConsumerOptions{Stream: true}, read, false},
		{"Stream, not read", &godwit.ConsumerOptions{Stream: true}, ignore, false},
		{"not read", small, ignore, true},
		{"typed", small, typed, true},
		{"typed, Stream", &godwit.ConsumerOptions{Stream: true}, typed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				consumer := w.consumer("orders", c.o)
				w.send(w.producer("orders", nil), godwit.Message{Body: bigBody()})
				run := w.run(consumer, c.h)
				time.Sleep(time.Minute)
				r := run.stop()
				if c.dead != (r.Rejected == 1) || c.dead == (r.Handled == 1) {
					t.Errorf("%+v", r)
				}
				if c.dead && !slices.Equal(w.deaths("orders"), []string{"payload-large"}) {
					t.Error("the kind of the dead letter is another one")
				}
			})
		})
	}
}

// In a batch, and in a loop, the deliveries above MaxBody are rejected, or read by the caller.
func TestBodiesThatBatchesRead(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.consumer("orders", nil)
		p := w.producer("orders", nil)
		w.send(p, godwit.Message{Body: bigBody()}, body("small"))
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxBody: 1 << 20})
		var got []int
		w.handle(c, "batch", func(body []byte) { got = append(got, len(body)) })
		if !slices.Equal(got, []int{5}) || !slices.Equal(w.deaths("orders"), []string{"payload-large"}) {
			t.Errorf("the batches had bodies of %v bytes", got)
		}
		w.send(p, godwit.Message{Body: bigBody()})
		c = w.consumer("orders", &godwit.ConsumerOptions{Stream: true})
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		for d, err := range c.Deliveries(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			r, err := d.Open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); n != 2_000_000 || d.Body != nil || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
			if err := errors.Join(r.Close(), d.Done()); err != nil {
				t.Error(err)
			}
			break
		}
		w.close(c)
	})
}

// An outage of the store uses up no attempts and rejects nothing, however long it lasts, and the consumer says that it
// is unhealthy. Small messages are handled meanwhile.
func TestAnOutageOfTheStore(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		for _, way := range []string{"handler", "batch", "deliveries"} {
			t.Run(fmt.Sprintf("%s ordered %v", way, ordered), func(t *testing.T) {
				inWorld(t, func(w *world) {
					outage := fullrun.Pick(5*time.Minute, 6*time.Hour)
					c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered, MaxAttempts: 1})
					p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
					const messages = 30
					for i := range messages {
						w.send(p, godwit.Message{Body: bigBody(), OrderKey: fmt.Sprint(i), DedupID: dedup(ordered, i)})
					}
					repair := w.s3("s3.GetObject", down)
					var handled atomic.Int32
					over := make(chan struct{})
					go func() {
						defer close(over)
						ctx, cancel := context.WithTimeout(w.Context(), outage+15*time.Minute)
						defer cancel()
						w.handleUntil(ctx, c, way, func(*godwit.Delivery) { handled.Add(1) })
					}()
					time.Sleep(time.Minute)
					w.send(p, godwit.Message{Body: []byte("small"), OrderKey: "small"})
					time.Sleep(time.Minute)
					if h := c.Health(); handled.Load() != 1 || !strings.Contains(fmt.Sprint(h.Unhealthy), "store") {
						t.Errorf("handled %d small messages, unhealthy: %q", handled.Load(), h.Unhealthy)
					}
					time.Sleep(outage)
					repair()
					time.Sleep(10 * time.Minute)
					if n, h := handled.Load(), c.Health(); n != messages+1 || len(h.Unhealthy) > 0 {
						t.Errorf("handled %d of %d messages; unhealthy: %q", n, messages+1, h.Unhealthy)
					}
					<-over
					if r := c.Report(); r.Rejected != 0 || r.Handled != messages+1 || r.Leaked != 0 {
						t.Errorf("%+v", r)
					}
					if dead := len(w.messages("orders--dlq" + suffix(ordered))); dead != 0 {
						t.Errorf("%d dead letters", dead)
					}
				})
			})
		}
	}
}

func dedup(ordered bool, i int) string {
	if !ordered {
		return ""
	}
	return fmt.Sprint(i)
}

func suffix(ordered bool) string {
	if !ordered {
		return ""
	}
	return ".fifo"
}

// handleUntil is handle until ctx ends.
func (w *world) handleUntil(ctx context.Context, c *godwit.Consumer, way string, saw func(d *godwit.Delivery)) {
	var err error
	switch way {
	case "handler":
		_, err = c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error { saw(d); return nil })
	case "batch":
		_, err = c.RunBatches(ctx, func(_ context.Context, ds []*godwit.Delivery) error {
			for _, d := range ds {
				saw(d)
			}
			return nil
		}, nil)
	case "deliveries":
		for d, failed := range c.Deliveries(ctx) {
			if err = errors.Join(err, failed); d != nil {
				saw(d)
				err = errors.Join(err, d.Done())
			}
		}
		_, closed := c.Close(context.WithoutCancel(ctx))
		err = errors.Join(err, closed)
	}
	if err != nil {
		w.Error(err)
	}
}

// Also more deliveries than the shelf holds survive a long outage: those that the queue itself would move to its dead
// letters soon are held instead of released.
func TestALongOutageOfTheStore(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 100, MaxAttempts: 1})
		const messages = 1050
		client := s3.NewFromConfig(w.sdk(), func(o *s3.Options) { o.UsePathStyle = true })
		if _, err := client.PutObject(w.Context(), &s3.PutObjectInput{
			Bucket: aws.String(local.Bucket), Key: aws.String("topics/news/1"), Body: strings.NewReader("x"),
		}); err != nil {
			t.Fatal(err)
		}
		queues := sqs.NewFromConfig(w.sdk())
		url, err := queues.GetQueueUrl(w.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("orders")})
		if err != nil {
			t.Fatal(err)
		}
		var ten []types.SendMessageBatchRequestEntry
		for i := range 10 {
			ten = append(ten, types.SendMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)),
				MessageBody: aws.String(`["software.amazon.payloadoffloading.PayloadS3Pointer",` +
					`{"s3BucketName":"` + local.Bucket + `","s3Key":"topics/news/1"}]`),
				MessageAttributes: map[string]types.MessageAttributeValue{
					"ExtendedPayloadSize": {DataType: aws.String("Number"), StringValue: aws.String("1")},
				},
			})
		}
		for range messages / len(ten) {
			if _, err := queues.SendMessageBatch(w.Context(), &sqs.SendMessageBatchInput{
				QueueUrl: url.QueueUrl, Entries: ten,
			}); err != nil {
				t.Fatal(err)
			}
		}
		repair := w.s3("s3.GetObject", down)
		run := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(fullrun.Pick(8*time.Minute, 20*time.Minute))
		repair()
		time.Sleep(10 * time.Minute)
		if r := run.stop(); r.Handled != messages || r.Rejected != 0 {
			t.Errorf("%+v", r)
		}
		if dead := len(w.messages("orders--dlq")); dead != 0 {
			t.Errorf("%d dead letters", dead)
		}
	})
}

// A store that hangs is an outage, too: it does not use up the processing timeout.
func TestAStoreThatHangs(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{ProcessingTimeout: 5 * time.Second})
		w.send(w.producer("orders", nil), godwit.Message{Body: bigBody()})
		hangs := atomic.Bool{}
		hangs.Store(true)
		w.server.Control("s3.GetObject", func(ctx context.Context, _ *localaws.Request) localaws.Outcome {
			if !hangs.Load() {
				return localaws.Outcome{}
			}
			return localaws.Outcome{Delay: time.Hour}
		})
		run := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(10 * time.Minute)
		if h := c.Health(); !strings.Contains(fmt.Sprint(h.Unhealthy), "store") {
			t.Errorf("unhealthy: %q", h.Unhealthy)
		}
		hangs.Store(false)
		time.Sleep(5 * time.Minute)
		if r := run.stop(); r.Handled != 1 || r.Rejected != 0 || r.TimedOut != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// A batch whose handler exceeds its timeout, or does not return, is rejected without the messages whose bodies could
// not be read: that handler does not have them. They are handled when the store works again.
func TestABatchWithoutABody(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		for _, returns := range []bool{false, true} {
			t.Run(fmt.Sprintf("ordered %v, the handler returns %v", ordered, returns), func(t *testing.T) {
				inWorld(t, func(w *world) { batchWithoutABody(w, ordered, returns) })
			})
		}
	}
}

func batchWithoutABody(w *world, ordered, returns bool) {
	c := w.consumer("orders", &godwit.ConsumerOptions{
		Ordered: ordered, Concurrency: 1, ProcessingTimeout: 10 * time.Second,
	})
	p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
	w.send(p, godwit.Message{Body: bigBody(), OrderKey: "large", DedupID: dedup(ordered, 1)})
	w.send(p, godwit.Message{Body: []byte("small"), OrderKey: "small", DedupID: dedup(ordered, 2)})
	repair := w.s3("s3.GetObject", down)
	ctx, cancel := context.WithCancel(w.Context())
	report := make(chan godwit.Report)
	large := 0
	go func() {
		r, err := c.RunBatches(ctx, func(ctx context.Context, ds []*godwit.Delivery) error {
			for _, d := range ds {
				if len(d.Body) > 100 {
					large++
					return nil
				}
			}
			<-ctx.Done()
			if !returns {
				time.Sleep(20 * time.Second)
			}
			return ctx.Err()
		}, &godwit.BatchOptions{Size: 2, Window: time.Second})
		if err != nil {
			w.Error(err)
		}
		report <- r
	}()
	time.Sleep(time.Minute)
	repair()
	time.Sleep(5 * time.Minute)
	cancel()
	if r := <-report; r.Handled != 1 || r.Rejected != 1 || large != 1 {
		w.Errorf("%d large messages were handled: %+v", large, r)
	}
}

// A connection that breaks in the middle of a body costs no attempt, and the body is read on. If that breaks, too, the
// delivery waits.
func TestADownloadThatBreaks(t *testing.T) {
	t.Parallel()
	for breaks, waits := range map[int]bool{1: false, 5: true} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 1})
			w.send(w.producer("orders", nil), godwit.Message{Body: bigBody()})
			var asked atomic.Int32
			w.server.Control("s3.GetObject", func(context.Context, *localaws.Request) (o localaws.Outcome) {
				if int(asked.Add(1)) <= breaks {
					o.BreakResponse = 100_000
				}
				return o
			})
			before := w.calls("s3.GetObject")
			var size, attempt int
			var took time.Duration
			began := time.Now()
			run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
				size, attempt, took = len(d.Body), d.Attempt, time.Since(began)
				return nil
			})
			time.Sleep(time.Minute)
			r := run.stop()
			waited := took > 100*time.Millisecond
			if r.Handled != 1 || size != 2_000_000 || attempt != 1 || waited != waits {
				t.Errorf("%d breaks: %+v, %d bytes in attempt %d after %v", breaks, r, size, attempt, took)
			}
			if n := w.calls("s3.GetObject") - before; n != breaks+1 {
				t.Errorf("%d breaks: %d requests", breaks, n)
			}
		})
	}
}

// A body that is gone rejects its message, with the reason, and none of its neighbors. So does a second copy of a
// message whose body was deleted with the first.
func TestABodyThatIsMissing(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"handler", "batch", "deliveries"} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", nil)
			p := w.producer("orders", nil)
			w.send(p, godwit.Message{Body: bigBody()})
			w.dropObjects()
			w.send(p, godwit.Message{Body: bigBody()}, body("small"))
			var handled []int
			w.handle(c, way, func(body []byte) { handled = append(handled, len(body)) })
			slices.Sort(handled)
			if !slices.Equal(handled, []int{5, 2_000_000}) {
				t.Errorf("%s: handled %v", way, handled)
			}
			letters := w.consumer("orders@dlq", nil)
			ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
			defer cancel()
			for d, err := range letters.Deliveries(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				_, opened := d.Open(ctx)
				if d.Death.Kind != "payload-missing" || d.Undecodable == nil || d.Body != nil || opened == nil {
					t.Errorf("%s: kind %s, %v, %v", way, d.Death.Kind, d.Undecodable, opened)
				}
				_ = d.Done()
				break
			}
			w.close(letters)
		})
	}
}

// Where reading is refused, the policy decides: by default three attempts, and a dead letter that names the permission.
func TestABodyThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"handler", "deliveries"} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", &godwit.ConsumerOptions{Backoff: godwit.Constant(5 * time.Second)})
			w.send(w.producer("orders", nil), godwit.Message{Body: bigBody()})
			repair := w.s3("s3.GetObject", denied)
			before := w.calls("s3.GetObject")
			w.handle(c, way, func([]byte) { t.Error("handled") })
			if n := w.calls("s3.GetObject") - before; n != 3 {
				t.Errorf("%s: %d attempts", way, n)
			}
			repair()
			letters := w.consumer("orders@dlq", nil)
			ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
			defer cancel()
			for d, err := range letters.Deliveries(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(d.Death.Error, "s3:GetObject") || d.Death.Attempts != 3 ||
					len(d.Body) != 2_000_000 {
					t.Errorf("%s: %+v, with %d bytes", way, d.Death, len(d.Body))
				}
				_ = d.Done()
				break
			}
			w.close(letters)
		})
	}
}

// A dead letter is sent back with its body, also with one that is not in memory, and its object is deleted with it.
func TestLargeDeadLettersAreForwarded(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", nil)
			p := w.producer("orders", nil)
			w.send(p, godwit.Message{Body: bigBody()})
			run := w.run(c, func(context.Context, *godwit.Delivery) error { return godwit.Permanent(errors.New("no")) })
			time.Sleep(time.Minute)
			run.stop()
			letters := w.consumer("orders@dlq", &godwit.ConsumerOptions{Stream: stream})
			ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
			defer cancel()
			for d, err := range letters.Deliveries(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Send(ctx, d.Forward()); err != nil {
					t.Fatal(err)
				}
				_ = d.Done()
				break
			}
			w.close(letters)
			if n := w.objects(); n != 1 {
				t.Errorf("%d objects, want that of the message that was sent back", n)
			}
			again := w.consumer("orders", nil)
			w.handle(again, "handler", func(body []byte) {
				if !bytes.Equal(body, bigBody()) {
					t.Errorf("%d bytes", len(body))
				}
			})
			if n := w.objects(); n != 0 {
				t.Errorf("%d objects are left", n)
			}
		})
	}
}

// What handlers have in memory is bounded by MaxBytes, and a delivery that finds no room waits without an attempt.
func TestBodiesOfHandlersAreBounded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxBytes: 5_000_000, ProcessingTimeout: time.Minute})
		p := w.producer("orders", nil)
		for range 10 {
			w.send(p, godwit.Message{Body: bigBody()})
		}
		var held, most atomic.Int64
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			now := held.Add(int64(len(d.Body)))
			most.Store(max(most.Load(), now))
			time.Sleep(50 * time.Second)
			held.Add(-int64(len(d.Body)))
			return nil
		})
		time.Sleep(time.Hour)
		if r := run.stop(); r.Handled != 10 || r.Rejected != 0 || most.Load() > 5_000_000 {
			t.Errorf("%+v, at most %d bytes", r, most.Load())
		}
	})
}

// The body of a handled message is not kept in memory until the message is settled.
func TestHandledBodiesAreFreed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const n = 4 // fewer than fill a request, so all of them wait for SettleLinger
		c := w.consumer("orders", &godwit.ConsumerOptions{SettleLinger: 3 * time.Second})
		p := w.producer("orders", nil)
		for range n {
			w.send(p, godwit.Message{Body: bigBody()})
		}
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		var mu sync.Mutex
		var handled []weak.Pointer[byte]
		var running sync.WaitGroup
		running.Go(func() {
			if _, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				mu.Lock()
				defer mu.Unlock()
				handled = append(handled, weak.Make(&d.Body[0]))
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		if all := w.objects(); all != n {
			t.Errorf("%d of %d messages are not settled", all, n)
		}
		runtime.GC()
		mu.Lock()
		if len(handled) != n {
			t.Errorf("%d of %d messages were handled", len(handled), n)
		}
		for i, body := range handled {
			if body.Value() != nil {
				t.Errorf("body %d is in memory", i)
			}
		}
		mu.Unlock()
		stop()
		running.Wait()
	})
}

// A message that cannot be sent leaves no object in most cases, and says what is wrong.
func TestImpossibleReaders(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		small := func() io.Reader { return strings.NewReader("hello") }
		long := func() io.Reader { return bytes.NewReader(bigBody()) }
		for want, m := range map[string]godwit.Message{
			"the message has a Body, too": {Body: []byte("x"), Reader: small(), Size: 5},
			"it is for a Reader":          {Body: []byte("x"), Size: 5},
			"Message.Size is -1":          {Reader: small(), Size: -1},
			"the Reader has 5 bytes":      {Reader: small(), Size: 6},
			"the Reader has more bytes":   {Reader: small(), Size: 4},
			"ended after 2000000 bytes":   {Reader: long(), Size: 2_000_001},
			"has more than the 1999999":   {Reader: long(), Size: 1_999_999},
			"SQS does not accept":         {Body: bigBody(), RoutingKey: "\x00"},
			"bytes with its attributes":   {Body: bigBody(), Headers: large()},
			"it must be between 0 and ":   {Body: bigBody(), Delay: -time.Hour},
		} {
			for _, send := range []func() error{
				func() error { return p.Send(w.Context(), m) },
				func() error { return p.SendBatch(w.Context(), []godwit.Message{body("x"), m}) },
			} {
				if err := send(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q: %v", want, err)
				}
				if m.Reader != nil { // it has been read
					break
				}
			}
		}
		if n := w.objects(); n != 0 {
			t.Errorf("%d objects", n)
		}
		if err := p.Send(w.Context(), godwit.Message{Reader: small(), Size: 5}); err != nil {
			t.Error(err)
		}
	})
}

// Without a store, a Reader is read into memory, if its body is not too large for that.
func TestReadersWithoutAStore(t *testing.T) {
	ctx := t.Context()
	b, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := godwit.NewConsumer(ctx, b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := godwit.NewProducer(ctx, b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.WithoutCancel(ctx)) }()
	if err := p.Send(ctx, godwit.Message{Reader: strings.NewReader("hello"), Size: 5}); err != nil {
		t.Fatal(err)
	}
	err = p.Send(ctx, godwit.Message{Reader: strings.NewReader("hello"), Size: 1 << 40})
	if err == nil || !strings.Contains(err.Error(), "snssqs.Options.Store") {
		t.Errorf("a terabyte: %v", err)
	}
	for d, err := range c.Deliveries(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := d.Open(ctx) // works for bodies in memory, too
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != "hello" || string(d.Body) != "hello" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_ = d.Done()
		break
	}
	if _, err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// A batch writes several bodies at once, and keeps its order. A producer whose store does not work is unhealthy.
func TestUploads(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true})
		p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
		var now, most atomic.Int32
		remove := w.server.Control("s3.PutObject", func(context.Context, *localaws.Request) localaws.Outcome {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Duration(10-now.Load()) * 100 * time.Millisecond)
			now.Add(-1)
			return localaws.Outcome{}
		})
		ms := make([]godwit.Message, 9)
		for i := range ms {
			ms[i].Body = bigBody()
			ms[i].Body[0] = byte('0' + i)
		}
		if err := p.SendBatch(w.Context(), ms); err != nil || most.Load() != 4 {
			t.Errorf("%d uploads at once, %v", most.Load(), err)
		}
		remove()
		var got []byte
		w.handle(c, "handler", func(body []byte) { got = append(got, body[0]) })
		if string(got) != "012345678" {
			t.Errorf("handled in the order %q", got)
		}
		w.s3("s3.PutObject", down)
		err := p.Send(w.Context(), godwit.Message{Body: bigBody()})
		if !godwit.IsTransient(err) {
			t.Errorf("an outage is %v", err)
		}
		if h := p.Health(); !strings.Contains(fmt.Sprint(h.Unhealthy), "store") {
			t.Errorf("unhealthy: %q", h.Unhealthy)
		}
	})
}
