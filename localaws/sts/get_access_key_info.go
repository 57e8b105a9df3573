package sts

import (
	"context"
	"regexp"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetAccessKeyInfoInput is the input of GetAccessKeyInfo.
type GetAccessKeyInfoInput struct {
	AccessKeyID string `json:"AccessKeyId"`
}

// GetAccessKeyInfoOutput is the output of GetAccessKeyInfo.
type GetAccessKeyInfoOutput struct {
	Account string `json:"Account"`
}

var word = regexp.MustCompile(`^\w*$`)

// getAccessKeyInfo returns the account that calls with a key belong to on this server. As on AWS, it does not say
// whether the key is active, and the caller may be of another account.
func (s *Service) getAccessKeyInfo(_ context.Context, _ *wire.Call, in *GetAccessKeyInfoInput,
) (*GetAccessKeyInfoOutput, error) {
	const member = "accessKeyId"
	if fault := firstOf(
		checkLength(in.AccessKeyID, member, 16, 128), checkPattern(in.AccessKeyID, member, word, `[\w]*`),
	); fault != nil {
		return nil, fault
	}
	return &GetAccessKeyInfoOutput{s.o.Home.Caller(in.AccessKeyID, "").Account}, nil
}
