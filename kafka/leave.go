package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// close ends the member's client and leaves the group. A client that is in the midst of joining cannot leave before all have
// joined; if the process ended meanwhile, the group would wait for this member too, a session long. So what its client could
// not say is said for it.
func (m *member) close(ctx context.Context) error {
	id, _ := m.client.GroupMetadata()
	err := m.client.Close(ctx)
	if !errors.Is(err, client.ErrCut) || id == "" || m.instance() != nil || m.byBroker() {
		return err
	}
	return m.r.b.leaveFor(context.WithoutCancel(ctx), m.r.group, id)
}

// leaveFor tells a group of the classic kind that a member is gone.
func (b *Backend) leaveFor(ctx context.Context, group, id string) error {
	ctx, cancel := context.WithTimeout(ctx, client.CutPatience)
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = group, id
	one := kmsg.NewLeaveGroupRequestMember()
	one.MemberID = id
	req.Members = append(req.Members, one)
	resp, err := req.RequestWith(ctx, b.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil && len(resp.Members) > 0 {
		err = kerr.ErrorForCode(resp.Members[0].ErrorCode)
	}
	if err != nil && !errors.Is(err, kerr.UnknownMemberID) {
		return fmt.Errorf("leave group %s, which waits for this member until its session is over: %w", group, failure.Classify(err))
	}
	return nil
}
