package godwit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// deploy is a process that opens channels which exist, with a service that answers each call after 20 ms.
type deploy struct {
	*world
	backend driver.Backend

	mu    sync.Mutex
	calls []string
}

const deployTrip = 20 * time.Millisecond

func (w *world) deploy() *deploy {
	w.Helper()
	d := &deploy{world: w, backend: w.process()}
	w.Cleanup(func() { _ = d.backend.Close(context.Background()) })
	w.server.Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.calls = append(d.calls, r.Service+"."+r.Action)
		return localaws.Outcome{Delay: deployTrip}
	})
	return d
}

// open makes a consumer or a producer, and returns the calls and how many of them were made one after another.
func (d *deploy) open(channel string, consumes bool) (calls []string, deep int) {
	d.Helper()
	d.calls = nil
	begun := time.Now()
	var err error
	if consumes {
		_, err = godwit.NewConsumer(d.Context(), d.backend, channel, nil)
	} else {
		var p *godwit.Producer
		if p, err = godwit.NewProducer(d.Context(), d.backend, channel, nil); err == nil {
			defer func() { _ = p.Close(d.Context()) }()
		}
	}
	if err != nil {
		d.Fatal(err)
	}
	return d.calls, int(time.Since(begun) / deployTrip)
}

// A process whose channels exist opens each with few calls, most of them at the same time.
func TestADeployMakesFewCalls(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for _, channel := range []string{"orders", "bills", "shop.audit", "shop.mail", "news.web"} {
			w.consumer(channel, nil)
		}
		const consumer, producer = true, false
		d := w.deploy()
		for _, step := range []struct {
			channel     string
			consumes    bool
			calls, deep int
		}{
			{"orders", consumer, 6, 2}, // two of them list queues and topics, for all
			{"orders", producer, 0, 0},
			{"bills", producer, 1, 1},
			{"bills", consumer, 4, 1},
			{"shop.audit", consumer, 7, 2},
			{"shop.mail", consumer, 5, 2},
			{"shop.*", producer, 1, 1},
			{"shop.*", producer, 0, 0},
			{"news.*", producer, 2, 1},
		} {
			calls, deep := d.open(step.channel, step.consumes)
			if len(calls) > step.calls || deep > step.deep {
				t.Errorf("%s (consumes %v): %d calls, %d deep: %v; want %d, %d deep", step.channel, step.consumes,
					len(calls), deep, calls, step.calls, step.deep)
			}
		}
		for _, first := range []struct {
			channel     string
			consumes    bool
			calls, deep int
		}{{"shop.audit", consumer, 9, 3}, {"shop.*", producer, 4, 2}, {"orders", producer, 3, 2}} {
			calls, deep := w.deploy().open(first.channel, first.consumes)
			if len(calls) > first.calls || deep > first.deep {
				t.Errorf("first %s (consumes %v): %d calls, %d deep: %v; want %d, %d deep", first.channel,
					first.consumes, len(calls), deep, calls, first.calls, first.deep)
			}
		}
	})
}

// A hundred channels with a consumer and a producer each are opened in a loop, or the consumers at the same time.
func TestADeployOfAHundredChannels(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		channels := make([]string, 100)
		for i := range channels {
			channels[i] = fmt.Sprintf("orders-%d", i)
			w.consumer(channels[i], nil)
		}
		d := w.deploy()
		begun := time.Now()
		var opening sync.WaitGroup
		for _, channel := range channels {
			opening.Go(func() {
				if _, err := godwit.NewConsumer(d.Context(), d.backend, channel, nil); err != nil {
					t.Error(err)
				}
			})
		}
		opening.Wait()
		if took := time.Since(begun); took > 2*deployTrip || len(d.calls) > 402 {
			t.Errorf("opened at the same time in %v with %d calls; want %v and 402", took, len(d.calls), 2*deployTrip)
		}
		d = w.deploy()
		begun = time.Now()
		calls := 0
		for _, channel := range channels {
			for _, consumes := range []bool{true, false} {
				made, _ := d.open(channel, consumes)
				calls += len(made)
			}
		}
		if took := time.Since(begun); took > 101*deployTrip || calls > 402 {
			t.Errorf("opened in a loop in %v with %d calls; want %v and 402", took, calls, 101*deployTrip)
		}
	})
}
