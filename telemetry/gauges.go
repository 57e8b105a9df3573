package telemetry

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/godwitmq/godwit"
)

// gauges are what is asked for when metrics are collected. Consumers of one channel in one process are one series, with
// their sums.
type gauges struct {
	held, waiting, retrying, settling, bytes metric.Int64ObservableGauge
	busy, workers, stuck                     metric.Int64ObservableGauge
	lanes, polls, uncommitted                metric.Int64ObservableGauge
	backlog, consumers, unhealthy            metric.Int64ObservableGauge
	breaker, circuit                         metric.Int64ObservableGauge
	blocked, pollAge, oldest                 metric.Float64ObservableGauge

	mu      sync.Mutex
	running map[*consumerMeter]bool
	sending map[*producerMeter]bool
}

func newGauges(meter metric.Meter) (*gauges, error) {
	mk := &maker{Meter: meter}
	g := &gauges{
		running: map[*consumerMeter]bool{}, sending: map[*producerMeter]bool{},

		held:     mk.gauge("godwit.deliveries.held", "{message}", "Deliveries that the consumer holds."),
		waiting:  mk.gauge("godwit.deliveries.waiting", "{message}", "Deliveries that wait for a handler."),
		retrying: mk.gauge("godwit.deliveries.retrying", "{message}", "Deliveries whose retry the consumer holds."),
		settling: mk.gauge("godwit.deliveries.settling", "{message}", "Deliveries that are being settled."),
		bytes:    mk.gauge("godwit.deliveries.size", "By", "Bytes of the bodies of deliveries that the consumer holds."),
		busy:     mk.gauge("godwit.workers.busy", "{worker}", "Workers that run a handler."),
		workers:  mk.gauge("godwit.workers.limit", "{worker}", "Handlers that may run at the same time."),
		stuck:    mk.gauge("godwit.workers.abandoned", "{worker}", "Handlers that now ignore their context's end."),
		lanes:    mk.gauge("godwit.lanes", "{lane}", "Lanes with at least one delivery."),
		polls:    mk.gauge("godwit.polls.open", "{poll}", "Polls that wait for an answer."),
		uncommitted: mk.gauge("godwit.offsets.uncommitted", "{message}",
			"Finished messages of Kafka that no commit has passed."),
		backlog:   mk.gauge("godwit.backlog", "{message}", "Messages in the service that could be received; Kafka's lag."),
		consumers: mk.gauge("godwit.consumers", "{consumer}", "Consumers of this process that run, or wait to begin."),
		unhealthy: mk.gauge("godwit.consumers.unhealthy", "{consumer}", "Consumers of this process that do not work."),
		breaker:   mk.gauge("godwit.breaker.open", "{consumer}", "Consumers whose breaker is open."),
		circuit:   mk.gauge("godwit.circuit.open", "{producer}", "Producers whose circuit is open."),
		blocked: mk.seconds("godwit.lanes.blocked",
			"For how long the lane that has waited longest has waited for its first delivery."),
		pollAge: mk.seconds("godwit.poll.age", "Time since a poll was answered, of the consumer with the longest time."),
		oldest: mk.seconds("godwit.backlog.age",
			"Age of the first unfinished message of the partition where it is oldest."),
	}
	if err := mk.err(); err != nil {
		return nil, err
	}
	_, err := meter.RegisterCallback(g.observe, g.held, g.waiting, g.retrying, g.settling, g.bytes, g.busy, g.workers,
		g.stuck, g.lanes, g.polls, g.uncommitted, g.backlog, g.consumers, g.unhealthy, g.breaker, g.circuit, g.blocked,
		g.pollAge, g.oldest)
	return g, err
}

func (g *gauges) add(m any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch m := m.(type) {
	case *consumerMeter:
		g.running[m] = true
	case *producerMeter:
		g.sending[m] = true
	}
}

// remove ends the series of a consumer or a producer that has ended.
func (g *gauges) remove(m any) {
	g.mu.Lock()
	switch m := m.(type) {
	case *consumerMeter:
		delete(g.running, m)
		defer m.backlog.close()
	case *producerMeter:
		delete(g.sending, m)
	}
	g.mu.Unlock()
}

// all returns the consumers and producers, without the lock, which must not be held while they are asked.
func (g *gauges) all() (cs []*consumerMeter, ps []*producerMeter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.running)), slices.Collect(maps.Keys(g.sending))
}

// channelSum is the sum over the consumers of one channel.
type channelSum struct {
	of   []metric.ObserveOption
	live godwit.Live

	consumers, unhealthy, open, stuck int64
	pollAge                           time.Duration
	polled                            bool
	backlog                           int64
	counted                           bool // the size of the backlog is known
	oldest                            time.Duration
}

func (g *gauges) observe(_ context.Context, o metric.Observer) error {
	cs, ps := g.all()
	sums := map[string]*channelSum{}
	now := time.Now()
	for _, c := range cs {
		name := c.consumer.Channel()
		if sums[name] == nil {
			sums[name] = &channelSum{of: c.plain.observe, oldest: -1}
		}
		sums[name].add(c, now)
	}
	for _, s := range sums {
		g.tell(o, s)
	}
	open := map[string]int64{}
	of := map[string][]metric.ObserveOption{}
	for _, p := range ps {
		name := p.channel.Value.AsString()
		of[name] = p.plain.observe
		if p.opened.Load() {
			open[name]++
		}
	}
	for name, labels := range of {
		o.ObserveInt64(g.circuit, open[name], labels...)
	}
	return nil
}

// add adds one consumer.
func (s *channelSum) add(c *consumerMeter, now time.Time) {
	live, health := c.consumer.Live(), c.consumer.Health()
	s.live.Held += live.Held
	s.live.Running += live.Running
	s.live.Waiting += live.Waiting
	s.live.Retrying += live.Retrying
	s.live.Settling += live.Settling
	s.live.Bytes += live.Bytes
	s.live.Lanes += live.Lanes
	s.live.Workers += live.Workers
	s.live.Polls += live.Polls
	s.live.Uncommitted += live.Uncommitted
	s.live.Blocked = max(s.live.Blocked, live.Blocked)
	s.consumers++
	if len(health.Unhealthy) > 0 {
		s.unhealthy++
	}
	if health.BreakerOpen {
		s.open++
	}
	s.stuck += int64(len(health.Abandoned))
	if !health.LastPoll.IsZero() {
		s.polled, s.pollAge = true, max(s.pollAge, now.Sub(health.LastPoll))
	}
	if demand, known := c.backlog.of(c.consumer); known { // of the channel, so the same for all its consumers
		s.counted, s.backlog = true, demand.Backlog
		for _, p := range demand.Partitions {
			s.oldest = max(s.oldest, p.Oldest)
		}
	}
}

// tell reports the sum.
func (g *gauges) tell(o metric.Observer, s *channelSum) {
	for _, one := range []struct {
		gauge metric.Int64ObservableGauge
		value int64
	}{
		{g.held, int64(s.live.Held)},
		{g.waiting, int64(s.live.Waiting)},
		{g.retrying, int64(s.live.Retrying)},
		{g.settling, int64(s.live.Settling)},
		{g.bytes, s.live.Bytes},
		{g.busy, int64(s.live.Running)},
		{g.workers, int64(s.live.Workers)},
		{g.stuck, s.stuck},
		{g.lanes, int64(s.live.Lanes)},
		{g.polls, int64(s.live.Polls)},
		{g.uncommitted, s.live.Uncommitted},
		{g.consumers, s.consumers},
		{g.unhealthy, s.unhealthy},
		{g.breaker, s.open},
	} {
		o.ObserveInt64(one.gauge, one.value, s.of...)
	}
	o.ObserveFloat64(g.blocked, s.live.Blocked.Seconds(), s.of...)
	if s.polled {
		o.ObserveFloat64(g.pollAge, s.pollAge.Seconds(), s.of...)
	}
	if s.counted {
		o.ObserveInt64(g.backlog, s.backlog, s.of...)
	}
	if s.oldest >= 0 {
		o.ObserveFloat64(g.oldest, s.oldest.Seconds(), s.of...)
	}
}
