package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/console/internal/filter"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
	"github.com/godwitmq/godwit/ops/processes"
)

const (
	// expiresAt is the percentage of the retention from which messages are about to expire.
	expiresAt = 75
	// loudAt is the percentage of a channel's handler time from which one tenant is worth a notice, and loudLeast the
	// handler time from which the percentage says something.
	loudAt    = 60
	loudLeast = 5 * time.Second
)

// notices are the problems that are no channel's alone: stuck handlers, a tenant that takes the time of the others, and
// processes that do not report.
func notices(r *request, seen index, kept *processes.Reports) (all []trouble) {
	if kept == nil {
		return nil
	}
	for _, err := range kept.Problems {
		all = append(all, trouble{warning, chart.Plain(err.Error(), 200), r.c.url("workers")})
	}
	for i := range kept.All {
		process := &kept.All[i]
		for k := range process.Consumers {
			work := &process.Consumers[k]
			if t := stuckIn(work, time.Now()); t.Text != "" {
				t.Href = r.c.url("workers")
				all = append(all, t)
			}
			for _, text := range work.Problems {
				all = append(all, trouble{
					critical, fmt.Sprintf("%s on %s: %s", work.Channel, process.Host, chart.Plain(text, 200)),
					r.c.url("workers"),
				})
			}
			if t := loudIn(r, work, seen); t.Text != "" {
				all = append(all, t)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b trouble) int { return cmp.Compare(b.Severity, a.Severity) })
	return all
}

// stuckIn says how many handlers of a consumer have used more than half of their time.
func stuckIn(work *ops.ConsumerWork, now time.Time) (t trouble) {
	n, longest := 0, time.Duration(0)
	for _, h := range work.Running {
		if age := now.Sub(h.Since); work.Timeout > 0 && age > work.Timeout/2 {
			n++
			longest = max(longest, age)
		}
	}
	if n == 0 {
		return t
	}
	t = trouble{Severity: warning, Text: fmt.Sprintf("%s of %s used more than half of the time, the longest %s of %s",
		plural(int64(n), "handler"), work.Channel, span(longest), span(work.Timeout))}
	if longest > work.Timeout {
		t.Severity = critical
	}
	return t
}

// loudIn says which tenant takes most of a consumer's handler time while messages wait.
func loudIn(r *request, work *ops.ConsumerWork, seen index) (t trouble) {
	spent, sum := spentBy(work, time.Now())
	if len(spent) < 2 || sum < loudLeast {
		return t
	}
	waiting := int64(work.Waiting)
	if w := seen.named(work.Channel); w != nil {
		waiting = max(waiting, w.Waiting)
	}
	if waiting == 0 {
		return t
	}
	for tenant, took := range spent {
		share := percent(int64(took), int64(sum))
		if share < loudAt {
			continue
		}
		t = trouble{Severity: warning, Text: fmt.Sprintf("one tenant takes %d %% of the handler time of %s, and %s wait",
			share, work.Channel, plural(waiting, "message"))}
		if r.may >= LevelBodies {
			t.Text = fmt.Sprintf("tenant %s takes %d %% of the handler time of %s, and %s wait", chart.Plain(tenant, 80), share,
				work.Channel, plural(waiting, "message"))
			t.Href = r.c.url("tenants")
		}
	}
	return t
}

// spentBy is the handler time of each tenant or key of a consumer, of its last ends and of what runs.
func spentBy(work *ops.ConsumerWork, now time.Time) (spent map[string]time.Duration, sum time.Duration) {
	spent = map[string]time.Duration{}
	add := func(tenant, key string, took time.Duration) {
		if name := cmp.Or(tenant, key); name != "" {
			spent[name] += took
			sum += took
		}
	}
	for i := range work.Ends {
		add(work.Ends[i].Tenant, work.Ends[i].OrderKey, work.Ends[i].Took)
	}
	for i := range work.Running {
		add(work.Running[i].Tenant, work.Running[i].OrderKey, max(0, now.Sub(work.Running[i].Since)))
	}
	return spent, sum
}

// retentionOf is how long the service keeps the messages of a channel; 0: without limit; negative: unknown, because a
// topic of Kafka has the default of its brokers.
func retentionOf(c *describe.Channel) time.Duration {
	for name, unit := range map[string]time.Duration{
		"MessageRetentionPeriod": time.Second, c.Address + " retention.ms": time.Millisecond,
	} {
		if n, err := strconv.ParseInt(c.Setting(name), 10, 64); err == nil {
			return time.Duration(max(0, n)) * unit
		}
	}
	return -1
}

// expires reports that the oldest message of a channel is about to expire, and in how long.
func (s *surveyed) expires(w *ops.Watched) (in time.Duration, soon bool) {
	info := s.All[w.Channel.String()]
	if info == nil || w.Oldest <= 0 {
		return 0, false
	}
	retention := retentionOf(info)
	kept := percent(int64(w.Oldest/time.Second), int64(retention/time.Second))
	return max(0, retention-w.Oldest), kept >= expiresAt
}

// shut reports whether a queue got nothing of the messages that its exchange got in the last hour, although it has a
// filter.
func (s *surveyed) shut(w *ops.Watched) (published int64, shut bool) {
	info, got := s.All[w.Channel.String()], s.Acts[w.Channel.String()].Sent
	if info == nil || w.Channel.Exchange == "" || w.Sent > 0 || filterOf(info) == "" {
		return 0, false
	}
	above, ok := s.Acts[driver.Channel{Exchange: w.Channel.Exchange}.String()]
	if _, known := s.Acts[w.Channel.String()]; !ok || !known || !above.Sent.Known() || !got.Known() {
		return 0, false
	}
	return above.Sent.Value, above.Sent.Value > 0 && got.Value == 0
}

// foresee adds what the settings of a channel say about it.
func (one *row) foresee(c *Console, w *ops.Watched, seen index) {
	s := c.estate.kept.Load()
	if s == nil {
		return
	}
	if in, soon := s.expires(w); soon {
		one.Expires = true
		to := one.Messages
		if w.Channel.DeadLetter {
			to = one.Dead
		}
		one.is(critical, to, "the service deletes the oldest message in %s, because its retention ends", span(in))
	}
	if dead := seen[letters(w.Channel)]; dead != nil && !w.Channel.DeadLetter {
		if in, soon := s.expires(dead); soon {
			one.Expires = true
			one.is(critical, one.Dead, "the service deletes the oldest dead letter in %s, because its retention ends",
				span(in))
		}
	}
	if published, shut := s.shut(w); shut {
		one.is(warning, one.Href+"#filter",
			"its exchange got %s in the last hour, and its filter let none of them through",
			plural(published, "message"))
	}
}

// tenantHref leads to the messages of a tenant or key.
func tenantHref(c *Console, channel, tenant string) string {
	return c.url("channel", channel, "messages") + "?filter=" + url.QueryEscape("key:"+filter.Quote(tenant))
}
