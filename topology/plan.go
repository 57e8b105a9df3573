package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// Changes are the steps from what exists to what is declared.
type Changes struct {
	Topology string `json:"topology"`
	Steps    []Step `json:"steps"`
	Same     int    `json:"same"` // exchanges and channels that are as declared
}

// Step is one difference.
type Step struct {
	Kind StepKind `json:"kind"`
	// Channel is whose resource it is: orders, or wishes.* for an exchange.
	Channel  string `json:"channel"`
	Resource string `json:"resource"` // queue, dead letters, topic, subscription, tier
	Name     string `json:"name"`     // the service's name of the resource
	// Attribute is what differs; "": the resource as a whole.
	Attribute string `json:"attribute,omitempty"`
	From      string `json:"from,omitempty"`
	To        string `json:"to,omitempty"`
	Risk      string `json:"risk,omitempty"` // what a change loses, or allows
	Note      string `json:"note,omitempty"`
	// ByHand is what a person does, because Apply does not.
	ByHand []string `json:"by_hand,omitempty"`
}

// StepKind says what a step is.
type StepKind string

// The kinds of steps. Apply takes those of the first two.
const (
	StepCreate  StepKind = "create"
	StepChange  StepKind = "change"
	StepReplace StepKind = "replace" // beyond a change: ByHand says what a person does
	StepOrphan  StepKind = "orphan"  // this topology has declared it, and does not any more; Destroy removes it
	StepForeign StepKind = "foreign" // not made by Godwit, or mapped to a channel: never touched
)

// Drift reports whether something is not as declared that can be as declared: any step but a foreign one.
func (c *Changes) Drift() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Kind != StepForeign })
}

// Equal reports whether two plans have the same steps.
func (c *Changes) Equal(other *Changes) bool {
	return c.Topology == other.Topology && slices.EqualFunc(c.Steps, other.Steps, func(a, b Step) bool {
		hand := slices.Equal(a.ByHand, b.ByHand)
		return hand && a.text() == b.text()
	})
}

// text is a step but for what a person does.
func (s *Step) text() string {
	return fmt.Sprintf("%q", []string{
		string(s.Kind), s.Channel, s.Resource, s.Name, s.Attribute, s.From, s.To, s.Risk, s.Note,
	})
}

// errCannotPlan is the error for a backend without the operation.
var errCannotPlan = errors.New("topology: this backend cannot plan: use snssqs or kafka")

// Plan compares what exists with what is declared, and changes nothing. The backend has the namespace of the Spec. An
// error says that something could not be read; then nothing is known.
func Plan(ctx context.Context, b godwit.Backend, s *Spec) (*Changes, error) {
	c, _, err := plan(ctx, b, s)
	return c, err
}

// bucket is the resource of the store of large messages.
const bucket = "bucket"

// plan also returns the specifications that were compared.
func plan(ctx context.Context, b godwit.Backend, s *Spec) (*Changes, []driver.ChannelSpec, error) {
	do := driver.OperationsOf(b)
	if do.Plan == nil {
		return nil, nil, errCannotPlan
	}
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	specs, err := s.resources()
	if err != nil {
		return nil, nil, err
	}
	// Both read each queue, so that one after another would take twice as long.
	var orphans []Step
	var orphansErr error
	var looking sync.WaitGroup
	looking.Go(func() { orphans, orphansErr = s.orphans(ctx, do) })
	differ, err := do.Plan(ctx, specs)
	looking.Wait()
	if errors.Is(err, driver.ErrTooFewBrokers) {
		m := mistakes{}
		m.add("kafka.replication", "%v", err)
		err = m.err()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("topology: plan: %w", err)
	}
	c := &Changes{Topology: s.name()}
	changed, replaced := map[string]bool{}, map[string]bool{}
	for _, d := range differ {
		one := Step{
			Kind: StepKind(d.Kind.String()), Channel: d.Channel.String(), Resource: d.Resource, Name: d.Name,
			Attribute: d.Attribute, From: d.From, To: d.To, Risk: d.Risk, Note: d.Note, ByHand: d.Steps,
		}
		if one.Resource == bucket {
			one.Name = s.Payloads.Bucket // the store does not tell
		}
		c.Steps = append(c.Steps, one)
		changed[one.Channel], replaced[one.Channel] = true, replaced[one.Channel] || one.Kind == StepReplace
	}
	other := func(channel string) bool { // it has another order than declared, as its exchange may have
		exchange, _, many := cutName(channel)
		return replaced[channel] || many && replaced[exchange+".*"]
	}
	for i := range specs {
		if name := specs[i].Channel.String(); !changed[name] && !other(name) {
			c.Same++
		}
	}
	for _, o := range orphans {
		if !other(strings.TrimSuffix(o.Channel, "@dlq")) {
			c.Steps = append(c.Steps, o)
		}
	}
	return c, specs, orphansErr
}

// orphans are the resources with the tag of this topology that it does not declare any more.
func (s *Spec) orphans(ctx context.Context, do driver.Operations) (all []Step, err error) {
	if do.Catalog == nil || do.Tag == nil { // without tags nothing is known of what was declared
		return nil, nil
	}
	found, err := do.Catalog(ctx)
	if err != nil {
		return nil, fmt.Errorf("topology: look for what is not declared any more: %w", err)
	}
	for _, c := range found {
		if c.Tags[driver.TagTopology] == s.name() && !s.declares(c.Channel) {
			all = append(all, Step{
				Kind: StepOrphan, Channel: c.Channel.String(), Resource: c.Channel.Role().String(), Name: c.Address,
				Note: "it was declared, and is not any more: destroy it, or declare it",
			})
		}
	}
	slices.SortFunc(all, func(x, y Step) int { return cmp.Compare(x.Name, y.Name) })
	return all, nil
}

// declares reports whether a resource belongs to a declared channel.
func (s *Spec) declares(ch driver.Channel) bool {
	if ch.Queue == "" {
		e, declared := s.Exchanges[ch.Exchange]
		return declared && e.Ordered == ch.Ordered && e.Topic == ""
	}
	if ch.Beside() {
		_, exchange := s.Exchanges[ch.Queue]
		_, declared := s.Channels[ch.Queue]
		return exchange || declared
	}
	dead := ch.DeadLetter
	ch.DeadLetter = false
	c, declared := s.Channels[ch.String()]
	return declared && s.orderedness(ch.String()) == ch.Ordered && c.Queue == "" && !(dead && c.NoDeadLetters)
}
