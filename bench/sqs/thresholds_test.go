//go:build unix

package sqs

import (
	"fmt"
	"testing"
	"time"
)

// threshold is a bound for one of Godwit's figures. It holds on every machine.
type threshold struct {
	what        string
	least, most float64 // most 0: no upper bound
	measure     func(t *testing.T) float64
}

// thresholds are all bounds that CI checks. When a change improves a figure, raise its bound in the same change.
var thresholds = []threshold{
	// Senders in a loop: the rate as a share of senders ÷ round trip, and the requests for each message, which allow
	// one batch more than needed.
	{"12 senders at 5 ms, rate", 0.90, 0, sendRate(5*time.Millisecond, 12)},
	{"12 senders at 20 ms, rate", 0.90, 0, sendRate(20*time.Millisecond, 12)},
	{"16 senders at 20 ms, rate", 0.90, 0, sendRate(20*time.Millisecond, 16)},
	{"24 senders at 20 ms, rate", 0.90, 0, sendRate(20*time.Millisecond, 24)},
	{"64 senders at 20 ms, rate", 0.90, 0, sendRate(20*time.Millisecond, 64)},
	{"64 senders at 50 ms, rate", 0.90, 0, sendRate(50*time.Millisecond, 64)},
	{"16 senders at 20 ms, requests a message", 0, 0.19, sendRequests(
		publishScene{trip: 20 * time.Millisecond, senders: 16}, byGodwit)},
	{"64 senders at 20 ms, requests a message", 0, 0.125, sendRequests(
		publishScene{trip: 20 * time.Millisecond, senders: 64}, byGodwit)},
	{
		"64 senders of one key, shared requests, requests a message", 0, 0.11,
		sendRequests(publishScene{trip: 20 * time.Millisecond, senders: 64, keys: 1}, bySharing),
	},
	{
		"64 senders of 1,000 keys, requests a message", 0, 0.125,
		sendRequests(publishScene{trip: 20 * time.Millisecond, senders: 64, keys: 1000}, byGodwit),
	},

	// Busy workers with handlers of 10 ms.
	{"10 workers at 5 ms, busy", 0.95, 0, busy(5*time.Millisecond, 10)},
	{"10 workers at 20 ms, busy", 0.95, 0, busy(20*time.Millisecond, 10)},
	{"64 workers at 20 ms, busy", 0.90, 0, busy(20*time.Millisecond, 64)},
	{"256 workers at 20 ms, busy", 0.90, 0, busy(20*time.Millisecond, 256)},
	{"64 workers at 50 ms, busy", 0.80, 0, busy(50*time.Millisecond, 64)},
	{"256 workers at 50 ms, busy", 0.80, 0, busy(50*time.Millisecond, 256)},
	{"1,000 workers at 20 ms, busy", 0.80, 0, busy(20*time.Millisecond, 1000)},
	{"1,000 workers at 50 ms, busy", 0.80, 0, busy(50*time.Millisecond, 1000)},
	// Ordered backlogs, as shares of the workers: a receive brings up to ten messages of one key.
	{"10 workers, 100 keys of 30 messages, busy", 0.95, 0, ordered(10, 100, 30, 20*ms, 10*ms)},
	{"64 workers, 1,000 keys of 1 message, busy", 0.90, 0, ordered(64, 1000, 1, 20*ms, 10*ms)},
	{"64 workers, 1,000 keys of 3 messages, busy", 0.95, 0, ordered(64, 1000, 3, 20*ms, 10*ms)},
	{"64 workers, 1,000 keys of 30 messages, busy", 0.95, 0, ordered(64, 1000, 30, 20*ms, 10*ms)},
	{"64 workers, 1,000 keys of 30 messages, 100 ms each, busy", 0.95, 0, ordered(64, 1000, 30, 20*ms, 100*ms)},
	{"64 workers, 1,000 keys of 30 messages at 5 ms, busy", 0.95, 0, ordered(64, 1000, 30, 5*ms, 10*ms)},
	{"64 workers, 1,000 keys of 30 messages at 50 ms, busy", 0.95, 0, ordered(64, 1000, 30, 50*ms, 10*ms)},
	{"64 workers, 100 keys of 300 messages, 100 ms each, busy", 0.90, 0, ordered(64, 100, 300, 20*ms, 100*ms)},
	{"256 workers, 1,000 keys of 50 messages, busy", 0.95, 0, ordered(256, 1000, 50, 20*ms, 10*ms)},
	{"256 workers, 1,000 keys of 30 messages, 100 ms each, busy", 0.95, 0, ordered(256, 1000, 30, 20*ms, 100*ms)},
	{"1,000 workers, 2,000 keys of 20 messages, 100 ms each, busy", 0.95, 0, ordered(1000, 2000, 20, 20*ms, 100*ms)},
	{"1,000 workers, 10,100 keys of 10 messages, busy", 0.95, 0, ordered(1000, 10_100, 10, 20*ms, 10*ms)},
	{"64 workers, 1,000 keys of 30 messages, requests a message", 0, 0.21, func(t *testing.T) float64 {
		return consumeScene{20 * ms, 10 * ms, 64, 1000, 30}.run(t, fromGodwit).requests
	}},
	{"64 workers at 20 ms, requests a message", 0, 0.22, func(t *testing.T) float64 {
		s := consumeScene{trip: 20 * time.Millisecond, handler: 10 * time.Millisecond, workers: 64}
		return s.run(t, fromGodwit).requests
	}},

	// From send to handler. A round trip is the least if the consumer polls already: half for the send, half for the
	// answer to the poll.
	{"1 message a second, p50 in round trips", 0, 1.01, latency(1, false)},
	{"10 messages a second, p50 in round trips", 0, 1.01, latency(10, false)},
	{"100 messages a second, p50 in round trips", 0, 1.7, latency(100, false)},
	{"100 messages a second, p99 in round trips", 0, 2.6, latency(100, true)},
	{"100 messages a second, Linger and SaveRequests, requests a message", 0, 0.37, func(t *testing.T) float64 {
		return latencyScene{trip: middle, rate: 100}.run(t, byLinger, fromSaving).requests
	}},
	{"requests a minute of an idle consumer", 0, 3.14, func(t *testing.T) float64 { return idle(t, fromGodwit) }},

	// Allocations compared with those of the hand-written loop, which has no envelope, no repetitions, and no results
	// for each message.
	{"SendBatch, allocations ÷ those of the loop", 0, 1.15, allocations(
		cpuContender{name: "SendBatch", loops: 2, send: &byBatches})},
	{"64 senders, allocations ÷ those of the loop", 0, 1.35, allocations(
		cpuContender{name: "64", loops: 64, send: &byGodwit})},
}

func TestThresholds(t *testing.T) {
	for _, h := range thresholds {
		t.Run(h.what, func(t *testing.T) {
			got := h.measure(t)
			t.Logf("%.3f, at least %v, at most %s", got, h.least, h.upper())
			if got < h.least || h.most > 0 && got > h.most {
				t.Errorf("%s is %.3f; want at least %v and at most %s", h.what, got, h.least, h.upper())
			}
		})
	}
}

func (h *threshold) upper() string {
	if h.most == 0 {
		return "any"
	}
	return fmt.Sprint(h.most)
}

func sendRate(trip time.Duration, senders int) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		f := publishScene{trip: trip, senders: senders}.run(t, byGodwit)
		return f.rate * trip.Seconds() / float64(senders)
	}
}

func sendRequests(s publishScene, by publishing) func(*testing.T) float64 {
	return func(t *testing.T) float64 { return s.run(t, by).requests }
}

func busy(trip time.Duration, workers int) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		return consumeScene{trip: trip, handler: 10 * time.Millisecond, workers: workers}.run(t, fromGodwit).busy
	}
}

func latency(rate float64, p99 bool) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		const trip = 20 * time.Millisecond
		f := latencyScene{trip: trip, rate: rate}.run(t, byGodwit, fromGodwit)
		if p99 {
			return f.p99.Seconds() / trip.Seconds()
		}
		return f.p50.Seconds() / trip.Seconds()
	}
}

func allocations(of cpuContender) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		loop := cpuContender{name: "loop", loops: 2, send: &byHand}
		figures := measureCPU(t, []cpuContender{loop, of}, 1, 3000)
		return figures[1].allocs / figures[0].allocs
	}
}

// ordered measures the share of the time in which workers handle an ordered backlog.
func ordered(workers, keys, each int, trip, handler time.Duration) func(*testing.T) float64 {
	return func(t *testing.T) float64 {
		return consumeScene{trip, handler, workers, keys, each}.run(t, fromGodwit).busy
	}
}
