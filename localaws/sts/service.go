package sts

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options are what the service needs. All are required.
type Options struct {
	Home   wire.Home // the account of callers whose key names none
	Random *random.Source
	Now    func() time.Time
}

// Service makes temporary credentials.
type Service struct{ o Options }

// New returns the service.
func New(o Options) *Service { return &Service{o} }

// Wire returns the service's actions.
func (s *Service) Wire() *wire.Service {
	return &wire.Service{
		Name:    "sts",
		Version: "2011-06-15",
		XMLNS:   "https://sts.amazonaws.com/doc/2011-06-15/",
		Actions: []wire.Action{
			wire.Op("AssumeRole", s.assumeRole),
			wire.Op("GetAccessKeyInfo", s.getAccessKeyInfo),
			wire.Op("GetCallerIdentity", getCallerIdentity),
			wire.Op("GetSessionToken", s.getSessionToken),
		},
	}
}

// credentials makes credentials of a session.
func (s *Service) credentials(who session, key string, lasts time.Duration) *Credentials {
	secret := make([]byte, 0, 20)
	for len(secret) < cap(secret) {
		secret = append(secret, byte(s.o.Random.Uint64()))
	}
	return &Credentials{
		AccessKeyID: key, SecretAccessKey: hex.EncodeToString(secret), SessionToken: who.token(s.o.Random.Uint64()),
		Expiration: s.o.Now().Add(lasts).UTC().Truncate(time.Second),
	}
}

func checkLength(value, member string, least, most int) *wire.Error {
	switch {
	case len(value) < least:
		return wire.Constraint(value, member, fmt.Sprintf("Member must have length greater than or equal to %d", least))
	case len(value) > most:
		return wire.Constraint(value, member, fmt.Sprintf("Member must have length less than or equal to %d", most))
	}
	return nil
}

func checkPattern(value, member string, allowed *regexp.Regexp, pattern string) *wire.Error {
	if !allowed.MatchString(value) {
		return wire.Constraint(value, member, "Member must satisfy regular expression pattern: "+pattern)
	}
	return nil
}

// firstOf returns the first fault.
func firstOf(faults ...*wire.Error) *wire.Error {
	for _, fault := range faults {
		if fault != nil {
			return fault
		}
	}
	return nil
}

// missing is AWS's error for members that are not set.
func missing(member string) *wire.Error {
	return wire.Validation("1 validation error detected: Value null at '%s' failed to satisfy constraint: "+
		"Member must not be null", member)
}

// checkDuration checks how long credentials are to last, in seconds.
func checkDuration(seconds *int32, most int32) *wire.Error {
	const least = 900 // STS: 15 minutes
	switch {
	case seconds == nil:
		return nil
	case *seconds < least:
		return wire.Constraint(*seconds, "durationSeconds",
			fmt.Sprintf("Member must have value greater than or equal to %d", least))
	case *seconds > most:
		return wire.Constraint(*seconds, "durationSeconds",
			fmt.Sprintf("Member must have value less than or equal to %d", most))
	}
	return nil
}

// isARN reports whether a text has the parts of an ARN: partition, service, region, account and resource, of which the
// region and the account may be empty.
func isARN(text string) bool {
	parts := strings.SplitN(text, ":", 6)
	return len(parts) == 6 && parts[0] == "arn" && parts[1] != "" && parts[2] != "" && parts[5] != ""
}
