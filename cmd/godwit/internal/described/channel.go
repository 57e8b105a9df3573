package described

import (
	"math"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
)

// Channel is a described channel in JSON.
type Channel struct {
	Listed
	KeptSeconds            float64           `json:"kept_seconds,omitempty"`
	DeadLettersKeptSeconds float64           `json:"dead_letters_kept_seconds,omitempty"`
	Partitions             []partition       `json:"partitions,omitempty"`
	LastHour               map[string]int64  `json:"last_hour,omitempty"` // what is known
	Timeline               *timeline         `json:"timeline,omitempty"`
	Consumers              *consumers        `json:"consumers,omitempty"`
	Payloads               *payloads         `json:"payloads,omitempty"`
	Settings               map[string]string `json:"settings,omitempty"`
	Policy                 []string          `json:"policy,omitempty"`
	Subscribers            []string          `json:"subscribers,omitempty"`
	Related                []Listed          `json:"related,omitempty"`
	Problems               []string          `json:"problems,omitempty"`
}

// Of is all that is known about a channel in JSON.
func Of(c *describe.Channel) Channel {
	v := Channel{
		Listed: ListedOf(asListed(c), c.Depth == nil), Policy: sentences(c.Policy), Subscribers: c.Subscribers,
		Settings: settingsOf(c), Timeline: newTimeline(c.Timeline), Consumers: newConsumers(c.Audience),
		KeptSeconds: c.Kept().Seconds(), DeadLettersKeptSeconds: c.DeadLettersKept.Seconds(),
	}
	if c.Depth != nil {
		for _, p := range c.Depth.Partitions {
			one := partition{Partition: p.Partition, Waiting: p.Waiting}
			if s := p.Oldest.Seconds(); s >= 0 {
				one.OldestSeconds = &s
			}
			v.Partitions = append(v.Partitions, one)
		}
	}
	if c.Payloads != nil {
		v.Payloads = &payloads{Bucket: c.Payloads.Bucket, Prefix: c.Payloads.Prefix}
		if c.Payloads.Days >= 0 {
			v.Payloads.Days = &c.Payloads.Days
		}
	}
	for _, r := range readings(c.Activity) {
		if v.LastHour == nil {
			v.LastHour = map[string]int64{}
		}
		v.LastHour[r.name] = r.value
	}
	for i := range c.Related {
		v.Related = append(v.Related, ListedOf(&c.Related[i], false))
	}
	for _, err := range c.Problems {
		v.Problems = append(v.Problems, err.Error())
	}
	return v
}

// payloads is where the bodies of large messages are.
type payloads struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix"`
	Days   *int   `json:"lifecycle_days,omitempty"` // 0: nothing deletes them
}

type partition struct {
	Partition     int32    `json:"partition"`
	Waiting       int64    `json:"waiting"`
	OldestSeconds *float64 `json:"oldest_seconds,omitempty"`
}

// timeline is the last hour in steps, the oldest first; null is unknown.
type timeline struct {
	StepSeconds float64    `json:"step_seconds"`
	Sent        []*float64 `json:"sent_per_second,omitempty"`
	Done        []*float64 `json:"done_per_second,omitempty"`
	Waiting     []*float64 `json:"waiting,omitempty"`
}

// consumers are who consumes a channel.
type consumers struct {
	Told      bool       `json:"told"` // whether the service tells who receives
	Members   []member   `json:"members,omitempty"`
	Asked     bool       `json:"asked"` // whether processes were asked
	Processes []consumer `json:"processes,omitempty"`
}

type member struct {
	ID         string  `json:"id"`
	Client     string  `json:"client,omitempty"`
	Host       string  `json:"host,omitempty"`
	Partitions []int32 `json:"partitions,omitempty"`
}

// consumer is what a process holds.
type consumer struct {
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	State    string    `json:"state"`
	Workers  int       `json:"workers"`
	Held     int       `json:"held"`
	Waiting  int       `json:"waiting"`
	Retrying int       `json:"retrying"`
	Handled  int64     `json:"handled"`
	Retried  int64     `json:"retried"`
	Rejected int64     `json:"rejected"`
	Running  []running `json:"running,omitempty"`
}

type running struct {
	ID      string    `json:"id"`
	Attempt int       `json:"attempt"`
	Since   time.Time `json:"since"`
}

func newConsumers(a *describe.Audience) *consumers {
	if a == nil {
		return nil
	}
	v := &consumers{Told: a.Told, Asked: a.Asked}
	for _, m := range a.Members {
		v.Members = append(v.Members, member(m))
	}
	for _, h := range a.Holders {
		one := consumer{
			Host: h.Host, PID: h.PID, State: h.State, Workers: h.Workers, Held: h.Held, Waiting: h.Waiting,
			Retrying: h.Retrying, Handled: h.Handled, Retried: h.Retried, Rejected: h.Rejected,
		}
		for _, r := range h.Running {
			one.Running = append(one.Running, running{r.ID, r.Attempt, r.Since})
		}
		v.Processes = append(v.Processes, one)
	}
	return v
}

func newTimeline(t *describe.Timeline) *timeline {
	if t == nil {
		return nil
	}
	nullable := func(all []float64) (values []*float64) {
		for _, v := range all {
			if math.IsNaN(v) {
				values = append(values, nil)
			} else {
				values = append(values, &v)
			}
		}
		return values
	}
	return &timeline{describe.Step.Seconds(), nullable(t.Sent), nullable(t.Done), nullable(t.Waiting)}
}

// settingsOf are the settings by their names.
func settingsOf(c *describe.Channel) map[string]string {
	all := map[string]string{}
	for _, s := range c.Settings {
		all[s.Name] = s.Value
	}
	return all
}

// sentences are the statements of a policy.
func sentences(all []describe.Statement) (texts []string) {
	for _, s := range all {
		texts = append(texts, s.String())
	}
	return texts
}

// known is a number of the last hour.
type known struct {
	name  string
	value int64
}

// readings are the numbers that are known.
func readings(a *driver.Activity) (all []known) {
	if a == nil {
		return nil
	}
	for _, r := range []struct {
		name string
		of   driver.Reading[int64]
	}{
		{"sent", a.Sent},
		{"received", a.Received},
		{"done", a.Deleted},
		{"delivered", a.Delivered},
		{"failed", a.Failed},
		{"consumers", a.Consumers},
	} {
		if r.of.Known() {
			all = append(all, known{r.name, r.of.Value})
		}
	}
	return all
}

func asListed(c *describe.Channel) *ops.Listed {
	l := &ops.Listed{ChannelInfo: c.ChannelInfo}
	if c.Depth != nil {
		l.Depth = *c.Depth
	}
	return l
}
