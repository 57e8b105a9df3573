//go:build unix

package sqs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

const (
	// largeBytes is the size of a large body, and largeWorkers how many handlers and senders there are.
	largeBytes, largeWorkers = 5 << 20, 10
	largeBucket              = "payloads"
)

// largeFigure is the CPU of one large message.
type largeFigure struct {
	sent, handled time.Duration
	heap          uint64 // the most that was in use while the messages were handled
}

// large is a contender that sends and handles n large bodies. It calls send and handle with what is measured.
type large struct {
	name string
	run  func(t *testing.T, c *cloud, s *s3.Client, n int, send, handle func(work func()))
}

var larges = []large{{"hand-written loop", largeByHand}, {"Godwit", largeByGodwit}}

// largeBody is a body that all messages share.
var largeBody = bytes.Repeat([]byte(filler), largeBytes/len(filler))

// measureLarge measures a contender with n messages.
func measureLarge(t *testing.T, l large, n int) (f largeFigure) {
	addr, stop := serveElsewhere(t)
	defer stop()
	c := newCloud(t, "http://"+addr, nil)
	store := s3.NewFromConfig(c.config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := store.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(largeBucket)}); err != nil {
		t.Fatal(err)
	}
	measure := func(cpu *time.Duration) func(work func()) {
		return func(work func()) {
			runtime.GC()
			before := ownCPU()
			f.heap = heapOf(work)
			*cpu = (ownCPU() - before) / time.Duration(n)
		}
	}
	l.run(t, c, store, n, measure(&f.sent), measure(&f.handled))
	return f
}

// heapOf is the most that the heap has in use while work runs.
func heapOf(work func()) (most uint64) {
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	work()
	close(ended)
	watch.Wait()
	return most
}

// largeByHand writes a body to S3 and sends its key, and reads and deletes both, as users do by hand.
func largeByHand(t *testing.T, c *cloud, store *s3.Client, n int, send, handle func(work func())) {
	ctx, url, bucket := t.Context(), c.url("large"), aws.String(largeBucket)
	c.createQueue(t, "large")
	send(func() {
		each(n, func(i int) {
			key := fmt.Sprint("body-", i)
			_, err := store.PutObject(ctx, &s3.PutObjectInput{
				Bucket: bucket, Key: &key, Body: bytes.NewReader(largeBody),
			})
			if err == nil {
				_, err = c.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &key})
			}
			if err != nil {
				t.Error(err)
			}
		})
	})
	handle(func() {
		each(n, func(int) {
			in, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
			if err != nil || len(in.Messages) != 1 {
				t.Error(err)
				return
			}
			key := in.Messages[0].Body
			out, err := store.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key})
			if err != nil {
				t.Error(err)
				return
			}
			got := make([]byte, *out.ContentLength)
			_, err = io.ReadFull(out.Body, got)
			handleLarge(got)
			_ = out.Body.Close()
			if err == nil {
				_, err = c.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{
					QueueUrl: &url, ReceiptHandle: in.Messages[0].ReceiptHandle,
				})
			}
			if err == nil {
				_, err = store.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key})
			}
			if err != nil {
				t.Error(err)
			}
		})
	})
}

// handleLarge is the handler of a large body.
func handleLarge(body []byte) {
	if len(body) != largeBytes {
		panic(len(body))
	}
	time.Sleep(20 * time.Millisecond)
}

// each calls f for each of n, by largeWorkers goroutines.
func each(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range largeWorkers {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				f(i)
			}
		})
	}
	wg.Wait()
}

// largeByGodwit sends with a Producer, and handles with a Consumer of ten workers and MaxBytes of 64 MiB, its defaults.
func largeByGodwit(t *testing.T, c *cloud, _ *s3.Client, n int, send, handle func(work func())) {
	ctx := t.Context()
	store, err := s3store.Open(ctx, &s3store.Options{Bucket: largeBucket, AWS: &c.config})
	if err != nil {
		t.Fatal(err)
	}
	conf := c.config.Copy()
	conf.HTTPClient = nil
	b, err := snssqs.Open(ctx, &snssqs.Options{AWS: &conf, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := godwit.NewConsumer(ctx, b, "large", &godwit.ConsumerOptions{
		WaitTime: time.Second, // so long a stop may take
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := godwit.NewProducer(ctx, b, "large", nil)
	if err != nil {
		t.Fatal(err)
	}
	send(func() {
		each(n, func(int) {
			if err := p.Send(ctx, godwit.Message{Body: largeBody}); err != nil {
				t.Error(err)
			}
		})
	})
	handle(func() {
		running, stop := context.WithCancel(ctx)
		defer stop()
		var handled atomic.Int64
		if _, err := consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
			handleLarge(d.Body)
			if handled.Add(1) == int64(n) {
				stop()
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := b.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestLarge measures the CPU and the heap of large bodies.
func TestLarge(t *testing.T) {
	if !*cpuRun {
		t.Skip("-sqs.cpu is not set")
	}
	for range *cpuRounds {
		for _, l := range larges {
			f := measureLarge(t, l, 40)
			t.Logf("%-18s sent %5.2f ms, handled %5.2f ms, heap %d MiB", l.name,
				float64(f.sent)/float64(ms), float64(f.handled)/float64(ms), f.heap>>20)
		}
	}
}
