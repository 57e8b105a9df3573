package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// aheadPool is a pool whose workers may have several messages. What they print goes to the channel, line by line.
func aheadPool(t *testing.T, workers int, begin, patience time.Duration) (p *Pool, printed chan string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command, err := NewCommand(path + " ahead")
	if err != nil {
		t.Fatal(err)
	}
	printed = make(chan string, 1000)
	p, err = NewPool(t.Context(), PoolOptions{
		Command: command, Workers: workers, Channel: "orders", Timeout: time.Minute, Resize: func(int) {},
		Backoff: func(int) time.Duration { return time.Second }, Output: &Lines{To: lines(printed)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.window.begin, p.turns.patience = begin, patience
	p.turns.widen(8)
	return p, printed
}

// lines gets what is printed.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l <- strings.TrimSpace(line)
	}
	return len(p), nil
}

// asked is a message that is being handled.
type asked struct {
	d   *godwit.Delivery
	end context.CancelCauseFunc
	got chan error
}

// watched is a context that tells when something waits for its end.
type watched struct {
	context.Context
	once  sync.Once
	waits chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waits) })
	return w.Context.Done()
}

// give gives the pool a message, and returns when a worker has it.
func give(t *testing.T, p *Pool, body string) asked {
	t.Helper()
	inner, end := context.WithCancelCause(t.Context())
	ctx := &watched{Context: inner, waits: make(chan struct{})}
	a := asked{&godwit.Delivery{ID: body, Channel: "orders", Body: []byte(body), Attempt: 1}, end, make(chan error, 1)}
	go func() { a.got <- p.Handle(ctx, a.d) }()
	<-ctx.waits
	return a
}

// gate is a listener that workers wait for, and its address.
func gate(t *testing.T) (open func(), address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = l.Close() }, l.Addr().String()
}

const never = time.Hour

// has reports whether a process has a message.
func (l *link) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.asks, func(x *ask) bool { return x.id == id })
}

// A worker that dies fails the message that it handles. Those behind it go to the next process.
func TestAheadOfDeath(t *testing.T) {
	t.Parallel()
	p, printed := aheadPool(t, 1, never, never)
	first := give(t, p, "wait")
	<-printed
	second, third := give(t, p, "log two"), give(t, p, "log three")
	if err := p.workers[0].latest().p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-first.got; err == nil || !strings.Contains(err.Error(), "ended without an answer") {
		t.Errorf("the first: %v", err)
	}
	for _, a := range []asked{second, third} {
		if err := <-a.got; err != nil {
			t.Errorf("%s: %v", a.d.ID, err)
		}
	}
	if got := <-printed + <-printed; got != "twothree" && got != "threetwo" {
		t.Errorf("handled: %s", got)
	}
}

// A timeout ends the process of the message that it is about, and no other message. One whose context ends while it
// waits is released, and ends nothing.
func TestAheadOfTimeout(t *testing.T) {
	t.Parallel()
	p, printed := aheadPool(t, 1, 200*time.Millisecond, never)
	open, address := gate(t)
	first := give(t, p, "until "+address)
	<-printed
	second := give(t, p, "log two")
	second.end(godwit.ErrProcessingTimeout)
	if err := <-second.got; err != nil {
		t.Errorf("the second: %v", err)
	}
	if _, ok := second.d.Settled(); !ok {
		t.Error("the second message was not released")
	}
	open()
	if err := <-first.got; err != nil {
		t.Errorf("the first: %v", err)
	}
	p.window.begin = never
	third := give(t, p, "wait")
	<-printed
	fourth := give(t, p, "log four")
	third.end(godwit.ErrProcessingTimeout)
	if err := <-third.got; !errors.Is(err, godwit.ErrProcessingTimeout) {
		t.Errorf("the third: %v", err)
	}
	if err := <-fourth.got; err != nil {
		t.Errorf("the fourth: %v", err)
	}
	if got := <-printed; got != "four" {
		t.Errorf("handled: %s", got)
	}
}

// A message that waits behind a slow one goes to another worker as soon as one is free, and is handled once. If none is
// free, it is held without an attempt.
func TestAheadOfSlow(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{false, true} {
		patience := never
		if !free {
			patience = 10 * time.Millisecond
		}
		p, printed := aheadPool(t, 2, 50*time.Millisecond, patience)
		open, address := gate(t)
		openOther, other := gate(t)
		first, second := give(t, p, "until "+address), give(t, p, "until "+other)
		<-printed
		<-printed
		third := give(t, p, "log three")
		if l := p.workers[0].latest(); l.has(third.d.ID) == l.has(first.d.ID) { // it waits behind the first
			open, openOther = openOther, open
			first, second = second, first
		}
		// Now it waits behind the second.
		if free {
			open()
			if err := errors.Join(<-first.got, <-third.got); err != nil {
				t.Error(err)
			}
			if got := <-printed; got != "three" {
				t.Errorf("handled: %s", got)
			}
			openOther()
		} else {
			if err := <-third.got; !errors.Is(err, godwit.ErrBusy) {
				t.Errorf("%v", err)
			}
			open()
			openOther()
			if err := <-first.got; err != nil {
				t.Error(err)
			}
		}
		if err := <-second.got; err != nil {
			t.Error(err)
		}
		if err := <-give(t, p, "log last").got; err != nil {
			t.Error(err)
		}
		if got := <-printed; got != "last" {
			t.Errorf("handled afterwards: %s", got)
		}
	}
}

// A worker may release only what it may not begin any more.
func TestAheadReleases(t *testing.T) {
	t.Parallel()
	p, _ := aheadPool(t, 1, never, never)
	err := p.Handle(t.Context(), &godwit.Delivery{ID: "m1", Body: []byte("release"), Attempt: 1})
	if err == nil || !strings.Contains(err.Error(), "it releases a message that it may begin") {
		t.Errorf("%v", err)
	}
}

// While answers come fast, a consumer has more messages at its workers than there are workers, and keeps the order of
// each key, although workers die. Every message is handled.
func TestAheadKeepsOrder(t *testing.T) {
	t.Parallel()
	const keys, each = 40, 60
	backend, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = backend.Close(context.Background()) }()
	producer, err := godwit.NewProducer(t.Context(), backend, "orders", &godwit.ProducerOptions{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := godwit.NewConsumer(t.Context(), backend, "orders", &godwit.ConsumerOptions{
		Ordered: true, Concurrency: 3, WaitTime: -1,
		Backoff: func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []godwit.Message
	for n := range each {
		for k := range keys {
			body := fmt.Sprintf("log %d %d", k, n)
			if k == 7 && n%20 == 10 {
				body = "die" // three times, and is a dead letter
			}
			all = append(all, godwit.Message{OrderKey: fmt.Sprint("k", k), Body: []byte(body)})
		}
	}
	if err := producer.SendBatch(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	p, printed := aheadPool(t, 3, beginWithin, patience)
	p.o.Ordered = true
	var mu sync.Mutex
	most := 0
	p.window.change = func(n int) {
		mu.Lock()
		most = max(most, n)
		mu.Unlock()
		p.turns.widen(n)
		if err := consumer.SetConcurrency(3 * n); err != nil {
			t.Error(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	running, handled, count := map[string]bool{}, map[string][]int{}, 0
	go func() {
		for t.Context().Err() == nil {
			select {
			case <-printed:
			case <-t.Context().Done():
			}
		}
	}()
	if _, err := consumer.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
		mu.Lock()
		if running[d.OrderKey] {
			t.Errorf("two messages of %s at once", d.OrderKey)
		}
		running[d.OrderKey] = true
		mu.Unlock()
		err := p.Handle(ctx, d)
		mu.Lock()
		defer mu.Unlock()
		running[d.OrderKey] = false
		var k, n int
		if _, settled := d.Settled(); settled || err != nil {
			return err
		} else if _, err := fmt.Sscanf(string(d.Body), "log %d %d", &k, &n); err != nil {
			t.Error(err)
		}
		handled[d.OrderKey] = append(handled[d.OrderKey], n)
		if count++; count == keys*each-3 {
			stop()
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	for k := range keys {
		var want []int
		for n := range each {
			if k != 7 || n%20 != 10 {
				want = append(want, n)
			}
		}
		if got := handled[fmt.Sprint("k", k)]; !slices.Equal(got, want) {
			t.Errorf("key %d: %v", k, got)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if most < 2 {
		t.Errorf("workers had %d messages", most)
	}
}

// The window grows step by step while answers come fast, and shrinks when they do not.
func TestWindow(t *testing.T) {
	var sizes []int
	w := &window{most: mostAhead, size: 1, change: func(n int) { sizes = append(sizes, n) }}
	step := func(what string, n int, each time.Duration, bytes int, want ...int) {
		t.Helper()
		sizes = nil
		for range n {
			w.answered(1, each, bytes)
		}
		if fmt.Sprint(sizes) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, sizes, want)
		}
	}
	step("fast", 1000, 10*time.Microsecond, 200, 2, 4, 8, 16, 32)
	step("slower", 200, 2*time.Millisecond, 200, 16, 8)
	step("slow", 200, time.Second, 200, 4, 2, 1)
	step("fast again", 2000, 10*time.Microsecond, 200, 2, 4, 8, 16, 32)
	step("large", 300, 10*time.Microsecond, 10_000, 16, 8, 4, 2, 1)
	step("small", 600, 10*time.Microsecond, 200, 2, 4, 8, 16, 32)
	sizes = nil
	if w.missed(); fmt.Sprint(sizes) != "[1]" {
		t.Errorf("missed: %v", sizes)
	}
}
