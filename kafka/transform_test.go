//go:build synctests

package kafka_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Transactions are refused where they could not be exactly once, with the reason.
func TestTransformRefused(t *testing.T) {
	for name, c := range map[string]struct {
		o     kafka.Options
		level int16 // of transaction.version
		want  string
	}{
		"old transactions": {level: 0, want: "transaction.version 0, and Transform needs 2"},
		"share group":      {o: share(), level: 2, want: "a share group has no transactions"},
		"own dead letters": {
			o: kafka.Options{DeadLetterQueue: &kafka.MemoryDeadLetters{}}, level: 2, want: "RetryQueue",
		},
		"transactions":       {level: 2},
		"transactions, tier": {o: kafka.Options{Retries: kafka.RetryPark}, level: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.setFeature("transaction.version", c.level)
				l := w.begin(c.o, driver.Events{})
				to, err := l.b.Sender(w.Context(), orders)
				if err != nil {
					w.Fatal(err)
				}
				r, err := l.b.Transform(w.Context(), orders, to, driver.ReceiverOptions{})
				if err == nil {
					defer func() { _ = r.Close(w.Context()) }()
				}
				switch {
				case c.want == "" && err != nil:
					w.Errorf("refused: %v", err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
					driver.ClassOf(err) != driver.Permanent):
					w.Errorf("got the error %v, want one with %q", err, c.want)
				}
			})
		})
	}
}

// share are options of share groups.
func share() kafka.Options {
	return kafka.Options{
		GroupProtocol: kafka.GroupShare, Ordering: kafka.OrderNone, Retries: kafka.RetryAlone,
	}
}

func (w *world) setFeature(name string, level int16) {
	w.Helper()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel, f.UpgradeType, f.AllowDowngrade = name, level, 2, true
	req.FeatureUpdates = append(req.FeatureUpdates, f)
	resp, err := req.RequestWith(w.Context(), w.client)
	if err != nil || resp.ErrorCode != 0 {
		w.Fatalf("set the feature %s: %v, %d", name, err, resp.ErrorCode)
	}
}
