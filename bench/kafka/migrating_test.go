//go:build unix

package kafka_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A group of sarama is taken over where it has committed, and then used by sarama again: docs/migrating.md. The keys of
// sarama's producer and of Godwit's have the same partitions.
func TestSaramaThereAndBack(t *testing.T) {
	for _, b := range brokers(t) {
		t.Run(b.name, func(t *testing.T) {
			topic := fmt.Sprintf("Shop.Orders_%d", time.Now().UnixNano())
			const group = "billing of sarama"
			conf := saramaConfig()
			conf.Producer.Return.Successes = true
			conf.Producer.Partitioner = sarama.NewMurmur2Partitioner
			admin, err := sarama.NewClusterAdmin([]string{b.addr}, conf)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = admin.Close() }()
			detail := &sarama.TopicDetail{NumPartitions: 4, ReplicationFactor: 1}
			if err := admin.CreateTopic(topic, detail, false); err != nil {
				t.Fatal(err)
			}
			old, err := sarama.NewSyncProducer([]string{b.addr}, conf)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = old.Close() }()
			at := map[string]int32{}
			for n := range 40 {
				key := strconv.Itoa(n % 20)
				if at[key], _, err = old.SendMessage(&sarama.ProducerMessage{
					Topic: topic, Key: sarama.StringEncoder(key), Value: sarama.StringEncoder(strconv.Itoa(n)),
					Headers: []sarama.RecordHeader{{Key: []byte("kind"), Value: []byte("a")}, {Key: []byte("kind")}},
				}); err != nil {
					t.Fatal(err)
				}
			}
			bySarama := readBySarama(t, b.addr, topic, group, 15)

			backend, err := kafka.Open(t.Context(), &kafka.Options{
				Brokers: []string{b.addr},
				Names:   map[string]kafka.Resource{"orders": {Topic: topic, Group: group}},
				Channels: map[string]kafka.ChannelOptions{
					"orders": {Start: kafka.Start{From: kafka.StartCommitted}},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = backend.Close(context.Background()) }()
			p, err := godwit.NewProducer(t.Context(), backend, "orders", &godwit.ProducerOptions{Ordered: true})
			if err != nil {
				t.Fatal(err)
			}
			for n := 40; n < 60; n++ {
				m := godwit.Message{OrderKey: strconv.Itoa(n % 20), Body: []byte(strconv.Itoa(n))}
				if err := p.Send(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			byGodwit := readByGodwit(t, backend, 45)
			for _, d := range byGodwit {
				if is := d.partition; is != strconv.Itoa(int(at[d.key])) {
					t.Errorf("key %s of Godwit is in partition %s, and of sarama in %d", d.key, is, at[d.key])
				}
			}
			all := slices.Clone(bySarama)
			for _, d := range byGodwit {
				all = append(all, d.body)
			}
			if len(all) != 60 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != 60 {
				t.Errorf("sarama read %v, and then Godwit %v", bySarama, byGodwit)
			}

			for n := 60; n < 65; n++ {
				if _, _, err := old.SendMessage(&sarama.ProducerMessage{
					Topic: topic, Key: sarama.StringEncoder("0"), Value: sarama.StringEncoder(strconv.Itoa(n)),
				}); err != nil {
					t.Fatal(err)
				}
			}
			got := readBySarama(t, b.addr, topic, group, 5)
			if !slices.Equal(got, []string{"60", "61", "62", "63", "64"}) {
				t.Errorf("after the way back sarama read %v", got)
			}
		})
	}
}

// A consumer of Godwit joins beside a running program with sarama, and takes over its partitions when it leaves.
func TestBesideSarama(t *testing.T) {
	for _, b := range brokers(t) {
		t.Run(b.name, func(t *testing.T) {
			const records, theirs = 3000, 1000
			topic, group := fill(t, b.addr, 4, records), "billing beside sarama"
			begun, left := make(chan struct{}), make(chan struct{})
			they := &few{left: theirs, begin: sync.OnceFunc(func() { close(begun) }), pause: 2 * time.Millisecond}
			go func() {
				defer close(left)
				they.read(t, b.addr, topic, group)
			}()
			<-begun
			open := func(a kafka.Assignor) *kafka.Backend {
				backend, err := kafka.Open(t.Context(), &kafka.Options{
					Brokers:  []string{b.addr},
					Names:    map[string]kafka.Resource{"orders": {Topic: topic, Group: group}},
					Channels: map[string]kafka.ChannelOptions{"orders": {Assignor: a}},
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = backend.Close(context.Background()) })
				return backend
			}
			if _, err := godwit.NewConsumer(t.Context(), open(0), "orders", nil); err == nil ||
				!strings.Contains(err.Error(), "with the assignor range") {
				t.Errorf("without the assignor of the others: %v", err)
			}
			c, err := godwit.NewConsumer(t.Context(), open(kafka.AssignorRange), "orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var mu sync.Mutex
			seen := map[string]bool{}
			see := func(places ...string) {
				mu.Lock()
				defer mu.Unlock()
				for _, at := range places {
					seen[at] = true
				}
				if len(seen) == records {
					stop()
				}
			}
			go func() {
				<-left
				see(they.places...)
			}()
			if _, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				var at driver.Provenance
				d.As(&at)
				see(fmt.Sprintf("%s %d", at.Partition, at.Offset))
				return nil
			}); err != nil {
				t.Error(err)
			}
			<-left
			if len(seen) != records {
				t.Errorf("%d of %d records were handled", len(seen), records)
			}
		})
	}
}

// taken is a record that Godwit has handled.
type taken struct{ key, body, partition string }

// readByGodwit handles n records, and stops.
func readByGodwit(t *testing.T, b godwit.Backend, n int) (all []taken) {
	t.Helper()
	c, err := godwit.NewConsumer(t.Context(), b, "orders", &godwit.ConsumerOptions{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var mu sync.Mutex
	if _, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		var at driver.Provenance
		d.As(&at)
		mu.Lock()
		defer mu.Unlock()
		if all = append(all, taken{d.OrderKey, string(d.Body), at.Partition}); len(all) == n {
			stop()
		}
		if n, err := strconv.Atoi(string(d.Body)); err == nil && n < 40 && len(d.Headers.Values("kind")) != 2 {
			t.Errorf("record %d has the headers %v", n, d.Headers)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	return all
}

// readBySarama handles and commits n records, and stops.
func readBySarama(t *testing.T, addr, topic, group string, n int) []string {
	t.Helper()
	h := &few{left: n}
	h.read(t, addr, topic, group)
	if len(h.all) != n {
		t.Fatalf("sarama read %v, want %d records", h.all, n)
	}
	return h.all
}

// few handles some records, and marks no others.
type few struct {
	begin func()        // called when partitions are assigned; may be nil
	pause time.Duration // after each record

	mu     sync.Mutex
	left   int
	all    []string // the values of the records
	places []string // their partitions and offsets
	done   func()
}

// read reads until all of the few records are handled.
func (f *few) read(t *testing.T, addr, topic, group string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	f.done = stop
	g, err := sarama.NewConsumerGroup([]string{addr}, group, saramaConfig())
	if err != nil {
		t.Error(err)
		return
	}
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{topic}, f); err != nil && ctx.Err() == nil {
			t.Error(err)
			break
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func (f *few) Setup(sarama.ConsumerGroupSession) error {
	if f.begin != nil {
		f.begin()
	}
	return nil
}

func (*few) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (f *few) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok || !f.take(m) {
				return nil
			}
			s.MarkMessage(m, "by sarama")
			time.Sleep(f.pause)
		case <-s.Context().Done():
			return nil
		}
	}
}

func (f *few) take(m *sarama.ConsumerMessage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return false
	}
	if f.left--; f.left == 0 {
		defer f.done()
	}
	f.all = append(f.all, string(m.Value))
	f.places = append(f.places, fmt.Sprintf("%d %d", m.Partition, m.Offset))
	return true
}
