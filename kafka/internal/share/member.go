package share

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// beatEvery is the distance of heartbeats until the broker says another one, and until there is an assignment: a
	// broker only computes it after the first heartbeat.
	beatEvery = 500 * time.Millisecond
	// leastBeat is the shortest distance.
	leastBeat = 50 * time.Millisecond
	// patience is how many looks for a topic, or heartbeats, fail before a Receive reports it: topics and coordinators
	// take a moment to be known everywhere.
	patience = 2
)

// member is the membership of the group: its heartbeats, the partitions that the group's coordinator assigns, and the
// sessions with their leaders. Its goroutine is the only one that changes anything.
type member struct {
	r    *Receiver
	id   string
	look chan struct{} // holds one: the leaders are to be looked up

	epoch       int32 // 0: to join
	coordinator int32 // a broker; -1: unknown
	assigned    []int32
	topicID     [16]byte // of the assignment
	fails       int      // heartbeats in a row
	looks       int      // for leaders, without all of them

	mu       sync.Mutex
	sessions map[int32]*session // by broker
	fetching int                // sessions with partitions
}

func newMember(r *Receiver) *member {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] &= 0x7f           // as Kafka's own: an id that begins with "-" looks like an option
	return &member{
		r: r, id: base64.RawURLEncoding.EncodeToString(b[:]), look: make(chan struct{}, 1),
		coordinator: -1, sessions: map[int32]*session{},
	}
}

// run keeps the membership until the receiver ends.
func (m *member) run() {
	var next, looked time.Time
	missing := false
	for !failure.Over(m.r.polls) {
		if now := time.Now(); !now.Before(next) {
			every, changed, err := m.beat()
			if err != nil {
				every = m.failed(err)
			} else if changed {
				missing = true
			}
			next = now.Add(every)
		}
		if pause := pollPauses.Wait(m.looks); missing && time.Since(looked) >= pause {
			if missing = !m.lead(); missing {
				m.looks++
			} else {
				m.looks = 0
			}
			looked = time.Now()
		}
		until := time.Until(next)
		if missing {
			until = min(until, pollPauses.Wait(m.looks))
		}
		t := time.NewTimer(until)
		select {
		case <-t.C:
		case <-m.look:
			missing = true
		case <-m.r.polls.Done():
		}
		t.Stop()
	}
}

// failed notes a heartbeat that failed, and returns when to try again.
func (m *member) failed(err error) time.Duration {
	switch {
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.FencedMemberEpoch),
		errors.Is(err, kerr.GroupIDNotFound):
		// The coordinator has forgotten this member. The partitions stay as they are until it has joined again.
		m.epoch = 0
	default:
		m.coordinator = -1
	}
	m.fails++
	if m.fails > patience {
		m.r.queue.put(nil, fmt.Errorf("join share group %s: %w", m.r.c.Group, failure.Classify(err)))
	}
	return pollPauses.Wait(m.fails)
}

// beat sends a heartbeat, and returns when the next one is due, and whether the assignment has changed.
func (m *member) beat() (every time.Duration, changed bool, err error) {
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch = m.r.c.Group, m.id, m.epoch
	if m.epoch == 0 {
		req.SubscribedTopicNames = []string{m.r.c.Topic}
		if m.r.c.Rack != "" {
			req.RackID = &m.r.c.Rack
		}
	}
	resp, err := m.heartbeat(m.r.polls, req)
	if err != nil {
		return 0, false, err
	}
	m.epoch, m.fails = resp.MemberEpoch, 0
	every = time.Duration(resp.HeartbeatIntervalMillis) * time.Millisecond
	if resp.Assignment != nil {
		m.assigned, m.topicID, changed = nil, [16]byte{}, true
		for _, t := range resp.Assignment.TopicPartitions {
			m.assigned, m.topicID = t.Partitions, t.TopicID // there is one topic
		}
	}
	if len(m.assigned) == 0 {
		every = min(every, beatEvery)
	}
	return max(every, leastBeat), changed, nil
}

// heartbeat sends a heartbeat to the coordinator.
func (m *member) heartbeat(
	ctx context.Context, req *kmsg.ShareGroupHeartbeatRequest,
) (*kmsg.ShareGroupHeartbeatResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if m.coordinator < 0 {
		broker, err := m.find(ctx)
		if err != nil {
			return nil, err
		}
		m.coordinator = broker
	}
	kresp, err := m.r.client.Broker(int(m.coordinator)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.ShareGroupHeartbeatResponse)
	return resp, described(resp.ErrorCode, resp.ErrorMessage)
}

// find asks for the coordinator. franz-go would remember one that is no longer it: it forgets a coordinator only after
// the requests of its own consumers.
func (m *member) find(ctx context.Context) (int32, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = []string{m.r.c.Group}
	resp, err := req.RequestWith(ctx, m.r.client.Client)
	if err != nil {
		return -1, err
	}
	for _, c := range resp.Coordinators {
		return c.NodeID, described(c.ErrorCode, c.ErrorMessage)
	}
	return -1, kerr.CoordinatorNotAvailable
}

// lead looks up the leaders of the assigned partitions, and assigns them to the sessions. It returns whether all of
// them are known.
func (m *member) lead() bool {
	ctx, cancel := context.WithTimeout(m.r.polls, answerPatience)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &m.r.c.Topic
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, m.r.client.Client)
	if err != nil {
		return false // the sessions and heartbeats report it, if it lasts
	}
	leaders := map[int32]int32{}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			if m.looks >= patience {
				m.r.queue.put(nil, fmt.Errorf("look up topic %s: %w", m.r.c.Topic, failure.Classify(err)))
			}
			return false
		}
		if t.TopicID != m.topicID && len(m.assigned) > 0 {
			return false // it was created again, and the next assignment has its new id
		}
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Leader >= 0 {
				leaders[p.Partition] = p.Leader
			}
		}
	}
	all := true
	by := map[int32]map[int32]bool{}
	for _, n := range m.assigned {
		broker, known := leaders[n]
		if all = all && known; !known {
			continue
		}
		if by[broker] == nil {
			by[broker] = map[int32]bool{}
		}
		by[broker][n] = true
	}
	m.assign(by)
	return all
}

// assign gives the sessions their partitions.
func (m *member) assign(by map[int32]map[int32]bool) {
	m.mu.Lock()
	m.fetching = len(by)
	var begun []*session
	for broker := range by {
		if m.sessions[broker] == nil {
			m.sessions[broker] = newSession(m.r, broker)
			begun = append(begun, m.sessions[broker])
		}
	}
	m.mu.Unlock()
	for _, s := range m.all() {
		partitions := by[s.broker]
		if partitions == nil {
			partitions = map[int32]bool{}
		}
		s.assign(m.topicID, partitions)
	}
	for _, s := range begun {
		m.r.wg.Go(s.run)
	}
}

// all returns the sessions. Any goroutine may call it.
func (m *member) all() (all []*session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.sessions))
}

// sessionsNow is how many sessions fetch. Any goroutine may call it.
func (m *member) sessionsNow() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fetching
}

// leave tells the coordinator that the member has ended. The goroutine has ended before.
func (m *member) leave(ctx context.Context) error {
	if m.epoch == 0 {
		return nil
	}
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch = m.r.c.Group, m.id, -1
	_, err := m.heartbeat(ctx, req)
	if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	return err
}

// pollPauses are the pauses after requests that failed.
var pollPauses = backoff.Curve{First: 100 * time.Millisecond, Max: time.Second}
