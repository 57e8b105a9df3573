package snssqs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/godwitmq/godwit/driver"
)

const (
	maxRetention = 14 * 24 * time.Hour // SQS's longest, and ours unless less is asked for
	defaultLease = 30 * time.Second
)

// Ensure makes what a channel needs, or says what is missing. It changes attributes only for an owner.
func (b *Backend) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := b.open(); err != nil {
		return err
	}
	name, err := b.namespace.queue(s.Channel)
	if err != nil {
		return err
	}
	if s.Mode == driver.Never {
		return nil
	}
	if s.Channel.DeadLetter { // belongs to the channel whose dead letters they are
		return b.ensureQueue(ctx, name, s, deadLetterAttributes(s))
	}
	wanted := queueAttributes(s)
	if !s.NoDeadLetters && s.Owner {
		dead := s
		dead.Channel.DeadLetter = true
		if err := b.Ensure(ctx, dead); err != nil {
			return err
		}
		if err := b.redrive(ctx, dead, s.MaxReceives, wanted); err != nil {
			return err
		}
	}
	return b.ensureQueue(ctx, name, s, wanted)
}

func (b *Backend) ensureQueue(ctx context.Context, name string, s driver.ChannelSpec, wanted map[string]string) error {
	q, err := b.find(ctx, name)
	switch {
	case driver.ClassOf(err) == driver.NotFound && s.Mode == driver.Auto:
		_, err = b.create(ctx, name, wanted, s.Tags)
		return err
	case driver.ClassOf(err) == driver.NotFound:
		return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("channel %s: queue %s does not exist, and this is not allowed to create it: create it, or provision automatically: %w", s.Channel, name, err)}
	case err != nil:
		return err
	case !s.Owner:
		return nil
	case s.Mode == driver.Verify:
		return verify(q, s, wanted)
	}
	delete(wanted, string(types.QueueAttributeNameFifoQueue)) // cannot be changed, and the name says it
	return b.change(ctx, q, wanted)
}

// redrive adds the policy by which SQS itself moves messages to the dead letters.
func (b *Backend) redrive(ctx context.Context, dead driver.ChannelSpec, maxReceives int, wanted map[string]string) error {
	if maxReceives <= 0 {
		return nil
	}
	name, err := b.namespace.queue(dead.Channel)
	if err != nil {
		return err
	}
	q, err := b.find(ctx, name)
	if err != nil {
		return err
	}
	policy, err := json.Marshal(redrivePolicy{q.arn(), maxReceives})
	if err != nil {
		return err
	}
	wanted[string(types.QueueAttributeNameRedrivePolicy)] = string(policy)
	return nil
}

type redrivePolicy struct {
	DeadLetterTargetArn string `json:"deadLetterTargetArn"`
	MaxReceiveCount     int    `json:"maxReceiveCount"`
}

func queueAttributes(s driver.ChannelSpec) map[string]string {
	wanted := deadLetterAttributes(s)
	maps.Copy(wanted, map[string]string{
		string(types.QueueAttributeNameVisibilityTimeout): seconds(orDefault(s.Lease, defaultLease)),
		string(types.QueueAttributeNameDelaySeconds):      seconds(s.Delay),
	})
	return wanted
}

func deadLetterAttributes(s driver.ChannelSpec) map[string]string {
	wanted := map[string]string{
		string(types.QueueAttributeNameMessageRetentionPeriod): seconds(orDefault(s.Retention, maxRetention)),
	}
	if s.Channel.Ordered {
		wanted[string(types.QueueAttributeNameFifoQueue)] = "true"
	}
	return wanted
}

// verify compares a queue with what is wanted, for an owner who may not change it.
func verify(q *queue, s driver.ChannelSpec, wanted map[string]string) error {
	for name, value := range wanted {
		if got := q.attributes[name]; !sameAttribute(name, got, value) {
			return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("channel %s: queue %s has %s = %q and should have %q: set it, or provision automatically", s.Channel, q.name, name, got, value)}
		}
	}
	return nil
}

// sameAttribute compares values as SQS means them: policies are JSON, in which spaces and order do not count and
// numbers may be strings.
func sameAttribute(name, a, b string) bool {
	if a == b {
		return true
	}
	if name != string(types.QueueAttributeNameRedrivePolicy) {
		return false
	}
	pa, oka := parseRedrive(a)
	pb, okb := parseRedrive(b)
	return oka && okb && pa == pb
}

func parseRedrive(text string) (p redrivePolicy, ok bool) {
	var raw struct {
		DeadLetterTargetArn string `json:"deadLetterTargetArn"`
		MaxReceiveCount     any    `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(text), &raw) != nil {
		return p, false
	}
	n, err := strconv.Atoi(fmt.Sprint(raw.MaxReceiveCount))
	return redrivePolicy{raw.DeadLetterTargetArn, n}, err == nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
