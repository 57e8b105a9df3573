package ops_test

import (
	"context"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// waiting is what waits in a channel.
func waiting(t *testing.T, b driver.Inspector, queue string) int64 {
	t.Helper()
	d, err := b.Inspect(t.Context(), driver.Channel{Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	return d.Waiting
}

// A dry run counts the messages, and a purge deletes them.
func TestPurge(t *testing.T) {
	b := shop(t)
	for _, dry := range []bool{true, false} {
		r, err := ops.Purge(t.Context(), b, "orders", &ops.PurgeOptions{Dry: dry})
		if err != nil || r.Messages != 3 || r.Channel.Queue != "orders" {
			t.Errorf("dry %v: %+v, %v", dry, r, err)
		}
	}
	if n := waiting(t, b, "orders"); n != 0 {
		t.Errorf("%d messages wait", n)
	}
	_, err := ops.Purge(t.Context(), b, "order", nil)
	if err == nil || !strings.Contains(err.Error(), "perhaps orders") {
		t.Errorf("%v", err)
	}
}

// sharing is a backend whose messages are those of other consumers, too.
type sharing struct{ *memdriver.Backend }

func (s sharing) Operations() driver.Operations {
	do := s.Backend.Operations()
	do.Purge = s.Purge
	return do
}

func (s sharing) Purge(ctx context.Context, c driver.Channel, dry bool) (driver.Purged, error) {
	p, err := s.Backend.Purge(ctx, c, dry)
	p.Others = []string{"reports"}
	return p, err
}

// Messages of other consumers are deleted only if that is asked for.
func TestPurgeOfOthers(t *testing.T) {
	b := sharing{shop(t)}
	r, err := ops.Purge(t.Context(), b, "orders", nil)
	if err == nil || !strings.Contains(err.Error(), "reports") || r.Messages != 3 || waiting(t, b, "orders") != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = ops.Purge(t.Context(), b, "orders", &ops.PurgeOptions{Shared: true}); err != nil || r.Messages != 3 ||
		waiting(t, b, "orders") != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
