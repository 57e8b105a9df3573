package later

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/deathkind"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// Times between two looks for the queue of a channel that has none, for Waker.Looks. More looks for ticks would be a
// cost of every consumer, most of which have no schedules.
const (
	LooksForMessages = 10 * time.Minute
	LooksForTicks    = 30 * time.Minute
)

const (
	// looksFirst is the time between the first looks of a Waker with Soon.
	looksFirst = 10 * time.Second
	// longestHide is how long SQS hides a message at most, counted from its receive, with a margin.
	longestHide = 12*time.Hour - time.Minute
	// holdsFrom: a message that is due sooner is held.
	holdsFrom = 2 * time.Second
	// arrives is how long before its time a hidden message is visible again, at least: a receive takes a moment, and
	// all messages of a key that are due together have to be held before the first one is sent on. SQS hides for whole
	// seconds, so it can be a second more.
	arrives = time.Second
	// oldest is the age from which a message is sent again. SQS keeps it for 14 days, and nobody may receive from the
	// queue for some of them.
	oldest = 7 * 24 * time.Hour
	// spread is how much shorter than the longest delay of the service one may be, so that messages that were sent
	// together are not received together every 15 minutes.
	spread = 5 * time.Minute
	// retries is the time after which a message is tried again that can neither be sent nor rejected.
	retries = 15 * time.Minute
	// atOnce is how many batches are received at the same time, and how many are sent, where order does not matter.
	atOnce = 8
	// helpsFor is how long a poll waits that helps the first one, so that few are open when a consumer stops.
	helpsFor = time.Second
	// gathersFor is how long a message that is to be sent again waits for others that share its request, if it is due
	// much later.
	gathersFor = 5 * time.Second
	// settleFor bounds the calls at the end.
	settleFor = 5 * time.Second
	// remembered is how many messages are known whose copy was sent and that could not be deleted.
	remembered = 10_000
	saysEvery  = time.Minute
)

// Waker sends on the messages of one channel that have waited until they are due.
type Waker struct {
	Of      driver.Channel // a one-to-one channel or an exchange
	Clients *client.Clients
	Queues  *estate.LaterQueues
	// Looks is the longest time between two looks for the queue, while there is none. Soon: the first message may be
	// due soon after the queue is made, so the time between two looks grows with the time since the first look.
	Looks time.Duration
	Soon  bool
	// Read reads a message of these queues: wire.ReadWaiting or wire.ReadTick.
	Read    func(m *wire.Message, of driver.Channel) (wire.Waiting, error)
	Arbiter *Arbiter // nil: messages that can be cancelled are left to other wakers
	// To opens a sender to the channel, and Back one to the queue in which its messages wait.
	To   func(ctx context.Context) (driver.Forwarder, error)
	Back func(ctx context.Context, q *estate.Queue) (driver.Forwarder, error)
	// Reject copies a message to dead letters.
	Reject func(ctx context.Context, m *wire.Message, death *driver.Death) error
	Log    *slog.Logger
	// Early is how long before its time a message is sent on, because the channel's own delay counts, too.
	Early time.Duration

	mu   sync.Mutex
	said time.Time                 // when it last logged
	sent map[string]struct{}       // ids of messages that are to be deleted, and not sent once more
	to   map[bool]driver.Forwarder // open senders: true to the channel, false back to the queue
}

// Run wakes messages until ctx ends. It polls only if the queue exists.
func (w *Waker) Run(ctx context.Context) {
	w.sent, w.to = map[string]struct{}{}, map[bool]driver.Forwarder{}
	for {
		q := w.find(ctx)
		if q == nil {
			break
		}
		w.work(ctx, &queue{q, w.Clients})
	}
	for _, to := range w.to {
		_ = to.Close(ctx) // it waits for nothing
	}
}

// find waits until the queue exists; nil: ctx has ended.
func (w *Waker) find(ctx context.Context) *estate.Queue {
	began := time.Now()
	denied := false // that is said once: most consumers have no delayed messages
	for first := true; !client.Over(ctx); first = false {
		made := w.Queues.Made(w.Of)
		if !first || !w.Queues.Lacks(w.Of) {
			q, err := w.Queues.Known(ctx, w.Of)
			if err == nil {
				return q
			}
			if !denied && !gone(err) && !driver.ClassOf(err).Passing() {
				denied = true
				w.say("looking for delayed messages failed; this consumer does not wake them", err)
			}
		}
		every := w.Looks
		if w.Soon {
			every = min(max(time.Since(began), looksFirst), w.Looks)
		}
		select {
		case <-time.After(every):
		case <-made:
		case <-ctx.Done():
		}
	}
	return nil
}

// work wakes messages until ctx ends or the queue is deleted.
func (w *Waker) work(ctx context.Context, q *queue) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := &stint{waker: w, queue: q, held: newHeld(), helpers: make(chan struct{}, atOnce-1)}
	s.tasks.Go(func() { w.send(ctx, q, s.held) })
	for fails := 1; s.held.room(ctx); {
		wait := client.MaxWait
		if s.gathers() {
			wait = helpsFor
		}
		_, err := s.take(ctx, wait)
		switch {
		case err == nil:
			fails = 1
		case gone(err):
			w.Queues.Forget(w.Of)
			end()
		case !client.Over(ctx):
			w.say("receiving delayed messages failed; it is repeated", err)
			_ = backoff.Sleep(ctx, backoff.Curve{First: time.Second, Max: time.Minute}.Jittered(fails))
			fails++
		}
	}
	s.tasks.Wait()
	w.release(ctx, q, append(s.held.rest(), s.gathered...))
}

// stint is the work of a waker while the queue exists.
type stint struct {
	waker   *Waker
	queue   *queue
	held    *held
	crowd   crowd
	tasks   sync.WaitGroup
	helpers chan struct{} // has a value for each poll that helps

	mu       sync.Mutex
	gathered []item    // to be sent again, with others
	since    time.Time // when the first of them was gathered
}

// take receives once, and decides about what came. After a full batch, another poll helps until less is there.
func (s *stint) take(ctx context.Context, wait time.Duration) (full bool, err error) {
	ms, ahead, err := s.queue.receive(ctx, wait)
	if full = len(ms) == client.MaxBatch; full {
		select {
		case s.helpers <- struct{}{}:
			s.tasks.Go(func() { s.help(ctx) })
		default:
		}
	}
	s.sort(ctx, ms, ahead)
	return full, err
}

func (s *stint) help(ctx context.Context) {
	defer func() { <-s.helpers }()
	for s.held.room(ctx) {
		if full, err := s.take(ctx, helpsFor); !full || err != nil {
			return
		}
	}
}

// sort decides about received messages: those that are due soon are held, and the others are hidden until they are due.
// Old ones are sent again, and also those for which the service might have no room among the hidden ones.
func (s *stint) sort(ctx context.Context, ms []*wire.Message, ahead time.Duration) {
	w, q := s.waker, s.queue
	var soon, early, again, odd, done []item
	var why []error
	now := time.Now()
	for _, m := range ms {
		one, err := w.Read(m, w.Of)
		it := item{one, one.Due.Add(ahead - w.Early), now.Add(lease - settleFor)}
		left := it.due.Sub(now)
		switch {
		case w.wasSent(m):
			done = append(done, it)
		case err != nil && driver.ClassOf(err).Passing():
			w.say("a delayed message cannot be read now; it is received again", err)
		case err != nil:
			odd, why = append(odd, it), append(why, err)
			w.say("a delayed message is rejected", err)
		case left < holdsFrom:
			soon = append(soon, it)
		case now.Add(-ahead).Sub(one.Sent) >= oldest:
			again = append(again, it)
		default:
			early = append(early, it)
		}
	}
	s.held.add(soon...)
	if len(early) > 0 && !s.hide(ctx, early) {
		again = append(again, early...)
	}
	w.deleteSent(ctx, q, done)
	for some := range slices.Chunk(s.gather(again, len(ms) == 0), client.MaxBatch) {
		w.forward(ctx, q, some, false)
	}
	for i := range odd {
		w.reject(ctx, q, &odd[i], why[i])
	}
}

// gather returns the messages that are sent again now. A few of them wait for others, unless no more come: messages
// that were sent in one request are received together, so that they share all their further requests.
func (s *stint) gather(items []item, quiet bool) []item {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var soon []item
	for i := range items {
		switch {
		case items[i].due.Sub(now) < lease:
			soon = append(soon, items[i])
			continue
		case len(s.gathered) == 0:
			s.since = now
		}
		s.gathered = append(s.gathered, items[i])
	}
	n := len(s.gathered)
	if !quiet && now.Sub(s.since) <= gathersFor && !s.crowd.packed() {
		n -= n % client.MaxBatch
	}
	if n > 0 {
		s.since = now
	}
	out := slices.Concat(s.gathered[:n], soon)
	s.gathered = slices.Clone(s.gathered[n:])
	return out
}

// gathers reports whether messages wait for others.
func (s *stint) gathers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.gathered) > 0
}

// hide hides messages until they are due; false: too many are hidden already.
func (s *stint) hide(ctx context.Context, items []item) bool {
	takes, err := s.crowd.takes(ctx, s.queue, len(items))
	if err != nil && !client.Over(ctx) {
		s.waker.say("the number of hidden messages is unknown; the last one is used", err)
	}
	if !takes {
		return false
	}
	now := time.Now()
	err = s.queue.hide(ctx, messages(items), func(i int) time.Duration {
		return max(0, min(items[i].due.Sub(now)-arrives, longestHide-now.Sub(items[i].Asked)))
	})
	if err != nil && !client.Over(ctx) {
		s.waker.say("hiding delayed messages failed; they are received again", err)
	}
	return true
}

// send sends on messages when they are due, until ctx ends.
func (w *Waker) send(ctx context.Context, q *queue, h *held) {
	for !client.Over(ctx) {
		items, wait := h.due(time.Now())
		if len(items) == 0 {
			select {
			case <-time.After(wait):
			case <-h.changed:
			case <-ctx.Done():
			}
			continue
		}
		n := (len(items) + client.MaxBatch - 1) / client.MaxBatch
		most := atOnce
		if w.Of.Ordered {
			most = 1
		}
		_ = client.Concurrently(n, most, func(i int) error {
			some := items[i*client.MaxBatch : min(len(items), (i+1)*client.MaxBatch)]
			if client.Over(ctx) {
				w.release(ctx, q, some)
			} else {
				w.forward(ctx, q, some, true)
			}
			return nil
		})
	}
}

// forward sends messages on, or back to where they wait, and deletes those that were accepted. It is not canceled
// between both: a message that is sent and not deleted comes twice. What fails in passing is received again.
func (w *Waker) forward(ctx context.Context, q *queue, items []item, on bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
	defer cancel()
	to, err := w.open(ctx, q, on)
	if err != nil {
		w.say("a sender for delayed messages cannot be opened; it is repeated", err)
		return
	}
	if on {
		items = w.decided(ctx, q, items)
	}
	// A message waits on in the service, which delays any number of messages. All messages of a batch have one delay,
	// so that they are received together.
	delay := wire.MaxDelay - rand.N(spread)
	var batch []driver.Prepared
	var of []item
	size := 0
	flush := func() {
		if len(batch) > 0 {
			w.sendBatch(ctx, q, to, batch, of)
		}
		batch, of, size = nil, nil, 0
	}
	for i := range items {
		if time.Now().After(items[i].until) {
			continue // it is received again
		}
		if on {
			items[i].Wake()
		}
		p, err := to.Forward(ctx, items[i].Again())
		if err != nil {
			w.failed(ctx, q, &items[i], err)
			continue
		}
		if !on {
			wire.Delay(p, max(0, min(time.Until(items[i].due)-arrives, delay)))
		}
		if lim := to.Limits(); lim.Bytes > 0 && size+p.Size > lim.Bytes {
			flush()
		}
		batch, of, size = append(batch, p), append(of, items[i]), size+p.Size
	}
	flush()
}

// decided returns the messages that are to be sent on. Those that were cancelled are deleted. A message whose decision
// is not known now is received again.
func (w *Waker) decided(ctx context.Context, q *queue, items []item) (on []item) {
	wakes, errs := make([]bool, len(items)), make([]error, len(items))
	_ = client.Concurrently(len(items), client.MaxBatch, func(i int) error {
		if wakes[i] = true; items[i].Cancellable {
			wakes[i], errs[i] = w.Arbiter.wakes(ctx, w.Of, items[i].ID)
		}
		return nil
	})
	var gone []item
	for i := range items {
		switch {
		case errs[i] != nil:
			w.say("a delayed message waits on, because nothing says whether it was cancelled", errs[i])
		case wakes[i]:
			on = append(on, items[i])
		default:
			gone = append(gone, items[i])
		}
	}
	w.deleteSent(ctx, q, gone)
	return on
}

// sendBatch sends messages in one request, and deletes those that were accepted.
func (w *Waker) sendBatch(ctx context.Context, q *queue, to driver.Forwarder, batch []driver.Prepared, of []item) {
	errs := map[int]error{}
	every := make([]int, len(batch))
	for i := range every {
		every[i] = i
	}
	client.Collect(errs, every, to.Send(ctx, batch))
	var accepted []item
	for i := range of {
		if errs[i] == nil {
			accepted = append(accepted, of[i])
		}
	}
	w.deleteSent(ctx, q, accepted)
	for _, i := range failures(errs) {
		w.failed(ctx, q, &of[i], errs[i])
	}
}

// failed rejects a message that its channel will never take. Another failure is repeated, when the message is visible
// again.
func (w *Waker) failed(ctx context.Context, q *queue, it *item, err error) {
	switch driver.ClassOf(err) {
	case driver.Permanent, driver.TooLarge:
		w.reject(ctx, q, it, err)
	case driver.Denied:
		w.say("sending on a delayed message is denied; it is tried again", err)
		if left := time.Until(it.due); left > holdsFrom { // it was to wait on, and would be received every half minute
			_ = q.hide(ctx, []*wire.Message{it.Message}, func(int) time.Duration { return min(left, retries) })
		}
	default:
		w.say("sending on a delayed message failed; it is repeated", err)
	}
}

// reject makes a message a dead letter.
func (w *Waker) reject(ctx context.Context, q *queue, it *item, why error) {
	it.Wake()
	now := time.Now()
	err := w.Reject(ctx, it.Message, &driver.Death{
		Error: why.Error(), Kind: deathkind.Undeliverable, Consumer: "waker", Channel: w.Of.String(),
		First: now, Last: now,
	})
	if err == nil {
		w.deleteSent(ctx, q, []item{*it})
		return
	}
	w.say("a delayed message that its channel does not take cannot be rejected; both are tried again", err)
	_ = q.hide(ctx, []*wire.Message{it.Message}, func(int) time.Duration { return retries })
}

// open returns a sender to the channel, or back to the queue in which its messages wait.
func (w *Waker) open(ctx context.Context, q *queue, on bool) (driver.Forwarder, error) {
	w.mu.Lock()
	to := w.to[on]
	w.mu.Unlock()
	if to != nil {
		return to, nil
	}
	var err error
	if on {
		to, err = w.To(ctx)
	} else {
		to, err = w.Back(ctx, q.Queue)
	}
	if err == nil {
		w.mu.Lock()
		w.to[on] = to
		w.mu.Unlock()
	}
	return to, err
}

// deleteSent deletes messages that were sent on, or cancelled. One that cannot be deleted is received again, and then
// only deleted.
func (w *Waker) deleteSent(ctx context.Context, q *queue, items []item) {
	if len(items) == 0 {
		return
	}
	ms := messages(items)
	err := q.delete(ctx, ms)
	if err != nil {
		w.say("deleting delayed messages that were sent or cancelled failed; it is repeated when they are received again", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, m := range ms {
		if client.EntryErr(err, i) == nil {
			delete(w.sent, aws.ToString(m.MessageId))
		} else if len(w.sent) < remembered {
			w.sent[aws.ToString(m.MessageId)] = struct{}{}
		}
	}
}

func (w *Waker) wasSent(m *wire.Message) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, sent := w.sent[aws.ToString(m.MessageId)]
	return sent
}

// release makes held messages visible for other wakers.
func (w *Waker) release(ctx context.Context, q *queue, items []item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	for first := 0; first < len(items); first += client.MaxBatch {
		some := messages(items[first:min(len(items), first+client.MaxBatch)])
		_ = q.hide(ctx, some, func(int) time.Duration { return 0 }) // otherwise they are visible when their lease ends
	}
}

func messages(items []item) []*wire.Message {
	ms := make([]*wire.Message, len(items))
	for i := range items {
		ms[i] = items[i].Message
	}
	return ms
}

// say logs a failure, once a minute.
func (w *Waker) say(what string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.said) >= saysEvery {
		w.said = now
		w.Log.Warn(what, "channel", w.Of.String(), "queue", w.Queues.Beside(w.Of).String(), "error", err)
	}
}
