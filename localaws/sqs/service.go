package sqs

import (
	"log/slog"
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
func (s *Service) Wire() *wire.Service { return Wire(s.everywhere) }

func (s *Service) everywhere(*wire.Call) (*Service, error) { return s, nil }

// Wire returns SQS for package wire. where returns the service of the place that a call is for: the queue's place.
func Wire(where func(*wire.Call) (*Service, error)) *wire.Service {
	return &wire.Service{
		Name: "sqs", Target: "AmazonSQS", Namespace: "com.amazonaws.sqs", JSON: "1.0",
		Version: "2012-11-05", XMLNS: "http://queue.amazonaws.com/doc/2012-11-05/", PathMember: "QueueUrl",
		Names:   []string{"QueueUrl", "QueueOwnerAWSAccountId", "SourceArn"},
		AnyPath: []string{"GetQueueUrl"}, Detail: true,
		Actions: []wire.Action{
			wire.Op("CreateQueue", wire.In(where, (*Service).createQueue)),
			wire.Op("DeleteQueue", wire.In(where, (*Service).deleteQueue)),
			wire.Op("GetQueueUrl", wire.In(where, (*Service).getQueueURL)),
			wire.Op("GetQueueAttributes", wire.In(where, (*Service).getQueueAttributes)),
			wire.Op("SetQueueAttributes", wire.In(where, (*Service).setQueueAttributes)),
			wire.Op("SendMessage", wire.In(where, (*Service).sendMessage)),
			wire.Op("SendMessageBatch", wire.In(where, (*Service).sendMessageBatch)),
			wire.Op("ReceiveMessage", wire.In(where, (*Service).receiveMessage)),
			wire.Op("DeleteMessage", wire.In(where, (*Service).deleteMessage)),
			wire.Op("DeleteMessageBatch", wire.In(where, (*Service).deleteMessageBatch)),
			wire.Op("ChangeMessageVisibility", wire.In(where, (*Service).changeMessageVisibility)),
			wire.Op("ChangeMessageVisibilityBatch", wire.In(where, (*Service).changeMessageVisibilityBatch)),
			wire.Op("PurgeQueue", wire.In(where, (*Service).purgeQueue)),
			wire.Op("ListQueues", wire.In(where, (*Service).listQueues)),
			wire.Op("ListDeadLetterSourceQueues", wire.In(where, (*Service).listDeadLetterSourceQueues)),
			wire.Op("TagQueue", wire.In(where, (*Service).tagQueue)),
			wire.Op("UntagQueue", wire.In(where, (*Service).untagQueue)),
			wire.Op("ListQueueTags", wire.In(where, (*Service).listQueueTags)),
			wire.Op("AddPermission", wire.In(where, (*Service).addPermission)),
			wire.Op("RemovePermission", wire.In(where, (*Service).removePermission)),
			wire.Op("StartMessageMoveTask", wire.In(where, (*Service).startMessageMoveTask)),
			wire.Op("CancelMessageMoveTask", wire.In(where, (*Service).cancelMessageMoveTask)),
			wire.Op("ListMessageMoveTasks", wire.In(where, (*Service).listMessageMoveTasks)),
		},
	}
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
	all := make([]*Queue, 0, len(s.queues))
	for _, q := range s.queues {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *Queue) int { return strings.Compare(a.name, b.name) })
	return all
}

// byURL returns the queue of a request, unless the caller may not call the action, and tells it that there was a
// call. As on AWS the URL of another region is refused, and apart from the region only the URL's path counts. A bare
// name is accepted as well, because some clients send it.
func (s *Service) byURL(c *wire.Call, url string) (*Queue, *wire.Error) {
	if url == "" {
		return nil, missing("QueueUrl")
	}
	name := url
	if slash := strings.LastIndexByte(url, '/'); slash >= 0 {
		name = url[slash+1:]
		at := wire.QueuePlace(url)
		if at.Account != s.opts.Account {
			return nil, noQueue()
		}
		if !s.opts.means(at.Region, name) {
			s.opts.Missing(name)
			return nil, wrongRegion(c, url)
		}
	}
	q := s.byName(name)
	if q == nil {
		return nil, noQueue()
	}
	q.model.Touch()
	return q, s.forbidden(c, q)
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

// means reports whether a URL with a region and a queue's name is one of this region. A URL without a region is for
// a queue at home, if there is such a queue; if there is none, somebody wrote it by hand, and it means this region.
func (o *Options) means(region, name string) bool {
	switch {
	case o.SingleRegion, region == o.Region:
		return true
	case region != "":
		return false
	}
	return o.Region == o.Home || o.AtHome == nil || !o.AtHome(name)
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

// url returns a queue's URL as the caller reaches it. It names the region unless the host does or the region is Home.
// The path has two parts in every case, because clients take the name and the account from them.
func (s *Service) url(c *wire.Call, name string) string {
	account, host := s.opts.Account, wire.HostRegion(c.BaseURL)
	if host == "" {
		host = s.opts.Home
	}
	if host != s.opts.Region && !s.opts.SingleRegion {
		account += "." + s.opts.Region
	}
	return c.BaseURL + "/" + account + "/" + name
}

// newQueue returns a queue that is not registered yet.
func (s *Service) newQueue(name string, set *settings) *Queue {
	set.created, set.modified = s.opts.Clock.Now(), s.opts.Clock.Now()
	set.dedupByGroup = set.dedupScope == "messageGroup"
	return build(s, name, set, newJournal(s.opts))
}

// build returns a queue. journal may be nil.
func build(s *Service, name string, set *settings, journal *queue.Journal) *Queue {
	q := &Queue{name: name, arn: s.arn(name), fifo: isFIFO(name), tags: map[string]string{}, journal: journal}
	q.settings.Store(set)
	o := queue.Options{
		ARN: q.arn, FIFO: q.fifo, Clock: s.opts.Clock, Random: s.opts.Random, Config: set.model(queue.Chaos{}),
		DeadLetters: func() *queue.Queue { return s.deadLetters(q) }, Journal: journal,
	}
	if s.opts.Woken != nil {
		o.Woken = func(*queue.Queue) { s.opts.Woken(q) }
	}
	q.model = queue.New(o)
	return q
}

// deadLetters returns the queue for a queue's dead letters; nil while it does not exist.
func (s *Service) deadLetters(q *Queue) *queue.Queue {
	redrive := q.settings.Load().redrive
	if redrive == nil {
		return nil
	}
	target := s.byARN(redrive.target)
	if target == nil || target == q {
		return nil
	}
	return target.model
}
