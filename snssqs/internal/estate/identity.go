package estate

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Identity is the part of ARNs that all our names share.
type Identity struct{ partition, Region, Account string }

// Account is the account of the credentials.
type Account struct {
	region string
	sts    *sts.Client

	mu     sync.Mutex
	id     Identity // set by the first call of whoami
	asking *identityCall
}

// WhoAmI returns the identity, and asks the service only once, because the account of the credentials does not change.
func (a *Account) WhoAmI(ctx context.Context) (Identity, error) {
	a.mu.Lock()
	if a.id.Account != "" {
		defer a.mu.Unlock()
		return a.id, nil
	}
	call := a.asking
	if call == nil {
		call = &identityCall{done: make(chan struct{})}
		a.asking = call
		a.mu.Unlock()
		return a.ask(ctx, call)
	}
	a.mu.Unlock()
	select {
	case <-call.done:
		if call.failed {
			return a.WhoAmI(ctx) // the other caller's context may have ended
		}
		return call.id, nil
	case <-ctx.Done():
		return Identity{}, fmt.Errorf("find out the AWS account: %w", context.Cause(ctx))
	}
}

// identityCall is a call of GetCallerIdentity that several callers wait for.
type identityCall struct {
	done   chan struct{} // closed when the fields below are set
	id     Identity
	failed bool
}

func (a *Account) ask(ctx context.Context, call *identityCall) (Identity, error) {
	out, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err == nil {
		call.id = Identity{partition: "aws", Region: a.region, Account: aws.ToString(out.Account)}
		if parts := strings.SplitN(aws.ToString(out.Arn), ":", 3); len(parts) == 3 && parts[1] != "" {
			call.id.partition = parts[1]
		}
	}
	call.failed = err != nil
	a.mu.Lock()
	a.id, a.asking = call.id, nil
	a.mu.Unlock()
	close(call.done)
	if err != nil {
		return Identity{}, fmt.Errorf("find out the AWS account: %w", client.Failed(err, "sts:GetCallerIdentity"))
	}
	return call.id, nil
}

func (id Identity) ARN(service, name string) string {
	return strings.Join([]string{"arn", id.partition, service, id.Region, id.Account, name}, ":")
}

// ARN is a parsed ARN.
type ARN struct{ partition, Service, Region, Account, Name string }

func ParseARN(s string) (a ARN, ok bool) {
	parts := strings.SplitN(s, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return a, false
	}
	return ARN{parts[1], parts[2], parts[3], parts[4], parts[5]}, true
}
