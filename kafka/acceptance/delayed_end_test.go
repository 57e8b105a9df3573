//go:build synctests

package acceptance

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// The mistake: transactions of before KIP-890. An end of a transaction that is delayed in the network, so that the
// client has repeated it, commits the first half of the client's next transaction, which the client then cannot abort.
// That is why Transform refuses brokers without transaction.version 2. With it, each transaction has an epoch of its
// own, and the delayed end is refused.
func TestDelayedEnd(t *testing.T) {
	for name, c := range map[string]struct {
		opts []kgo.Opt
		torn bool
	}{
		"before KIP-890": {opts: []kgo.Opt{kgo.MaxVersions(kversion.V3_8_0())}, torn: true},
		"KIP-890":        {},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.create(1)
				id := w.ns + ".producer"
				producer := w.newClient(append(c.opts, kgo.TransactionalID(id))...)
				begin := func(body string) {
					t.Helper()
					if err := producer.BeginTransaction(); err != nil {
						t.Fatal(err)
					}
					r := &kgo.Record{Topic: w.topic(), Value: []byte(body)}
					if err := producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
						t.Fatal(err)
					}
				}
				begin("first")
				number, epoch, err := producer.ProducerID(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := producer.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
					t.Fatal(err)
				}
				begin("second")
				end := kmsg.NewPtrEndTxnRequest() // of the first transaction, which arrives only now
				end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = id, number, epoch, true
				resp, err := end.RequestWith(t.Context(), w.newClient(c.opts...))
				if err != nil {
					t.Fatal(err)
				}
				late := kerr.ErrorForCode(resp.ErrorCode)
				refused := errors.Is(late, kerr.ProducerFenced) || errors.Is(late, kerr.InvalidProducerEpoch)
				if refused == c.torn {
					t.Errorf("the delayed end was answered with %v", late)
				}
				aborted := producer.EndTransaction(t.Context(), kgo.TryAbort)
				if (aborted != nil) != c.torn {
					t.Errorf("the abort of the second transaction was answered with %v", aborted)
				}
				got := map[string]bool{}
				for _, r := range w.readCommitted(w.topic()) {
					got[string(r.Value)] = true
				}
				if !got["first"] || got["second"] != c.torn {
					t.Errorf("committed are %v", got)
				}
			})
		})
	}
}
