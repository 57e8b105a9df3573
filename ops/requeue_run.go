package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/calling"
	"github.com/godwitmq/godwit/ops/internal/walk"
)

// requeue is one run of Requeue.
type requeue struct {
	o       RequeueOptions
	from    driver.Channel
	dest    driver.Channel
	to      driver.Forwarder
	began   time.Time
	walk    *walk.Walk
	journal *Journal
	moved   lineage

	mu      sync.Mutex
	result  RequeueResult
	sending int64           // messages that are chosen, and not sent yet
	blocked map[string]bool // order keys that a message that stays has
}

// outgoing is a message that is sent.
type outgoing struct {
	driver.Delivery
	lane     string // its order key; "": it has none, and order does not matter
	prepared driver.Prepared
	edited   bool
	expired  bool
	again    bool // an earlier run may have sent it
}

// run walks through the source.
func (r *requeue) run(ctx context.Context, b driver.Backend) (err error) {
	defer func() { err = errors.Join(err, r.to.Close(context.WithoutCancel(ctx))) }()
	r.blocked = map[string]bool{}
	if r.walk, err = walk.Open(ctx, b, r.from, r.o.Hold); err != nil {
		return err
	}
	if r.o.Journal != "" && !r.o.Dry {
		if r.journal, err = OpenJournal(r.o.Journal, r.from.String(), r.result.To); err != nil {
			return errors.Join(err, r.walk.Receiver().Close(ctx))
		}
	}
	err = r.walk.Run(ctx, walk.Plan{
		PerSecond: r.o.PerSecond, Visit: r.visit, Again: r.finish, Late: r.late, Enough: r.enough,
	})
	if ended := r.ended(context.WithoutCancel(ctx)); err == nil {
		err = ended
	}
	r.progress()
	return errors.Join(err, r.closeJournal(err))
}

// ended completes the result of a run that has ended, and returns an error if messages were not seen.
func (r *requeue) ended(ctx context.Context) error {
	unseen, inFlight, err := r.walk.Unseen(ctx)
	enough := r.enough()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count()
	r.result.Stay.Unlooked = unseen
	if r.walk.Limits().Keeps {
		inFlight = unseen // a log returns everything, unless another consumer has its partition
	}
	e := &UnseenError{
		Channel: r.from.String(), Messages: inFlight,
		After: max(walk.LeaseFor(inFlight), r.walk.Limits().Handover),
	}
	switch {
	case err != nil || enough:
		return err
	case r.result.Windows > 1:
		e.Messages, e.Hold, e.After = unseen, r.o.Hold, 0
	case inFlight == 0:
		return nil
	}
	return e
}

// late reports whether a message died after the run had begun. The times are of the clocks of several machines, so a
// message also counts that the run has sent, and that has died again. A queue's own time of the dead letter counts if
// it is earlier than the consumer's; a log's is the time of the original.
func (r *requeue) late(d *driver.Delivery) bool {
	died := d.SentAt
	if d.Origin != nil {
		if last := d.Origin.Death.Last; !last.IsZero() && (last.Before(died) || r.walk.Limits().Keeps) {
			died = last
		}
	}
	return died.After(r.began) || d.Origin != nil && r.moved.has(d.Origin.Earlier)
}

// lineage is the ids of the messages that the sent dead letters were of: a dead letter with one of them in its history
// was sent by this run.
type lineage struct {
	mu      sync.Mutex
	origins walk.IDs
}

func (l *lineage) add(o *driver.Origin) {
	if o == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.origins.Add(o.ID)
}

func (l *lineage) has(ids []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(ids, l.origins.Has)
}

// closeJournal deletes the journal if nothing in it matters any more.
func (r *requeue) closeJournal(err error) error {
	if r.journal == nil {
		return nil
	}
	// The deletions of a log are complete when the receiver is closed, which was without an error. What an earlier run
	// has noted matters until it was looked at, or nothing is left.
	done := len(r.journal.Open()) == 0
	if r.walk.Limits().Keeps {
		done = r.result.Stay.Unlooked == 0 || r.journal.lookedAt()
	}
	if err == nil && len(r.result.Doubled) == 0 && done {
		return r.journal.Remove()
	}
	return r.journal.Close()
}

// enough reports whether as many messages as wanted were sent.
func (r *requeue) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.o.Most > 0 && r.result.Moved >= int64(r.o.Most)
}

// count updates what the walk counts. The caller holds the lock.
func (r *requeue) count() {
	c := r.walk.Counts()
	r.result.Looked, r.result.Windows, r.result.Took = c.Looked, c.Windows, time.Since(r.began)
	r.result.Stay.Later = c.Later
}

// progress tells how far the run is. The caller holds the lock, or is alone.
func (r *requeue) progress() {
	if r.o.Progress != nil {
		r.o.Progress(&r.result)
	}
}

// visit decides about messages, and sends the chosen ones. It returns those that stay.
func (r *requeue) visit(ctx context.Context, ds []driver.Delivery) (stay []driver.Delivery, err error) {
	var chosen []outgoing
	for i := range ds {
		if r.walk.Over() {
			r.walk.Leave(len(ds) - i)
			stay = append(stay, ds[i:]...)
			break
		}
		if r.journal.known(ds[i].ID) == journalSent { // by a run that ended before it was deleted
			if err := r.finish(ctx, ds[i:i+1]); err != nil {
				return append(stay, ds[i:]...), err
			}
			continue
		}
		p := outgoing{Delivery: ds[i], again: r.journal.known(ds[i].ID) == journalSending}
		if r.stays(ctx, &p) {
			stay = append(stay, ds[i])
		} else {
			chosen = append(chosen, p)
		}
	}
	rest, err := r.send(ctx, chosen)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count()
	r.progress()
	return append(stay, rest...), err
}

// stays decides whether a message stays, and counts why. Otherwise it prepares the message.
func (r *requeue) stays(ctx context.Context, p *outgoing) bool {
	e := Entry{Delivery: p.Delivery}
	r.walk.Receiver().As(p.Handle, &e.Raw) // without, the sender refuses it
	ordered := true
	switch {
	case r.from.Ordered:
		p.lane = "key " + e.OrderKey
	case r.walk.Limits().Keeps && e.Raw.Key != nil:
		p.lane = "key " + string(e.Raw.Key)
	default:
		ordered = false
	}
	selected, err := r.o.Select.Selects(ctx, &e, time.Now())
	var edited []byte
	if err == nil && selected {
		edited, err = r.prepareOne(ctx, p, &e)
	}
	p.edited, p.expired = edited != nil, e.Expired(time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	count := &r.result.Stay
	switch {
	case ordered && r.blocked[p.lane]:
		count.Behind++
	case err != nil && r.walk.Over(): // the edit was interrupted
		r.walk.Leave(1)
	case err != nil:
		r.refuse(err)
	case !selected:
		count.NotSelected++
	case r.o.MaxDeaths > 0 && e.Origin != nil && e.Origin.Deaths >= r.o.MaxDeaths:
		count.TooOften++
	case r.o.Most > 0 && r.result.Moved+r.sending >= int64(r.o.Most):
		count.TooMany++
	case r.o.Dry:
		r.moves(p)
		return true // without blocking its key
	default:
		r.sending++
		return false
	}
	if ordered {
		r.blocked[p.lane] = true
	}
	return true
}

// prepareOne edits a message, and prepares it for the destination unless the run is dry. It returns the new body if
// that differs from the old one.
func (r *requeue) prepareOne(ctx context.Context, p *outgoing, e *Entry) (edited []byte, err error) {
	f := driver.Forward{
		Raw: e.Raw, ID: e.ID, Revive: r.from.DeadLetter && !r.dest.DeadLetter,
		First: e.First, Renew: r.o.RenewExpiry,
	}
	if r.o.Edit != nil {
		body, err := e.Content(ctx)
		if err != nil {
			return nil, err
		}
		was := string(body) // Edit may change it in place
		body, err = r.o.Edit(body)
		if err != nil {
			return nil, fmt.Errorf("message %s: edit: %w", e.ID, err)
		}
		if string(body) != was {
			f.Edited, f.Body = true, append([]byte{}, body...)
			r.sample(e.ID, was, f.Body)
		}
	}
	if r.o.Dry {
		return f.Body, nil
	}
	if p.prepared, err = r.to.Forward(ctx, &f); err != nil {
		return nil, fmt.Errorf("message %s: %w", e.ID, err)
	}
	return f.Body, nil
}

// sample keeps the first message that was edited.
func (r *requeue) sample(id, before string, after []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result.Sample == nil {
		r.result.Sample = &RequeueSample{id, []byte(before), after}
	}
}

// refuse counts a message that cannot be sent. The caller holds the lock.
func (r *requeue) refuse(err error) {
	r.result.Stay.Refused++
	if len(r.result.Refused) < refusedMost {
		r.result.Refused = append(r.result.Refused, err)
	}
}

// send sends messages, in rounds in which each order key occurs once. It returns those that stay.
func (r *requeue) send(ctx context.Context, all []outgoing) (stay []driver.Delivery, err error) {
	for len(all) > 0 {
		if err != nil {
			r.mu.Lock()
			r.sending -= int64(len(all))
			r.mu.Unlock()
			for i := range all {
				stay = append(stay, all[i].Delivery)
			}
			return stay, err
		}
		var round, later []outgoing
		bytes, lim, taken := 0, r.to.Limits(), map[string]bool{}
		for i := range all {
			p := &all[i]
			full := lim.Batch > 0 && len(round) == lim.Batch ||
				lim.Bytes > 0 && len(round) > 0 && bytes+p.prepared.Size > lim.Bytes
			if full || taken[p.lane] {
				later = append(later, *p)
				taken[p.lane] = p.lane != ""
				continue
			}
			taken[p.lane] = p.lane != ""
			round, bytes = append(round, *p), bytes+p.prepared.Size
		}
		var kept []outgoing
		kept, err = r.sendRound(ctx, round)
		all = nil
		for _, p := range kept {
			stay = append(stay, p.Delivery)
		}
		for _, p := range later {
			if p.lane != "" && slices.ContainsFunc(kept, func(k outgoing) bool { return k.lane == p.lane }) {
				stay = append(stay, p.Delivery)
				r.mu.Lock()
				r.result.Stay.Behind++
				r.sending--
				r.mu.Unlock()
				continue
			}
			all = append(all, p)
		}
	}
	return stay, err
}

// sendRound sends messages that do not depend on each other, and finishes the originals of those that were accepted. It
// returns the others.
func (r *requeue) sendRound(ctx context.Context, round []outgoing) (stay []outgoing, err error) {
	if err := r.journal.note(&journalLine{Sending: ids(round)}); err != nil {
		return r.unsent(round, nil), err
	}
	for i := range round { // before the send: a consumer may reject a message before the send is answered
		r.moved.add(round[i].Origin)
	}
	doubtful, errs := r.sendPatiently(ctx, round)
	var sent, refused []outgoing
	var accepted []driver.Delivery
	for i := range round {
		switch one := errs[i]; {
		case one == nil:
			sent, accepted = append(sent, round[i]), append(accepted, round[i].Delivery)
		case driver.ClassOf(one).Passing():
			err = fmt.Errorf("send to %s: %w", r.result.To, one)
			stay = append(stay, r.unsent(round[i:i+1], nil)...)
		default:
			refused = append(refused, round[i])
			stay = append(stay, r.unsent(round[i:i+1], fmt.Errorf("message %s: %w", round[i].ID, one))...)
		}
	}
	r.doubt(sent, doubtful)
	line := &journalLine{Sent: ids(sent), Unsent: ids(refused), Doubled: doubtful}
	if noted := r.journal.note(line); noted != nil {
		err = errors.Join(err, noted)
	}
	return stay, errors.Join(err, r.finish(ctx, accepted))
}

// unsent counts messages that were not sent after all. If they were refused, err is the reason, and their keys are
// blocked.
func (r *requeue) unsent(ps []outgoing, err error) []outgoing {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range ps {
		r.sending--
		if err != nil {
			r.refuse(err)
		}
		if ps[i].lane != "" {
			r.blocked[ps[i].lane] = true
		}
	}
	return ps
}

// doubt counts messages that were sent, and notes which of them may have been sent before: those whose answer was lost,
// and those that an earlier run was sending when it ended.
func (r *requeue) doubt(sent []outgoing, doubtful []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Doubled = append(r.result.Doubled, doubtful...)
	for i := range sent {
		r.sending--
		r.moves(&sent[i])
	}
}

// moves counts a message that is sent, or would be. The caller holds the lock.
func (r *requeue) moves(p *outgoing) {
	r.result.Moved++
	if p.edited {
		r.result.Edited++
	}
	if p.expired {
		r.result.Expired++
	}
}

// sendPatiently sends a round, and repeats what fails for the moment. The result has an error for each message that was
// not sent, and the ids of those that may have been sent twice.
func (r *requeue) sendPatiently(ctx context.Context, round []outgoing) (doubtful []string, errs map[int]error) {
	batch := make([]driver.Prepared, len(round))
	for i := range round {
		batch[i] = round[i].prepared
	}
	sent := calling.Patiently(ctx, batch, r.to.Send)
	for i := range round {
		twice := round[i].again || sent.Unsure[i] && !r.dest.Ordered // an ordered destination removes duplicates
		if twice && sent.Errs[i] == nil {
			doubtful = append(doubtful, round[i].ID)
		}
	}
	return doubtful, sent.Errs
}

// finish finishes messages at the source that stand in the destination.
func (r *requeue) finish(ctx context.Context, sent []driver.Delivery) error {
	done := driver.Settlement{Action: driver.Done, KeepBody: true}
	return r.walk.Finish(ctx, sent, done, func(some []string, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("delete messages of %s that were sent; the journal knows them: %w", r.from, err)
		case r.walk.Limits().Keeps: // a log reports it with a later commit
			return nil
		}
		return r.journal.note(&journalLine{Deleted: some})
	})
}

func ids(ps []outgoing) []string {
	all := make([]string, len(ps))
	for i := range ps {
		all[i] = ps[i].ID
	}
	return all
}
