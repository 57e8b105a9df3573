package sns

import (
	"context"
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

// listSubscriptions lists the subscriptions of the account, also to topics of other accounts.
func (s *Service) listSubscriptions(_ context.Context, _ *wire.Call,
	in *ListSubscriptionsInput,
) (*ListSubscriptionsOutput, error) {
	all := s.subscriptionsOf(s.opts.Account)
	if s.opts.Others != nil {
		for _, other := range s.opts.Others() {
			all = append(all, other.subscriptionsOf(s.opts.Account)...)
		}
	}
	return list(all, in.NextToken)
}

// numbered is an entry of a list with its position.
type numbered struct {
	SubscriptionEntry
	number uint64
}

// subscriptionsOf returns what an account has subscribed to here, in any order.
func (s *Service) subscriptionsOf(account string) []numbered {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []numbered
	for _, sub := range s.subscriptions {
		if sub.owner == account {
			all = append(all, numbered{sub.entry(), sub.number})
		}
	}
	return all
}

// list returns one page of the subscriptions.
func list(all []numbered, token *string) (*ListSubscriptionsOutput, error) {
	slices.SortFunc(all, func(a, b numbered) int { return compareNumbers(a.number, b.number) })
	subs, next, fault := page(all, func(sub numbered) uint64 { return sub.number }, token)
	if fault != nil {
		return nil, fault
	}
	out := &ListSubscriptionsOutput{Subscriptions: []SubscriptionEntry{}, NextToken: next}
	for _, sub := range subs {
		out.Subscriptions = append(out.Subscriptions, sub.SubscriptionEntry)
	}
	return out, nil
}
