//go:build synctests

package acceptance

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// These tests show how groups of the embedded broker differ from those of a real one, with requests of the bare
// protocol. Tests of crashes and joins have to allow for the differences. Each test runs on both brokers. If it finds
// that the embedded broker now behaves as a real one, the allowance can be removed.

// If a member crashes while its JoinGroup waits for other members, it is removed when its session timeout is over. The
// embedded broker never removes every other such member, because it starts no session timeout for a member whose
// connection did not accept the answer.
func TestCrashedWhileJoining(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		first := w.bare()
		first.join()
		first.sync()
		cable := w.newCable()
		for range 20 {
			crashes := w.bare(kgo.Dialer(cable.dial))
			crashes.requestID()
			crashes.joinLater()
		}
		time.Sleep(time.Second)
		cable.cut()
		time.Sleep(100 * time.Millisecond)
		first.join()
		first.sync()
		for range 2 * shortSession / time.Second {
			time.Sleep(time.Second)
			_ = first.heartbeat()
		}
		groups, err := w.admin.DescribeGroups(t.Context(), w.group())
		if err != nil {
			t.Fatal(err)
		}
		w.differs(len(groups[w.group()].Members) == 1, "crashed members were removed")
	})
}

// A member whose JoinGroup waits for other members is alive, however long they take. The embedded broker removes it
// when the session timeout is over, and never answers.
func TestJoiningForLongerThanASession(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		first, second := w.bare(), w.bare()
		first.join()
		first.sync()
		second.requestID()
		answered := second.joinLater()
		time.Sleep(time.Second)
		first.join()
		first.sync()
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		second.sync()
		third := w.bare()
		third.requestID()
		together := third.joinLater()
		time.Sleep(100 * time.Millisecond)
		answered = second.joinLater() // this waits for the first member, which joins later
		for range 7 {                 // longer than a session, and shorter than the rebalance timeout
			time.Sleep(time.Second)
			_ = first.heartbeat()
		}
		first.join()
		if err := <-together; err != nil {
			t.Error(err)
		}
		alive := false
		select {
		case err := <-answered:
			alive = err == nil
		case <-time.After(5 * time.Second):
		}
		w.differs(alive, "a waiting member stays in the group")
	})
}

// A group waits for a member that does not join, at most for the rebalance timeout, also if new members join meanwhile.
// On the embedded broker each new member starts the timeout again.
func TestRebalanceTimeoutWhileOthersCome(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		first, silent := w.bare(), w.bare()
		silent.join()
		silent.sync()
		first.requestID()
		begun := time.Now()
		answered := first.joinLater()
		var took time.Duration
		for took == 0 && time.Since(begun) < 3*rebalanceTimeout {
			_ = silent.heartbeat() // the member is alive, and does not join
			other := w.bare()
			other.requestID()
			other.joinLater()
			select {
			case err := <-answered:
				if took = time.Since(begun); err != nil {
					t.Fatal(err)
				}
			case <-time.After(3 * time.Second):
			}
		}
		w.differs(took > 0 && took < 2*rebalanceTimeout, "a group waits no longer than its rebalance timeout")
	})
}

// differs fails the test if the statement is false on a real broker, or true on the embedded one.
func (w *world) differs(holds bool, what string) {
	w.t.Helper()
	switch {
	case w.real() && !holds:
		w.t.Errorf("on a real broker it is not true that %s", what)
	case !w.real() && holds:
		w.t.Errorf("on the embedded broker, too, %s: the allowance for this difference can be removed", what)
	}
}

// The values that bare members send.
const (
	rebalanceTimeout = 9 * time.Second
	protocolType     = "consumer"
	protocol         = "range"
)

// bare is a member of the channel's group that sends single requests of the protocol.
type bare struct {
	w          *world
	client     *kgo.Client
	id         string
	generation int32
	assign     []kmsg.SyncGroupRequestGroupAssignment
}

func (w *world) bare(opts ...kgo.Opt) *bare { return &bare{w: w, client: w.newClient(opts...)} }

// requestID requests the member's id.
func (b *bare) requestID() {
	b.w.t.Helper()
	if resp, err := b.ask(b.request()); err != nil || resp.ErrorCode != kerr.MemberIDRequired.Code {
		b.w.t.Fatalf("join: %v, code %d", err, resp.ErrorCode)
	}
}

func (b *bare) request() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = b.w.group(), b.id, protocolType
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(shortSession.Milliseconds()),
		int32(rebalanceTimeout.Milliseconds())
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = []string{b.w.topic()}
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = protocol, meta.AppendTo(nil)
	req.Protocols = append(req.Protocols, p)
	return req
}

// ask sends one JoinGroup, and notes its answer.
func (b *bare) ask(req *kmsg.JoinGroupRequest) (*kmsg.JoinGroupResponse, error) {
	resp, err := req.RequestWith(context.Background(), b.client)
	if err != nil {
		return kmsg.NewPtrJoinGroupResponse(), err
	}
	b.id, b.generation = resp.MemberID, resp.Generation
	b.assign = nil
	for _, m := range resp.Members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID = m.MemberID
		b.assign = append(b.assign, a)
	}
	return resp, nil
}

// join joins, and returns when all members have joined.
func (b *bare) join() {
	b.w.t.Helper()
	if b.id == "" {
		b.requestID()
	}
	if err := <-b.joinLater(); err != nil {
		b.w.t.Fatal(err)
	}
}

// joinLater joins in the background. At the latest, the request ends when the world's client is closed.
func (b *bare) joinLater() <-chan error {
	done := make(chan error, 1)
	go func() {
		resp, err := b.ask(b.request())
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		done <- err
	}()
	return done
}

// sync sends the SyncGroup that completes a rebalance. No member is assigned any partition.
func (b *bare) sync() {
	b.w.t.Helper()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation, req.GroupAssignment = b.w.group(), b.id, b.generation, b.assign
	req.ProtocolType, req.Protocol = new(protocolType), new(protocol)
	resp, err := req.RequestWith(b.w.t.Context(), b.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		b.w.t.Fatalf("sync: %v", err)
	}
}

// heartbeat sends a heartbeat, and returns the error of its answer.
func (b *bare) heartbeat() error {
	b.w.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = b.w.group(), b.id, b.generation
	resp, err := req.RequestWith(b.w.t.Context(), b.client)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}
