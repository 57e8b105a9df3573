package sts

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetSessionTokenInput is the input of GetSessionToken. The second factor of the sign-in is not looked at.
type GetSessionTokenInput struct {
	DurationSeconds *int32 `json:"DurationSeconds"`
	SerialNumber    string `json:"SerialNumber"`
	TokenCode       string `json:"TokenCode"`
}

// GetSessionTokenOutput is the output of GetSessionToken.
type GetSessionTokenOutput struct {
	Credentials *Credentials `json:"Credentials"`
}

// longestUserSession is AWS's bound, in seconds, on the session of a user: 36 hours.
const longestUserSession = 129_600

// getSessionToken makes temporary credentials of the caller, who stays the same user. By default they last 12 hours
// (AWS's page of GetSessionToken).
func (s *Service) getSessionToken(_ context.Context, c *wire.Call, in *GetSessionTokenInput,
) (*GetSessionTokenOutput, error) {
	if fault := checkDuration(in.DurationSeconds, longestUserSession); fault != nil {
		return nil, fault
	}
	key := wire.TemporaryKey(c.Account, s.o.Random.Uint64())
	return &GetSessionTokenOutput{
		s.credentials(callerOf(c), key, seconds(in.DurationSeconds, 12*time.Hour)),
	}, nil
}
