package failure

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Classify wraps an error of Kafka or franz-go in a driver.Error with its class.
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

// ClassOf is the class of an error.
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
		if code.Retriable || slices.Contains(passing, code) {
			return driver.Transient
		}
		return driver.Permanent
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	if errors.As(err, &unknown) || errors.As(err, &host) {
		return driver.Denied
	}
	// A broker refuses the client's certificate, or how it encrypts. crypto/tls exports no type for that.
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == "remote error" &&
		slices.ContainsFunc(refusals, func(text string) bool { return strings.Contains(remote.Error(), text) }) {
		return driver.Denied
	}
	// There was no answer, or an unreadable one: the connection failed, a record timed out, or the caller's context
	// ended.
	return driver.Transient
}

// refusals are parts of the alerts with which a broker refuses a TLS connection.
var refusals = []string{"certificate", "access denied", "handshake failure", "protocol version"}

// denials are the errors for missing credentials or permissions.
var denials = []error{
	kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
	kerr.TransactionalIDAuthorizationFailed, kerr.SaslAuthenticationFailed, kerr.IllegalSaslState,
	kerr.UnsupportedSaslMechanism,
	kerr.SecurityDisabled, kerr.DelegationTokenExpired,
}

// passing are errors that are temporary although Kafka does not call them retriable: the same request fails again, but
// the next request succeeds when the member has joined again.
var passing = []*kerr.Error{
	kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.StaleMemberEpoch,
	kerr.FencedMemberEpoch, kerr.UnknownServerError, kerr.MemberIDRequired,
}

// Unsupported reports whether the brokers do not know a request because they are older, or the caller's kgo.MaxVersions
// excludes it. franz-go exports no value for these errors.
func Unsupported(err error) bool {
	if err == nil || errors.Is(err, kerr.UnsupportedVersion) {
		return err != nil
	}
	text := err.Error()
	return strings.Contains(text, "broker is too old") || strings.Contains(text, "request key is unknown")
}

// Permanent is an error of Godwit that no repetition can mend.
func Permanent(format string, args ...any) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(format, args...)}
}

// Missing is the error for a topic that does not exist.
func Missing(topic string) error {
	return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("topic %s does not exist: %w", topic,
		kerr.UnknownTopicOrPartition)}
}

// Over reports whether the caller ended a call, and not the service.
func Over(ctx context.Context) bool { return ctx.Err() != nil }

// Entry is the error of entry i of a batch.
func Entry(err error, i int) error {
	var entries *driver.BatchError
	if errors.As(err, &entries) {
		return entries.Errs[i]
	}
	return err
}

// Batch is the error of a batch with these failed entries; nil if there are none.
func Batch(errs map[int]error) error {
	if len(errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: errs}
}
