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
