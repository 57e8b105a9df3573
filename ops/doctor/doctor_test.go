package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/doctor"
)

// ward is a backend whose channels have any settings.
type ward struct {
	driver.Backend
	channels  []driver.ChannelInfo
	settings  map[string]map[string]string // by channel
	subscribe map[string][]string
	waiting   map[string]int64
	denied    string // a channel that may not be looked at
	access    *driver.Access
	specs     []driver.ChannelSpec // that were provisioned
	plan      []driver.Difference
	others    []string // groups
	single    []driver.Difference
	required  int // how often replicas were required
}

func (w *ward) Operations() driver.Operations {
	do := driver.Operations{
		Catalog:  func(context.Context) ([]driver.ChannelInfo, error) { return w.channels, nil },
		Snapshot: w.snapshot, Inspect: w.Inspect,
		Specs: func(_ context.Context, cs []driver.Channel) ([]driver.ChannelSpec, error) {
			return []driver.ChannelSpec{{Channel: cs[0], Owner: true, Mode: driver.Declare, MaxReceives: 3}}, nil
		},
		Plan: func(context.Context, []driver.ChannelSpec) ([]driver.Difference, error) { return w.plan, nil },
		Rewind: func(context.Context, driver.Channel, driver.Position, bool) ([]driver.PartitionRewind, error) {
			return nil, nil
		},
		Purge: func(context.Context, driver.Channel, bool) (driver.Purged, error) {
			return driver.Purged{Others: w.others}, nil
		},
	}
	if w.single != nil {
		do.RequireReplicas = func(_ context.Context, _ driver.Channel, dry bool) ([]driver.Difference, error) {
			if !dry {
				w.required++
			}
			return w.single, nil
		}
	}
	if w.access != nil {
		do.Access = func(context.Context) (driver.Access, error) { return *w.access, nil }
	}
	return do
}

func (w *ward) Find(_ context.Context, dead driver.Channel) (driver.Channel, error) { return dead, nil }

func (w *ward) Ensure(_ context.Context, s driver.ChannelSpec) error {
	w.specs = append(w.specs, s)
	return nil
}

func (w *ward) snapshot(_ context.Context, c driver.Channel) (s driver.Snapshot, err error) {
	if c.String() == w.denied {
		return s, &driver.Error{Class: driver.Denied, Err: errors.New("not authorized to perform sqs:ListQueueTags")}
	}
	data := map[string]any{"attributes": map[string]string{}}
	topic := map[string]any{"name": c.String()}
	for name, value := range w.settings[c.String()] {
		switch rest, sub := strings.CutPrefix(name, "subscription "); {
		case sub:
			data["subscription"] = map[string]string{rest: value}
		case name == "replicas", strings.HasSuffix(name, "min.insync.replicas"):
			topic[name] = value
			data["topics"] = []any{topic}
		default:
			data["attributes"].(map[string]string)[name] = value
		}
	}
	s.Subscribers = w.subscribe[c.String()]
	s.Data, err = json.Marshal(data)
	return s, err
}

func (w *ward) Inspect(_ context.Context, c driver.Channel) (driver.Depth, error) {
	return driver.Depth{Waiting: w.waiting[c.String()], Oldest: -1}, nil
}

func (w *ward) admit(c driver.Channel, settings ...string) {
	if w.settings == nil {
		w.settings, w.subscribe, w.waiting = map[string]map[string]string{}, map[string][]string{}, map[string]int64{}
	}
	own := map[string]string{}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		own[name] = value
	}
	w.channels = append(w.channels, driver.ChannelInfo{Channel: c, Address: "arn:aws:sqs:r:a:" + c.String()})
	w.settings[c.String()] = own
}

func (w *ward) examine(t *testing.T, match string) (*doctor.Report, []string) {
	t.Helper()
	r, err := doctor.Examine(t.Context(), w, &doctor.Options{Match: match})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range r.Findings {
		if f.Means == "" || f.Mend == "" {
			t.Errorf("%+v", f)
		}
		texts = append(texts, f.Level.String()+" "+f.Channel+": "+f.What)
	}
	return r, texts
}

const (
	days14  = "MessageRetentionPeriod=1209600"
	days4   = "MessageRetentionPeriod=345600"
	sse     = "SqsManagedSseEnabled=true"
	visible = "VisibilityTimeout=30"
	redrive = `RedrivePolicy={"deadLetterTargetArn":"d","maxReceiveCount":30}`
)

// What is wrong with each channel, the worst first; a healthy one has no findings.
func TestExamine(t *testing.T) {
	queue := func(name string) driver.Channel { return driver.Channel{Queue: name} }
	dead := func(name string) driver.Channel { return driver.Channel{Queue: name, DeadLetter: true} }
	one := driver.Channel{Exchange: "events", Queue: "one"}
	w := &ward{}
	w.admit(queue("healthy"), visible, days14, sse, redrive)
	w.admit(dead("healthy"), visible, days14, sse)
	w.admit(queue("short"), visible, days4, sse, `RedrivePolicy={"maxReceiveCount":"3"}`)
	w.admit(dead("short"), visible, days4, sse)
	w.waiting["short@dlq"] = 7
	w.admit(queue("open"), visible, days14,
		`Policy={"Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:*"},{"Effect":"Deny","Principal":"*",`+
			`"Action":"sqs:*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`)
	w.admit(one, visible, days14, sse, redrive)
	w.admit(driver.Channel{Exchange: "events"})
	w.subscribe["events.*"] = []string{"arn:aws:sqs:r:a:events.one", "arn:aws:sqs:r:a:gone", "mailto:ada@example.org"}
	w.admit(queue("topic"), "replicas=1")
	w.admit(queue("loose"), "replicas=3", "min.insync.replicas=1")
	w.admit(queue("tight"), "replicas=3", "min.insync.replicas=2")
	w.admit(queue("usual"), "replicas=3", "default min.insync.replicas=1")
	w.admit(driver.Channel{Exchange: "plain"})
	w.channels[len(w.channels)-1].Address = "arn:aws:sns:r:a:plain"
	w.admit(driver.Channel{Exchange: "secret"}, "KmsMasterKeyId=alias/aws/sns")
	w.channels[len(w.channels)-1].Address = "arn:aws:sns:r:a:secret"
	w.channels[0].Paused = true

	r, got := w.examine(t, "")
	want := []string{
		"problem short: messages are kept for 4 days, and its dead letters for 4 days",
		"problem open: it has no dead letters",
		"problem open: its policy allows everybody sqs:*",
		"problem events.one: its policy does not let SNS send to it",
		"problem events.one: it is not subscribed to its exchange",
		"warning short: SQS moves a message to the dead letters after 3 receives",
		"warning short@dlq: 7 dead letters wait",
		"warning open: messages are not encrypted where they are stored",
		"warning topic: topic topic has one replica",
		"warning loose: topic loose has 3 replicas, and min.insync.replicas 1",
		"warning usual: topic usual has 3 replicas, and min.insync.replicas 1",
		"note healthy: it is paused",
		"note events.*: it is subscribed by arn:aws:sqs:r:a:gone, which is no channel of this namespace",
		"note plain.*: SNS does not encrypt the messages of its topic where they are stored",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Channels != 13 || len(r.Unknown) > 0 {
		t.Errorf("%d channels, unknown %v", r.Channels, r.Unknown)
	}
	if r, got = w.examine(t, "short"); r.Channels != 1 || len(got) != 2 {
		t.Errorf("%d channels: %s", r.Channels, got)
	}
}

// What may not be looked at is unknown, and neither healthy nor an error. A backend that tells no settings is one.
func TestExamineUnknown(t *testing.T) {
	w := &ward{denied: "secret"}
	w.admit(driver.Channel{Queue: "secret"}, visible)
	if r, got := w.examine(t, ""); len(got) > 0 || len(r.Unknown) != 1 ||
		!strings.Contains(r.Unknown[0].Error(), "sqs:ListQueueTags") {
		t.Errorf("%s, %v", got, r.Unknown)
	}
	if _, err := doctor.Examine(t.Context(), struct{ driver.Backend }{}, nil); err == nil {
		t.Error("a backend that lists nothing was examined")
	}
	if _, err := doctor.Examine(t.Context(), w, &doctor.Options{Match: "["}); err == nil {
		t.Error("a pattern that is none was accepted")
	}
}

// Leases that do not fit, and groups beside a channel with tiers.
func TestExamineLeases(t *testing.T) {
	w := &ward{others: []string{"billing"}}
	queue := func(name string) driver.Channel { return driver.Channel{Queue: name} }
	for name, lease := range map[string]string{"short": "5", "long": "3600", "longest": "40000"} {
		kept := days14
		if name == "longest" {
			kept = "MessageRetentionPeriod=36000"
		}
		w.admit(queue(name), "VisibilityTimeout="+lease, kept, sse, redrive)
	}
	w.admit(queue("slow"), "slow.slow.retry.5s partitions=1")
	w.admit(queue("apart"), "apart.apart--audit.retry.5s partitions=1", "topics of earlier versions 0=apart.apart.dlq")
	w.admit(driver.Channel{Exchange: "events", Queue: "web"}, "events.events.web.retry.5s partitions=1")
	_, got := w.examine(t, "")
	slices.Sort(got)
	want := []string{
		"note apart: messages of its group are left in a topic of an earlier version, apart.apart.dlq",
		"note long: the lease of a message is 1h0m0s",
		"note slow: retries wait in tiers, and its topic has other groups: billing",
		"problem longest: the lease of a message is 11h6m40s, and messages are kept for 10h0m0s",
		"warning short: the lease of a message is 5s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Credentials, clock and calls are looked at first; without credentials that work, nothing else is.
func TestExamineAccess(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		access driver.Access
		want   []string
	}{
		"well": {driver.Access{
			Identity: "arn", Ahead: driver.Reading[time.Duration]{Value: time.Second},
			Calls: []driver.AccessCall{{Name: "sqs:ListQueues"}}, Expires: now.Add(time.Hour),
		}, nil},
		"behind": {driver.Access{Ahead: driver.Reading[time.Duration]{Value: -6 * time.Minute}}, []string{
			"problem : the clock of this machine is 6m0s behind the service's",
		}},
		"ahead": {driver.Access{Ahead: driver.Reading[time.Duration]{Value: 2 * time.Minute}}, []string{
			"warning : the clock of this machine is 2m0s ahead of the service's",
		}},
		"ending": {driver.Access{Expires: now.Add(time.Minute), Source: "sso"}, []string{
			"note : the credentials of sso end at " + now.Add(time.Minute).UTC().Format(time.DateTime),
		}},
		"denied": {driver.Access{Calls: []driver.AccessCall{
			{Name: "sns:ListTopics", Err: &driver.Error{Class: driver.Denied, Err: errors.New("no")}},
		}}, []string{"note : the credentials do not allow sns:ListTopics"}},
		"expired": {driver.Access{Err: errors.New("they have expired")}, []string{
			"problem : the service does not accept the credentials: they have expired",
		}},
	} {
		w := &ward{access: &c.access}
		w.admit(driver.Channel{Queue: "orders"})
		r, got := w.examine(t, "")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if (r.Channels == 0) != (name == "expired") || (len(r.Allowed) == 1) != (name == "well") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A fix changes each queue once, with all that mends its findings; a dry one changes nothing. A queue that Godwit was
// told to use is not changed.
func TestFix(t *testing.T) {
	w := &ward{plan: []driver.Difference{
		{Kind: driver.DiffersValue, Resource: "queue", Attribute: "RedrivePolicy", From: "3", To: "30"},
		{Kind: driver.DiffersForeign, Resource: "topic"},
	}}
	w.admit(driver.Channel{Queue: "orders"}, visible, days4, `RedrivePolicy={"maxReceiveCount":3}`)
	w.admit(driver.Channel{Queue: "orders", DeadLetter: true}, visible, days4, sse)
	w.admit(driver.Channel{Queue: "mapped"}, visible, days4)
	w.channels[2].Mapped = true
	r, err := doctor.Examine(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Fixable != (f.Channel == "orders") {
			t.Errorf("%+v", f)
		}
	}
	want := []doctor.Change{
		{Channel: "orders", Resource: "queue", Attribute: "RedrivePolicy", From: "3", To: "30"},
	}
	for _, dry := range []bool{true, false} {
		changes, err := r.Fix(t.Context(), dry)
		if diff := cmp.Diff(want, changes); diff != "" || err != nil || dry != (len(w.specs) == 0) {
			t.Errorf("dry %v: %v, %d provisioned (-want +got):\n%s", dry, err, len(w.specs), diff)
		}
	}
	if len(w.specs) != 1 || w.specs[0].MaxReceives != 30 || w.specs[0].Mode != driver.Declare {
		t.Errorf("provisioned: %+v", w.specs)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if changes, err := r.Fix(ended, false); !errors.Is(err, context.Canceled) || len(changes) > 0 || len(w.specs) != 1 {
		t.Errorf("%v, %v", changes, err)
	}
}

// Replicas are required where the backend can, once for each channel; what Godwit was told to use is left alone, and so
// are topics with one replica.
func TestFixReplicas(t *testing.T) {
	w := &ward{single: []driver.Difference{
		{
			Kind: driver.DiffersValue, Resource: "topic", Name: "loose", Attribute: "min.insync.replicas", From: "1",
			To: "2",
		},
	}}
	for _, name := range []string{"loose", "mapped", "alone"} {
		w.admit(driver.Channel{Queue: name}, "replicas=3", "min.insync.replicas=1")
	}
	w.channels[1].Mapped = true
	w.settings["alone"]["replicas"] = "1"
	r, _ := w.examine(t, "")
	for _, f := range r.Findings {
		if f.Fixable != (f.Channel == "loose") {
			t.Errorf("%+v", f)
		}
	}
	want := []doctor.Change{{
		Channel: "loose", Resource: "topic", Name: "loose", Attribute: "min.insync.replicas", From: "1", To: "2",
	}}
	for times, dry := range []bool{true, false} {
		changes, err := r.Fix(t.Context(), dry)
		if diff := cmp.Diff(want, changes); diff != "" || err != nil || w.required != times {
			t.Errorf("dry %v: %v, required %d times (-want +got):\n%s", dry, err, w.required, diff)
		}
	}
}
