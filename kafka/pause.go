package kafka

import (
	"errors"
	"maps"
	"sync"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// pauses are the partitions that are paused, and the receivers that follow them. Its methods may be called
// concurrently.
type pauses struct {
	mu        sync.Mutex
	paused    map[driver.Channel]map[int32]bool
	receivers map[*receiver]bool
}

// change pauses or resumes partitions of a channel.
func (p *pauses) change(channels *layout.Channels, channel string, partitions []int32, on bool) error {
	ch := layout.Parse(channel)
	if err := channels.Check(ch); err != nil || ch.Queue == "" {
		return errors.Join(failure.Permanent("%q has no consumers: name a channel, as orders or "+
			"wishlist_events.mobile", channel), err)
	}
	if channels.Uses(ch).Share {
		return failure.Permanent("channel %s: partitions of a share group cannot be paused, because brokers assign its "+
			"records: pause the consumer", ch)
	}
	if len(partitions) == 0 {
		return failure.Permanent("channel %s: no partition is named: list them, or pause the consumer", ch)
	}
	for _, n := range partitions {
		if n < 0 {
			return failure.Permanent("channel %s: partition %d: partitions count from 0", ch, n)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := map[int32]bool{} // receivers have the old map
	maps.Copy(now, p.paused[ch])
	for _, n := range partitions {
		now[n] = on
	}
	if p.paused == nil {
		p.paused = map[driver.Channel]map[int32]bool{}
	}
	p.paused[ch] = now
	for r := range p.receivers {
		if layout.Plain(r.sub.from) == ch {
			r.ledger.Epochs.Pause(now)
		}
	}
	return nil
}

// add lets a receiver follow the pauses of its channel.
func (p *pauses) add(r *receiver) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.receivers == nil {
		p.receivers = map[*receiver]bool{}
	}
	p.receivers[r] = true
	r.ledger.Epochs.Pause(p.paused[layout.Plain(r.sub.from)])
}

func (p *pauses) remove(r *receiver) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.receivers, r)
}
