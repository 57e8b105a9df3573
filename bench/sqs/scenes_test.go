//go:build unix

package sqs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// channelOf is the channel of one of Godwit's queues.
func channelOf(queue string) (channel string, ordered bool) {
	name, ordered := strings.CutSuffix(queue, ".fifo")
	return strings.Replace(name, "--", ".", 1), ordered
}

// figure is the result of a contender in a scene.
type figure struct {
	rate     float64 // messages a second; 0: the scene takes no time
	requests float64 // for each message
	busy     float64 // share of the time in which workers handle messages
	p50, p99 time.Duration
}

// consumeScene consumes a backlog.
type consumeScene struct {
	trip, handler time.Duration
	workers, keys int // keys 0: the queue keeps no order
	each          int // messages of each key; 0: the backlog has a fixed size
}

// messages is the size of the backlog. It is large enough for a dozen round trips before the measurement begins, in
// which a consumer adapts the number of its requests.
func (s consumeScene) messages() int {
	if s.each > 0 {
		return s.keys * s.each
	}
	switch s.keys {
	case 0:
		if perTrip := int(s.trip / max(s.handler, 5*time.Millisecond)); perTrip > 0 {
			return min(max(60*perTrip*s.workers, 3000), 300_000)
		}
		return min(max(40*s.workers, 3000), 20000)
	case 1:
		return 400
	}
	return 3000
}

// run consumes the backlog, and measures between three tenths and nine tenths of it.
func (s consumeScene) run(t *testing.T, by consuming) (f figure) {
	inWorld(t, s.trip, func(w *world) {
		queue := "orders"
		if s.keys > 0 {
			queue = "orders.fifo"
		}
		w.provision(queue)
		n := s.messages()
		w.near.fill(w.T, queue, n, s.keys)
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		var handled atomic.Int64
		var begun, ended time.Time
		var before, after int
		first, last := int64(n*3/10), int64(n*9/10)
		by.run(ctx, w.T, w.away, queue, s.workers, func(string) {
			if s.handler > 0 {
				time.Sleep(s.handler)
			}
			switch handled.Add(1) {
			case first:
				begun, before = time.Now(), w.far.requests()
			case last:
				ended, after = time.Now(), w.far.requests()
				stop()
			}
		})
		if ended.IsZero() {
			w.Errorf("%s handled %d of %d messages", by.name, handled.Load(), n)
			return
		}
		count := float64(last - first)
		f.requests = float64(after-before) / count
		if took := ended.Sub(begun).Seconds(); took > 0 {
			f.rate = count / took
			f.busy = f.rate * s.handler.Seconds() / float64(s.workers)
		}
	})
	return f
}

// provision creates a queue as Godwit's consumers create it, for all contenders.
func (w *world) provision(queue string) {
	w.Helper()
	b := w.near.backend(w.T)
	channel, ordered := channelOf(queue)
	if _, err := godwit.NewConsumer(w.Context(), b, channel, &godwit.ConsumerOptions{Ordered: ordered}); err != nil {
		w.Fatal(err)
	}
	if err := b.Close(context.Background()); err != nil {
		w.Error(err)
	}
}

// publishScene is senders in a loop.
type publishScene struct {
	trip          time.Duration
	senders, keys int // keys 0: the queue keeps no order
}

func (s publishScene) run(t *testing.T, by publishing) (f figure) {
	inWorld(t, s.trip, func(w *world) {
		queue := "orders"
		if s.keys > 0 {
			queue = "orders.fifo"
		}
		w.provision(queue)
		p := by.open(w.T, w.away, "orders", s.keys > 0)
		defer p.close(w.T)
		w.send(p, by.batch, s.senders, 20, s.keys)
		const each = 60
		begun, before := time.Now(), w.far.requests()
		w.send(p, by.batch, s.senders, each, s.keys)
		n := float64(each * s.senders)
		f.requests = float64(w.far.requests()-before) / n
		if took := time.Since(begun).Seconds(); took > 0 {
			f.rate = n / took
		}
	})
	return f
}

// send sends each messages from each of the senders. If one call takes several messages, proportionally fewer loops
// send them.
func (w *world) send(p publisher, batch, senders, each, keys int) {
	loops := (senders + batch - 1) / batch
	if batch > 1 && keys > 0 {
		loops = min(loops, keys) // each loop has its own keys
	}
	left := atomic.Int64{}
	left.Store(int64(senders * each))
	var wg sync.WaitGroup
	for loop := range loops {
		wg.Go(func() {
			for i := 0; ; i++ {
				n := min(batch, int(left.Add(-int64(batch)))+batch)
				if n <= 0 {
					return
				}
				ms := make([]message, n)
				for k := range ms {
					ms[k].body = text(fmt.Sprintf("%020d", rand.Uint64()))
					if keys > 0 {
						ms[k].key = strconv.Itoa((loop + (i*batch+k)*loops) % keys)
					}
				}
				if err := p.send(w.Context(), ms...); err != nil {
					w.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// latencyScene is independent sends at a rate, to 64 workers with handlers of 1 ms.
type latencyScene struct {
	trip time.Duration
	rate float64 // sends a second
}

func (s latencyScene) messages() int { return min(max(int(s.rate*60), 200), 5000) }

func (s latencyScene) run(t *testing.T, send publishing, receive consuming) (f figure) {
	inWorld(t, s.trip, func(w *world) {
		w.provision("orders")
		p := send.open(w.T, w.away, "orders", false)
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		n := s.messages()
		warm := n / 10
		var mu sync.Mutex
		var took []time.Duration
		var consumer sync.WaitGroup
		all := make(chan struct{})
		consumer.Go(func() {
			receive.run(ctx, w.T, w.away, "orders", 64, func(body string) {
				now := time.Now()
				sent, _ := strconv.ParseInt(body[:20], 10, 64)
				mu.Lock()
				took = append(took, now.Sub(time.Unix(0, sent)))
				if len(took) == n {
					close(all)
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
			})
		})
		time.Sleep(time.Second) // until the consumer polls
		r := rand.New(rand.NewPCG(1, 2))
		var senders sync.WaitGroup
		before := 0
		for i := range n {
			if i == warm {
				before = w.far.requests()
			}
			time.Sleep(time.Duration(r.ExpFloat64() / s.rate * float64(time.Second)))
			senders.Go(func() {
				if err := p.send(ctx, message{body: text(fmt.Sprintf("%020d", time.Now().UnixNano()))}); err != nil {
					w.Error(err)
				}
			})
		}
		senders.Wait()
		select {
		case <-all:
		case <-time.After(10 * time.Minute):
			w.Errorf("%s: not all of %d messages were handled", receive.name, n)
		}
		f.requests = float64(w.far.requests()-before) / float64(n-warm)
		stop()
		consumer.Wait()
		p.close(w.T)
		mu.Lock()
		defer mu.Unlock()
		took = took[warm:]
		slices.Sort(took)
		f.p50, f.p99 = took[len(took)/2], took[len(took)*99/100]
	})
	return f
}

// idle is how many requests a minute a consumer without messages makes.
func idle(t *testing.T, by consuming) (perMinute float64) {
	inWorld(t, 15*time.Millisecond, func(w *world) {
		w.provision("orders")
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		var consumer sync.WaitGroup
		consumer.Go(func() { by.run(ctx, w.T, w.away, "orders", 64, func(string) {}) })
		time.Sleep(time.Hour)
		before := w.far.requests()
		time.Sleep(time.Hour)
		perMinute = float64(w.far.requests()-before) / 60
		stop()
		consumer.Wait()
	})
	return perMinute
}

// fanOut is an exchange with five queues of ten workers each, and 64 senders. The figure counts the requests for one
// message that is sent once and handled five times.
func fanOut(t *testing.T, trip time.Duration, send publishing, receive consuming) (f figure) {
	inWorld(t, trip, func(w *world) {
		const readers, senders, each = 5, 64, 40
		p := send.open(w.T, w.near, "events.*", false) // creates the topic for Godwit
		if send.name != byGodwit.name {
			own := byGodwit.open(w.T, w.near, "events.*", false)
			own.close(w.T)
		}
		for i := range readers {
			w.provision(fmt.Sprint("events--q", i))
		}
		p.close(w.T)
		p = send.open(w.T, w.away, "events.*", false)
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		var handled atomic.Int64
		var consumers sync.WaitGroup
		ended := make(chan struct{})
		for i := range readers {
			consumers.Go(func() {
				receive.run(ctx, w.T, w.away, fmt.Sprint("events--q", i), 10, func(string) {
					if handled.Add(1) == readers*senders*each {
						close(ended)
					}
				})
			})
		}
		time.Sleep(time.Second)
		begun, before := time.Now(), w.far.requests()
		w.send(p, send.batch, senders, each, 0)
		select {
		case <-ended:
		case <-time.After(10 * time.Minute):
			w.Errorf("%s: %d of %d messages were handled", receive.name, handled.Load(), readers*senders*each)
		}
		n := float64(senders * each)
		f.requests = float64(w.far.requests()-before) / n
		if took := time.Since(begun).Seconds(); took > 0 {
			f.rate = n / took
		}
		stop()
		consumers.Wait()
		p.close(w.T)
	})
	return f
}
