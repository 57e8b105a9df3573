package snssqs

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// identity is the part of ARNs that all our names share.
type identity struct{ partition, region, account string }

// whoami returns the identity, and asks the service only once, because the account of the credentials does not change.
func (b *Backend) whoami(ctx context.Context) (identity, error) {
	b.mu.Lock()
	id := b.identity
	b.mu.Unlock()
	if id.account != "" {
		return id, nil
	}
	out, err := b.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return identity{}, fmt.Errorf("find out the AWS account: %w",
			permission(classify(err), "sts:GetCallerIdentity"))
	}
	id = identity{partition: "aws", region: b.region, account: deref(out.Account)}
	if parts := strings.SplitN(deref(out.Arn), ":", 3); len(parts) == 3 && parts[1] != "" {
		id.partition = parts[1]
	}
	b.mu.Lock()
	b.identity = id
	b.mu.Unlock()
	return id, nil
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
