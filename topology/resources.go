package topology

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/prices"
)

// Resource is one resource of a namespace.
type Resource struct {
	Channel     string    `json:"channel"`
	Role        string    `json:"role"` // queue, dead-letters, exchange; payloads: the store of large messages
	Name        string    `json:"name"` // the service's name
	Owner       string    `json:"owner"`
	Environment string    `json:"environment,omitempty"`
	Topology    string    `json:"topology,omitempty"` // that has declared it; "": none
	Created     time.Time `json:"created,omitzero"`   // zero: the service does not say
	Mapped      bool      `json:"mapped,omitempty"`   // the backend was told to use it
	// What happened within the period.
	Sent          Count `json:"sent"`
	SentBytes     Count `json:"sent_bytes"`
	Received      Count `json:"received"`
	EmptyReceives Count `json:"empty_receives"`
	Deleted       Count `json:"deleted"`
	// KMSKey encrypts its messages; "": none of KMS, or it is unknown.
	KMSKey string `json:"kms_key,omitempty"`
	// Stored is how many bytes are stored, of the payloads.
	Stored *Count `json:"stored_bytes,omitempty"`
	// Cost is an estimate of its requests within a month, to KMS as well, and of what is stored.
	Cost Cost `json:"cost_usd_month"`
}

// payloads is the role of the store of large messages.
const payloads = "payloads"

// Count is a number that the service may not know.
type Count struct {
	Value int64
	Known bool
}

// String is the number; "?": it is unknown.
func (c Count) String() string {
	if !c.Known {
		return "?"
	}
	return strconv.FormatInt(c.Value, 10)
}

// MarshalJSON writes the number; null: it is unknown.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return json.Marshal(c.Value)
}

// Cost is an amount of US dollars.
type Cost struct {
	Dollars float64
	Known   bool
}

// String is the amount in dollars and cents; "?": it is unknown.
func (c Cost) String() string {
	if !c.Known {
		return "?"
	}
	return strconv.FormatFloat(c.Dollars, 'f', 2, 64)
}

// MarshalJSON writes the amount; null: it is unknown.
func (c Cost) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return json.Marshal(c.Dollars)
}

// Prices are the prices of a million requests, in US dollars, after the free tier.
type Prices struct {
	// Date is when they were last confirmed, as a day or a month.
	Date           string  `json:"date"`
	Queue          float64 `json:"queue"`           // a request to a queue of SQS that is not ordered
	OrderedQueue   float64 `json:"ordered_queue"`   // to an ordered one
	Publish        float64 `json:"publish"`         // a publish to a topic of SNS that is not ordered
	OrderedPublish float64 `json:"ordered_publish"` // to an ordered one
	// OrderedPublishGiB is the price of a GiB that is published to an ordered topic.
	OrderedPublishGiB float64 `json:"ordered_publish_gib"`
	KMS               float64 `json:"kms"`       // a request of SQS or SNS to KMS
	StorePut          float64 `json:"store_put"` // a PUT of S3
	StoreGet          float64 `json:"store_get"` // a GET of S3
	// StoreGiB is the price of a GiB in S3 for a month, which is not one of a million.
	StoreGiB float64 `json:"store_gib"`
}

// DefaultPrices are the list prices of us-east-1, last confirmed in June 2026. A delivery of SNS to SQS costs nothing
// on topics without order.
func DefaultPrices() Prices { return Prices(prices.Listed()) }

// ResourcesOptions are the options of Resources.
type ResourcesOptions struct {
	// Since is the period whose requests are counted; 0: a day. Raise it when traffic differs between days.
	Since time.Duration
	// Prices are the prices of requests; zero: DefaultPrices. Set them for another region, or when they have changed.
	Prices Prices
}

// month is the period of a cost.
const month = 30 * day

// Resources lists what the namespace of a backend has, with its owners, what it did, and an estimate of its cost: what
// costs money although nothing was sent to it comes first, the most expensive before others, then all others by owner.
// The estimate counts each message as requests of its own, one for each 64 KiB of the average size: batches cost less.
// For resources with a key of KMS it has the requests to KMS of one producer and one consumer, who ask again after
// each KmsDataKeyReusePeriodSeconds; the price of the key itself is not part of it. The payloads of large messages
// are one resource, with what S3 counts of the bucket. On Kafka no cost is known. With an error nothing is known.
func Resources(ctx context.Context, b godwit.Backend, o *ResourcesOptions) ([]Resource, error) {
	var opts ResourcesOptions
	if o != nil {
		opts = *o
	}
	opts.Since = cmp.Or(opts.Since, day)
	opts.Prices = cmp.Or(opts.Prices, DefaultPrices())
	do := driver.OperationsOf(b)
	if do.Catalog == nil {
		return nil, errors.New("topology: this backend cannot list channels")
	}
	found, err := do.Catalog(ctx)
	if err != nil {
		return nil, fmt.Errorf("topology: list the resources: %w", err)
	}
	var activity []driver.Activity
	if do.Activity != nil && len(found) > 0 {
		channels := make([]driver.Channel, len(found))
		for i, c := range found {
			channels[i] = c.Channel
		}
		if activity, err = do.Activity(ctx, channels, time.Now().Add(-opts.Since)); err != nil {
			return nil, fmt.Errorf("topology: count what the resources did: %w", err)
		}
	}
	keys, err := keysOf(ctx, do, found)
	if err != nil {
		return nil, err
	}
	all := make([]Resource, len(found))
	for i, c := range found {
		all[i] = Resource{
			Channel: c.Channel.String(), Role: c.Channel.Role().String(), Name: c.Address, Owner: c.Tags["owner"],
			Environment: c.Tags["environment"], Topology: c.Tags[driver.TagTopology],
			Created: c.Created, Mapped: c.Mapped,
		}
		if activity == nil {
			continue
		}
		all[i].count(&activity[i])
		if do.Tag != nil { // requests cost money where resources have tags: on AWS
			all[i].Cost = opts.Prices.of(&all[i], c.Channel.Ordered, opts.Since)
		}
		if key := keys[living(c.Channel)]; key != nil {
			reuse := key.reuse
			if c.Channel.DeadLetter { // they do not have the attributes of the queue
				reuse = defaultReuse
			}
			all[i].KMSKey = key.id
			all[i].Cost.Dollars += opts.Prices.kms(&all[i], reuse, opts.Since)
		}
	}
	if do.Stored != nil {
		stored, err := do.Stored(ctx, time.Now().Add(-opts.Since))
		if err != nil {
			return nil, fmt.Errorf("topology: count what is stored: %w", err)
		}
		all = slices.Insert(all, len(all), opts.Prices.stored(&stored, opts.Since))
	}
	slices.SortStableFunc(all, func(x, y Resource) int {
		switch {
		case x.idle() != y.idle():
			return map[bool]int{true: -1, false: 1}[x.idle()]
		case x.idle():
			return cmp.Compare(y.Cost.Dollars, x.Cost.Dollars)
		}
		return cmp.Or(cmp.Compare(x.Owner, y.Owner), cmp.Compare(x.Channel, y.Channel))
	})
	return all, nil
}

// idle reports whether a resource costs money although nothing is sent to it.
func (r *Resource) idle() bool {
	return r.Sent.Known && r.Sent.Value == 0 && r.Cost.Known && r.Cost.Dollars > 0
}

func (r *Resource) count(a *driver.Activity) {
	for to, from := range map[*Count]driver.Reading[int64]{
		&r.Sent: a.Sent, &r.SentBytes: a.SentBytes, &r.Received: a.Received, &r.EmptyReceives: a.EmptyReceives,
		&r.Deleted: a.Deleted,
	} {
		if from.Known() {
			*to = Count{from.Value, true}
		}
	}
}

// of estimates the cost of a resource's requests within a month.
func (p Prices) of(r *Resource, ordered bool, since time.Duration) Cost {
	t := prices.Traffic{
		Topic: r.Role == driver.RoleExchange.String(), Ordered: ordered, Sent: r.Sent.Value, Bytes: r.SentBytes.Value,
		Received: r.Received.Value, Empty: r.EmptyReceives.Value, Deleted: r.Deleted.Value,
	}
	known := r.Sent.Known && (t.Topic || r.Received.Known && r.EmptyReceives.Known && r.Deleted.Known)
	return Cost{prices.Table(p).Alone(t).Dollars * float64(month) / float64(since), known}
}

// key is a key of KMS, and how long SQS and SNS use a data key that it has made.
type key struct {
	id    string
	reuse time.Duration
}

// defaultReuse is how long a data key is used where a queue does not say it, and by topics always.
const defaultReuse = 5 * time.Minute

// keysOf are the keys of KMS of channels; dead letters have that of their queue. Channels that are mapped, or gone
// meanwhile, are left out.
func keysOf(ctx context.Context, do driver.Operations, found []driver.ChannelInfo) (map[driver.Channel]*key, error) {
	if do.Specs == nil || do.Tag == nil {
		return nil, nil
	}
	specs, err := do.Specs(ctx, own(found))
	class := driver.ClassOf(err)
	switch {
	case err == nil:
	case class == driver.NotFound || class == driver.Denied:
		return nil, nil // the rest is still worth telling
	default:
		return nil, fmt.Errorf("topology: read the keys of the resources: %w", err)
	}
	keys := map[driver.Channel]*key{}
	for i := range specs {
		if id := specs[i].Encryption; id != "" {
			seconds, _ := strconv.Atoi(specs[i].Native["KmsDataKeyReusePeriodSeconds"])
			keys[specs[i].Channel] = &key{id, cmp.Or(time.Duration(seconds)*time.Second, defaultReuse)}
		}
	}
	return keys, nil
}

// living is the channel whose settings a resource has.
func living(ch driver.Channel) driver.Channel {
	ch.DeadLetter = false
	return ch
}

// kms estimates the cost of requests to KMS within a month: for each data key, a producer makes two and a consumer one,
// and neither more than messages need.
func (p Prices) kms(r *Resource, reuse, since time.Duration) float64 {
	times := float64(month) / float64(since)
	keys := float64(month) / float64(reuse)
	requests := 2*min(keys, float64(r.Sent.Value)*times) + min(keys, float64(r.Received.Value)*times)
	return requests * p.KMS / 1e6
}

// stored is the resource of the payloads. Requests that S3 does not count are left out.
func (p Prices) stored(s *driver.Stored, since time.Duration) Resource {
	r := Resource{Channel: payloads, Role: payloads, Name: s.Name, Stored: &Count{s.Bytes.Value, s.Bytes.Known()}}
	r.Sent, r.Received = Count{s.Puts.Value, s.Puts.Known()}, Count{s.Gets.Value, s.Gets.Known()}
	requests := (float64(s.Puts.Value)*p.StorePut + float64(s.Gets.Value)*p.StoreGet) / 1e6
	r.Cost = Cost{
		float64(s.Bytes.Value)/(1<<30)*p.StoreGiB + requests*float64(month)/float64(since), s.Bytes.Known(),
	}
	return r
}
