package share

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
)

const (
	// fetchBytes bounds an answer: brokers divide it by the partitions, and send whole batches of producers.
	fetchBytes = 16 << 20
	// strictly makes a broker lock no more records than requested (KIP-1206); otherwise it locks whole batches.
	strictly = 1
	// leastVersion of a fetch has all of that, and renewals.
	leastVersion = 2
	// answerPatience is how long after its wait a fetch may take, and any other request.
	answerPatience = 10 * time.Second
)

// exchange is one request of a session.
type exchange struct {
	fetch  int  // records; 0: only acks
	whole  bool // the broker may add the rest of a batch
	acks   []ack
	parts  []part
	resets int // of the session, when the exchange was made
}

// part is the acks of one partition, in the order of their offsets.
type part struct {
	n    int32
	acks []ack
}

// answer is what a broker has answered to an exchange.
type answer struct {
	asked  time.Time
	lock   time.Duration   // how long locks last
	acks   map[int32]error // of partitions with acks; nil: accepted
	failed map[int32]error // partitions that could not be fetched
	got    []fetched
	resets int // of the session, when the request was made
}

// count is how many offsets the broker has locked.
func (a *answer) count() (n int) {
	for i := range a.got {
		for _, r := range a.got[i].acquired {
			n += int(r.LastOffset - r.FirstOffset + 1)
		}
	}
	return n
}

// fetched is the records of one partition.
type fetched struct {
	n        int32
	raw      []byte
	acquired []kmsg.ShareFetchResponseTopicPartitionAcquiredRecord
}

// arrange sorts the acks. A record that is renewed and settled at once is not renewed, because a request names it once.
func (x *exchange) arrange() {
	slices.SortFunc(x.acks, func(a, b ack) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.first, b.first), cmp.Compare(a.what, b.what))
	})
	kept := x.acks[:0]
	for i := range x.acks {
		a := &x.acks[i]
		if n := len(kept); n > 0 && a.what == renew && kept[n-1].partition == a.partition &&
			kept[n-1].last >= a.first {
			if a.call != nil {
				a.call.answer(a.i, nil)
			}
			continue
		}
		kept = append(kept, *a)
	}
	x.acks = kept
	for from := 0; from < len(x.acks); {
		to := from + 1
		for to < len(x.acks) && x.acks[to].partition == x.acks[from].partition {
			to++
		}
		x.parts = append(x.parts, part{x.acks[from].partition, x.acks[from:to:to]})
		from = to
	}
}

// stretch is a range of offsets with one ackType.
type stretch struct {
	first, last int64
	what        ackType
}

// stretches joins the acks of neighbors.
func (p *part) stretches() (all []stretch) {
	for i := range p.acks {
		a := &p.acks[i]
		if n := len(all); n > 0 && all[n-1].what == a.what && all[n-1].last+1 == a.first {
			all[n-1].last = a.last
			continue
		}
		all = append(all, stretch{a.first, a.last, a.what})
	}
	return all
}

// types has the list of each ackType that the protocol wants.
var types = [...][]int8{gap: {0}, accept: {1}, release: {2}, renew: {4}}

// send sends the request of an exchange, and reads the answer. An error means that the session is over.
func (s *session) send(ctx context.Context, x *exchange) (*answer, error) {
	if x.fetch > 0 {
		return s.sendFetch(ctx, x)
	}
	return s.sendAcks(ctx, x, false)
}

// sendFetch requests records. The acks of the exchange travel along.
func (s *session) sendFetch(ctx context.Context, x *exchange) (*answer, error) {
	req, wait := s.fetchRequest(x)
	a := newAnswer(s.r.c.Lock, x)
	ctx, cancel := context.WithTimeout(ctx, wait+answerPatience)
	defer cancel()
	kresp, err := s.r.client.Broker(int(s.broker)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.ShareFetchResponse)
	if resp.Version < leastVersion {
		return nil, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("broker %d has version %d of ShareFetch, "+
			"and version %d is needed: use Kafka 4.2 or newer for share groups", s.broker, resp.Version, leastVersion)}
	}
	if err := described(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return nil, err
	}
	s.fetches(req)
	a.lasts(resp.AcquisitionLockTimeoutMillis)
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			a.acks[p.Partition] = described(p.AcknowledgeErrorCode, p.AcknowledgeErrorMessage)
			if err := described(p.ErrorCode, p.ErrorMessage); err != nil {
				a.failed[p.Partition] = err
			} else if len(p.AcquiredRecords) > 0 {
				a.got = append(a.got, fetched{p.Partition, p.Records, p.AcquiredRecords})
			}
		}
	}
	return a, nil
}

// fetchRequest makes a request for records. It names only what has changed since the one before.
func (s *session) fetchRequest(x *exchange) (*kmsg.ShareFetchRequest, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.r.c.FetchWait
	if len(s.locks.runs) > 0 {
		wait = min(wait, heldWait)
	}
	req := kmsg.NewPtrShareFetchRequest()
	req.GroupID, req.MemberID, req.ShareSessionEpoch = &s.r.c.Group, &s.r.member.id, s.epoch
	req.MaxRecords, req.BatchSize = int32(x.fetch), int32(x.fetch)
	if !x.whole {
		req.ShareAcquireMode = strictly
	}
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), 1, fetchBytes
	topic := kmsg.NewShareFetchRequestTopic()
	topic.TopicID = s.topicID
	for i := range x.parts {
		p := kmsg.NewShareFetchRequestTopicPartition()
		p.Partition = x.parts[i].n
		for _, one := range x.parts[i].stretches() {
			p.AcknowledgementBatches = append(p.AcknowledgementBatches,
				kmsg.ShareFetchRequestTopicPartitionAcknowledgementBatch{
					FirstOffset: one.first, LastOffset: one.last, AcknowledgeTypes: types[one.what],
				})
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	for n := range s.want {
		if !s.have[n] && !slices.ContainsFunc(x.parts, func(p part) bool { return p.n == n }) {
			p := kmsg.NewShareFetchRequestTopicPartition()
			p.Partition = n
			topic.Partitions = append(topic.Partitions, p)
		}
	}
	if len(topic.Partitions) > 0 {
		req.Topics = append(req.Topics, topic)
	}
	forget := kmsg.NewShareFetchRequestForgottenTopicsData()
	forget.TopicID = s.topicID
	for n := range s.have {
		if !s.want[n] {
			forget.Partitions = append(forget.Partitions, n)
		}
	}
	if len(forget.Partitions) > 0 {
		req.ForgottenTopicsData = append(req.ForgottenTopicsData, forget)
	}
	return req, wait
}

// fetches notes which partitions the broker fetches after a request.
func (s *session) fetches(req *kmsg.ShareFetchRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			s.have[req.Topics[i].Partitions[j].Partition] = true
		}
	}
	for i := range req.ForgottenTopicsData {
		for _, n := range req.ForgottenTopicsData[i].Partitions {
			delete(s.have, n)
		}
	}
}

// sendAcks acknowledges without a fetch. last ends the session: the broker releases what is still locked.
func (s *session) sendAcks(ctx context.Context, x *exchange, last bool) (*answer, error) {
	req := s.ackRequest(x, last)
	a := newAnswer(s.r.c.Lock, x)
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	kresp, err := s.r.client.Broker(int(s.broker)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.ShareAcknowledgeResponse)
	if err := described(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return nil, err
	}
	a.lasts(resp.AcquisitionLockTimeoutMillis)
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			a.acks[p.Partition] = described(p.ErrorCode, p.ErrorMessage)
		}
	}
	return a, nil
}

func (s *session) ackRequest(x *exchange, last bool) *kmsg.ShareAcknowledgeRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := kmsg.NewPtrShareAcknowledgeRequest()
	req.GroupID, req.MemberID, req.ShareSessionEpoch = &s.r.c.Group, &s.r.member.id, s.epoch
	if last {
		req.ShareSessionEpoch = -1
	}
	topic := kmsg.NewShareAcknowledgeRequestTopic()
	topic.TopicID = s.topicID
	for i := range x.parts {
		p := kmsg.NewShareAcknowledgeRequestTopicPartition()
		p.Partition = x.parts[i].n
		for _, one := range x.parts[i].stretches() {
			req.IsRenewAck = req.IsRenewAck || one.what == renew
			p.AcknowledgementBatches = append(p.AcknowledgementBatches,
				kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch{
					FirstOffset: one.first, LastOffset: one.last, AcknowledgeTypes: types[one.what],
				})
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	if len(topic.Partitions) > 0 {
		req.Topics = append(req.Topics, topic)
	}
	return req
}

func newAnswer(lock time.Duration, x *exchange) *answer {
	return &answer{
		asked: time.Now(), lock: lock, acks: map[int32]error{}, failed: map[int32]error{}, resets: x.resets,
	}
}

// lasts notes how long locks last, if the broker has said so.
func (a *answer) lasts(millis int32) {
	if millis > 0 {
		a.lock = time.Duration(millis) * time.Millisecond
	}
}

// described is the error of a code, with what the broker says about it.
func described(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err == nil || message == nil || *message == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, *message)
}
