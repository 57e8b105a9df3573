//go:build synctests

package kafka_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// After a rewind, the records from the position on are delivered again, also those that were dead-lettered and those
// that were finished behind unfinished ones. A dry run and a refused rewind change nothing.
func TestRewind(t *testing.T) {
	for name, c := range map[string]struct {
		to   func(began time.Time) driver.Position
		want []driver.PartitionRewind
		gets string
	}{
		"start": {
			to:   func(time.Time) driver.Position { return driver.Position{From: driver.FromStart} },
			want: []driver.PartitionRewind{{Was: 2, To: 0, Again: 2}, {Partition: 1, Was: 2, To: 0, Again: 2}},
			gets: "abcdvwxy",
		},
		"end": {
			to:   func(time.Time) driver.Position { return driver.Position{From: driver.FromEnd} },
			want: []driver.PartitionRewind{{Was: 2, To: 4, Skipped: 2}, {Partition: 1, Was: 2, To: 4, Skipped: 2}},
		},
		"time": {
			to: func(began time.Time) driver.Position {
				return driver.Position{From: driver.FromTime, Time: began.Add(time.Minute)}
			},
			want: []driver.PartitionRewind{{Was: 2, To: 3, Skipped: 1}, {Partition: 1, Was: 2, To: 3, Skipped: 1}},
			gets: "dy",
		},
		"offset in a partition": {
			to: func(time.Time) driver.Position {
				return driver.Position{From: driver.FromOffset, Offset: 1, Partitions: []int32{1}}
			},
			want: []driver.PartitionRewind{{Partition: 1, Was: 2, To: 1, Again: 1}},
			gets: "cwxy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				began := time.Now()
				l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, driver.Events{})
				w.send(0, "a", "b", "c")
				w.send(1, "v", "w", "x")
				time.Sleep(time.Hour)
				w.send(0, "d")
				w.send(1, "y")
				for _, d := range l.get(8) {
					switch string(d.Body) {
					case "a", "v":
						l.settle(driver.Reject, d)
					case "b", "w", "d", "y":
						l.settle(driver.Done, d)
					}
				}
				rewind := func(dry bool) ([]driver.PartitionRewind, error) {
					return l.b.Rewind(w.Context(), orders, c.to(began), dry)
				}
				if _, err := rewind(false); err == nil || !strings.Contains(err.Error(), "has 1 members") {
					w.Errorf("while there is a member: %v", err)
				}
				l.end()
				l = w.begin(kafka.Options{
					ChannelOptions: kafka.ChannelOptions{Partitions: 2},
				}, driver.Events{}) // for its admin; it must not be a member
				if err := l.recv.Close(w.Context()); err != nil {
					w.Fatal(err)
				}
				for _, dry := range []bool{true, false} {
					got, err := rewind(dry)
					if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
						w.Fatalf("dry %v: %v (-want +got):\n%s", dry, err, diff)
					}
				}
				l.open(driver.Events{})
				var got []string
				for _, d := range l.within(len(c.gets)+1, 10*time.Second) {
					got = append(got, string(d.Body))
				}
				slices.Sort(got)
				if all := strings.Join(got, ""); all != c.gets {
					w.Errorf("%q were delivered again, want %q", all, c.gets)
				}
			})
		})
	}
}
