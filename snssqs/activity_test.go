package snssqs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/cloudwatch"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// activity asks for the activity of one channel in the last while.
func (w *world) activity(b *snssqs.Backend, ch driver.Channel, last time.Duration) driver.Activity {
	w.Helper()
	all, err := b.Activity(w.Context(), []driver.Channel{ch}, time.Now().Add(-last))
	if err != nil || len(all) != 1 {
		w.Fatalf("%v, %v", all, err)
	}
	return all[0]
}

// call makes a call of a queue, which wakes it.
func (w *world) call(queue string) {
	w.Helper()
	_, err := w.sqs.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(w.url(queue))})
	if err != nil {
		w.Fatal(err)
	}
}

// purge deletes the messages of a queue, which would keep it awake.
func (w *world) purge(queue string) {
	w.Helper()
	_, err := w.sqs.PurgeQueue(w.Context(), &sqs.PurgeQueueInput{QueueUrl: aws.String(w.url(queue))})
	if err != nil {
		w.Fatal(err)
	}
}

// A queue that nobody calls has no points. That is a zero if CloudWatch has counted another queue in this time, and
// unknown otherwise.
func TestActivityOfASleepingQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.foreign("orders", "x", nil)
		w.call("orders")
		w.purge("orders")
		time.Sleep(20 * time.Hour)
		a := w.activity(w.b, orders, time.Hour)
		if driver.ClassOf(a.Sent.Err) != driver.NotFound || a.Sent.Known() || !strings.Contains(a.Sent.Err.Error(),
			"counted nothing of AWS/SQS in region us-east-1") {
			t.Errorf("nothing was counted, and sent is %+v", a.Sent)
		}
		if a := w.activity(w.b, orders, 24*time.Hour); !a.Sent.Known() || a.Sent.Value != 1 || a.Received.Value != 1 {
			t.Errorf("in a day, sent is %+v and received %+v", a.Sent, a.Received)
		}
		if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("other")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		for _, last := range []time.Duration{time.Hour, 5 * time.Hour} {
			a = w.activity(w.b, orders, last)
			if !a.Sent.Known() || a.Sent.Value != 0 || !a.EmptyReceives.Known() || a.EmptyReceives.Value != 0 {
				t.Errorf("another queue was counted in %v, and sent is %+v", last, a.Sent)
			}
		}
		if driver.ClassOf(a.Oldest.Err) != driver.NotFound || a.Oldest.Known() {
			t.Errorf("the queue is not counted, and its oldest message is %+v", a.Oldest)
		}
		// A topic's metrics say nothing about queues, and the other way round.
		if a := w.activity(w.b, driver.Channel{Exchange: "news"}, time.Hour); a.Sent.Known() ||
			!strings.Contains(a.Sent.Err.Error(), "AWS/SNS") {
			t.Errorf("no topic was counted, and sent is %+v", a.Sent)
		}
	})
}

// A call that is denied or fails makes the numbers unknown, with the class and the permission.
func TestActivityThatFails(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		time.Sleep(3*time.Minute + 30*time.Second) // not at the moment of a count
		w.deny("cloudwatch.ListMetrics")
		a := w.activity(w.b, orders, 2*time.Minute) // the points are of the queue itself, so nothing is listed
		if !a.Sent.Known() {
			t.Errorf("sent is %+v", a.Sent)
		}
		news := w.activity(w.b, driver.Channel{Exchange: "news"}, 2*time.Minute)
		w.denied(news.Sent.Err, "list", "cloudwatch:ListMetrics")
		w.deny("cloudwatch.GetMetricData")
		a = w.activity(w.b, orders, time.Minute)
		w.denied(a.Sent.Err, "sent", "cloudwatch:GetMetricData")
		w.denied(a.Oldest.Err, "oldest", "cloudwatch:GetMetricData")
	})
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.server.Control("cloudwatch.GetMetricData", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "InternalServiceFault", Status: 500, Fault: true}}
		})
		if a := w.activity(w.b, orders, time.Minute); driver.ClassOf(a.Deleted.Err) != driver.Transient {
			t.Errorf("deleted is %+v", a.Deleted)
		}
	})
}

// Six hundred queues take eight requests. A channel that cannot be named is unknown alone.
func TestActivityOfMany(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.foreign("orders", "x", nil)
		time.Sleep(3 * time.Minute)
		var all []driver.Channel
		for i := range 598 {
			all = append(all, driver.Channel{Queue: fmt.Sprintf("none-%d", i)})
		}
		all = append(all, driver.Channel{Queue: "no name"}, orders)
		made := w.calls(func() {
			as, err := w.b.Activity(w.Context(), all, time.Now().Add(-time.Hour))
			if err != nil || as[599].Sent.Value != 1 || as[0].Sent.Value != 0 || !as[0].Sent.Known() {
				t.Errorf("%+v, %v", as[599], err)
			}
			if as[598].Sent.Known() || as[598].Oldest.Known() {
				t.Errorf("%+v", as[598])
			}
		})
		if made["cloudwatch.GetMetricData"] != 9 || len(made) != 1 {
			t.Errorf("%v", made)
		}
	})
}

// The sizes of messages are counted of an hour and more. For less time, CloudWatch is not asked for them.
func TestActivityHasSizes(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.foreign("orders", "12345", nil)
		w.foreign("orders", "123", nil)
		time.Sleep(3 * time.Minute)
		if a := w.activity(w.b, orders, time.Hour); a.SentBytes.Value != 8 || !a.SentBytes.Known() {
			t.Errorf("of an hour: %+v", a.SentBytes)
		}
		if a := w.activity(w.b, orders, 50*time.Minute); !errors.Is(a.SentBytes.Err, driver.ErrNotCounted) {
			t.Errorf("of less: %+v", a.SentBytes)
		}
	})
}

// The activity of a mapped queue is the queue's, and unknown for one in another account.
func TestActivityOfMappedChannels(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.foreign("orders", "x", nil)
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"bills":  {Queue: queueARN + "orders"},
			"news.*": {Topic: "arn:aws:sns:us-east-1:444455556666:news"},
		}})
		time.Sleep(3 * time.Minute)
		if a := w.activity(b, driver.Channel{Queue: "bills"}, time.Hour); a.Sent.Value != 1 || !a.Sent.Known() {
			t.Errorf("%+v", a.Sent)
		}
		a := w.activity(b, driver.Channel{Exchange: "news"}, time.Hour)
		if driver.ClassOf(a.Sent.Err) != driver.Permanent || a.Sent.Known() || errors.Is(a.Sent.Err,
			driver.ErrNotCounted) {
			t.Errorf("%+v", a.Sent)
		}
	})
}

// What happened long ago is counted by the hour or the day, and the future and the distant past are refused.
func TestActivityOfALongTime(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.foreign("orders", "x", nil)
		time.Sleep(100 * time.Hour)
		const day = 24 * time.Hour
		for _, last := range []time.Duration{99 * time.Hour, 101 * time.Hour, 20 * day, 400 * day} {
			want := int64(1)
			if last < 100*time.Hour {
				want = 0
			}
			if a := w.activity(w.b, orders, last); a.Sent.Value != want || !a.Sent.Known() {
				t.Errorf("in %v: %+v, want %d", last, a.Sent, want)
			}
		}
		for _, last := range []time.Duration{0, -time.Hour, 500 * 24 * time.Hour} {
			_, err := w.b.Activity(w.Context(), []driver.Channel{orders}, time.Now().Add(-last))
			if driver.ClassOf(err) != driver.Permanent || err == nil {
				t.Errorf("in %v: %v", last, err)
			}
		}
	})
}

// The minutes of a queue are unknown while it sleeps, of a channel of another account always, and of all if CloudWatch
// is denied. A time of which CloudWatch has no minutes any more is refused.
func TestPastThatIsUnknown(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.call("orders")
		begun := time.Now()
		time.Sleep(10*time.Hour + 20*time.Second) // not at the end of a minute
		w.foreign("orders", "x", nil)
		time.Sleep(20 * time.Minute)
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"news.*": {Topic: "arn:aws:sns:us-east-1:444455556666:news"},
		}})
		past := func(since time.Time) ([]driver.Past, error) {
			return b.Operations().Past(w.Context(), []driver.Channel{{Exchange: "news"}, orders}, since)
		}
		all, err := past(begun.Add(-time.Hour))
		if err != nil || driver.ClassOf(all[0].Err) != driver.Permanent || all[0].Err == nil || all[1].Err != nil {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, m := range all[1].Minutes {
			if age := m.At.Sub(begun); age < -time.Minute || age > 6*time.Hour+time.Minute && age < 10*time.Hour {
				t.Errorf("a minute after %v: %+v", age, m)
			}
		}
		if n := len(all[1].Minutes); n < 360 || n > 390 {
			t.Errorf("%d minutes", n)
		}
		if all, err := past(time.Now()); err == nil || all != nil {
			t.Errorf("since now: %+v, %v", all, err)
		}
		if _, err := past(time.Now().Add(-16 * 24 * time.Hour)); driver.ClassOf(err) != driver.Permanent || err == nil {
			t.Errorf("since 16 days: %v", err)
		}
		w.deny("cloudwatch.GetMetricData")
		all, err = past(begun)
		if err != nil {
			t.Fatal(err)
		}
		w.denied(all[1].Err, "the past", "cloudwatch:GetMetricData")
	})
}

// What a bucket holds is asked of the metrics that S3 counts, and is unknown where S3 does not count it.
func TestStored(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		b := w.open(snssqs.Options{Store: w.store(s3store.Options{})})
		var asked []string
		w.server.Control("cloudwatch.GetMetricData", func(_ context.Context, r *localaws.Request) localaws.Outcome {
			for _, q := range r.Input.(*cloudwatch.GetMetricDataInput).MetricDataQueries {
				m := q.MetricStat.Metric
				asked = append(asked, fmt.Sprintf("%s %s %s=%s", m.Namespace, m.MetricName, m.Dimensions[1].Name,
					m.Dimensions[1].Value))
			}
			return localaws.Outcome{}
		})
		s, err := b.Operations().Stored(w.Context(), time.Now().Add(-24*time.Hour))
		if err != nil || s.Name == "" {
			t.Fatalf("%+v, %v", s, err)
		}
		for _, n := range []driver.Reading[int64]{s.Objects, s.Bytes, s.Puts, s.Gets} {
			if driver.ClassOf(n.Err) != driver.NotFound || n.Known() {
				t.Errorf("%+v", n)
			}
		}
		want := []string{
			"AWS/S3 NumberOfObjects StorageType=AllStorageTypes", "AWS/S3 BucketSizeBytes StorageType=StandardStorage",
			"AWS/S3 PutRequests FilterId=EntireBucket", "AWS/S3 GetRequests FilterId=EntireBucket",
		}
		if !slices.Equal(asked, want) {
			t.Errorf("asked for %q", asked)
		}
		if w.b.Operations().Stored != nil {
			t.Error("a backend without a store tells what it holds")
		}
	})
}
