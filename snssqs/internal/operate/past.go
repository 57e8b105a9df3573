package operate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// keepsMinutes is how long CloudWatch keeps the points of single minutes.
const keepsMinutes = 15 * 24 * time.Hour

// Past reads the minutes of queues and topics from CloudWatch, with a request for each 500 metrics: six of a queue, one
// of a topic. CloudWatch has counted a queue in a minute if it has a point of the messages that wait; every other
// minute is missing, because nothing is known of it. Of a topic, only what was published is counted.
func Past(ctx context.Context, e *estate.Estate, cs []driver.Channel, since time.Time) ([]driver.Past, error) {
	if err := e.Clients.Open(); err != nil {
		return nil, err
	}
	now := time.Now()
	if age := now.Sub(since); age <= 0 || age > keepsMinutes {
		return nil, client.Permanent("the past since %v: CloudWatch keeps minutes for %v: ask for a time within that",
			since, keepsMinutes)
	}
	r := &reader{ // of whole minutes
		e: e, from: since.Truncate(time.Minute), to: now.Truncate(time.Minute),
		resources: make([]meteredResource, len(cs)),
	}
	all := make([]driver.Past, len(cs))
	for i, ch := range cs {
		if all[i].Channel = ch; !r.from.Before(r.to) { // no minute is whole
			continue
		}
		r.resources[i], all[i].Err = metered(ctx, e, ch)
	}
	for _, region := range r.regions() {
		r.past(ctx, region, all)
	}
	return all, ctx.Err()
}

// past reads the minutes of a region.
func (r *reader) past(ctx context.Context, region string, all []driver.Past) {
	var queries []metricQuery
	var of []int // the channels, in the order of their queries
	for i, resource := range r.resources {
		if resource.name == "" || resource.region != region {
			continue
		}
		of = append(of, i)
		for _, one := range pastMetrics(resource) {
			queries = append(queries, metricQuery{resource, one.metric, one.stat, time.Minute})
		}
	}
	answers := metricData(ctx, r.e, region, queries, r.from, r.to)
	for _, i := range of {
		n := len(pastMetrics(r.resources[i]))
		all[i].Minutes, all[i].Err = minutes(r.resources[i], answers[:n])
		answers = answers[n:]
	}
}

// pastMetric is a metric that is a number of a minute.
type pastMetric struct {
	metric, stat string
	set          func(m *driver.Minute, v float64)
}

// pastMetrics are the metrics of a queue or a topic. A minute in which the first one has a point was counted.
func pastMetrics(r meteredResource) []pastMetric {
	sent := func(m *driver.Minute, v float64) { m.Sent = int64(v) }
	if r.namespace == topicMetrics {
		return []pastMetric{{alwaysPublished, "Sum", sent}}
	}
	return []pastMetric{
		{"ApproximateNumberOfMessagesVisible", "Maximum", func(m *driver.Minute, v float64) { m.Waiting = int64(v) }},
		{"ApproximateNumberOfMessagesNotVisible", "Maximum", func(m *driver.Minute, v float64) {
			m.InFlight = int64(v)
		}},
		{"ApproximateNumberOfMessagesDelayed", "Maximum", func(m *driver.Minute, v float64) { m.Delayed = int64(v) }},
		{"ApproximateAgeOfOldestMessage", "Maximum", func(m *driver.Minute, v float64) {
			m.Oldest = time.Duration(v) * time.Second
		}},
		{"NumberOfMessagesSent", "Sum", sent},
		{"NumberOfMessagesDeleted", "Sum", func(m *driver.Minute, v float64) { m.Deleted = int64(v) }},
	}
}

// minutes makes the minutes of a queue or a topic of its answers. In a minute that was counted, messages in flight and
// delayed ones have a point only if there are some, and the age only while a message counts for it.
func minutes(r meteredResource, answers []metricAnswer) ([]driver.Minute, error) {
	byTime := map[time.Time]*driver.Minute{}
	for i, one := range pastMetrics(r) {
		if answers[i].err != nil {
			return nil, answers[i].err
		}
		for k, at := range answers[i].times {
			at = at.UTC()
			m := byTime[at]
			switch {
			case m == nil && i > 0:
				continue
			case m == nil:
				m = &driver.Minute{At: at, Waiting: -1, InFlight: -1, Delayed: -1, Oldest: -1, Sent: -1, Deleted: -1}
				if r.namespace == queueMetrics {
					m.InFlight, m.Delayed = 0, 0
				}
				byTime[at] = m
			}
			one.set(m, answers[i].values[k])
		}
	}
	all := make([]driver.Minute, 0, len(byTime))
	for _, m := range byTime {
		if m.Waiting == 0 && m.InFlight == 0 && m.Oldest < 0 {
			m.Oldest = 0
		}
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b driver.Minute) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	return all, nil
}
