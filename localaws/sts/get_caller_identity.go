package sts

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetCallerIdentityInput is the empty input of GetCallerIdentity.
type GetCallerIdentityInput struct{}

// GetCallerIdentityOutput is the output of GetCallerIdentity.
type GetCallerIdentityOutput struct {
	Arn     string `json:"Arn"`
	UserID  string `json:"UserId"`
	Account string `json:"Account"`
}

// getCallerIdentity needs no permission on AWS. With the credentials of AssumeRole, it tells an ARN of STS, which is
// not that of the role in IAM.
func getCallerIdentity(_ context.Context, c *wire.Call, _ *GetCallerIdentityInput) (*GetCallerIdentityOutput, error) {
	who := callerOf(c)
	return &GetCallerIdentityOutput{Arn: who.arn, UserID: who.id, Account: c.Account}, nil
}

// callerOf returns who calls.
func callerOf(c *wire.Call) session {
	if who, ok := sessionOf(c.Token); ok {
		return who
	}
	return session{arn: wire.UserARN(wire.Partition(c.Region), c.Account), id: wire.UserID}
}
