package localaws

import (
	"maps"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

const (
	// idleLimit is how long after its last call AWS reports a queue or a topic.
	idleLimit = 6 * time.Hour
	// wakeDelay is how late the first metrics of a queue come that wakes. AWS says up to 15 minutes.
	wakeDelay = 15 * time.Minute
)

// queueMetrics reports the metrics of awake queues to CloudWatch every minute.
type queueMetrics struct {
	clock *clock.Clock
	wake  func()        // makes CloudWatch ask
	delay time.Duration // how late the first metrics of a queue come that wakes

	mu    sync.Mutex
	awake map[*sqs.Queue]*meteredQueue
}

// meteredQueue is an awake queue.
type meteredQueue struct {
	since time.Time       // when it woke
	held  []metric.Sample // what is not reported yet, because it woke lately
}

// woken is called for a queue that wakes, possibly with its locks held.
func (m *queueMetrics) woken(q *sqs.Queue) {
	m.mu.Lock()
	if m.awake == nil {
		m.awake = map[*sqs.Queue]*meteredQueue{}
	}
	m.awake[q] = &meteredQueue{since: m.clock.Now()}
	m.mu.Unlock()
	m.wake()
}

// Collect is called by one goroutine at a time. It calls queues without holding its own lock.
func (m *queueMetrics) Collect(end time.Time) (samples []metric.Sample, awake bool) {
	m.mu.Lock()
	queues := maps.Clone(m.awake)
	m.mu.Unlock()
	for q, state := range queues {
		counts, active := q.Model().Collect(idleLimit)
		if active {
			state.held = append(state.held, queueSamples(q, &counts, end.Add(-time.Minute))...)
		}
		if !active || end.Sub(state.since) >= m.delay {
			samples = append(samples, state.held...)
			state.held = nil
		}
		if !active {
			m.forget(q, state)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return samples, len(m.awake) > 0
}

// forget removes a queue that sleeps, unless it woke meanwhile.
func (m *queueMetrics) forget(q *sqs.Queue, state *meteredQueue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.awake[q] == state {
		delete(m.awake, q)
	}
}

// queueSamples returns the metrics of an active queue for one minute. AWS's gaps are part of them: a metric of what is
// not there has no sample.
func queueSamples(q *sqs.Queue, c *queue.Counts, at time.Time) []metric.Sample {
	r := report{namespace: "AWS/SQS", dimension: metric.Dimension{Name: "QueueName", Value: q.Name()}, at: at}
	r.count("NumberOfMessagesSent", c.Sent)
	r.count("NumberOfMessagesReceived", c.Received)
	r.count("NumberOfMessagesDeleted", c.Deleted)
	r.count("NumberOfEmptyReceives", c.EmptyReceives)
	r.count("ApproximateNumberOfMessagesVisible", c.Visible)
	r.countSome("ApproximateNumberOfMessagesNotVisible", c.InFlight)
	r.countSome("ApproximateNumberOfMessagesDelayed", c.Delayed)
	if c.Age >= 0 {
		r.add("ApproximateAgeOfOldestMessage", "Seconds", metric.Of(float64(int(c.Age.Seconds())), 1))
	}
	r.sizes("SentMessageSize", c.Sizes)
	if q.FIFO() {
		r.count("NumberOfDeduplicatedSentMessages", c.Deduplicated)
		r.count("ApproximateNumberOfGroupsWithInflightMessages", c.Groups)
	}
	return r.samples
}

// report is the samples of one resource for one minute.
type report struct {
	namespace string
	dimension metric.Dimension
	at        time.Time
	samples   []metric.Sample
}

func (r *report) add(name, unit string, s metric.Stats) {
	r.samples = append(r.samples, metric.Sample{
		ID: metric.ID{Namespace: r.namespace, Name: name, Dimensions: []metric.Dimension{r.dimension}},
		At: r.at, Unit: unit, Stats: s,
	})
}

func (r *report) count(name string, n int) { r.add(name, "Count", metric.Of(float64(n), 1)) }

// countSome reports a count unless it is 0.
func (r *report) countSome(name string, n int) {
	if n > 0 {
		r.count(name, n)
	}
}

// sizes reports sizes, if there are any.
func (r *report) sizes(name string, sizes map[int]int) {
	if len(sizes) == 0 {
		return
	}
	values := make([]metric.Weighted, 0, len(sizes))
	for size, n := range sizes {
		values = append(values, metric.Weighted{Value: float64(size), Count: float64(n)})
	}
	r.add(name, "Bytes", metric.OfAll(values))
}
