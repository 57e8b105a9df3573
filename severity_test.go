package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

func TestSeverityPolicy(t *testing.T) {
	_, missing := os.Open("no such file")
	deadline, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	policy := godwit.SeverityPolicy(3, godwit.Constant(time.Minute))
	again, reject, stop := godwit.Verdict{Action: godwit.ActionRetry, After: time.Minute},
		godwit.Verdict{Action: godwit.ActionReject}, godwit.Verdict{Action: godwit.ActionStop}
	for _, tc := range []struct {
		err  error
		want godwit.Verdict
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, again},
		{fmt.Errorf("call the bank: %w", deadline.Err()), again},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), again},
		{&driver.Error{Class: driver.Throttled, Err: errors.New("slow down")}, again},
		{&driver.Error{Class: driver.Denied, Err: errors.New("no")}, reject},
		{missing, reject},
		{errors.New("the amount is negative"), reject},
		{context.Canceled, reject},
		{&godwit.PanicError{Value: "oh"}, reject},
		{godwit.Permanent(io.EOF), reject},
		{godwit.Fatal(errors.New("the disk is full")), stop},
		{godwit.RetryAfter(time.Second, errors.New("later")), godwit.Verdict{
			Action: godwit.ActionRetry,
			After:  time.Second,
		}},
	} {
		if got := policy(&godwit.Delivery{Attempt: 1}, tc.err); got != tc.want {
			t.Errorf("%v: %+v, want %+v", tc.err, got, tc.want)
		}
	}
	if got := policy(&godwit.Delivery{Attempt: 3, Failures: 3}, io.EOF); got != reject {
		t.Errorf("the third failure: %+v, want %+v", got, reject)
	}
}
