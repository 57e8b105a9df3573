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

// What the fake broker's groups do otherwise than a real one's, seen by the bare protocol: what tests of crashes and
// joins have to allow for. Each is asked of both brokers. Where the fake is found to do as a real one, it was mended,
// and the allowance can go.

// A member that crashes while its JoinGroup waits for the others is missed when its session is over. The fake never
// misses every other of them: it keeps no time for a member whose answer it could not hand to a connection.
func TestCrashedWhileJoining(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		first := w.bare()
		first.join()
		first.sync()
		cable := w.newCable()
		for range 20 {
			crashes := w.bare(kgo.Dialer(cable.dial))
			crashes.introduce()
			crashes.later()
		}
		time.Sleep(time.Second)
		cable.cut()
		time.Sleep(100 * time.Millisecond)
		first.join()
		first.sync()
		for range 2 * shortSession / time.Second {
			time.Sleep(time.Second)
			_ = first.beat()
		}
		groups, err := w.admin.DescribeGroups(t.Context(), w.group())
		if err != nil {
			t.Fatal(err)
		}
		w.otherwise(len(groups[w.group()].Members) == 1, "crashed members were missed")
	})
}

// A member whose JoinGroup waits for the others is alive, however long they take. The fake takes it for dead when its
// session is over, and never answers.
func TestJoiningForLongerThanASession(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		first, second := w.bare(), w.bare()
		first.join()
		first.sync()
		second.introduce()
		answered := second.later()
		time.Sleep(time.Second)
		first.join()
		first.sync()
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		second.sync()
		third := w.bare()
		third.introduce()
		together := third.later()
		time.Sleep(100 * time.Millisecond)
		answered = second.later() // and waits for the first, who is in no hurry
		for range 7 {             // longer than a session, and not as long as the rebalance timeout
			time.Sleep(time.Second)
			_ = first.beat()
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
		w.otherwise(alive, "the member that waited is in the group")
	})
}

// A group waits for a member that does not join its rebalance timeout at most, whoever comes meanwhile. On the fake
// everybody who comes makes that begin again.
func TestRebalanceTimeoutWhileOthersCome(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		first, silent := w.bare(), w.bare()
		silent.join()
		silent.sync()
		first.introduce()
		begun := time.Now()
		answered := first.later()
		var took time.Duration
		for took == 0 && time.Since(begun) < 3*rebalanceTimeout {
			_ = silent.beat() // it lives, and does not join
			other := w.bare()
			other.introduce()
			other.later()
			select {
			case err := <-answered:
				if took = time.Since(begun); err != nil {
					t.Fatal(err)
				}
			case <-time.After(3 * time.Second):
			}
		}
		w.otherwise(took > 0 && took < 2*rebalanceTimeout, "the group waited for its rebalance timeout only")
	})
}

// otherwise fails the test where the real broker does not hold what is said, or the fake does.
func (w *world) otherwise(holds bool, what string) {
	w.t.Helper()
	switch {
	case w.real() && !holds:
		w.t.Errorf("not so on a real broker: %s", what)
	case !w.real() && holds:
		w.t.Errorf("now so on the fake too: %s. What was done to live with it can go", what)
	}
}

// What bare members ask for.
const (
	rebalanceTimeout = 9 * time.Second
	protocolType     = "consumer"
	protocol         = "range"
)

// bare is a member of the channel's group by the bare protocol.
type bare struct {
	w          *world
	client     *kgo.Client
	id         string
	generation int32
	assign     []kmsg.SyncGroupRequestGroupAssignment
}

func (w *world) bare(opts ...kgo.Opt) *bare { return &bare{w: w, client: w.newClient(opts...)} }

// introduce gets the member its id.
func (b *bare) introduce() {
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

// ask joins once.
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

// join waits until all have joined.
func (b *bare) join() {
	b.w.t.Helper()
	if b.id == "" {
		b.introduce()
	}
	if err := <-b.later(); err != nil {
		b.w.t.Fatal(err)
	}
}

// later joins in the background. The world's client ends it, if nothing else does.
func (b *bare) later() <-chan error {
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

// sync ends the joining; nobody is assigned anything.
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

// beat is a heartbeat, and what it is answered.
func (b *bare) beat() error {
	b.w.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = b.w.group(), b.id, b.generation
	resp, err := req.RequestWith(b.w.t.Context(), b.client)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}
