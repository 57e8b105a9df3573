package s3store

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	// repeatFor is how long one request is repeated, or one part of an upload.
	repeatFor = 20 * time.Second
	// longestPause bounds the pause between two repetitions.
	longestPause = 4 * time.Second
	// maxTries is never reached within repeatFor.
	maxTries = 1000
	// slowest is how many bytes a second a request must transfer at least.
	slowest = 100 << 10
)

// within bounds one request of n bytes, with its repetitions.
func within(ctx context.Context, n int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, repeatFor+time.Duration(n/slowest)*time.Second)
}

// repeating repeats a request that failed with a temporary error for repeatFor. A request that takes long, because its
// body is large, is not interrupted by that.
func repeating() func(*s3.Options) {
	return func(so *s3.Options) {
		so.Retryer = &untilRetryer{
			Standard: retry.NewStandard(func(ro *retry.StandardOptions) {
				ro.MaxAttempts, ro.MaxBackoff = maxTries, longestPause
				ro.RateLimiter = noLimit{} // its tokens are used up by an outage that is shorter than repeatFor
			}),
			end: time.Now().Add(repeatFor),
		}
	}
}

// untilRetryer is the SDK's retryer until a time.
type untilRetryer struct {
	*retry.Standard
	end time.Time
}

var _ aws.RetryerV2 = (*untilRetryer)(nil)

// IsErrorRetryable reports whether a request is repeated.
func (r *untilRetryer) IsErrorRetryable(err error) bool {
	return time.Now().Before(r.end) && r.Standard.IsErrorRetryable(err)
}

// noLimit lets every repetition happen: time bounds them.
type noLimit struct{}

// GetToken implements the SDK's interface.
func (noLimit) GetToken(context.Context, uint) (func() error, error) {
	return func() error { return nil }, nil
}

// AddTokens implements the SDK's interface.
func (noLimit) AddTokens(uint) error { return nil }
