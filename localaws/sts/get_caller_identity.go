package sts

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Wire returns the service's actions.
func Wire() *wire.Service {
	return &wire.Service{
		Name:    "sts",
		Version: "2011-06-15",
		XMLNS:   "https://sts.amazonaws.com/doc/2011-06-15/",
		Actions: []wire.Action{wire.Op("GetCallerIdentity", getCallerIdentity)},
	}
}

// GetCallerIdentityInput is the empty input of GetCallerIdentity.
type GetCallerIdentityInput struct{}

// GetCallerIdentityOutput is the output of GetCallerIdentity.
type GetCallerIdentityOutput struct {
	Arn     string `json:"Arn"`
	UserID  string `json:"UserId"`
	Account string `json:"Account"`
}

// getCallerIdentity needs no permission, and works also where a policy denies it (AWS's API reference,
// GetCallerIdentity).
func getCallerIdentity(_ context.Context, c *wire.Call, _ *GetCallerIdentityInput) (*GetCallerIdentityOutput, error) {
	return &GetCallerIdentityOutput{
		Arn:     wire.UserARN(c.Account),
		UserID:  wire.UserID,
		Account: c.Account,
	}, nil
}
