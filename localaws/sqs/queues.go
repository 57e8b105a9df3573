package sqs

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// CreateQueueInput is the input of CreateQueue.
type CreateQueueInput struct {
	QueueName  string            `json:"QueueName"`
	Attributes map[string]string `json:"Attributes" query:"Attribute,flat,key=Name,value=Value"`
	Tags       map[string]string `json:"tags" query:"Tag,flat,key=Key,value=Value"`
}

// QueueURL is the output of CreateQueue and of GetQueueUrl.
type QueueURL struct {
	URL string `json:"QueueUrl"`
}

// createQueue returns the existing queue if all attributes of the request are those that the queue has; others are
// QueueNameExists. AWS refuses the name of a queue that was deleted within 60 s; here only RealisticWaits does
// (recorded on AWS).
func createQueue(c call, in *CreateQueueInput) (*QueueURL, error) {
	if _, bad := c.at.create(in.QueueName, in.Attributes, in.Tags); bad != nil {
		return nil, bad
	}
	return &QueueURL{c.url(in.QueueName)}, nil
}

// Create creates a queue, or returns an existing one with the same attributes. It is CreateQueue without the wire.
func (s *Service) Create(name string, attributes, tags map[string]string) (*Queue, error) {
	q, bad := s.create(name, attributes, tags)
	if bad != nil {
		return nil, bad
	}
	return q, nil
}

func (s *Service) create(name string, attributes, tags map[string]string) (*Queue, *wire.Error) {
	if bad := checkNewName(name, attributes); bad != nil {
		return nil, bad
	}
	if bad := checkTags(name, nil, tags); bad != nil {
		return nil, bad
	}
	set := defaults()
	if bad := apply(set, isFIFO(name), attributes); bad != nil {
		return nil, bad
	}
	if q := s.Queue(name); q != nil {
		q.model.Touch()
		return q, same(q, set, attributes)
	}
	if bad := checkTarget(s, set, name); bad != nil {
		return nil, bad
	}
	set.created, set.modified = s.opts.Clock.Now(), s.opts.Clock.Now()
	set.dedupByGroup = set.dedupScope == "messageGroup"
	q := newQueue(s, name, set, newJournal(s.opts))
	maps.Copy(q.tags, tags)
	return s.add(q, set, attributes)
}

// add registers a queue, unless another request was first.
func (s *Service) add(q *Queue, set *settings, attributes map[string]string) (*Queue, *wire.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.queues[q.name]; first != nil {
		return first, same(first, set, attributes)
	}
	if at, gone := s.deleted[q.name]; gone {
		if s.opts.Clock.Elapsed() < at+realisticWait {
			return nil, refusal("QueueDeletedRecently",
				"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
		}
		delete(s.deleted, q.name)
	}
	if s.closed {
		q.model.Close()
	}
	q.keep() // nobody else knows the queue yet
	s.queues[q.name] = q
	q.model.Touch()
	return q, nil
}

// realisticWait is how long AWS makes a caller wait after a purge or a delete.
const realisticWait = 60 * time.Second

func checkNewName(name string, attributes map[string]string) *wire.Error {
	if name == "" {
		return missing("QueueName")
	}
	fifo := strings.EqualFold(attributes["FifoQueue"], "true")
	if fifo && !(isFIFO(name) && validName(name)) {
		return invalidParameter("The name of a FIFO queue can only include alphanumeric characters, hyphens, or " +
			"underscores, " +
			"must end with .fifo suffix and be 1 to 80 in length.")
	}
	if !validName(name) || isFIFO(name) && !fifo {
		return invalidParameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

// same checks that an existing queue has the requested attributes. Attributes that are not in the request do not count.
func same(q *Queue, wanted *settings, attributes map[string]string) *wire.Error {
	have := q.settings.Load()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a, _ := findAttribute(name)
		x, thereX := a.show(q, have, queue.Stats{})
		y, thereY := a.show(q, wanted, queue.Stats{})
		if x != y || thereX != thereY {
			return queueExists(name)
		}
	}
	return nil
}

// QueueInput is the input of actions whose only parameter is a queue.
type QueueInput struct {
	QueueURL string `json:"QueueUrl"`
}

// deleteQueue deletes with everything in the queue. AWS takes up to 60 s for it, in which calls may still succeed; here
// it is done at once, and RealisticWaits only keeps the name (AWS's API reference, DeleteQueue).
func deleteQueue(c call, q *Queue, _ *QueueInput) (*Empty, error) {
	s := c.at
	s.mu.Lock()
	if s.queues[q.name] == q {
		delete(s.queues, q.name)
		if s.opts.RealisticWaits {
			s.deleted[q.name] = s.opts.Clock.Elapsed()
		}
	}
	s.mu.Unlock()
	q.forget()
	return &Empty{}, nil
}

// purgeQueue also deletes messages in flight. A second purge within 60 s is PurgeQueueInProgress, with status 403, on
// AWS; here only with RealisticWaits (recorded on AWS).
func purgeQueue(c call, q *Queue, _ *QueueInput) (*Empty, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := c.at.opts.Clock.Elapsed()
	if c.at.opts.RealisticWaits && q.everPurged && now < q.purged+realisticWait {
		err := refusal("PurgeQueueInProgress", "Only one PurgeQueue operation on %s is allowed every 60 seconds.",
			q.name)
		err.Status = 403
		return nil, err
	}
	q.purged, q.everPurged = now, true
	q.model.Purge()
	return &Empty{}, nil
}

// GetQueueURLInput is the input of GetQueueUrl.
type GetQueueURLInput struct {
	QueueName string `json:"QueueName"`
	Owner     string `json:"QueueOwnerAWSAccountId"` // "": the caller's own
}

// getQueueURL finds queues of the caller's account and region. A missing queue has another text in the query protocol
// than in JSON (recorded on AWS).
func getQueueURL(c call, in *GetQueueURLInput) (*QueueURL, error) {
	if in.QueueName == "" {
		return nil, invalidParameter("Value for parameter QueueName is invalid. Reason: Must specify a queue name.")
	}
	if in.Owner != "" && in.Owner != c.at.opts.Account {
		return nil, noQueue()
	}
	q := c.at.byName(in.QueueName)
	if q == nil {
		return nil, noQueue()
	}
	q.model.Touch()
	if bad := forbidden(c, q); bad != nil {
		return nil, bad
	}
	return &QueueURL{c.url(q.name)}, nil
}

// ListQueuesInput is the input of ListQueues.
type ListQueuesInput struct {
	Prefix     string `json:"QueueNamePrefix"`
	NextToken  string `json:"NextToken"`
	MaxResults *int32 `json:"MaxResults"`
}

// ListQueuesOutput is the output of ListQueues.
type ListQueuesOutput struct {
	NextToken string   `json:"NextToken"`
	QueueURLs []string `json:"QueueUrls" query:"QueueUrl,flat,json=queueUrls"`
}

// listQueues has a NextToken only if the request has MaxResults; otherwise it lists up to 1,000 queues, and the member
// is omitted if there are none (AWS's API reference, ListQueues).
func listQueues(c call, in *ListQueuesInput) (*ListQueuesOutput, error) {
	all := slices.DeleteFunc(c.at.Queues(), func(q *Queue) bool { return !strings.HasPrefix(q.name, in.Prefix) })
	some, next, bad := page(all, in.NextToken, in.MaxResults)
	if bad != nil {
		return nil, bad
	}
	return &ListQueuesOutput{NextToken: next, QueueURLs: c.urls(some)}, nil
}

// ListDeadLetterSourceQueuesInput is the input of ListDeadLetterSourceQueues.
type ListDeadLetterSourceQueuesInput struct {
	QueueURL   string `json:"QueueUrl"`
	NextToken  string `json:"NextToken"`
	MaxResults *int32 `json:"MaxResults"`
}

// ListDeadLetterSourceQueuesOutput is the output of ListDeadLetterSourceQueues.
type ListDeadLetterSourceQueuesOutput struct {
	NextToken string   `json:"NextToken"`
	QueueURLs []string `json:"queueUrls" query:"QueueUrl,flat"` // AWS really uses a small q in awsJson
}

// listDeadLetterSourceQueues lists the queues whose redrive policy names this one. Its member is queueUrls, in lower
// case, unlike that of ListQueues (AWS's API reference).
func listDeadLetterSourceQueues(c call, q *Queue, in *ListDeadLetterSourceQueuesInput) (
	*ListDeadLetterSourceQueuesOutput, error,
) {
	some, next, bad := page(sources(c.at, q), in.NextToken, in.MaxResults)
	if bad != nil {
		return nil, bad
	}
	return &ListDeadLetterSourceQueuesOutput{NextToken: next, QueueURLs: c.urls(some)}, nil
}

// sources returns the queues whose dead letters go to a queue.
func sources(s *Service, target *Queue) []*Queue {
	var sources []*Queue
	for _, q := range s.Queues() {
		if r := q.settings.Load().redrive; r != nil && r.target == target.arn {
			sources = append(sources, q)
		}
	}
	return sources
}

// maxPage is the most queues on one page of a list.
const maxPage = 1000

// page returns the part of a sorted list of queues that a token and a page size select. Without a size there is no next
// token, as on AWS: it lists the first thousand queues.
func page(all []*Queue, token string, size *int32) (some []*Queue, next string, bad *wire.Error) {
	limit := maxPage
	if size != nil {
		if *size < 1 || *size > maxPage {
			return nil, "", invalidValue(*size, "MaxResults", "MaxResults must be an integer between 1 and 1000.")
		}
		limit = int(*size)
	}
	if token != "" {
		after, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			return nil, "", invalidValue(token, "NextToken", "Invalid or expired next token.")
		}
		for len(all) > 0 && strings.Compare(all[0].name, string(after)) <= 0 {
			all = all[1:]
		}
	}
	if len(all) <= limit {
		return all, "", nil
	}
	some = all[:limit]
	if size != nil {
		next = base64.StdEncoding.EncodeToString([]byte(some[limit-1].name))
	}
	return some, next, nil
}

func (c call) urls(queues []*Queue) []string {
	var urls []string
	for _, q := range queues {
		urls = append(urls, c.url(q.name))
	}
	return urls
}
