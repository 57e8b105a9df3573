package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/ops/internal/calling"
)

const (
	// sweepDay is how long an exchange must not have been used.
	sweepDay = 24 * time.Hour
	// countsAgain is how much later messages are counted a second time. SQS's counts are right a minute after the last
	// send.
	countsAgain = time.Minute
)

// SweepOptions are the options of Sweep. The zero value reports on all channels, and deletes nothing.
type SweepOptions struct {
	// Owner is whose channels are swept, by their tag owner. Set it to delete; without it, Sweep only reports. "": the
	// report is about all channels.
	Owner string
	// Yes deletes what is unused, at once. Set it by hand, after a look at the report without it.
	Yes bool
	// Scheduled announces what is unused, and deletes what an earlier run has announced. Set it in a program that
	// sweeps daily. It needs State.
	Scheduled bool
	// Only are names of channels: no others are deleted. Set it to what a report without Yes has shown, so that nothing
	// is deleted that nobody has seen there. nil: all that are unused.
	Only []string
	// Untagged permits to delete channels of a service without tags (topics of Kafka), because nothing says who has
	// made or who owns them. Set it with Yes or Scheduled, and a State, after a look at the report.
	Untagged bool
	// State remembers what was announced, and since when channels are known whose age the service does not tell. Set it
	// to the same one in every run of one owner. nil: nothing is remembered.
	State State
	// Journal is where all that is deleted is described before, for Undo. Set it to keep the journals of all runs in
	// one place. nil: a file godwit-sweep-TIME.journal in the working directory, if anything is deleted.
	Journal SweepJournal
	// Notifiers are told what the report has, unless that is nothing. Set them in a program that sweeps by schedule.
	Notifiers []Notifier
	// Name says in notices whose channels these are, such as aws prod. Set it where several programs tell the same
	// people. "": godwit.
	Name string
	// Flags are added to the commands in notices, such as --namespace prod. Set them to those that the people who are
	// told need to reach the same channels.
	Flags string
}

func (o *SweepOptions) check() error {
	switch {
	case o.Yes && o.Scheduled:
		return errors.New("ops: SweepOptions has both Yes and Scheduled: set Yes to delete at once, or Scheduled to " +
			"delete what an earlier run has announced")
	case o.Untagged && o.Owner != "":
		return errors.New("ops: SweepOptions has both Untagged and Owner: without tags, channels have no owner, so leave " +
			"one of them out")
	case o.Untagged && o.State == nil:
		return errors.New("ops: SweepOptions has Untagged and no State: brokers do not tell how old a topic is, so name a " +
			"state, in which sweeps note since when they know it")
	case (o.Yes || o.Scheduled) && o.Owner == "" && !o.Untagged:
		return errors.New("ops: SweepOptions has no Owner: without one, a sweep only reports, so set it to the one whose " +
			"channels may be deleted")
	case o.Scheduled && o.State == nil:
		return errors.New("ops: SweepOptions has Scheduled and no State: set one that remembers what was announced")
	}
	return nil
}

// Sweep finds channels that nobody uses, and deletes them if the options say so: queues to which nothing was sent and
// from which nobody has received for three days, that are empty, and that no used exchange feeds; their dead letters,
// if there are none; and exchanges to which nothing was published for a day, and that feed nothing that stays.
//
// What could not be found out is unknown, and is not deleted. A call wakes its queue, so that the service counts it
// again, and a later run knows more. Whether a queue is empty is counted twice, a minute apart, so a sweep takes that
// long. Nothing is deleted that Godwit has not created, that belongs to another owner, that is younger than three days,
// that has a tag keep, that a topology has declared, or that the backend was told to use. Tags and subscriptions are
// read again before each deletion.
//
// Topics of Kafka have no tags, and brokers count no receives. There, a channel has consumers if a group reads it: one
// with members, or with commits that the brokers still keep. Channels are as old as the State knows them.
//
// An error with a report says what could not be done.
func Sweep(ctx context.Context, b driver.Backend, o *SweepOptions) (*SweepReport, error) {
	s := &sweeper{now: time.Now(), report: SweepReport{Findings: []SweepFinding{}}}
	s.o = *cmp.Or(o, &SweepOptions{})
	if err := s.o.check(); err != nil {
		return nil, err
	}
	s.report.At, s.report.Owner = s.now.UTC(), s.o.Owner
	if err := s.able(b); err != nil {
		return nil, err
	}
	s.memory = sweepMemory{state: s.o.State, owner: s.o.Owner}
	if err := s.memory.recall(ctx); err != nil {
		return nil, err
	}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	s.conclude()
	err := s.act(ctx)
	return &s.report, errors.Join(err, s.tell(ctx))
}

// tell tells the notifiers of the report, with their retries for at most 15 minutes.
func (s *sweeper) tell(ctx context.Context) error {
	n := s.report.notice(cmp.Or(s.o.Name, "godwit"), s.o.Flags)
	if n == nil {
		return nil
	}
	errs := make([]error, len(s.o.Notifiers))
	calling.InParallel(len(errs), func(i int) {
		if _, err := tell(ctx, s.o.Notifiers[i], n); err != nil {
			errs[i] = fmt.Errorf("ops: notifier %d was not told of the sweep: %w", i, err)
		}
	})
	return errors.Join(errs...)
}

// sweeper is one sweep.
type sweeper struct {
	o      SweepOptions
	now    time.Time
	do     driver.Operations
	memory sweepMemory
	facts  []*sweepFacts // of the owner's channels: queues, dead letters, exchanges
	exist  map[driver.Channel]bool
	known  map[string]time.Time        // since when, by address: those whose age the service does not tell
	fed    map[driver.Channel][]string // the subscribers of exchanges
	report SweepReport
	mu     sync.Mutex // guards fed
}

// able checks that the backend can do all that a sweep needs.
func (s *sweeper) able(b driver.Backend) error {
	s.do = driver.OperationsOf(b)
	for _, one := range []struct {
		able bool
		what string
	}{
		{s.do.Catalog != nil, "list its channels"},
		{s.do.Activity != nil, "tell what has happened in them"},
		{s.do.Inspect != nil, "count their messages"},
		{s.do.Remove != nil, "remove them"},
		{s.do.Snapshot != nil, "describe them so that they can be made again"},
	} {
		if !one.able {
			return fmt.Errorf("ops: this backend cannot be swept: it cannot %s", one.what)
		}
	}
	return nil
}

// look finds out all that decides.
func (s *sweeper) look(ctx context.Context) error {
	infos, err := s.do.Catalog(ctx)
	if err != nil {
		return fmt.Errorf("ops: list the channels: %w", err)
	}
	if err := s.take(infos); err != nil {
		return err
	}
	if err := s.measure(ctx); err != nil {
		return err
	}
	s.subscriptions(ctx)
	return s.count(ctx)
}

// take keeps the channels of the owner, in the order in which they can be deleted.
func (s *sweeper) take(infos []driver.ChannelInfo) error {
	s.exist = map[driver.Channel]bool{}
	owners := map[string]bool{}
	for _, info := range infos {
		s.exist[info.Channel] = true
		if info.Tags != nil && s.o.Untagged {
			return fmt.Errorf("ops: SweepOptions has Untagged, and channel %s has tags: set Owner instead", info.Channel)
		}
		if owner := info.Tags[tagOwner]; owner != "" {
			owners[owner] = true
		}
		if s.o.Owner != "" && info.Tags[tagOwner] != s.o.Owner {
			continue
		}
		s.facts = append(s.facts, &sweepFacts{info: info, now: s.now, owner: s.o.Owner, untagged: s.o.Untagged})
	}
	if s.o.Owner != "" && len(s.facts) == 0 {
		return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("ops: no channel has the tag owner=%s; there are "+
			"channels of %s", s.o.Owner, orNobody(slices.Sorted(maps.Keys(owners))))}
	}
	s.seen(infos)
	slices.SortStableFunc(s.facts, func(x, y *sweepFacts) int { return sweepRank(x) - sweepRank(y) })
	s.report.LookedAt = len(s.facts)
	return nil
}

// seen sets since when channels are known whose age the service does not tell. A queue of an exchange proves that the
// exchange is as old: its consumer has created the exchange first.
func (s *sweeper) seen(infos []driver.ChannelInfo) {
	s.known = map[string]time.Time{}
	for _, f := range s.facts {
		if !f.info.Created.IsZero() {
			continue
		}
		since, before := s.memory.Seen[f.info.Address]
		if !before {
			since = s.now
		}
		for _, info := range infos {
			ch := info.Channel
			if f.info.Channel.Role() == driver.RoleExchange && ch.Role() == driver.RoleQueue &&
				exchangeOf(ch) == f.info.Channel && !info.Created.IsZero() && info.Created.Before(since) {
				since = info.Created
			}
		}
		f.seen, s.known[f.info.Address] = since, since
	}
}

func orNobody(owners []string) string {
	if len(owners) == 0 {
		return "nobody"
	}
	return strings.Join(owners, ", ")
}

// sweepRank orders channels for their deletion: what depends on another one goes first.
func sweepRank(f *sweepFacts) int {
	switch f.info.Channel.Role() {
	case driver.RoleQueue:
		return 0
	case driver.RoleDeadLetters, driver.RoleLater:
		return 1
	}
	return 2
}

func exchangeOf(ch driver.Channel) driver.Channel {
	return driver.Channel{Exchange: ch.Exchange, Ordered: ch.Ordered}
}

// measure asks what has happened in queues within the window, and in exchanges within a day.
func (s *sweeper) measure(ctx context.Context) error {
	var queues, exchanges []driver.Channel
	at := map[driver.Channel]int{}
	for _, f := range s.facts {
		ch := f.info.Channel
		if ch.Queue != "" {
			queues = append(queues, ch)
		}
		if e := exchangeOf(ch); e.Exchange != "" {
			if _, there := at[e]; !there {
				at[e] = len(exchanges)
				exchanges = append(exchanges, e)
			}
		}
	}
	of, err := s.do.Activity(ctx, queues, s.now.Add(-SweepWindow))
	var days []driver.Activity
	if err == nil {
		days, err = s.do.Activity(ctx, exchanges, s.now.Add(-sweepDay))
	}
	if err != nil {
		return fmt.Errorf("ops: ask what has happened in the channels: %w", err)
	}
	if len(of) != len(queues) || len(days) != len(exchanges) {
		return fmt.Errorf("ops: the backend has answered %d of %d questions about queues and %d of %d about exchanges",
			len(of), len(queues), len(days), len(exchanges))
	}
	for _, f := range s.facts {
		ch := f.info.Channel
		if ch.Queue == "" {
			f.activity = days[at[ch]]
			continue
		}
		f.activity, of = of[0], of[1:]
		if ch.Exchange != "" {
			f.topic = &days[at[exchangeOf(ch)]]
		}
	}
	return nil
}

// subscriptions asks for the subscribers of exchanges that are not used, or not known to be. The call wakes them, too.
func (s *sweeper) subscriptions(ctx context.Context) {
	s.fed = map[driver.Channel][]string{}
	calling.InParallel(len(s.facts), func(i int) {
		f := s.facts[i]
		if f.info.Channel.Role() != driver.RoleExchange {
			return
		}
		if class, _ := f.classify(); class == SweepUsed {
			return
		}
		snap, err := s.do.Snapshot(ctx, f.info.Channel)
		f.othersErr = err
		s.mu.Lock()
		s.fed[f.info.Channel] = snap.Subscribers
		s.mu.Unlock()
	})
}

// count counts the messages of unused queues and of their dead letters, twice. A queue that is unknown is called once,
// which wakes it.
func (s *sweeper) count(ctx context.Context) error {
	s.sources(true)
	var twice, once, kept []*sweepFacts
	for _, f := range s.facts {
		if f.info.Channel.Queue == "" {
			continue
		}
		switch class, _ := f.assumedEmpty(); class {
		case SweepUnused:
			twice = append(twice, f)
		case SweepKept:
			kept = append(kept, f)
		case SweepUnknown:
			once = append(once, f)
		}
	}
	inspect := func(f *sweepFacts) {
		d, err := s.do.Inspect(ctx, f.info.Channel)
		if err != nil {
			f.depthErr = err
			return
		}
		f.depths = append(f.depths, d)
	}
	inspectAll := func(of []*sweepFacts) {
		calling.InParallel(len(of), func(i int) { inspect(of[i]) })
	}
	inspectAll(once)
	inspectAll(kept)
	for _, f := range kept {
		f.depths = append(f.depths, f.depths...) // one count is enough for what is not deleted
	}
	inspectAll(twice)
	if len(twice) == 0 {
		return ctx.Err()
	}
	if err := backoff.Sleep(ctx, countsAgain); err != nil {
		return err
	}
	inspectAll(twice)
	return ctx.Err()
}

// assumedEmpty is the class if there are no messages.
func (f *sweepFacts) assumedEmpty() (SweepClass, string) {
	g := *f
	g.depths, g.depthErr = make([]driver.Depth, 2), nil
	return g.classify()
}

// sources says what becomes of the channels of dead letters, and of messages that wait for their time.
func (s *sweeper) sources(assumedEmpty bool) {
	classes := map[driver.Channel]SweepClass{}
	for ch := range s.exist {
		classes[ch] = SweepUsed // another owner's channel stays
	}
	for _, f := range s.facts {
		switch {
		case f.info.Channel.DeadLetter:
			ch := f.info.Channel
			ch.DeadLetter = false
			f.source = classes[ch]
		case f.info.Channel.Beside(): // the class of its exchange is not known yet
		case assumedEmpty:
			classes[f.info.Channel], _ = f.assumedEmpty()
		default:
			classes[f.info.Channel], _ = f.classify()
		}
	}
	for _, f := range s.facts {
		if f.info.Channel.Beside() {
			f.source = classOfLater(classes, f.info.Channel)
		}
	}
}

// waits is what waits for its time beside a channel or an exchange; "": nothing does.
func (s *sweeper) waits(of driver.Channel) string {
	if of.Beside() || of.DeadLetter || of.Exchange != "" && of.Queue != "" {
		return ""
	}
	for _, f := range s.facts {
		if !f.info.Channel.Beside() || f.info.Channel.Queue != cmp.Or(of.Exchange, of.Queue) {
			continue
		}
		if class, _ := f.classify(); class != SweepUnused && class != SweepUsed && class != SweepKept {
			return f.info.Channel.String()
		}
	}
	return ""
}

// classOfLater is the class of the channel, or the exchange, whose messages wait for their time. They are used if it is
// not known to be unused.
func classOfLater(classes map[driver.Channel]SweepClass, later driver.Channel) (class SweepClass) {
	for _, ordered := range []bool{false, true} {
		for _, ch := range []driver.Channel{
			{Queue: later.Queue, Ordered: ordered}, {Exchange: later.Queue, Ordered: ordered},
		} {
			if of, there := classes[ch]; there {
				class = of
			}
		}
	}
	return class
}

// conclude classifies all channels, and reports those that are not used.
func (s *sweeper) conclude() {
	s.sources(false)
	goes := map[string]bool{}
	for _, f := range s.facts {
		for _, address := range s.fed[f.info.Channel] { // exchanges come last
			if !goes[address] {
				f.others = append(f.others, address)
			}
		}
		class, why := f.classify()
		if later := s.waits(f.info.Channel); class == SweepUnused && later != "" {
			class, why = SweepStale, "it is not used, and messages may wait in "+later
		}
		if class == SweepUnused {
			goes[f.info.Address] = true
		}
		if class != SweepUsed {
			s.report.Findings = append(s.report.Findings, SweepFinding{
				Channel: f.info.Channel.String(), Role: f.info.Channel.Role().String(), Address: f.info.Address,
				Owner: f.info.Tags[tagOwner], Class: class, Reason: why, info: f.info,
			})
		}
	}
}
