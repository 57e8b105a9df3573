package ops_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// leftovers is a backend that notes how old orphans must be.
type leftovers struct {
	*memdriver.Backend
	age time.Duration
	err error
}

func (l *leftovers) Operations() driver.Operations { return driver.Operations{Orphans: l.Orphans} }

func (l *leftovers) Orphans(_ context.Context, before time.Time) ([]driver.Orphan, error) {
	l.age = time.Since(before)
	return []driver.Orphan{{Address: "orders"}}, l.err
}

// Orphans are at least a day old. A backend without a log cannot find any, and says what deletes them.
func TestOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &leftovers{}
		for _, c := range []struct{ older, want time.Duration }{
			{0, 24 * time.Hour}, {24 * time.Hour, 24 * time.Hour}, {72 * time.Hour, 72 * time.Hour},
		} {
			all, err := ops.Orphans(t.Context(), b, &ops.OrphansOptions{OlderThan: c.older})
			if err != nil || len(all) != 1 || b.age != c.want {
				t.Errorf("%v: %v, %v, older than %v", c.older, all, err, b.age)
			}
		}
		if _, err := ops.Orphans(t.Context(), b, nil); err != nil || b.age != 24*time.Hour {
			t.Errorf("without options: %v, older than %v", err, b.age)
		}
		for _, older := range []time.Duration{-1, 23 * time.Hour} {
			if _, err := ops.Orphans(t.Context(), b, &ops.OrphansOptions{OlderThan: older}); err == nil ||
				!strings.Contains(err.Error(), "OlderThan") {
				t.Errorf("%v: %v", older, err)
			}
		}
		b.err = errors.New("no broker")
		if all, err := ops.Orphans(t.Context(), b, nil); !errors.Is(err, b.err) || all != nil {
			t.Errorf("%v, %v", all, err)
		}
	})
	if _, err := ops.Orphans(t.Context(), shop(t), nil); err == nil || !strings.Contains(err.Error(), "lifecycle") {
		t.Errorf("of a queue: %v", err)
	}
}
