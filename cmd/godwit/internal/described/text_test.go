package described

import (
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
)

// Holders are told with what they run, the oldest first, and partitions that are neighbours together.
func TestAudienceLines(t *testing.T) {
	now := time.Now()
	handlers := make([]ops.RunningHandler, 5)
	for i := range handlers {
		handlers[i] = ops.RunningHandler{ID: "id", Attempt: i + 1, Since: now.Add(-time.Minute)}
	}
	got := strings.Join(audienceLines(&describe.Audience{
		Told: true,
		Members: []driver.Member{
			{ID: "m", Client: "c", Host: "h", Partitions: []int32{0, 1, 2, 5}}, {ID: "n"},
		},
		Asked: true, Holders: []describe.Holder{{Host: "web", PID: 4711, ConsumerWork: ops.ConsumerWork{
			State: "listening", Workers: 5, Held: 7, Waiting: 2, Handled: 9, Running: handlers,
		}}},
	}, now), "\n")
	want := "m (c, h): partitions 0-2,5\nn (, )\n" +
		"process 4711 on web: listening, 5 workers, holds 7 (2 wait, 0 are retries); handled 9, retried 0, rejected 0\n" +
		"  id runs for 1m, attempt 1\n  id runs for 1m, attempt 2\n  id runs for 1m, attempt 3\n  and 2 more"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
