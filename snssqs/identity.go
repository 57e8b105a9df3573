package snssqs

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// identity is the part of ARNs that all our names share.
type identity struct{ partition, region, account string }

// account is the account of the credentials.
type account struct {
	region string
	sts    *sts.Client

	mu     sync.Mutex
	id     identity // set by the first call of whoami
	asking *identityCall
}

// whoami returns the identity, and asks the service only once, because the account of the credentials does not change.
func (a *account) whoami(ctx context.Context) (identity, error) {
	a.mu.Lock()
	if a.id.account != "" {
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
			return a.whoami(ctx) // the other caller's context may have ended
		}
		return call.id, nil
	case <-ctx.Done():
		return identity{}, fmt.Errorf("find out the AWS account: %w", context.Cause(ctx))
	}
}

// identityCall is a call of GetCallerIdentity that several callers wait for.
type identityCall struct {
	done   chan struct{} // closed when the fields below are set
	id     identity
	failed bool
}

func (a *account) ask(ctx context.Context, call *identityCall) (identity, error) {
	out, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err == nil {
		call.id = identity{partition: "aws", region: a.region, account: aws.ToString(out.Account)}
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
		return identity{}, fmt.Errorf("find out the AWS account: %w",
			client.Failed(err, "sts:GetCallerIdentity"))
	}
	return call.id, nil
}

func (id identity) arn(service, name string) string {
	return strings.Join([]string{"arn", id.partition, service, id.region, id.account, name}, ":")
}

// arn is a parsed ARN.
type arn struct{ partition, service, region, account, name string }

func parseARN(s string) (a arn, ok bool) {
	parts := strings.SplitN(s, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return a, false
	}
	return arn{parts[1], parts[2], parts[3], parts[4], parts[5]}, true
}
