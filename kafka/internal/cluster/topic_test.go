package cluster

import "testing"

// Until the limit of a topic was looked up, it is the brokers' default.
func TestTheLimitOfATopic(t *testing.T) {
	c := &Cluster{limits: map[string]int32{"small": 5000}}
	for name, want := range map[string]int32{"small": 5000, "unknown": brokerMaxBytes} {
		if got := c.Limit(name); got != want {
			t.Errorf("the limit of topic %s is %d, want %d", name, got, want)
		}
	}
}
