package sns

import (
	"slices"
	"strconv"

	"github.com/godwitmq/godwit/localaws/wire"
)

// pageSize is how many topics or subscriptions SNS lists in one answer.
const pageSize = 100

// page returns the items after the token's, at most pageSize, and the token of the next page. Items are sorted by
// numbers that never change, so pages stay correct when items are added or removed in between.
func page[T any](all []T, number func(T) uint64, token *string) (items []T, next string, fault *wire.Error) {
	after, fault := readToken(token)
	if fault != nil {
		return nil, "", fault
	}
	for i, item := range all {
		if number(item) <= after {
			continue
		}
		rest := all[i:]
		if len(rest) <= pageSize {
			return rest, "", nil
		}
		return rest[:pageSize], wire.PageToken(strconv.FormatUint(number(rest[pageSize-1]), 10)), nil
	}
	return nil, "", nil
}

func readToken(token *string) (uint64, *wire.Error) {
	if token == nil || *token == "" {
		return 0, nil
	}
	text, known := wire.ReadPageToken(*token)
	number, err := strconv.ParseUint(text, 10, 64)
	if !known || err != nil {
		return 0, invalid("NextToken")
	}
	return number, nil
}

// ListTopicsInput is the input of ListTopics.
type ListTopicsInput struct {
	NextToken *string `json:"NextToken"`
}

// ListTopicsOutput is the output of ListTopics.
type ListTopicsOutput struct {
	Topics    []TopicEntry `json:"Topics"`
	NextToken string       `json:"NextToken"`
}

// TopicEntry is one topic of a list.
type TopicEntry struct {
	TopicArn string `json:"TopicArn"`
}

// listTopics lists 100 topics a page, without their attributes (AWS's API reference, ListTopics).
func listTopics(c call, in *ListTopicsInput) (*ListTopicsOutput, error) {
	c.at.mu.RLock()
	defer c.at.mu.RUnlock()
	topics, next, fault := page(c.at.inOrder(), func(t *topic) uint64 { return t.number }, in.NextToken)
	if fault != nil {
		return nil, fault
	}
	out := &ListTopicsOutput{Topics: []TopicEntry{}, NextToken: next}
	for _, t := range topics {
		out.Topics = append(out.Topics, TopicEntry{TopicArn: t.arn})
	}
	return out, nil
}

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
func listSubscriptions(c call, in *ListSubscriptionsInput) (*ListSubscriptionsOutput, error) {
	all := c.at.subscriptionsOf(c.at.opts.Account)
	if c.at.opts.Others != nil {
		for _, other := range c.at.opts.Others() {
			all = append(all, other.subscriptionsOf(c.at.opts.Account)...)
		}
	}
	return list(all, in.NextToken)
}

// numbered is an entry of a list with its position.
type numbered struct {
	SubscriptionEntry
	number uint64
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

// ListSubscriptionsByTopicInput is the input of ListSubscriptionsByTopic.
type ListSubscriptionsByTopicInput struct {
	TopicInput
	NextToken *string `json:"NextToken"`
}

// listSubscriptionsByTopic lists pending subscriptions, too, with PendingConfirmation in place of their ARN, 100 a page
// (AWS's API reference, ListSubscriptionsByTopic).
func listSubscriptionsByTopic(_ call, t *topic, in *ListSubscriptionsByTopicInput) (*ListSubscriptionsOutput, error) {
	all := make([]numbered, 0, len(t.subscriptions))
	for _, sub := range t.subscriptions {
		all = append(all, numbered{sub.entry(), sub.number})
	}
	return list(all, in.NextToken)
}
