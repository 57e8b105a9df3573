//go:build synctests

package acceptance

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: a consumer takes all records that it can get, and with slow handlers they fill the memory. Here handlers
// wait, and the number of held records is bounded.
func TestInFlightUnbounded(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, most = 60_000, 16_384
		w.create(4)
		w.ensure(kafka.Options{})
		w.fill(records, 5000)
		held, done := w.hold(kafka.Options{}, records, godwit.ConsumerOptions{Concurrency: 64})
		if held < 64 || held > most {
			t.Errorf("%d records are held, want %d at most", held, most)
		}
		done()
	})
}

// The number of held bytes is bounded, too: by MaxBytes, plus one receive.
func TestBytesInFlightUnbounded(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, size, most = 1500, 64 << 10, 4 << 20
		w.create(2)
		w.ensure(kafka.Options{})
		// a fetch of compressed records would bring more bytes than it requested
		by := w.newClient(kgo.ProducerBatchCompression(kgo.NoCompression()))
		for i := range records {
			by.Produce(t.Context(), &kgo.Record{
				Topic: w.topic(), Key: []byte(strconv.Itoa(i % 100)),
				Value: make([]byte, size),
			}, nil)
		}
		if err := by.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		held, done := w.hold(kafka.Options{}, records, godwit.ConsumerOptions{Concurrency: 4, MaxBytes: most})
		t.Logf("%d records of %d bytes are held, %d KiB", held, size, held*size>>10)
		if held*size > 2*most {
			t.Errorf("%d bytes are held, want about %d", held*size, most)
		}
		done()
	})
}

// hold starts a consumer whose handlers wait, and returns how many records it then holds. done lets the handlers
// continue, and returns when all records are handled.
func (w *world) hold(ko kafka.Options, records int, o godwit.ConsumerOptions) (held int64, done func()) {
	w.t.Helper()
	var received, handled atomic.Int64
	release := make(chan struct{})
	o.Hooks.Received = func(*godwit.Delivery) { received.Add(1) }
	p := w.start(ko, o, func(context.Context, *godwit.Delivery) error {
		<-release
		handled.Add(1)
		return nil
	})
	w.eventually(60*time.Second, "the first are received", func() bool { return received.Load() > 0 })
	for before := int64(-1); before != received.Load(); time.Sleep(3 * time.Second) {
		before = received.Load()
	}
	return received.Load(), func() {
		close(release)
		w.eventually(120*time.Second, "all are handled", func() bool { return handled.Load() >= int64(records) })
		if _, err := p.stop(); err != nil {
			w.t.Error(err)
		}
		if n := handled.Load(); n != int64(records) {
			w.t.Errorf("%d records were handled %d times", records, n)
		}
	}
}
