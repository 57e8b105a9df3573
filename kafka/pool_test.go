package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

type (
	watcher struct{ kgo.HookFetchRecordUnbuffered } // may keep the records that it sees
	counter struct{ kgo.HookBrokerConnect }
)

// The memory of records is not used again if a hook or pool of the caller may keep them.
func TestRecordsAreUsedAgainWhereTheyAreOurs(t *testing.T) {
	for name, c := range map[string]struct {
		opts []kgo.Opt
		want bool
	}{
		"no options": {nil, true}, "a hook that sees none": {[]kgo.Opt{kgo.WithHooks(counter{})}, true},
		"a hook that sees them": {[]kgo.Opt{kgo.WithHooks(counter{}, watcher{})}, false},
		"a pool":                {[]kgo.Opt{kgo.WithPools(new(recordPool))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Open(t.Context(), &Options{Client: c.opts})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close(t.Context())
			if b.reuses != c.want {
				t.Errorf("records are used again: %v, want %v", b.reuses, c.want)
			}
		})
	}
}

func TestRecordsAreKeptWithinBounds(t *testing.T) {
	var rs recordPool
	if rs.GetRecords(1) != nil {
		t.Error("memory was returned, and none is kept")
	}
	rs.PutRecords(make([]kgo.Record, recordsLeast-1))
	if rs.kept != 0 {
		t.Error("a small batch is kept")
	}
	rs.PutRecords(make([]kgo.Record, 100))
	rs.PutRecords(make([]kgo.Record, 50))
	if got := rs.GetRecords(60); cap(got) != 100 || rs.kept != 50 {
		t.Errorf("for 60 records, memory for %d was returned, and %d are kept", cap(got), rs.kept)
	}
	if got := rs.GetRecords(60); got != nil {
		t.Errorf("for 60 records, memory for %d was returned", cap(got))
	}
	for range 100 {
		rs.PutRecords(make([]kgo.Record, recordsKept/10))
	}
	if rs.kept > recordsKept {
		t.Errorf("%d records are kept", rs.kept)
	}
	rs.drop()
	if rs.kept != 0 || rs.GetRecords(1) != nil {
		t.Error("memory is kept after drop")
	}
}
