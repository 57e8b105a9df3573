package kafka

import (
	"errors"
	"maps"
	"sync"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Partitions are single partitions of a channel's topic, as the consumers of this process have them. Several goroutines
// may use it.
type Partitions struct {
	b       *Backend
	name    string
	channel driver.Channel
}

// Pause lets the consumers take no more records of some partitions until Resume. Records that they have taken before
// are still handled, and so are retries that wait in tiers. A pause survives rebalances, and holds for consumers that
// start later; other processes have their own. For all of a consumer use [godwit.Consumer.Pause].
//
// [godwit.Consumer.Pause]: https://pkg.go.dev/github.com/godwitmq/godwit#Consumer.Pause
func (p *Partitions) Pause(ns ...int32) error { return p.change(ns, true) }

// Resume ends the pause of partitions. Partitions that are not paused are ignored.
func (p *Partitions) Resume(ns ...int32) error { return p.change(ns, false) }

func (p *Partitions) change(ns []int32, on bool) error {
	if err := p.check(); err != nil {
		return err
	}
	if len(ns) == 0 {
		return failure.Permanent("channel %s: no partition is named: list them, or pause the consumer", p.channel)
	}
	for _, n := range ns {
		if n < 0 {
			return failure.Permanent("channel %s: partition %d: partitions count from 0", p.channel, n)
		}
	}
	p.b.pauses.change(p.channel, ns, on)
	return nil
}

// check returns an error if the consumers of the channel have no partitions of their own.
func (p *Partitions) check() error {
	channels := p.b.channels
	if err := channels.Check(p.channel); err != nil || p.channel.Queue == "" {
		return errors.Join(failure.Permanent("%q has no consumers: name a channel, as orders or wishlist_events.mobile",
			p.name), err)
	}
	if channels.Uses(p.channel).Share {
		return failure.Permanent("channel %s: consumers of a share group have no partitions, because brokers give them "+
			"single records: pause the consumer, or set the group's position with kafka-share-groups.sh --reset-offsets",
			p.channel)
	}
	return nil
}

// pauses are the partitions that are paused, and the receivers that follow them. Its methods may be called
// concurrently.
type pauses struct {
	mu        sync.Mutex
	paused    map[driver.Channel]map[int32]bool
	receivers map[*receiver]bool
}

// change pauses or resumes partitions of a channel.
func (p *pauses) change(ch driver.Channel, partitions []int32, on bool) {
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
}

// receiverOf is a receiver of a channel's own topic that runs; nil: there is none.
func (p *pauses) receiverOf(ch driver.Channel) *receiver {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.receivers {
		if layout.Plain(r.sub.from) == ch && !r.sub.tiersOnly {
			return r
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
