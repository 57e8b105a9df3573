package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Names of resources in differences.
const (
	aTopic     = "topic"
	aDeadTopic = "dead letters"
	aTier      = "tier"
	partitions = "partitions"
)

// existing is what exists: a request for all topics, and one for their configurations.
type existing struct {
	brokers int
	topics  map[string]cluster.Topic
	configs map[string][]kadm.Config
}

// Plan is driver.Operations.Plan: how the topics differ from specifications, and what the store lacks.
func (p *Provisioner) Plan(
	ctx context.Context, specs []driver.ChannelSpec,
) (all []driver.Difference, err error) {
	if err := p.channels.Open(); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range specs {
		if err := p.check(s); err != nil {
			return nil, err
		}
		names = append(names, p.ownTopic(s).Name)
		for _, w := range p.besides(s, 0) {
			names = append(names, w.Name)
		}
	}
	slices.Sort(names)
	is, err := p.read(ctx, slices.Compact(names))
	if err != nil {
		return nil, err
	}
	if p.store != nil && len(specs) > 0 && specs[0].Mode == driver.Declare {
		if all, err = claim.Plan(ctx, p.store, specs[0].Channel); err != nil {
			return nil, fmt.Errorf("the store of large messages: %w", err)
		}
	}
	seen := map[[2]string]bool{} // a topic is part of several specifications
	for _, s := range specs {
		for _, d := range p.differences(s, is) {
			key := [2]string{d.Name, d.Attribute}
			if !seen[key] {
				all = append(all, d)
			}
			seen[key] = true
		}
	}
	replicas := p.replication
	if replicas > is.brokers && slices.ContainsFunc(all, func(d driver.Difference) bool {
		return d.Kind == driver.DiffersMissing
	}) {
		return nil, failure.Permanent("%w: new topics are to have %d replicas (kafka.Options.Replication), and the "+
			"cluster has %d brokers: lower it, or add brokers", driver.ErrTooFewBrokers, replicas, is.brokers)
	}
	return all, nil
}

// read reads topics.
func (p *Provisioner) read(ctx context.Context, names []string) (is existing, err error) {
	is.topics, is.configs = map[string]cluster.Topic{}, map[string][]kadm.Config{}
	if len(names) == 0 {
		return is, nil
	}
	found, brokers, err := p.cluster.Topics(ctx, names...)
	if err != nil {
		return is, err
	}
	is.brokers = brokers
	for name, t := range found {
		switch {
		case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		case t.Err != nil:
			return is, fmt.Errorf("look up topic %s: %w", name, failure.Classify(t.Err))
		default:
			is.topics[name] = t
		}
	}
	if len(is.topics) == 0 {
		return is, nil
	}
	described, err := p.cluster.Admin.DescribeTopicConfigs(ctx, slices.Sorted(maps.Keys(is.topics))...)
	if err != nil {
		return is, fmt.Errorf("read the configuration of topics: %w", failure.Classify(err))
	}
	for _, r := range described {
		if r.Err != nil {
			return is, fmt.Errorf("read the configuration of topic %s: %w", r.Name, failure.Classify(r.Err))
		}
		is.configs[r.Name] = r.Configs
	}
	return is, nil
}

// differences are those of one channel.
func (p *Provisioner) differences(s driver.ChannelSpec, is existing) []driver.Difference {
	own := p.ownTopic(s)
	d := driver.Difference{Channel: s.Channel, Resource: aTopic, Name: own.Name}
	if s.Channel.Exchange != "" {
		d.Channel = driver.Channel{Exchange: s.Channel.Exchange, Ordered: s.Channel.Ordered}
	}
	n, wished := own.Partitions, p.channels.Uses(s.Channel).Wished
	all := differenceOf(d, s, own, wished, is)
	if t, there := is.topics[own.Name]; there {
		n = max(t.Partitions, wished)
	}
	for _, w := range p.besides(s, n) {
		d, wanted := driver.Difference{Channel: s.Channel, Resource: aDeadTopic, Name: w.Name}, 0
		if w.exactly {
			d.Resource, wanted = aTier, w.Partitions
		}
		all = append(all, differenceOf(d, s, w, wanted, is)...)
	}
	return all
}

// differenceOf returns the differences of one topic; wanted is its number of partitions, 0: any.
func differenceOf(
	d driver.Difference, s driver.ChannelSpec, w Wish, wanted int, is existing,
) (all []driver.Difference) {
	t, there := is.topics[w.Name]
	switch {
	case w.mapped && there:
		return nil
	case w.mapped:
		d.Kind = driver.DiffersForeign
		d.Note = "it does not exist: kafka.Options.Names maps the channel to it, so create it, or correct the entry"
		return []driver.Difference{d}
	case !there:
		d.To = strconv.Itoa(w.Partitions) + " " + partitions
		return []driver.Difference{d}
	}
	if wanted != 0 && wanted != t.Partitions && (w.exactly || s.Mode == driver.Declare) {
		all = append(all, differentPartitions(d, t.Partitions, wanted))
	}
	if s.Owner || s.Mode == driver.Verify {
		all = append(all, differentConfig(d, is.configs[w.Name], w)...)
	}
	return all
}

// differentPartitions is a difference in the number of partitions, which can only grow.
func differentPartitions(d driver.Difference, is, wanted int) driver.Difference {
	d.Kind, d.Attribute, d.From, d.To = driver.DiffersValue, partitions, strconv.Itoa(is), strconv.Itoa(wanted)
	if d.Resource == aTopic {
		d.Risk = "later records of a key may be in another partition than earlier ones, and overtake them"
	}
	if is > wanted {
		d.Kind = driver.DiffersBeyondChange
		d.Steps = []string{
			"declare " + d.From + " partitions, because Kafka removes none",
			"or stop the producers, let the consumers handle what waits, and delete the topic with godwit rm, so that " +
				"it is created with " + d.To,
		}
	}
	return d
}

// differentConfig are the settings of a topic that differ. Settings that are not wished for are left alone.
func differentConfig(d driver.Difference, configs []kadm.Config, w Wish) (all []driver.Difference) {
	d.Kind = driver.DiffersValue
	for _, key := range slices.Sorted(maps.Keys(w.Config)) {
		d.Attribute, d.From, d.To, d.Risk = key, cluster.ConfigOf(configs, key), w.Config[key], ""
		if d.From == d.To {
			continue
		}
		from, err := strconv.ParseInt(d.From, 10, 64)
		to, toErr := strconv.ParseInt(d.To, 10, 64)
		if key == "retention.ms" && err == nil && toErr == nil && to >= 0 && (from < 0 || to < from) {
			d.Risk = "records that are older are deleted, also if they are not handled"
		}
		all = append(all, d)
	}
	return all
}
