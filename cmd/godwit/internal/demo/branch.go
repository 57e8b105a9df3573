package demo

import (
	"slices"
	"strings"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// branch is one consumer's channel of the exchange.
type branch struct {
	index  int
	name   string // of the consumer's queue
	filter godwit.Filter
	ledger *ledger
}

// newBranches returns the branches of the wishlist: all wishes, all mobile ones, and one manufacturer's phones.
func newBranches() []*branch {
	bs := []*branch{
		{name: "audit_log"},
		{name: "mobile", filter: godwit.Filter{Prefix: []string{"MOBILE."}}},
		{name: "apple", filter: godwit.Filter{Exact: []string{"MOBILE.APPLE"}}},
	}
	for i, b := range bs {
		b.index, b.ledger = i, newLedger()
	}
	return bs
}

// channel returns the branch's channel as users write it.
func (b *branch) channel() string { return exchange + "." + b.name }

// wants applies the filter in the demonstration itself, so that the service's filtering is checked against it.
func (b *branch) wants(item string) bool {
	f := b.filter
	if len(f.Exact)+len(f.Prefix) == 0 {
		return true
	}
	return slices.Contains(f.Exact, item) ||
		slices.ContainsFunc(f.Prefix, func(p string) bool { return strings.HasPrefix(item, p) })
}

// queue and deadLetters return the names of the two queues on the embedded server.
func (b *branch) queue() string       { return exchange + "--" + b.name + ".fifo" }
func (b *branch) deadLetters() string { return exchange + "--" + b.name + "--dlq.fifo" }

// queues returns the branch's two queues for inspection.
func (b *branch) queues(s *localaws.Server) [2]*queue.Queue {
	return [2]*queue.Queue{s.SQS().Queue(b.queue()).Model(), s.SQS().Queue(b.deadLetters()).Model()}
}
