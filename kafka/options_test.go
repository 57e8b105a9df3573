package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// For each field, a channel has its own value, or else the backend's, or else the default.
func TestAChannelsOptionsInherit(t *testing.T) {
	o := Options{
		ChannelOptions: ChannelOptions{
			Ordering: OrderNone, Retries: RetryPark, MaxBlock: time.Minute, Tiers: []time.Duration{time.Second},
			NullKeys: NullKeysSpread, GroupProtocol: GroupConsumer, Partitions: 3, Retention: time.Hour,
			Compression: "zstd", TopicConfig: map[string]string{"a": "b"}, BodyCompression: BodyCompressionZstd,
		},
		Channels: map[string]ChannelOptions{
			"own": {
				Ordering: OrderByKey, Retries: RetryBlock, MaxBlock: time.Second, Tiers: []time.Duration{},
				NullKeys: NullKeysInOrder, GroupProtocol: GroupClassic,
				Partitions: 1, Retention: -1, Compression: "producer", TopicConfig: map[string]string{},
				BodyCompression: BodyCompressionNone,
			},
			"nothing":      {},
			"events.*":     {Ordering: OrderByPartition},
			"events.audit": {Partitions: 5},
		},
	}
	shared := o.ChannelOptions
	byPartition, five := shared, shared
	byPartition.Ordering, five.Partitions = OrderByPartition, 5
	for _, c := range []struct {
		ch   driver.Channel
		want ChannelOptions
	}{
		{driver.Channel{Queue: "own"}, o.Channels["own"]},
		{driver.Channel{Queue: "own", DeadLetter: true, Ordered: true}, o.Channels["own"]},
		{driver.Channel{Queue: "nothing"}, shared},
		{driver.Channel{Queue: "unknown"}, shared},
		{driver.Channel{Exchange: "events", Queue: "mobile"}, byPartition},
		{driver.Channel{Exchange: "events", Queue: "audit"}, five},
	} {
		if diff := cmp.Diff(c.want, o.channel(c.ch)); diff != "" {
			t.Errorf("%s: %s", c.ch, diff)
		}
	}
	var none Options
	want := ChannelOptions{
		Ordering: OrderByKey, Retries: RetryBlock, MaxBlock: defaultMaxBlock, Tiers: defaultTiers,
		NullKeys: NullKeysInOrder, GroupProtocol: GroupClassic, Partitions: defaultPartitions,
		BodyCompression: BodyCompressionNone,
	}
	if diff := cmp.Diff(want, none.channel(driver.Channel{Queue: "q"})); diff != "" {
		t.Error(diff)
	}
	none.Assignor, none.Channels = AssignorRange, map[string]ChannelOptions{"q": {Ordering: OrderNone}, "s": {
		GroupProtocol: GroupShare,
	}}
	if err := none.check(); err != nil {
		t.Error(err)
	}
	q, s := none.channel(driver.Channel{Queue: "q"}), none.channel(driver.Channel{Queue: "s"})
	if q.Assignor != AssignorRange || s.Assignor != 0 {
		t.Errorf("an assignor of all channels is %d for a classic group, and %d for a share group", q.Assignor, s.Assignor)
	}
	if got := none.channel(driver.Channel{Queue: "q"}).Retries; got != RetryAlone {
		t.Errorf("on a channel without order, Retries is %d", got)
	}
}

// A session timeout that the brokers would ignore is refused, and so are negative intervals.
func TestOptionsWithoutAnEffect(t *testing.T) {
	of := func(p GroupProtocol) Options {
		return Options{
			SessionTimeout: time.Second, ChannelOptions: ChannelOptions{GroupProtocol: GroupConsumer},
			Channels: map[string]ChannelOptions{"q": {GroupProtocol: p}},
		}
	}
	for name, c := range map[string]struct {
		o    Options
		good bool
	}{
		"the broker's": {Options{
			SessionTimeout: time.Second, ChannelOptions: ChannelOptions{GroupProtocol: GroupConsumer},
		}, false},
		"the broker's for all":     {of(GroupConsumer), false},
		"one channel is classic":   {of(GroupClassic), true},
		"classic":                  {Options{SessionTimeout: time.Second}, true},
		"a negative interval":      {Options{CommitInterval: -1}, false},
		"a negative number":        {Options{CommitRecords: -1}, false},
		"an unknown kind of keys":  {Options{ChannelOptions: ChannelOptions{NullKeys: NullKeysSpread + 1}}, false},
		"without a timeout at all": {Options{ChannelOptions: ChannelOptions{GroupProtocol: GroupConsumer}}, true},
	} {
		if err := c.o.check(); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Options that cannot work are an error of the constructor, which says how to repair them.
func TestImpossibleOptions(t *testing.T) {
	for text, o := range map[string]Options{
		"OAUTHBEARER, but SASL.Token is nil": {SASL: &SASL{Mechanism: "OAUTHBEARER"}},
		"use PLAIN, SCRAM":                   {SASL: &SASL{Mechanism: "KERBEROS"}},
		"but SASL.User is empty":             {SASL: &SASL{Mechanism: "SCRAM-SHA-256"}},
		"encrypted connections only":         {SASL: &SASL{Mechanism: "AWS_MSK_IAM"}},
		"SASL.Token has no effect with": {
			SASL: &SASL{
				Mechanism: "PLAIN", User: "ada", Token: func(context.Context) (string, error) { return "", nil },
			},
		},
		"SASL.Credentials has no effect with": {
			SASL: &SASL{
				Mechanism: "OAUTHBEARER", Token: func(context.Context) (string, error) { return "", nil },
				Credentials: awsEnvironment,
			},
		},
		"use gzip, snappy": {ChannelOptions: ChannelOptions{Compression: "brotli"}},
		"ascending":        {ChannelOptions: ChannelOptions{Tiers: []time.Duration{time.Minute, time.Second}}},
		"Channels[\"x\"].Tiers": {
			Channels: map[string]ChannelOptions{"x": {Tiers: []time.Duration{time.Millisecond}}},
		},
		"Namespace": {Namespace: "a b"},
		"Options.Assignor has no effect": {ChannelOptions: ChannelOptions{
			Assignor: AssignorRange, GroupProtocol: GroupConsumer,
		}},
		"negative":                      {ChannelOptions: ChannelOptions{Partitions: -1}},
		"Channels[\"x\"].Ordering is 9": {Channels: map[string]ChannelOptions{"x": {Ordering: 9}}},
		"Options.Retries is 9":          {ChannelOptions: ChannelOptions{Retries: 9}},
		"Options.GroupProtocol is 9":    {ChannelOptions: ChannelOptions{GroupProtocol: 9}},
		"Options.BodyCompression is 9":  {ChannelOptions: ChannelOptions{BodyCompression: 9}},
		"Options.BodyCompression has no effect without Options.Store": {
			ChannelOptions: ChannelOptions{BodyCompression: BodyCompressionZstd},
		},
		"Channels[\"x\"].BodyCompression has no effect": {
			Channels: map[string]ChannelOptions{"x": {BodyCompression: BodyCompressionNone}},
		},
		"franz-go refuses the options": {TLS: &tls.Config{}, Client: []kgo.Opt{
			kgo.Dialer(nil),
			kgo.MaxBufferedRecords(-1),
		}},
	} {
		if _, err := Open(t.Context(), &o); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("open: %v, want an error that says %q", err, text)
		}
	}
	b, err := Open(t.Context(),
		&Options{Channels: map[string]ChannelOptions{"orders": {Ordering: OrderNone}}})
	if err != nil {
		t.Fatal(err)
	}
	ordered := driver.Channel{Queue: "orders", Ordered: true}
	_, serr := b.Sender(t.Context(), ordered)
	_, rerr := b.Receiver(t.Context(), ordered, driver.ReceiverOptions{})
	for _, err := range []error{serr, rerr, b.Ensure(t.Context(), driver.ChannelSpec{Channel: ordered})} {
		if err == nil || !strings.Contains(err.Error(), "OrderByKey") {
			t.Errorf("an ordered channel that is OrderNone: %v, want an error that says what to do", err)
		}
	}
	for text, s := range map[string]driver.ChannelSpec{
		"Delay":       {Delay: time.Minute},
		"Encryption":  {Encryption: "alias/key"},
		"TopicConfig": {Native: map[string]string{"DisplayName": "a"}},
	} {
		s.Channel, s.Mode = driver.Channel{Queue: "orders"}, driver.Never
		if err := b.Ensure(t.Context(), s); driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want an error that names it", text, err)
		}
	}
	if err := errors.Join(b.Close(t.Context()), b.Close(t.Context())); err != nil {
		t.Error(err)
	}
}
