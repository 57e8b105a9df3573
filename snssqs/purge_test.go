package snssqs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// A second purge within a minute is refused by SQS, and the error says how long to wait.
func TestPurgeInProgress(t *testing.T) {
	inWorld(t, localaws.Options{RealisticWaits: true}, func(w *world) {
		w.ensure(owner(orders))
		if _, err := w.b.Purge(w.Context(), orders, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		_, err := w.b.Purge(w.Context(), orders, false)
		if driver.ClassOf(err) != driver.Throttled || !strings.Contains(err.Error(), "try again in at most 1m0s") {
			t.Errorf("%v, of class %s", err, driver.ClassOf(err))
		}
		time.Sleep(30 * time.Second)
		if _, err := w.b.Purge(w.Context(), orders, false); err != nil {
			t.Error(err)
		}
		w.deny("sqs.PurgeQueue")
		_, err = w.b.Purge(w.Context(), orders, false)
		w.denied(err, "purge", "sqs:PurgeQueue")
	})
}
