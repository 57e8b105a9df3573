package declared

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/topology"
)

// File is a declaration.
type File struct {
	Spec *topology.Spec
	// Planned is what was to be done when the file was written; nil: the file is a declaration, not a plan.
	Planned *topology.Changes

	name, text string
}

// planVersion is the version of the form of a written plan.
const planVersion = 1

// writtenPlan is a plan with its declaration.
type writtenPlan struct {
	Version int               `json:"godwit_plan"`
	File    string            `json:"file"`
	Text    string            `json:"text"`
	Changes *topology.Changes `json:"changes"`
}

// Read reads a declaration or a written plan.
func Read(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, text: string(text)}
	if plan := new(writtenPlan); bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) &&
		json.Unmarshal(text, plan) == nil && plan.Version != 0 {
		if plan.Version != planVersion || plan.Changes == nil {
			return nil, fmt.Errorf("%s: it is a plan of version %d, and this program reads %d: plan again", name,
				plan.Version, planVersion)
		}
		f.name, f.text, f.Planned = plan.File, plan.Text, plan.Changes
	}
	f.Spec, err = topology.Read(f.name, []byte(f.text))
	return f, err
}

// WritePlan writes a plan of the file.
func (f *File) WritePlan(to string, c *topology.Changes) error {
	text, err := json.MarshalIndent(writtenPlan{planVersion, f.name, f.text, c}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o600)
}

// Locate adds to an error's mistakes of the declaration where they are in the file.
func (f *File) Locate(err error) error { return topology.Locate(err, f.name, []byte(f.text)) }

// Store returns the options of the store of large messages; false: the file names none.
func (f *File) Store() (*s3store.Options, bool) {
	p := f.Spec.Payloads
	return &s3store.Options{Bucket: p.Bucket, Prefix: p.Prefix}, p.Bucket != ""
}

// AWS returns the options of the backend on SNS and SQS.
func (f *File) AWS(store driver.Store) *snssqs.Options {
	o := &snssqs.Options{Namespace: f.Spec.Namespace, Store: store, Names: map[string]snssqs.Resource{}}
	for name, e := range f.Spec.Exchanges {
		if e.Topic != "" {
			o.Names[name+".*"] = snssqs.Resource{Topic: e.Topic}
		}
	}
	for name, c := range f.Spec.Channels {
		if c.Queue != "" || c.DeadLetters != "" {
			o.Names[name] = snssqs.Resource{Queue: c.Queue, DeadLetters: c.DeadLetters}
		}
	}
	return o
}

// Kafka returns the options of the backend on Kafka.
func (f *File) Kafka(store driver.Store) *kafka.Options {
	all := channelOptions(&f.Spec.Kafka.ChannelKafka)
	o := &kafka.Options{
		Namespace: f.Spec.Namespace, Store: store, Replication: f.Spec.Kafka.Replication,
		Ordering: all.Ordering, Retries: all.Retries, Tiers: all.Tiers, Partitions: all.Partitions,
		Retention: all.Retention, TopicConfig: all.TopicConfig,
		Names: map[string]kafka.Resource{}, Channels: map[string]kafka.ChannelOptions{},
	}
	for name, e := range f.Spec.Exchanges {
		o.Channels[name+".*"] = channelOptions(&e.Kafka)
		if e.Topic != "" {
			o.Names[name+".*"] = kafka.Resource{Topic: e.Topic}
		}
	}
	for name, c := range f.Spec.Channels {
		own := channelOptions(&c.Kafka)
		if exchange, of := ofExchange(name, f.Spec); of { // the settings of the topic are the exchange's
			topic := channelOptions(&exchange.Kafka)
			own.Partitions, own.Retention, own.TopicConfig = topic.Partitions, topic.Retention, topic.TopicConfig
			own.Ordering, own.Retries = cmp.Or(own.Ordering, topic.Ordering), cmp.Or(own.Retries, topic.Retries)
			if own.Tiers == nil {
				own.Tiers = topic.Tiers
			}
		}
		o.Channels[name] = own
		if c.Queue != "" || c.DeadLetters != "" {
			o.Names[name] = kafka.Resource{Topic: c.Queue, DeadLetters: c.DeadLetters}
		}
	}
	return o
}

func ofExchange(name string, s *topology.Spec) (topology.Exchange, bool) {
	exchange, _, many := strings.Cut(name, ".")
	return s.Exchanges[exchange], many
}

// channelOptions are the settings of a topic and its consumers.
func channelOptions(k *topology.ChannelKafka) kafka.ChannelOptions {
	return kafka.ChannelOptions{
		Partitions: k.Partitions, Retention: k.Retention, Tiers: k.Tiers, TopicConfig: k.Config,
		Ordering: map[string]kafka.Ordering{
			"key": kafka.OrderByKey, "partition": kafka.OrderByPartition, "none": kafka.OrderNone,
		}[k.Ordering],
		Retries: map[string]kafka.Retries{
			"block": kafka.RetryBlock, "park": kafka.RetryPark, "alone": kafka.RetryAlone,
		}[k.Retries],
	}
}
