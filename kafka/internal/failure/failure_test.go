package failure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Each error has the class that helps its caller, and the service's own error stays reachable.
func TestClassify(t *testing.T) {
	for err, want := range map[error]driver.Class{
		kerr.TopicAuthorizationFailed: driver.Denied, kerr.SaslAuthenticationFailed: driver.Denied,
		kerr.UnknownTopicOrPartition: driver.NotFound,
		kerr.UnknownTopicID:          driver.NotFound, kerr.MessageTooLarge: driver.TooLarge,
		kerr.ThrottlingQuotaExceeded: driver.Throttled,
		kerr.NotLeaderForPartition:   driver.Transient, kerr.IllegalGeneration: driver.Transient,
		kerr.CoordinatorNotAvailable: driver.Transient,
		kerr.InvalidTopicException:   driver.Permanent, kerr.InvalidTimestamp: driver.Permanent,
		kerr.PolicyViolation: driver.Permanent,
		kgo.ErrRecordTimeout: driver.Transient, kgo.ErrMaxBuffered: driver.Throttled, io.EOF: driver.Transient,
		context.DeadlineExceeded: driver.Transient,
		&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}: driver.Denied,
		&net.OpError{Op: "remote error", Err: errors.New("tls: internal error")}:  driver.Transient,
		&net.OpError{Op: "dial", Err: errors.New("connection refused")}:           driver.Transient,
	} {
		got := Classify(fmt.Errorf("somewhere: %w", err))
		if driver.ClassOf(got) != want || !errors.Is(got, err) {
			t.Errorf("%v is of class %s, want %s", err, driver.ClassOf(got), want)
		}
		if again := Classify(fmt.Errorf("above: %w", got)); driver.ClassOf(again) != want {
			t.Errorf("%v classified twice is of class %s", err, driver.ClassOf(again))
		}
	}
	if got := Classify(kgo.ErrClientClosed); !errors.Is(got, driver.ErrClosed) {
		t.Errorf("the error of a closed client is %v", got)
	}
	if Classify(nil) != nil {
		t.Error("nil became an error")
	}
}
