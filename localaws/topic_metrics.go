package localaws

import (
	"maps"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/sns"
)

// topicMetrics reports the metrics of awake topics to CloudWatch every minute.
type topicMetrics struct {
	collect func(m sns.Metered, idle time.Duration) (sns.Counts, bool)
	wake    func() // makes CloudWatch ask

	mu    sync.Mutex
	awake map[sns.Metered]bool
}

// woken is called for a topic that wakes, possibly with the service's lock held.
func (m *topicMetrics) woken(t sns.Metered) {
	m.mu.Lock()
	if m.awake == nil {
		m.awake = map[sns.Metered]bool{}
	}
	m.awake[t] = true
	m.mu.Unlock()
	m.wake()
}

func (m *topicMetrics) Collect(end time.Time) (samples []metric.Sample, awake bool) {
	m.mu.Lock()
	topics := maps.Clone(m.awake)
	clear(m.awake) // a topic that sleeps from now on may wake at once
	m.mu.Unlock()
	for t := range topics {
		counts, active := m.collect(t, idleLimit)
		if !active {
			continue
		}
		samples = append(samples, topicSamples(t, &counts, end.Add(-time.Minute))...)
		m.mu.Lock()
		m.awake[t] = true
		m.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return samples, len(m.awake) > 0
}

// topicSamples returns the metrics of an active topic for one minute.
func topicSamples(t sns.Metered, c *sns.Counts, at time.Time) []metric.Sample {
	r := report{namespace: "AWS/SNS", dimension: metric.Dimension{Name: "TopicName", Value: t.Name}, at: at}
	r.count("NumberOfMessagesPublished", c.Published)
	r.count("NumberOfNotificationsDelivered", c.Delivered)
	r.count("NumberOfNotificationsFailed", c.Failed)
	r.countSome("NumberOfNotificationsFilteredOut", c.FilteredOut)
	r.countSome("NumberOfNotificationsFilteredOut-NoMessageAttributes", c.FilteredNoAttribute)
	r.countSome("NumberOfNotificationsFilteredOut-MessageAttributes", c.FilteredAttribute)
	r.countSome("NumberOfNotificationsFilteredOut-MessageBody", c.FilteredBody)
	r.countSome("NumberOfNotificationsRedrivenToDlq", c.Redriven)
	r.countSome("NumberOfNotificationsFailedToRedriveToDlq", c.FailedToRedrive)
	r.sizes("PublishSize", c.Sizes)
	return r.samples
}
