package sns

import (
	"context"
	"maps"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListSubscriptionsInput is the input of ListSubscriptions.
type ListSubscriptionsInput struct {
	NextToken *string `json:"NextToken"`
}

// ListSubscriptionsOutput is the output of ListSubscriptions and ListSubscriptionsByTopic.
type ListSubscriptionsOutput struct {
	Subscriptions []SubscriptionEntry `json:"Subscriptions"`
	NextToken     string              `json:"NextToken"`
}

func (s *Service) listSubscriptions(_ context.Context, _ *wire.Call,
	in *ListSubscriptionsInput,
) (*ListSubscriptionsOutput, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.list(slices.Collect(maps.Values(s.subscriptions)), in.NextToken)
}

// list returns one page of the subscriptions; the caller holds the lock.
func (s *Service) list(all []*subscription, token *string) (*ListSubscriptionsOutput, error) {
	slices.SortFunc(all, func(a, b *subscription) int { return compareNumbers(a.number, b.number) })
	subs, next, fault := page(all, func(sub *subscription) uint64 { return sub.number }, token)
	if fault != nil {
		return nil, fault
	}
	out := &ListSubscriptionsOutput{Subscriptions: []SubscriptionEntry{}, NextToken: next}
	for _, sub := range subs {
		out.Subscriptions = append(out.Subscriptions, sub.entry(s.opts.Account))
	}
	return out, nil
}
