package failure

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Classify wraps an error of Kafka or its client with what it asks of its caller.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var known *driver.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, kgo.ErrClientClosed) {
		return fmt.Errorf("kafka: %w: %w", driver.ErrClosed, err)
	}
	return &driver.Error{Class: ClassOf(err), Err: err}
}

// ClassOf is what an error asks of its caller.
func ClassOf(err error) driver.Class {
	for class, all := range map[driver.Class][]error{
		driver.Denied:    denials,
		driver.NotFound:  {kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.GroupIDNotFound},
		driver.TooLarge:  {kerr.MessageTooLarge, kerr.RecordListTooLarge},
		driver.Throttled: {kerr.ThrottlingQuotaExceeded, kgo.ErrMaxBuffered},
	} {
		for _, one := range all {
			if errors.Is(err, one) {
				return class
			}
		}
	}
	var code *kerr.Error
	if errors.As(err, &code) {
		if code.Retriable || passing(code) {
			return driver.Transient
		}
		return driver.Permanent
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	if errors.As(err, &unknown) || errors.As(err, &host) {
		return driver.Denied
	}
	// No answer, or one that could not be read: a connection failed, a record timed out, the caller gave up.
	return driver.Transient
}

// denials are answers because of missing credentials or permission.
var denials = []error{
	kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
	kerr.TransactionalIDAuthorizationFailed, kerr.SaslAuthenticationFailed, kerr.IllegalSaslState,
	kerr.UnsupportedSaslMechanism,
	kerr.SecurityDisabled, kerr.DelegationTokenExpired,
}

// passing are codes that Kafka does not call retriable because the request as it stands will not succeed, but that the
// next one, of a member that has joined again, will.
func passing(code *kerr.Error) bool {
	switch code {
	case kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.StaleMemberEpoch,
		kerr.FencedMemberEpoch,
		kerr.UnknownServerError, kerr.MemberIDRequired:
		return true
	}
	return false
}

// Permanent is an error of ours that no repetition mends.
func Permanent(format string, args ...any) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(format, args...)}
}

// Missing says that a topic does not exist.
func Missing(topic string) error {
	return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("topic %s does not exist: %w", topic,
		kerr.UnknownTopicOrPartition)}
}

// Over says whether the caller, not the service, ended a call.
func Over(ctx context.Context) bool { return ctx.Err() != nil }

// Entry is the error of entry i in the answer to a batch.
func Entry(err error, i int) error {
	var entries *driver.BatchError
	if errors.As(err, &entries) {
		return entries.Errs[i]
	}
	return err
}

// Batch answers for the entries that failed; nil: none did.
func Batch(errs map[int]error) error {
	if len(errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: errs}
}
