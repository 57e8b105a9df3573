package sqs

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options are what a Service needs. Clock, Random, Account and Region are required.
type Options struct {
	Clock   *clock.Clock
	Random  *random.Source
	Account string
	Region  string
	// Home is the region whose queues have URLs that name no region; "": no URL names no region.
	Home string
	// AtHome reports whether Home has a queue with a name; nil: it has none.
	AtHome func(name string) bool
	// SingleRegion makes URLs of every region mean this one.
	SingleRegion bool
	Logger       *slog.Logger // nil: logs are discarded
	// Woken is called when a queue that nobody counts has a call or a message; nil: nothing is counted. It may be
	// called with locks of the service and the queue held, and must not call them.
	Woken func(*Queue)
	// RealisticWaits enforces AWS's waits of 60 s between two purges, and before the name of a deleted queue can be
	// used again.
	RealisticWaits bool
	// Leniency delivers also to queues without a policy, and lets callers of other accounts do what no policy denies;
	// nil: policies decide.
	Leniency *access.Leniency
	// Missing is called with the name of a queue that a call names and that does not exist; nil: nobody wants to know.
	Missing func(name string)
	// Store is where the queues are kept; nil: in memory alone.
	Store keep.Store
	// Window bounds the messages in memory that Store has as well; nil without a Store.
	Window *queue.Window
	// Epoch is the number of the server's start, of a Store.
	Epoch uint32
}

// Service holds the queues of one account and region. It is safe for concurrent use.
type Service struct {
	opts Options

	mu      sync.RWMutex
	queues  map[string]*Queue
	deleted map[string]time.Duration // the time by name; used only with RealisticWaits
	closed  bool
	tasks   tasks
}

// New returns a service without queues.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Missing == nil {
		o.Missing = func(string) {}
	}
	s := &Service{opts: o}
	s.Reset()
	return s
}

// Wire returns the service for package wire, whatever place a call is for.
func (s *Service) Wire() *wire.Service {
	return Wire(func(*wire.Call) (*Service, error) { return s, nil })
}

// Reset deletes every queue, and forgets that they existed.
func (s *Service) Reset() {
	s.mu.Lock()
	old := s.queues
	s.queues, s.deleted = map[string]*Queue{}, map[string]time.Duration{}
	s.mu.Unlock()
	s.tasks.forget()
	for _, q := range old {
		q.forget()
	}
}

// Close ends waiting polls; later polls do not wait.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	queues := s.sorted()
	s.mu.Unlock()
	s.tasks.reset()
	for _, q := range queues {
		q.model.Close()
	}
}

// Queue returns the queue with a name, URL or ARN, or nil.
func (s *Service) Queue(name string) *Queue {
	if strings.HasPrefix(name, "arn:") {
		return s.byARN(name)
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.queues[name]
}

// Queues returns the queues, sorted by name.
func (s *Service) Queues() []*Queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sorted()
}

// sorted is the same as Queues; the caller holds the lock.
func (s *Service) sorted() []*Queue {
	return slices.SortedFunc(maps.Values(s.queues), func(a, b *Queue) int { return strings.Compare(a.name, b.name) })
}

// byName returns the queue with a name that a call has, or nil.
func (s *Service) byName(name string) *Queue {
	s.mu.RLock()
	q := s.queues[name]
	s.mu.RUnlock()
	if q == nil {
		s.opts.Missing(name)
	}
	return q
}

// byARN returns the queue with an ARN, or nil.
func (s *Service) byARN(arn string) *Queue {
	name, ok := strings.CutPrefix(arn, s.arn(""))
	if !ok {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.queues[name]
}

func (s *Service) arn(name string) string {
	return wire.Place{Account: s.opts.Account, Region: s.opts.Region}.ARN("sqs", name)
}
