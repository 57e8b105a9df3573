package sts

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Service is the model of STS. It is immutable.
type Service struct{ account string }

// New returns the service of an account.
func New(account string) *Service {
	return &Service{account: account}
}

// Wire returns the service's actions.
func (s *Service) Wire() *wire.Service {
	return &wire.Service{
		Name:    "sts",
		Version: "2011-06-15",
		XMLNS:   "https://sts.amazonaws.com/doc/2011-06-15/",
		Actions: []wire.Action{wire.Op("GetCallerIdentity", s.getCallerIdentity)},
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

// userID has the form of IAM's user ids.
const userID = "AIDALOCALAWS000000000"

func (s *Service) getCallerIdentity(context.Context, *wire.Call, *GetCallerIdentityInput) (*GetCallerIdentityOutput,
	error,
) {
	return &GetCallerIdentityOutput{
		Arn:     "arn:aws:iam::" + s.account + ":user/localaws",
		UserID:  userID,
		Account: s.account,
	}, nil
}
