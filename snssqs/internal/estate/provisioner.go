package estate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Provisioner creates what channels need, and remembers what consumers and producers of this process asked for.
type Provisioner struct {
	*Estate
	Exchanges *Exchanges
	Surveyor  *Surveyor
	Planner   Planner
	Later     *LaterQueues
	Ticks     *LaterQueues
	store     driver.Store // of large bodies; nil: there is none
	log       *slog.Logger
	differing Warned // channels with a warning about their settings

	specs sync.Map // what consumers of this process asked for: a driver.ChannelSpec by channel
	sends sync.Map // what producers of this process asked for: a driver.ChannelSpec by channel
}

// NewProvisioner makes no request.
func NewProvisioner(e *Estate, store driver.Store, log *slog.Logger) *Provisioner {
	exchanges := &Exchanges{topics: e.Topics, log: log, known: map[driver.Channel]*Exchange{}}
	p := &Provisioner{
		Estate: e, Planner: Planner{Estate: e, store: store}, store: store, log: log,
		Exchanges: exchanges, Surveyor: &Surveyor{Estate: e, exchanges: exchanges},
	}
	p.Later, p.Ticks = &LaterQueues{p: p, Beside: LaterOf}, &LaterQueues{p: p, Beside: TicksOf}
	return p
}

// Ensure creates what a channel needs, or reports what is missing. It changes attributes and tags only for an owner.
// Resources that Options.Names maps, and dead letters, are only looked up.
func (p *Provisioner) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := p.Clients.Open(); err != nil {
		return err
	}
	if err := p.Legal(s); err != nil {
		return &driver.Error{Class: driver.Permanent, Err: err}
	}
	if s.Owner && !s.Channel.DeadLetter {
		p.remember(s)
	}
	if !s.Owner {
		p.sends.Store(s.Channel, s)
	}
	if s.Mode == driver.Never {
		return nil
	}
	if s.Channel.DeadLetter {
		_, err := p.Queues.Of(ctx, s.Channel)
		return err
	}
	if _, foreign := p.Mapping(s.Channel); foreign {
		return cmp.Or(p.ensureStore(ctx, s), p.present(ctx, s))
	}
	if s.Mode == driver.Verify {
		if err := cmp.Or(p.ensureStore(ctx, s), p.nameConflict(ctx, s.Channel, nil)); err != nil {
			return err
		}
		differ, err := p.Planner.Plan(ctx, []driver.ChannelSpec{s})
		return cmp.Or(err, errorOf(s, differ))
	}
	if !s.Again {
		if _, err := nameExists(s.Channel, p.Listing.read(ctx)); err != nil {
			return err
		}
		if l := p.Surveyor.listed(s); l != nil {
			err := p.ensure(ctx, s, l)
			if err == nil || driver.ClassOf(err) != driver.NotFound {
				return err
			}
		}
	}
	p.Surveyor.forget(s.Channel)
	return p.ensure(ctx, s, nil)
}

// ensure creates what is missing and changes what differs. With a listing, a missing resource is an error of class
// NotFound: nothing is created beside another kind that the listing may lack.
func (p *Provisioner) ensure(ctx context.Context, s driver.ChannelSpec, l *Listing) error {
	var v *survey
	if err := client.Concurrently(2, 2, func(i int) (err error) {
		if i == 0 {
			return p.ensureStore(ctx, s)
		}
		v, err = p.Surveyor.survey(ctx, s, l)
		return err
	}); err != nil {
		return err
	}
	if s.Channel.Queue == "" {
		t, _, err := p.ensureTopic(ctx, s, v.topic)
		if err == nil {
			p.Surveyor.foundTopic(s, t)
		}
		return err
	}
	return p.ensureQueues(ctx, s, v)
}

// ensureStore creates or checks the store of large bodies, if there is one.
func (p *Provisioner) ensureStore(ctx context.Context, s driver.ChannelSpec) error {
	if p.store == nil {
		return nil
	}
	if err := p.store.Ensure(ctx, s.Mode); err != nil {
		return fmt.Errorf("the store of large bodies: %w", err)
	}
	return nil
}

// present looks up the resources that a channel is mapped to and, for a consumer, its dead letters.
func (p *Provisioner) present(ctx context.Context, s driver.ChannelSpec) error {
	if s.Channel.Queue == "" {
		_, err := p.Topics.Of(ctx, s.Channel)
		return err
	}
	q, err := p.Queues.Of(ctx, s.Channel)
	if err != nil || !s.Owner {
		return err
	}
	p.warnFewReceives(s.Channel, q)
	p.warnDifferent(s, q)
	if s.NoDeadLetters {
		return nil
	}
	_, err = p.Queues.Of(ctx, DeadLettersOf(s.Channel))
	return err
}

// ensureQueues creates a channel's queue and dead-letter queue and, for an exchange, its topic and subscription.
func (p *Provisioner) ensureQueues(ctx context.Context, s driver.ChannelSpec, v *survey) (err error) {
	var t *Topic
	there := false
	if s.Channel.Exchange != "" && s.Owner {
		if t, there, err = p.ensureTopic(ctx, s, v.topic); err != nil {
			return err
		}
	}
	letters := s
	letters.Channel = DeadLettersOf(s.Channel)
	var q, dead *Queue
	var topology string
	n := 1
	if s.Owner && !s.NoDeadLetters {
		n = 2
	}
	err = client.Concurrently(n, n, func(i int) (err error) {
		if i == 0 {
			q, topology, err = p.ensureQueue(ctx, s, t, v.queue)
		} else {
			dead, _, err = p.ensureQueue(ctx, letters, t, v.dead)
		}
		return err
	})
	if err != nil {
		return err
	}
	if there {
		p.Surveyor.foundTopic(s, t)
	}
	if !s.Owner {
		p.Surveyor.foundQueues(s, q, nil)
		return nil
	}
	if topology != "" {
		s = p.declared(ctx, s, topology)
	} else {
		wanted, err := redriveAttribute(s, dead.ARN())
		if err == nil {
			err = p.Queues.change(ctx, q, wanted, s.Mode)
		}
		if err != nil {
			return err
		}
	}
	p.Surveyor.foundQueues(s, q, dead)
	if !there {
		return nil
	}
	return p.ensureSubscription(ctx, s, t, q, dead, v.subscriptions)
}

// declared records that a topology has declared the channel of a consumer, and logs once how that differs from the
// consumer's options. It returns the specification with the tag, by which later checks know it.
func (p *Provisioner) declared(ctx context.Context, s driver.ChannelSpec, topology string) driver.ChannelSpec {
	s.Tags = maps.Clone(s.Tags)
	if s.Tags == nil {
		s.Tags = map[string]string{}
	}
	s.Tags[driver.TagTopology] = topology
	p.remember(s)
	if !p.differing.First(s.Channel) {
		return s
	}
	differ, err := p.Planner.Plan(ctx, []driver.ChannelSpec{s})
	var said []string
	for _, d := range differ {
		said = append(said, fmt.Sprintf("%s of %s %s is %q, and the options ask for %q", d.Attribute, d.Resource,
			d.Name, d.From, d.To))
	}
	switch {
	case err != nil:
		p.log.Warn("the channel cannot be compared with its topology", "channel", s.Channel.String(), "error", err)
	case len(said) > 0:
		p.log.Warn("the consumer's options differ from what a topology has declared, which stays: change one of them, or "+
			"set Provision to ProvisionDeclare", "channel", s.Channel.String(), "topology", topology,
			"differences", strings.Join(said, "; "))
	}
	return s
}

// ensureQueue creates one queue, unless there is one. If t is not nil, it may send to the queue. It returns the
// topology that has declared the queue, which then stays as it is; "": none, or the specification is a topology's.
func (p *Provisioner) ensureQueue(ctx context.Context, s driver.ChannelSpec, t *Topic, is tagged) (q *Queue,
	topology string, err error,
) {
	name, err := p.QueueName(s.Channel)
	if err != nil {
		return nil, "", err
	}
	q, tags, made := is.Queue, is.tags, false
	if q == nil {
		if err := p.mistyped(s.Channel); err != nil {
			return nil, "", err
		}
		wanted := attributes(s)
		if err := p.permit(ctx, wanted, name, t); err != nil {
			return nil, "", err
		}
		q, made, err = p.Queues.Create(ctx, name, wanted, p.Tags(s.Channel, s.Tags))
		if err == nil && !made && s.Owner {
			tags, err = p.Queues.TagsOf(ctx, q)
		}
	}
	if err != nil || !s.Owner && (!made || q.Policy() != "") {
		return q, "", err // a queue with a policy is one that its owner has created in the meantime
	}
	if !made {
		switch {
		case s.Mode == driver.Declare && !managed(tags):
			return nil, "", Ours(s.Channel, "queue "+q.Name, tags)
		case s.Mode == driver.Auto && tags[driver.TagTopology] != "":
			return q, tags[driver.TagTopology], nil
		}
	}
	topicARN := ""
	if t != nil {
		topicARN = t.ARN
	}
	wanted, err := queueSettings(s, q, topicARN)
	if err != nil {
		return nil, "", err
	}
	if err := p.Queues.change(ctx, q, wanted, s.Mode); err != nil || made {
		return q, "", err
	}
	return q, "", p.Queues.SetTags(ctx, q, tags, p.Tags(s.Channel, s.Tags))
}

// permit adds to the attributes of a new queue that its topic may send to it. If a producer creates the topic at the
// same time, it subscribes the queues that exist; messages published to a queue without this policy would be dropped.
func (p *Provisioner) permit(ctx context.Context, wanted map[string]string, name string, t *Topic) error {
	if t == nil || t.Foreign {
		return nil
	}
	id, err := p.Account.WhoAmI(ctx)
	if err != nil {
		return err
	}
	arn := id.Beside("sqs", name)
	policy, err := mergePolicy("", tlsOnly("sqs:*", arn), fromTopic(arn, t.ARN))
	wanted[string(types.QueueAttributeNamePolicy)] = policy
	return err
}

// ensureSubscription subscribes a queue. A known subscription is only compared, and changed where it differs; one that
// a topology has declared stays as it is.
func (p *Provisioner) ensureSubscription(ctx context.Context, s driver.ChannelSpec, t *Topic, q, dead *Queue,
	known map[string]string,
) error {
	wanted, err := p.Names.subscription(s, dead.ARN())
	if err != nil {
		return err
	}
	declared := s.Mode == driver.Auto && s.Tags[driver.TagTopology] != ""
	if arn := known[q.ARN()]; arn != "" && !declared {
		err := p.Topics.adjust(ctx, t, arn, wanted)
		if err == nil || driver.ClassOf(err) != driver.NotFound {
			return err
		}
	}
	if declared {
		if _, err := p.Topics.Subscription(ctx, t, q.ARN()); err == nil || driver.ClassOf(err) != driver.NotFound {
			return err
		}
	}
	return p.Topics.Subscribe(ctx, t, q.ARN(), wanted)
}

// remember records what a consumer asked for, for the checks of its receiver.
func (p *Provisioner) remember(s driver.ChannelSpec) {
	s.Again = false
	p.specs.Store(s.Channel, s)
}

// specOf returns what a consumer of this process asked for.
func (p *Provisioner) specOf(ch driver.Channel) (driver.ChannelSpec, bool) {
	s, known := p.specs.Load(ch)
	if !known {
		return driver.ChannelSpec{}, false
	}
	return s.(driver.ChannelSpec), true
}

func (p *Provisioner) warnFewReceives(ch driver.Channel, q *Queue) {
	if q.FewReceives() {
		p.log.Warn("the queue's redrive policy dead-letters messages after a few receives, and each release counts as "+
			"one: only "+
			"messages that can be started at once are received, which costs requests; raise maxReceiveCount, or let "+
			"Godwit "+
			"provision the queue",
			"channel", ch.String(), "queue", q.Name, "maxReceiveCount", q.MaxReceives(), "atLeast", enoughReceives)
	}
}

// warnDifferent logs once where a mapped queue differs from what a consumer's options ask for. The queue stays as it
// is, so that these options have no effect, but for Lease.
func (p *Provisioner) warnDifferent(s driver.ChannelSpec, q *Queue) {
	if differ := q.differences(s); len(differ) > 0 && p.differing.First(s.Channel) {
		p.log.Warn("a queue of snssqs.Options.Names differs from the consumer's options, and is not changed: "+
			strings.Join(differ, "; "), "channel", s.Channel.String(), "queue", q.Name)
	}
}

// Provisions returns what a consumer of this process asked for, and whether it may provision the channel.
func (p *Provisioner) Provisions(ch driver.Channel) (driver.ChannelSpec, bool) {
	spec, known := p.specOf(ch)
	_, foreign := p.Mapping(ch)
	return spec, known && !foreign && spec.Mode.Creates()
}

// Consumes reports whether a consumer of this process has the channel.
func (p *Provisioner) Consumes(ch driver.Channel) bool {
	_, known := p.specOf(ch)
	return known
}

// Check restores the subscription of a queue if it is missing or differs, and the whole channel if the topic is
// missing.
func (p *Provisioner) Check(ctx context.Context, spec driver.ChannelSpec, q *Queue) error {
	t, err := p.Topics.Of(ctx, spec.Channel)
	if err == nil {
		var dead *Queue
		if !spec.NoDeadLetters {
			if dead, err = p.Queues.Known(ctx, DeadLettersOf(spec.Channel)); err != nil {
				return err
			}
		}
		return p.ensureSubscription(ctx, spec, t, q, dead, nil)
	}
	if driver.ClassOf(err) == driver.NotFound {
		return p.Ensure(ctx, spec)
	}
	return err
}

// DeadLetters returns the queue for the rejected messages of a channel and its queue. If it is missing, it is created
// again, provided that the consumer of this process may provision it.
func (p *Provisioner) DeadLetters(ctx context.Context, of driver.Channel, q *Queue) (*Queue, error) {
	if of.DeadLetter {
		return nil, client.Permanent("channel %s has no dead letters of its own", of)
	}
	dead, err := p.Queues.Known(ctx, DeadLettersOf(of))
	spec, ours := p.Provisions(of)
	if driver.ClassOf(err) != driver.NotFound || !ours || spec.NoDeadLetters {
		return dead, err
	}
	var t *Topic
	if arn, ok := p.exchangeTopic(of, q.ARN()); ok {
		t = &Topic{ARN: arn}
	}
	spec.Channel = DeadLettersOf(of)
	if dead, _, err = p.ensureQueue(ctx, spec, t, tagged{}); err == nil {
		p.Queues.found.Store(spec.Channel, dead)
	}
	return dead, err
}

// ForgetDeadLetters makes the next call of DeadLetters ask the service again, because the queue was found missing.
func (p *Provisioner) ForgetDeadLetters(of driver.Channel) { p.Queues.Forget(DeadLettersOf(of)) }

// Opened warns of a queue that allows few receives, unless Ensure has done so.
func (p *Provisioner) Opened(ch driver.Channel, q *Queue) {
	if spec, known := p.specOf(ch); known && spec.Mode == driver.Never {
		p.warnFewReceives(ch, q)
	}
}

// Warned remembers the channels about which something was said once. The zero value is ready; it is safe for concurrent
// use.
type Warned struct{ said sync.Map }

// First reports whether it is the first call for a channel.
func (w *Warned) First(ch driver.Channel) bool {
	_, said := w.said.LoadOrStore(ch, true)
	return !said
}
