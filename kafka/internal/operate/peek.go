package operate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// peekWait is how long the topic may send nothing before a look ends with an error.
	peekWait = 15 * time.Second
	// peekBytes and peekShare bound what a client fetches at once, of all partitions and of each.
	peekBytes, peekShare = 4 << 20, 1 << 20
)

// Peek is driver.Operations.Peek, as kafka.Backend describes it.
func Peek(ctx context.Context, n *Namespace, ch driver.Channel, from driver.PeekFrom, most int,
) ([]driver.Peeked, error) {
	if ch.Later {
		return peekLater(ctx, n, ch, from, most)
	}
	if err := n.Channels.Receives(ch); err != nil {
		return nil, err
	}
	t, err := n.Cluster.Find(ctx, n.Channels.TopicOf(ch))
	if err != nil {
		return nil, err
	}
	looks := []*peek{{n: n, channel: ch, topic: t, from: from, most: max(most, 0)}}
	if ch.DeadLetter {
		former, err := FindFormer(ctx, n, ch)
		if err != nil {
			return nil, err
		}
		looks = slices.Concat(looks, former.looks(from, max(most, 0)))
	}
	if at, ok := wire.ParseHome(from.ID); ok && len(looks) > 1 { // one of them has the first message
		looks = slices.DeleteFunc(looks, func(p *peek) bool { return (p.topic.Name == t.Name) == (at.Topic != t.Name) })
	}
	all := []sight{}
	for _, p := range looks {
		if err := p.measure(ctx); err != nil {
			return nil, err
		}
		if err := p.read(ctx); err != nil {
			return nil, fmt.Errorf("look at topic %s: %w", p.topic.Name, err)
		}
		all = append(all, p.merged()...)
	}
	if len(looks) > 1 {
		slices.SortStableFunc(all, func(x, y sight) int { return x.Timestamp.Compare(y.Timestamp) })
		if extra := max(0, len(all)-max(most, 0)); from.Last {
			all = all[extra:]
		} else {
			all = all[:len(all)-extra]
		}
	}
	if ch.DeadLetter {
		if err := (&originals{cluster: n.Cluster}).completeAll(ctx, all); err != nil {
			return nil, err
		}
	}
	return peekedAll(n, ch, all), nil
}

// peek is a look at the records of one topic.
type peek struct {
	n       *Namespace
	channel driver.Channel
	topic   cluster.Topic
	from    driver.PeekFrom
	most    int
	done    kadm.OffsetResponses     // how far the records are finished; nil: as the group has committed
	ours    func(r *kgo.Record) bool // of a topic with records of others; nil: all records count
	parts   map[int32]*glimpse
}

// glimpse is what a look has seen of one partition.
type glimpse struct {
	low, end int64 // the records that may be returned are between
	from     int64 // where the reading begins
	was      offsets.Commit
	past     *offsets.Past // of the records that are read now; nil: none was read yet
	found    []sight
	cut      bool // records were dropped, because there are enough others
	read     bool // up to the end, or far enough
}

// sight is a record, and how often it was started.
type sight struct {
	*kgo.Record
	attempt int32
}

// measure finds out where the records are that the look may return.
func (p *peek) measure(ctx context.Context) error {
	name := p.topic.Name
	starts, ends, err := p.n.Cluster.Bounds(ctx, cluster.Stable, name)
	if err != nil {
		return err
	}
	var after kadm.ListedOffsets
	if !p.from.Time.IsZero() {
		if after, err = p.n.Cluster.Offsets(ctx, cluster.After(p.from.Time), name); err != nil {
			return err
		}
	}
	done := p.done
	if done == nil {
		if done, err = p.n.committed(ctx, p.channel); err != nil {
			return err
		}
	}
	p.parts = map[int32]*glimpse{}
	for n, start := range starts[name] {
		end, _ := ends.Lookup(name, n)
		g := &glimpse{low: start.Offset, end: end.Offset}
		if c, ok := done.Lookup(name, n); ok && c.Err == nil && !p.from.Finished {
			g.was = offsets.Commit{Offset: c.At, Metadata: c.Metadata}
			g.low = max(g.low, c.At)
		}
		if at, ok := after.Lookup(name, n); ok {
			if at.Offset < 0 {
				at.Offset = g.end // no record is as late
			}
			g.low = max(g.low, at.Offset)
		}
		p.parts[n] = g
	}
	return p.begin(starts)
}

// begin leaves only the partition of the message with which the look begins.
func (p *peek) begin(starts kadm.ListedOffsets) error {
	if p.from.ID == "" {
		return nil
	}
	at, ok := wire.ParseHome(p.from.ID)
	g := p.parts[at.N]
	start, _ := starts.Lookup(p.topic.Name, at.N)
	if !ok || at.Topic != p.topic.Name || g == nil || at.Offset < start.Offset || at.Offset >= g.end {
		return &driver.Error{
			Class: driver.NotFound, Err: fmt.Errorf("topic %s has no record %s", p.topic.Name, p.from.ID),
		}
	}
	g.low = max(g.low, at.Offset)
	p.parts = map[int32]*glimpse{at.N: g}
	return nil
}

// read reads the first records, or the last ones: those in steps that double, because offsets have gaps.
func (p *peek) read(ctx context.Context) error {
	if p.most == 0 {
		return nil
	}
	for span := int64(p.most); ; span *= 2 {
		for n, g := range p.parts {
			from := g.low
			if p.from.Last {
				from = max(g.low, g.end-span)
			}
			// With the last records, a partition is read again from further ahead while it has too few of them.
			g.read = g.low >= g.end || g.past != nil && (g.cut || len(g.found) >= p.most || g.from == g.low)
			if !g.read {
				g.from, g.found = from, nil
				g.past = offsets.NewPast(g.was.Offset, g.was.Metadata, wire.Log(p.topic.ID, n))
			}
		}
		if !p.unread() {
			return nil
		}
		if err := p.pass(ctx); err != nil || !p.from.Last {
			return err
		}
	}
}

// unread reports whether a partition is not read far enough.
func (p *peek) unread() bool {
	for _, g := range p.parts {
		if !g.read {
			return true
		}
	}
	return false
}

// pass reads the partitions that are not read yet.
func (p *peek) pass(ctx context.Context) error {
	from := map[int32]kgo.Offset{}
	for n, g := range p.parts {
		if !g.read {
			from[n] = kgo.NewOffset().At(g.from)
		}
	}
	r, err := p.n.Cluster.Read(map[string]map[int32]kgo.Offset{p.topic.Name: from}, peekWait,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), // a log may end with a control record
		kgo.FetchMaxBytes(peekBytes), kgo.FetchMaxPartitionBytes(peekShare))
	if err != nil {
		return err
	}
	defer r.Close()
	for p.unread() {
		fetches, err := r.Poll(ctx)
		if err != nil {
			return err
		}
		fetches.EachRecord(p.see)
		if p.count() > 2*p.most {
			p.trim()
		}
	}
	return nil
}

// see looks at one record.
func (p *peek) see(r *kgo.Record) {
	g := p.parts[r.Partition]
	if g == nil || g.read {
		return
	}
	g.read = r.Offset+1 >= g.end
	if r.Offset >= g.end || r.Attrs.IsControl() {
		return
	}
	finished, attempt := g.past.Of(r.Offset, r.LeaderEpoch, r.Key)
	if finished && !p.from.Finished || r.Timestamp.Before(p.from.Time) || p.ours != nil && !p.ours(r) {
		return
	}
	g.found = append(g.found, sight{r, attempt})
	if !p.from.Last && len(g.found) == p.most {
		g.read = true
	}
}

func (p *peek) count() (n int) {
	for _, g := range p.parts {
		n += len(g.found)
	}
	return n
}

// trim drops records that are not among the wanted ones, whatever is read later.
func (p *peek) trim() {
	keep := map[int32]int{}
	for _, s := range p.merged() {
		keep[s.Partition]++
	}
	for n, g := range p.parts {
		drop := len(g.found) - keep[n]
		switch {
		case drop == 0:
		case p.from.Last:
			g.found, g.cut = slices.Clone(g.found[drop:]), true
		default:
			clear(g.found[keep[n]:])
			g.found, g.cut, g.read = g.found[:keep[n]], true, true // later ones are even later
		}
	}
}

// merged is the wanted records of those that were found: of all partitions by time, of each in its order.
func (p *peek) merged() []sight {
	left := map[int32][]sight{}
	for n, g := range p.parts {
		left[n] = g.found
	}
	end := func(of []sight) sight {
		if p.from.Last {
			return of[len(of)-1]
		}
		return of[0]
	}
	var out []sight
	for len(out) < p.most {
		best := int32(-1)
		for n, of := range left {
			if len(of) == 0 {
				continue
			}
			if best < 0 {
				best = n
				continue
			}
			x, y := end(of).Timestamp, end(left[best]).Timestamp
			if p.from.Last && x.After(y) || !p.from.Last && x.Before(y) || x.Equal(y) && (n < best) != p.from.Last {
				best = n
			}
		}
		if best < 0 {
			break
		}
		of := left[best]
		out = append(out, end(of))
		if left[best] = of[1:]; p.from.Last {
			left[best] = of[:len(of)-1]
		}
	}
	if p.from.Last {
		slices.Reverse(out)
	}
	return out
}

// peekedAll returns records as deliveries that were not received.
func peekedAll(n *Namespace, ch driver.Channel, seen []sight) []driver.Peeked {
	all := make([]driver.Peeked, len(seen))
	for i, s := range seen {
		all[i] = n.peeked(ch, s.Record)
		all[i].Delivery.Attempt = s.attempt
	}
	return all
}
