package later

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/deathkind"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// batchMost is how many messages one transaction has, and bytesMost about how many bytes.
	batchMost, bytesMost = 1_000, 8 << 20
	// fetchBytes is how much of the log one request reads for the bodies of messages that are due.
	fetchBytes = 1 << 20
	// emptyMost is how many answers of a broker may be empty where there is a record.
	emptyMost = 10
	// rejectAgain is the time after which a message is tried again that can neither be sent nor rejected.
	rejectAgain = 15 * time.Minute
)

// due is a message whose time has come.
type due struct {
	Waiting
	of     *part
	record *kgo.Record // as it waits; nil: the log has it no more
	to     *kgo.Record // what is published; nil: only its wait ends
}

// wake sends on all messages that are due.
func (s *session) wake(ctx context.Context) error {
	for !failure.Over(ctx) {
		f := &fence{group: s.Group, topic: s.topic.Name, topicID: s.topic.ID, offsets: map[int32]int64{}}
		// The generation is read before the partitions: if one of them was lost by then, the generation is over, too.
		f.member, f.generation = s.client.GroupMetadata()
		batch := s.take()
		if len(batch) == 0 {
			return nil
		}
		call, cancel := context.WithTimeout(ctx, callPatience)
		err := s.send(call, batch, f)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// take takes messages that are due, of all partitions.
func (s *session) take() (batch []*due) {
	now := s.now()
	for _, p := range s.own.all() {
		taken := map[uint64]bool{}
		for p.isReady() && len(batch) < s.most {
			w, ok := p.index.Take(now)
			if !ok {
				break
			}
			if !taken[w.id] { // one whose wait has ended early is there twice
				taken[w.id] = true
				batch = append(batch, &due{Waiting: w, of: p})
			}
		}
	}
	return batch
}

// back returns messages to their index.
func back(batch []*due) {
	for _, d := range batch {
		d.of.index.Back(d.Waiting)
	}
}

// send sends messages on in one transaction. After an error all of them are in the index again.
func (s *session) send(ctx context.Context, batch []*due, f *fence) error {
	if f.generation < 0 { // brokers do not compare generations for a commit of no member
		back(batch)
		return errors.New("the member is not in its group")
	}
	err := fetch(ctx, s.Cluster, s.topic, batch)
	if err != nil {
		s.looked = time.Time{} // the leader may be another one
	} else {
		batch, err = s.claim(ctx, batch)
	}
	if err == nil {
		batch, err = s.wakeEach(ctx, batch)
	}
	if err != nil {
		back(batch)
		return err
	}
	var rs []*kgo.Record
	var of []*due
	for _, d := range batch {
		if d.to != nil {
			rs, of = append(rs, d.to), append(of, d)
		}
	}
	for _, d := range batch {
		rs = append(rs, &kgo.Record{Topic: s.topic.Name, Partition: d.of.n, Key: d.record.Key})
		f.offsets[d.of.n] = d.of.next
	}
	if len(rs) == 0 {
		return nil
	}
	refused, err := s.tx.publish(ctx, rs, f)
	if err != nil {
		s.failed(batch, of, refused)
		return err
	}
	for _, d := range batch {
		d.of.index.Done(d.Waiting)
		delete(d.of.refused, d.id)
		delete(d.of.decided, d.id)
	}
	s.most = min(2*s.most, batchMost)
	return nil
}

// claim claims the messages that can be cancelled, and returns the others, and those that are decided. A claimed
// message is in the index again when its claim is read: then it is known which was first, the claim or a cancel. After
// an error it returns all messages.
func (s *session) claim(ctx context.Context, batch []*due) (decided []*due, err error) {
	var claims []*kgo.Record
	var of []*due
	for _, d := range batch {
		if d.record == nil || !wire.Cancellable(d.record) || d.of.decided[d.id] != undecided {
			decided = append(decided, d)
			continue
		}
		id, _ := wire.ParseLaterID(d.record.Key)
		claims = append(claims, &kgo.Record{
			Topic: s.topic.Name, Partition: d.of.n, Key: wire.Claim(id),
			Value: strconv.AppendInt(nil, wire.WaitsUntil(d.record).UnixMilli(), 10),
		})
		of = append(of, d)
	}
	for _, err := range s.Produce.Produce(ctx, claims) {
		if err != nil {
			return batch, fmt.Errorf("claim a message that can be cancelled: %w", err)
		}
	}
	for i, d := range of {
		d.of.claimed = append(d.of.claimed, claimed{d.Waiting, claims[i].Offset})
	}
	return decided, nil
}

// failed returns messages whose transaction failed. Whether it was committed shows the log, which is read up to another
// record of this owner. A refusal counts for a message that was alone.
func (s *session) failed(batch, of []*due, refused []error) {
	back(batch)
	for _, d := range batch {
		d.of.ready = -1
	}
	for i, d := range of {
		if i >= len(refused) || !isRefusal(refused[i]) {
			continue
		}
		if s.most = 1; len(batch) == 1 {
			d.of.refuse(d.id, refused[i])
		}
	}
}

// refusals are the errors of a broker about a record that it never takes. All others are about the transaction, the
// topic or the broker.
var refusals = []error{
	kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.PolicyViolation,
}

func isRefusal(err error) bool {
	return slices.ContainsFunc(refusals, func(one error) bool { return errors.Is(err, one) })
}

func (p *part) refuse(id uint64, why error) {
	if p.refused == nil {
		p.refused = map[uint64]error{}
	}
	p.refused[id] = why
}

// wakeEach decides what is published for each message, and returns the messages whose wait ends. After an error it
// returns all of them.
func (s *session) wakeEach(ctx context.Context, batch []*due) (ends []*due, err error) {
	var kept []*due
	bytes := 0
	for i, d := range batch {
		if bytes > bytesMost {
			back(batch[i:])
			break
		}
		if d.record == nil {
			d.of.index.Done(d.Waiting)
			continue
		}
		keep := false
		if d.to, keep, err = s.woken(ctx, d); err != nil {
			return batch, err
		}
		if keep {
			kept = append(kept, d)
			continue
		}
		bytes += wire.Size(d.record)
		ends = append(ends, d)
	}
	for _, d := range kept {
		d.Due = s.now() + rejectAgain.Milliseconds()
		delete(d.of.refused, d.id) // by then, the channel may take it
	}
	back(kept)
	if len(kept) > 0 && s.to != nil { // the next sender learns what the channel takes then
		_ = s.to.Close(ctx)
		s.to = nil
	}
	return ends, nil
}

// woken is what is published for a message: its record, or its dead letter, or nothing. kept: it goes on waiting,
// because it can neither be sent nor rejected.
func (s *session) woken(ctx context.Context, d *due) (r *kgo.Record, kept bool, err error) {
	if d.of.decided[d.id] == cancelled {
		return nil, false, nil
	}
	r = wire.Woken(d.record, s.Target)
	why := d.of.refused[d.id]
	if why == nil {
		if s.to == nil {
			if s.to, err = s.To(ctx); err != nil {
				return nil, false, err
			}
			if s.to.Most != s.limit { // a client goes on with the limit that it knew at first
				s.tx.drop()
				s.limit = s.to.Most
			}
		}
		why = s.to.Complete(ctx, r, &driver.Forward{})
		switch class := driver.ClassOf(why); {
		case why == nil:
			return r, false, nil
		case class != driver.Permanent && class != driver.TooLarge:
			return r, false, why
		}
	}
	why = fmt.Errorf("channel %s does not take a message whose time has come: %w", s.Of, why)
	if s.Reject == nil {
		s.say("a message that waits can neither be sent on nor rejected; both are tried again", why)
		return nil, true, nil
	}
	now := time.Now()
	// A position in its topic is one of another record, but the partition of its dead letter is the same each time.
	r.Partition, r.Offset, r.Timestamp = d.of.n, d.Offset, d.record.Timestamp
	letter, err := s.Reject(ctx, r, &driver.Death{
		Error: why.Error(), Kind: deathkind.Undeliverable, Consumer: "waker", Channel: s.Of.String(),
		First: now, Last: now,
	})
	return letter, false, err
}
