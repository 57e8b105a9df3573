package godwit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
)

// What options ask for can be had without a consumer or a producer.
func TestSpecOfOptions(t *testing.T) {
	got, err := (&ConsumerOptions{
		Ordered: true, MaxAttempts: 2, Retention: time.Hour, DeadLetterRetention: 2 * time.Hour,
		Filter: Filter{Prefix: []string{"A."}}, Ownership: Ownership{Owner: "shop"}, Provision: ProvisionDeclare,
	}).Spec("wishes.mobile")
	want := driver.ChannelSpec{
		Channel: driver.Channel{Exchange: "wishes", Queue: "mobile", Ordered: true}, Owner: true, Mode: driver.Declare,
		Filter: driver.Filter{Prefix: []string{"A."}}, Retention: time.Hour, DeadRetention: 2 * time.Hour,
		MaxReceives: 100, Tags: map[string]string{"owner": "shop"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	produced, err := (&ProducerOptions{Encryption: "k"}).Spec("wishes.*")
	want = driver.ChannelSpec{
		Channel: driver.Channel{Exchange: "wishes"}, Encryption: "k", Tags: map[string]string{},
	}
	if diff := cmp.Diff(want, produced); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, name := range []string{"wishes.*", "orders@dlq", ""} {
		if _, err := new(ConsumerOptions).Spec(name); err == nil {
			t.Errorf("%q has a consumer's specification", name)
		}
	}
	if _, err := (&ConsumerOptions{Retention: time.Second}).Spec("orders"); err == nil {
		t.Error("a retention of a second is accepted")
	}
}

// Random delays are never taken for fixed ones, although two draws of the default agree once in a hundred: else a
// consumer on Kafka would once in a while be refused for them (MaxBlock).
func TestRandomDelaysAreUnknown(t *testing.T) {
	for range 1000 {
		s, err := (&ConsumerOptions{}).Spec("orders")
		if err != nil || s.LongestRetry != 0 {
			t.Fatalf("the longest of the default's random delays is %v, %v; it is not known", s.LongestRetry, err)
		}
	}
	s, err := (&ConsumerOptions{MaxAttempts: 3, Backoff: Steps(time.Second, time.Minute, time.Hour)}).Spec("orders")
	if err != nil || s.LongestRetry != time.Minute {
		t.Errorf("the longest delay is %v, %v, want the second of two, a minute", s.LongestRetry, err)
	}
}
