//go:build synctests

package acceptance

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: if the log does not have the committed offset (any more), the partition stops for good, or continues at
// the end of the log, behind records that were not handled. Here it continues where the log begins.
func TestOffsetsOutOfRange(t *testing.T) {
	for name, c := range map[string]struct {
		cut       int64 // the offset at which the log begins
		committed int64
		from      int
	}{
		"the log begins later":  {cut: 50, committed: 10, from: 50},
		"the log ends earlier":  {cut: 0, committed: 5000, from: 0},
		"both":                  {cut: 30, committed: 5000, from: 30},
		"within":                {cut: 30, committed: 40, from: 40},
		"at the end":            {cut: 30, committed: 100, from: 100},
		"nothing was committed": {cut: 30, committed: -1, from: 30},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				const records = 100
				w.create(1)
				w.ensure(kafka.Options{})
				w.fill(records, records)
				if c.committed >= 0 {
					w.commit(0, c.committed, "")
				}
				if c.cut > 0 {
					w.cut(c.cut)
				}
				var got numbers
				p := w.start(kafka.Options{}, godwit.ConsumerOptions{}, got.handler())
				if c.from < records {
					w.eventually(60*time.Second, "all records committed",
						func() bool { return w.committed()[0].At == records })
				}
				time.Sleep(3 * time.Second) // time for records that must not be delivered
				if _, err := p.stop(); err != nil {
					t.Error(err)
				}
				got.are(t, c.from, records)
			})
		})
	}
}

// cut deletes the records before an offset, as the retention of a topic does.
func (w *world) cut(at int64) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: w.topic(), Partition: 0, At: at, LeaderEpoch: -1})
	answers, err := w.admin.DeleteRecords(w.t.Context(), offsets)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
